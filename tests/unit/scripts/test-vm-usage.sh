#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/vm answers what is typed wrong before anything else: status 125, and one
# line that names the value and what was expected.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nr=0
bad=0

result() {
	nr=$((nr + 1))
	if [[ $1 = 0 ]]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		sed 's/^/# /' "$dir/err"
		bad=1
	fi
}

# refused TEXT ARG...: by a message that has TEXT in it.
refused() {
	local text=$1 status
	shift
	timeout 20 "$top/scripts/vm" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	[[ $status = 125 && ! -s $dir/out ]] && grep -qF -- "$text" "$dir/err" &&
		(($(wc -l <"$dir/err") <= 2))
	result $? "${*:-(nothing)}"
}

truncate -s 40M "$dir/large"
mkdir "$dir/closed"

echo 1..31
refused "no verb: expected run"
refused "unknown verb 'start'" start
refused "--wire 'bogus': expected vhost" run --wire bogus -- true
refused "--timeout '0': expected" run --timeout 0 -- true
refused "--timeout '-1': expected" run --timeout -1 -- true
refused "--mnode-kill-after '0.0': expected" run --mnode-kill-after 0.0 -- true
refused "expected one of them" run --nbd --no-odrp -- true
refused "expected one of them" run --no-odrp --nbd -- true
refused "--mem '1M': expected at least 64M" run --mem 1M -- true
refused "--work 'x': expected a size" run --work x -- true
refused "--work '2M': expected at least 4M" run --work 2M -- true
refused "--mem 'x': expected a size" run --mem x -- true
refused "40 MB do not fit" run --mem 64M --add "$dir/large" -- true
refused "--add '/nowhere': no such file" run --add /nowhere -- true
refused "--json '/nowhere/x': expected a file" run --json /nowhere/x -- true
refused "--json '$dir/closed': expected a file" run --json "$dir/closed" -- true
refused "--keep-logs '$dir/large/x': expected a directory" run --keep-logs "$dir/large/x" -- true
refused "no such parameter: expected poll_us" run --param hot_add=1 -- true
refused "--param 'x': expected KEY=VALUE" run --param x -- true
refused "--auth 'x': expected secret or none" run --auth x -- true
refused "no COMMAND" run
refused "is unknown, or lacks its value" run --what
refused "--json '': expected a name" run --json '' -- true
refused "--netem '': expected a name" run --netem '' -- true
refused "frontswap: kernel 6.1 has none" run --backend frontswap -- true
refused "--keep-mnode: there is no memory node" run --keep-mnode --no-odrp -- true
refused "--keep-mnode: expected with --wire dgram, and not vhost" run --keep-mnode -- true
refused "'true': expected no COMMAND" shell -- true
refused "--nbd works with one" shell --nbd --cnodes 2
refused "unknown option '--bogus'" run --json "$dir/new" --keep-logs "$dir/logs" --bogus x
[[ ! -e $dir/new && ! -e $dir/logs ]]
result $? "nothing is left of a wrong command line"
exit $bad
