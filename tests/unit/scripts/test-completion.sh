#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# test-completion.sh PROGRAM...: what bash offers behind each command. TAP.

set -u
top=$(cd "$(dirname "$0")/../../.." && pwd)
# shellcheck source=/dev/null
. "$top/scripts/completion.bash"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for program; do
	ln -s "$(realpath "$program")" "$dir/"
done
PATH=$dir:$PATH
nr=0
bad=0

# offers WANTED WORD...: the last word is the one that is completed.
offers() {
	local wanted=$1 verdict="not ok"
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_odrp
	if [[ "${COMPREPLY[*]}" = "$wanted" ]]; then
		verdict=ok
	else
		echo "# ${COMPREPLY[*]}"
		bad=1
	fi
	echo "$verdict $((++nr)) - $*"
}

echo 1..11
offers "bench info rpc space" far ""
offers "space" far sp
offers "check create delete list serve stat" far space ""
offers "--size=" far space create --si
offers "--theta= --threads=" far bench index --th
offers "key mnode swap" odrpctl ""
offers "delete-space drain" odrpctl mnode d
offers "--interval=" odrpctl mnode top --int
offers "list load new remove" odrpctl key ""
offers "image" wrc im
offers "" far nothing-like-it x
exit $bad
