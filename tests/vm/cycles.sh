#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The device comes and goes, with swap on it and pages in it: nothing leaks on
# either side.
. "$(dirname "$0")/lib.sh"

rounds=6
((nightly)) && rounds=200
# Some minutes each on a debug kernel.
[[ ${ODRP_KERNELS:-} != *-debug* ]] || rounds=4
# How much may be missing in the end, available and unreclaimable, in KB.  On a debug
# kernel they swing by 14 and 1 MB from one round to the next, with no trend in ten;
# there it is kmemleak that looks closely.
available=6000
unreclaimable=600
if [[ ${ODRP_KERNELS:-} = *-debug* ]]; then
	available=24000
	unreclaimable=2400
fi
# Those that count as the beginning.
first=$((rounds > 8 ? 5 : rounds > 4 ? 3 : 2))

read -r -d '' script <<'GUEST'
. /etc/odrp/run.conf
rounds=$1
first=$2
available=$3
unreclaimable=$4
# "available unreclaimable", in KB. The first swings by some MB by itself (each
# device has more than one of buffers), the second by little.
memory() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^MemAvailable:/ { a = $2 } /^SUnreclaim:/ { print a, $2 }' /proc/meminfo
}
i=0
while [ $i -lt $rounds ]; do
	echo 0 >/sys/class/odrp-control/hot_remove || exit 2
	[ -e /sys/block/odrp0 ] && exit 3
	[ $i -eq $first ] && before=$(memory)
	echo "$HOT_ADD" >/sys/class/odrp-control/hot_add || exit 4
	mkswap /dev/odrp0 >/dev/null || exit 5
	swapon /dev/odrp0 || exit 6
	swapped pattern-far --size=30M --repeat=0 --seed=$i >/tmp/log || exit 7
	swapoff /dev/odrp0 || exit 8
	i=$((i + 1))
done
echo 0 >/sys/class/odrp-control/hot_remove || exit 9
after=$(memory)
echo "memory: $before KB after $first rounds, $after KB after $rounds"
[ $((${before% *} - ${after% *})) -lt $available ] || exit 10
[ $((${after#* } - ${before#* })) -lt $unreclaimable ] || exit 11
echo all well
GUEST

# Sessions so far, open files and memory of the agent, again and again.
measure() {
	local pid sessions
	sessions=$(mnode_status "$1" | jq .counters.sessions)
	for pid in $(pgrep -x odrp-mnoded); do
		grep -qs "$1" "/proc/$pid/cmdline" || continue
		echo "${sessions:-0} $(find "/proc/$pid/fd" -type l | wc -l) $(
			awk '/^RssAnon:/ { print $2 }' "/proc/$pid/status")"
	done >>"$case_dir/agent"
}

comes_and_goes() {
	local fds0 rss0 fds1 rss1
	vm_timeout=$((60 + rounds * 20 * slow)) vm_beside measure vm_script \
		--leaks --mem 128M --swap 128M --no-swapon -- \
		"$script" "$rounds" "$first" "$available" "$unreclaimable"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []' '.mnode.sessions == []' \
		'.mnode_end.pages_mapped == 0' \
		'.mnode_end.pages_free == .mnode_end.pages_total'
	read -r _ fds0 rss0 < <(awk -v first="$first" '$1 >= first' "$case_dir/agent")
	read -r _ fds1 rss1 < <(tail -n 2 "$case_dir/agent" | head -n 1)
	say "agent: ${fds0:-?} then ${fds1:-?} files," \
		"${rss0:-?} then ${rss1:-?} KB; $(grep ^memory "$case_dir/out")"
	((${fds1:-99} <= ${fds0:-0} + 2)) || wrong "the agent's files grew"
	((${rss1:-999999} <= ${rss0:-0} + 4096)) || wrong "the agent's memory grew"
}

tap_case "$rounds times add, swapon, swapoff, remove" comes_and_goes
tap_end
