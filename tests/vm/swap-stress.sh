#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Swap with huge pages; nightly also with stress-ng and memtester, which verify what
# they write, and under the limit of a memory group.
. "$(dirname "$0")/lib.sh"
chains_only

# Before each script: a group with that much memory; "limited COMMAND" runs in it.
# shellcheck disable=SC2016  # for the guest's shell
limited='
few=/sys/fs/cgroup/few
mkdir $few && echo $1 >$few/memory.max
limited() {
	sh -c '"'"'echo $$ >/sys/fs/cgroup/few/cgroup.procs; exec "$@"'"'"' sh "$@"
}
shift
'

# Methods that look at all they wrote, in few enough passes.
read -r -d '' stressing <<'GUEST'
for method in zero-one rand-set rand-sum write64 gray walk-1d inc-nybble galpat-0; do
	limited stress-ng --vm 3 --vm-bytes 48M --vm-keep --vm-method $method \
		--verify --timeout 30 --temp-path /tmp --metrics-brief >/tmp/log 2>&1
	status=$?
	if [ $status != 0 ] || grep -qi ' fail' /tmp/log; then
		echo "$method: status $status"
		cat /tmp/log
		exit 1
	fi
	awk -v m=$method '$4 == "vm" { print m ": " $5 }' /tmp/log
done
echo all well
GUEST

# It would lock its memory, did it have the right to. Left out are the tests
# that write all of it hundreds of times.
read -r -d '' testing <<'GUEST'
export MEMTESTER_TEST_MASK=$(($1))
limited sh -c 'ulimit -l 0
	exec /x/setpriv --reuid=65534 --bounding-set=-all memtester 12M 1' \
	>/tmp/log 2>&1
status=$?
tr '\b\r' '\n\n' </tmp/log | grep -vE '^ *([-/|\\]|setting +[0-9]+|testing +[0-9]+)? *$'
[ $status = 0 ] && echo all well
GUEST

read -r -d '' limiting <<'GUEST'
swapped pressure-far --size=24M --processes=2 $1 --seed=77 >/tmp/log2 2>&1 &
limited pressure-far --size=96M --processes=4 $1 >/tmp/log 2>&1 || {
	cat /tmp/log
	exit 1
}
wait $! || { cat /tmp/log2; exit 2; }
cat /tmp/log /tmp/log2 $few/memory.events
[ "$(awk '$1 == "max" { print $2 }' $few/memory.events)" -gt 100 ] || exit 3
[ "$(awk '$1 == "oom_kill" { print $2 }' $few/memory.events)" = 0 ] || exit 4
echo all well
GUEST

# Huge pages are split before they go out, or go out whole; newer kernels have
# more sizes.
read -r -d '' huge <<'GUEST'
thp=/sys/kernel/mm/transparent_hugepage
echo always >$thp/enabled
echo always >$thp/defrag
for size in $thp/hugepages-*/enabled; do
	[ ! -e $size ] || echo inherit >$size
done
out() {
	cat /proc/vmstat $thp/hugepages-*/stats/swpout 2>/dev/null |
		awk '$1 ~ /^thp_swpout$|^thp_swpout_fallback$|^thp_split_page$/ { n += $2 }
			NF == 1 { n += $1 } END { print n + 0 }'
}
before=$(out)
swapped pressure-far --huge --size=120M --processes=6 $1 || exit 1
grep -E '^thp_(fault_alloc|split_page|swpout|swpout_fallback) ' /proc/vmstat
grep . $thp/hugepages-*/stats/swpout 2>/dev/null | grep -v ':0$'
echo "split or written whole: $(($(out) - before))"
[ $(($(out) - before)) -gt 10 ] || exit 2
[ "$(awk '$1 == "thp_fault_alloc" { print $2 }' /proc/vmstat)" -gt 10 ] || exit 3
echo all well
GUEST

# under LIMIT SCRIPT OPTION... -- [ARG...]: SCRIPT in a machine with OPTIONs.
# There are at least $loads loads, and as many stores.
loads=5000
under() {
	local limit=$1 script=$2 least=$((loads / slow))
	local -a options=()
	shift 2
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	vm_script "${options[@]}" --param hot_add.queues=2 -- "$limited$script" \
		"$limit" "$@"
	expect_status 0
	expect_out 'all well'
	expect ".cnodes[0].stats.loads > $least" \
		".cnodes[0].stats.stores_unmapped > $least"
	[[ "${options[*]}" != *frontswap* ]] ||
		expect ".cnodes[0].stats.frontswap_stores > $least" \
			".cnodes[0].stats | .frontswap_loads + .frontswap_passed > $((least / 5))"
	expect_clean
	say "$(grep -v 'all well' "$case_dir/out" | tail -n 12 | paste -sd,)"
}

stress() {
	under 24M "$stressing" --kernel "$@" --mem 256M --swap 192M \
		--add "$(command -v stress-ng)" --
}

memtester_passes() {
	local tests=0x181ff
	# The stuck address, random values, and bytes of both widths.
	((slow == 1)) || tests=0x18001
	under 8M "$testing" --kernel "$@" --mem 150M --swap 96M \
		--add "$(command -v memtester)" --add "$(command -v setpriv)" \
		-- $tests
}

limit() {
	under 16M "$limiting" --kernel "$@" --mem 192M --swap 192M -- "$length"
}

# By day each process has one life: one that ends before another begins leaves it so
# much memory that a run may have half of the loads of the next.
huge_pages() {
	local loads=1000
	under max "$huge" --kernel "$@" --mem 166M --swap 256M -- "$length"
}

# all_with NAME KERNEL OPTION...
all_with() {
	local name=$1
	shift
	tap_case_with stress "stress-ng, $name" stress "$@"
	tap_case_with stress "memtester, $name" memtester_passes "$@"
	tap_case "a memory group at its limit, $name" limit "$@"
	tap_case "huge pages, $name" huge_pages "$@"
}

# So long, or so much.
length=--seconds=60
vm_timeout=1500
if ((long_cases)); then
	for kernel in 5.10 6.1 6.12; do
		all_with "$kernel" $kernel
	done
	all_with "frontswap on 5.10" 5.10 --backend frontswap
else
	length="--lives=1 --rounds=2"
	tap_case "huge pages, 6.12" huge_pages 6.12
fi
tap_end
