#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Scripts answer what is typed wrong before anything else: status 2, and one line that
# names the value and what was expected. What a script has begun ends with it.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export ODRP_CACHE=$dir/cache
nr=0
bad=0

result() {
	nr=$((nr + 1))
	if [[ $1 = 0 ]]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		cat "$dir/out" "$dir/err" 2>/dev/null | sed 's/^/# /'
		bad=1
	fi
}

# refused TEXT SCRIPT ARG...: by one line that has TEXT in it.
refused() {
	local text=$1 script=$2 status
	shift 2
	timeout 20 "$top/scripts/$script" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	[[ $status = 2 && ! -s $dir/out ]] && grep -qF -- "$text" "$dir/err" &&
		(($(wc -l <"$dir/err") == 1))
	result $? "$script $*"
}

refused "'foo': expected an option" demo foo
refused "unknown option '--bogus'" demo --bogus
refused "--size: expected a value" demo --size
refused "--size '1': expected" demo --size=1
refused "--size is there twice" demo --size 64M --size 96M
refused "'--far=1': expected no value" demo --far=1
refused "--size: not expected with --far" demo --size 96M --far
refused "--keys: expected with --far" demo --keys 5
refused "--keys '0': expected" demo --far --keys 0
refused "--kernel '7': expected one of 5.10" demo --kernel 7
refused "--json '/nowhere/x': expected" demo --json /nowhere/x
refused "--json '$dir': expected" demo --json "$dir"
refused "--json '': expected" demo --json ''
refused "'--': not expected" demo --
refused "--all and --nightly: expected one" check --all --nightly
refused "unknown option '--quick'" check --quick
refused "--only 'smokey': expected a pattern" check --only smoke --only smokey
refused "--only: expected a value" check --only
ODRP_CHECK_MINUTES=x refused "ODRP_CHECK_MINUTES is 'x': expected" check --all
refused "--rounds '0': expected" bench-kmod --rounds 0
refused "--backends 'foo': expected block, direct" bench-kmod --backends foo
refused "--backends 'frontswap': expected block" bench-kmod --backends "direct frontswap" --kernel 6.1
refused "--kernel '7': expected" bench-kmod --kernel 7
refused "--json '$dir': expected" bench-kmod --json "$dir"
refused "--kernel '7': expected" bench-swap --kernel 7
refused "--mem '127M': expected" bench-swap --mem 127M
refused "--clusters 'x': expected" bench-cluster --clusters x
refused "--apps 'voltdb': expected one of quicksort" bench-apps --apps voltdb
refused "--modes '': expected some of chain" bench-apps --modes ''
refused "--modes 'rdma': expected one of chain" bench-apps --modes "chain rdma"
refused "--local '100': expected" bench-apps --local 100
refused "--scale '0': expected" bench-apps --scale 0
refused "--build '/nowhere': expected" bench-chains --build /nowhere
refused "'smart': expected one of chains, flock, odrp, smart-hash" figures smart
refused "'smart-hash/x': smart-hash has 3-read" figures smart-hash/x
refused "--jobs 0: expected 1 or more" figures --jobs 0
refused "--shrink 0: expected a number" figures --shrink 0
refused "--save: expected without --quick" figures --save --quick
refused "'x': expected a number of operations" far-agent-cpu 5 x
refused "'check-x': expected names of checks" style/run check-x

timeout 20 "$top/scripts/demo" --json "$dir/new" --size 3 >"$dir/out" 2>"$dir/err"
[[ ! -e $dir/new ]]
result $? "nothing is left of a wrong command line"

# A script that waits for a program, has one in the background, and is ended.
cat >"$dir/script" <<'SCRIPT'
. "$1/scripts/lib/common.sh"
scratch_dir
tail -f /dev/null &
echo "$dir $!" >"$2"
attended sh -c 'echo $$ >"$1"; exec tail -f /dev/null' sh "$3"
SCRIPT
bash "$dir/script" "$top" "$dir/left" "$dir/program" >"$dir/out" 2>"$dir/err" &
script=$!
until [[ -s $dir/program && -s $dir/left ]] || ! kill -0 "$script" 2>/dev/null; do
	sleep 0.1
done
kill "$script"
wait "$script"
[[ $? = 143 ]]
result $? "a signal is heard while a program runs"
read -r scratch beside <"$dir/left"
[[ ! -e $scratch ]] && ! kill -0 "$beside" 2>/dev/null &&
	! kill -0 "$(cat "$dir/program")" 2>/dev/null
result $? "nothing is left of it"

echo "1..$nr"
exit "$bad"
