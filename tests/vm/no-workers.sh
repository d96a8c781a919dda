#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A memory node is gone, several devices wait for it, and the machine can make no
# threads any more, as when it has no memory: the heartbeats of a device on another
# memory node go on.
. "$(dirname "$0")/lib.sh"

# After no_threads() only what the shell itself can do.
read -r -d '' guest <<'GUEST'
. /etc/odrp/run.conf
control=/sys/class/odrp-control
odrp() {
	read -r "$1" </sys/block/odrp$2/odrp/$1
}
a_second() {
	read -t 1 nothing <>/tmp/never
}
each_lost() {
	for d in 0 2 3 4 5 6; do
		is /sys/block/odrp$d/odrp/state $1 || return 1
	done
}
no_threads() {
	threads=$(cat /proc/sys/kernel/threads-max)
	echo 20 >/proc/sys/kernel/threads-max || exit 2
}

mkfifo /tmp/never
for d in 2 3 4 5 6; do
	echo "$HOT_ADD" | head -n 1 >$control/hot_add || exit 3
done
for d in 0 2 3 4 5 6; do
	echo 600000 >/sys/block/odrp$d/odrp/dead_after_ms || exit 4
	echo $((1000 * SLOW)) >/sys/block/odrp$d/odrp/io_timeout_ms || exit 4
done
dd if=/dev/zero of=/dev/odrp1 bs=64k oflag=direct 2>/dev/null
dd if=/dev/odrp1 of=/dev/null bs=4k iflag=direct count=1 2>/dev/null || exit 5
no_threads
kill_mnode
n=0
until each_lost lost; do
	n=$((n + 1))
	[ $n -lt $((60 * SLOW)) ] || exit 6
	a_second
done
# Those that are held up stay so, for the threads are not to be had before the end.
n=0 seconds=0
while [ $n -lt 10 ] && [ $seconds -lt $((120 * SLOW)) ]; do
	odrp beats 1 && was=$beats
	while [ $beats = $was ] && [ $seconds -lt $((120 * SLOW)) ]; do
		seconds=$((seconds + 1))
		a_second
		odrp beats 1
	done
	[ $beats = $was ] || n=$((n + 1))
done
echo $threads >/proc/sys/kernel/threads-max || exit 7
echo "$n times out of 10 the beats had gone on"
[ $n = 10 ] && each_lost lost && is /sys/block/odrp1/odrp/state live || exit 8
is /sys/block/odrp1/odrp/reconnects 0 || exit 9
dd if=/dev/odrp1 of=/dev/null bs=64k iflag=direct 2>/dev/null || exit 10
for d in 0 2 3 4 5 6; do
	echo $d >$control/hot_remove || exit 11
done
echo all well
GUEST

goes_on() {
	vm_script --kernel "$1" --mnodes 2 --mem 256M --swap 8M --pool 96M \
		--no-swapon --param mnode.dead-ms=$((30000 * slow)) -- "$guest"
	say "$(cat "$case_dir/out")"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []' '.mnodes_end[1].pages_mapped == 0' \
		'.mnodes_end[1].counters.dead == 0'
}

for kernel in "${kernels[@]}"; do
	tap_case "no threads, $kernel" goes_on "$kernel"
done
tap_end
