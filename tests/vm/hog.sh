#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A processor is taken away: a real-time task has it for itself, or it goes offline and
# comes back, while a guest swaps and while its session is resumed. No page is lost, and
# no session.
. "$(dirname "$0")/lib.sh"

# $1: what happens to processor 1; $2: for how many seconds, while swapping
read -r -d '' taken_away <<'GUEST'
. /etc/odrp/run.conf
node=10.77.0.1
odrp=/sys/block/odrp0/odrp
cpu1=/sys/devices/system/cpu/cpu1/online
fail() {
	echo "FAILED: $*"
	cat $odrp/state /tmp/log
	dmesg | grep -v -- '-error on swap-device' | tail -n 25
	exit 1
}
holds() {
	while read -r area _ _ used _; do
		[ $area != /dev/odrp0 ] || [ $used -lt $1 ] || return 0
	done </proc/swaps
	return 1
}
# Once the kernel leaves soft interrupts to ksoftirqd, a task above it stops the timers,
# the packets and the RCU of its processor. That is not the module's to repair. (Now,
# since pidof waits for the pages of all processes.)
chrt -f -p 91 $(pidof ksoftirqd/1) || fail "ksoftirqd"
# All that it has, as long as it runs.
hog_begins() {
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us || fail "throttling"
	taskset 2 chrt -f 90 sh -c 'while :; do :; done' &
	hog=$!
}
hog_ends() {
	kill $hog
	wait $hog 2>/dev/null
}
gone_begins() {
	echo 0 >$cpu1 || fail "offline"
}
gone_ends() {
	echo 1 >$cpu1 || fail "online"
}
# What it begins now, such as heartbeats, it begins on processor 1.
echo 0 >/sys/class/odrp-control/hot_remove || fail "hot_remove"
taskset 2 sh -c 'echo "$1" >/sys/class/odrp-control/hot_add' sh "$HOT_ADD" ||
	fail "hot_add"
mkswap /dev/odrp0 >/dev/null && swapon /dev/odrp0 || fail "swapon"
# A task that waits for the session to be lost has memory all the same.
WORK_GROUP=/sys/fs/cgroup/few
mkdir $WORK_GROUP && echo 40M >$WORK_GROUP/memory.max || fail "group"
swapped pressure-far --size=90M --processes=2 --seconds=100000 >/tmp/log 2>&1 &
far=$!
within 60 holds 30000 || fail "nothing swapped out"
stores() {
	read -r mapped <$odrp/stores_mapped && read -r unmapped <$odrp/stores_unmapped
	[ $((mapped + unmapped)) -gt $1 ]
}
stored_so_far() {
	read -r mapped <$odrp/stores_mapped && read -r unmapped <$odrp/stores_unmapped
	so_far=$((mapped + unmapped))
}
# While pages go to and fro, for longer than the memory node waits for a heartbeat.
${1}_begins
sleep $2
stored_so_far
within 30 stores $((so_far + 200)) || fail "nothing is stored any more"
is $odrp/state live || fail "lost without a reason"
${1}_ends
is $odrp/reconnects 0 || fail "resumed without a reason"
# While the session is lost and resumed.
arp -s $node 02:00:00:00:00:01 || fail "arp"
${1}_begins
within 60 is $odrp/state lost || fail "not lost"
arp -d $node
within 60 is $odrp/state live || fail "not resumed"
stored_so_far
within 30 stores $((so_far + 200)) || fail "nothing is stored after it"
${1}_ends
# And the other way round: it comes back meanwhile.
${1}_begins
arp -s $node 02:00:00:00:00:01 || fail "arp"
within 60 is $odrp/state lost || fail "not lost again"
${1}_ends
arp -d $node
within 60 is $odrp/state live || fail "not resumed again"
kill -0 $far || fail "a wrong page"
killall -USR1 pressure-far
wait $far || fail "pages are wrong"
echo "reconnects $(cat $odrp/reconnects)"
swapoff /dev/odrp0 || fail "swapoff"
echo all well
GUEST

# holds_out KERNEL WHAT [OPTION...]
holds_out() {
	vm_script --kernel "$1" --mem 160M --swap 256M --no-swapon \
		--add "$(command -v chrt)" --add "$(command -v taskset)" \
		--param hot_add.timeout_ms=$((2000 * slow)) \
		--param hot_add.dead_after_ms=$((60000 * slow)) \
		--param mnode.dead-ms=$((8000 * slow)) "${@:3}" -- \
		"$taken_away" "$2" $((10 * slow))
	expect_status 0
	expect_out 'all well'
	expect_out '^reconnects 2'
	expect_clean
}

tap_case "a real-time task has a processor, 6.1" holds_out 6.1 hog
if ((nightly)); then
	tap_case "a processor goes and comes back, 6.1" holds_out 6.1 gone
	for kernel in 5.10 6.12; do
		tap_case "a real-time task has a processor, $kernel" \
			holds_out $kernel hog
		tap_case "a processor goes and comes back, $kernel" \
			holds_out $kernel gone
	done
fi
tap_end
