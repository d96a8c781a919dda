#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#	test-rpc.sh FAR PROGRAM
# The example of RPC, in one process and in two; a server that was killed hinders no other.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nic=mem:dir=$dir

"$2" "$nic" >"$dir/out"
[[ $(grep -c '5 words' "$dir/out") == 4 ]] || { echo "not four answers"; exit 1; }
! "$2" "$nic" ask a 2>"$dir/err" || { echo "nobody serves, and it was answered"; exit 1; }

serve() {
	mkfifo "$dir/in$1"
	"$2" "$nic" serve <"$dir/in$1" &
	exec {fd}>"$dir/in$1"
	until "$3" rpc ping --nic "$nic" --count 1 example-words >/dev/null 2>&1; do :; done
}
serve 1 "$2" "$1"
kill -9 $!
wait $! || true
exec {fd}>&-
serve 2 "$2" "$1"
"$2" "$nic" ask 'one two three' >"$dir/out"
[[ $(grep -c '3 words' "$dir/out") == 4 ]] || { echo "not four answers of another"; exit 1; }
"$1" rpc ping --nic "$nic" --count 3 example-words >"$dir/out"
[[ $(grep -c ' us$' "$dir/out") == 3 ]] || { echo "not three pings"; exit 1; }
exec {fd}>&-
wait
