#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections break and the session is taken up again: nobody notices but by the
# time that it took.
. "$(dirname "$0")/lib.sh"
chains_only

# Now and then the memory node stands still for longer than a request may take:
# every connection breaks while pages are under way. The first time when enough
# has been written, as the number of pages that are mapped tells; and not any more
# when the machine goes, or its goodbye may be lost.
stands=0
stand_still() {
	local pid mapped
	((stands < 3)) || return 0
	mapped=$(mnode_status "$1" | jq .pages_mapped)
	((${mapped:-0} > 2000)) || return 0
	pid=$(pgrep -f "odrp-mnoded.*$1") || return 0
	stands=$((stands + 1))
	kill -STOP "$pid"
	sleep $((4 * slow))
	kill -CONT "$pid"
	sleep $((5 * slow))
}

swaps_on() {
	vm_beside stand_still vm --kernel "$@" --mem 160M --swap 320M \
		--param hot_add.timeout_ms=$((2000 * slow)) \
		--param hot_add.dead_after_ms=$((20000 * slow)) \
		--param mnode.dead-ms=$((10000 * slow)) -- \
		pressure-far --size=150M --processes=3 --seconds=$((25 * slow))
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 2' \
		'.cnodes[0].stats.state == "live"' \
		'.mnode_end.counters.resumed >= 2'
	expect_clean
	say "$(cat "$case_dir/out")"
	say "$(jq -c '.cnodes[0].stats | {reconnects, resent}' "$case_dir/json")"
}

# Packets to the memory node go nowhere for a while. (Not by taking the link
# down: rdma_rxe of 6.1 then leaves its QP1 deaf, and nothing can connect.)
read -r -d '' lost <<'GUEST'
node=10.77.0.1
odrp=/sys/block/odrp0/odrp
taken_up() {
	read -r count <$odrp/reconnects && [ $count -ge $round ]
}
dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
for round in 1 2; do
	(
		usleep 500000
		arp -s $node 02:00:00:00:00:01 || exit
		within 60 is $odrp/state lost
		sleep 2
		arp -d $node
	) &
	until taken_up; do
		dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 1
		dd if=/dev/odrp0 of=/tmp/c bs=1M count=16 iflag=direct \
			2>/dev/null || exit 2
		cmp /tmp/a /tmp/c || exit 3
	done
	wait
done
GUEST

goes_nowhere() {
	vm_script --kernel 6.12 --mem 256M --swap 64M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$lost"
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 1' '.teardown_errors == []'
	expect_clean
}

# A workqueue is not made to wait for a session that is lost, for ib_mad's take it up
# again and write to us when they have to reclaim memory. Here it is the flusher's:
# all that is dirty comes to be under writeback, many times what may wait for requests.
# (The shell keeps the device open: the last to close it would write all himself.)
# What is put by for the same work is given away meanwhile, and collected again.
read -r -d '' flushed <<'GUEST'
mount -t debugfs none /sys/kernel/debug 2>/dev/null
node=10.77.0.1
reserve=/sys/kernel/debug/odrp/odrp0/reserve
pages=2048
sysfs=/sys/block/odrp0/odrp
under_writeback() {
	[ "$(awk '/^Writeback:/ { print $2 / 4 }' /proc/meminfo)" -ge $pages ]
}
echo 10 >/proc/sys/vm/dirty_writeback_centisecs
echo 10 >/proc/sys/vm/dirty_expire_centisecs
dd if=/dev/urandom of=/tmp/a bs=4k count=$pages 2>/dev/null
within 30 is $reserve 512 || exit 8
exec 5</dev/odrp0
arp -s $node 02:00:00:00:00:01 || exit 1
dd if=/tmp/a of=/dev/odrp0 bs=4k count=1 oflag=direct 2>/dev/null &
within 30 is $sysfs/state lost || exit 2
dd if=/tmp/a of=/dev/odrp0 bs=1M 2>/dev/null || exit 3
within 30 under_writeback || { grep -E '^(Dirty|Writeback):' /proc/meminfo; exit 4; }
within 60 is $reserve 0 || exit 9
is $sysfs/state lost || exit 5
arp -d $node
within 60 is $sysfs/state live || exit 6
wait
within 60 is $reserve 512 || exit 10
dd if=/dev/odrp0 bs=1M count=8 iflag=direct 2>/dev/null | cmp - /tmp/a || exit 7
GUEST

goes_on_writing() {
	vm_script --kernel "$1" --mem 256M --swap 64M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$flushed"
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 1' '.teardown_errors == []'
	expect_clean
}

# Taking a session up again waits for a mutex that others have, who may be waiting
# for this device. It is given up in time all the same, or before by force: who waits
# for a request has an error, and so has who has one under way.
read -r -d '' blocked <<'GUEST'
mount -t debugfs none /sys/kernel/debug 2>/dev/null
fail=/sys/kernel/debug/odrp/fail
odrp=/sys/block/odrp0/odrp
dd if=/dev/zero of=/dev/odrp0 bs=4k count=64 oflag=direct 2>/dev/null || exit 1
echo 1 >$fail/busy/every && echo 1 >$fail/busy/nth || exit 2
echo 1 >$fail/lost/nth || exit 3
dd if=/dev/odrp0 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null &
first=$!
within 30 is $odrp/state lost || exit 4
within 30 is $fail/busy/failed 1 || exit 5
dd if=/dev/odrp0 of=/dev/null bs=4k count=1 skip=32 iflag=direct 2>/tmp/err &
second=$!
# The first has a request, the second waits for one.
within 30 is $odrp/waits_credit 1 || exit 14
[ $1 != forced ] || echo "0 force" >/sys/class/odrp-control/hot_remove || exit 11
within 30 is $odrp/state dead || exit 6
wait $second && exit 7
cat /tmp/err
# Unless it had its answer before the connection was down.
wait $first && echo "answered before"
dd if=/dev/odrp0 of=/dev/null bs=4k count=1 skip=33 iflag=direct 2>/dev/null &&
	exit 8
is $fail/busy/every 1 || exit 12
echo 0 >$fail/busy/every
[ $1 = forced ] || echo 0 >/sys/class/odrp-control/hot_remove || exit 10
within 60 rmmod odrp 2>/tmp/err || exit 13
echo all well
GUEST

# What a connection takes with it when it breaks has been made before: the session is
# taken up again though nothing of ours can be made, and when it can, there is some for
# the next time. (An attempt may also fail because the machine is slow, and the next
# has to make something: so there are three, of which one has to do.)
read -r -d '' spared <<'GUEST'
mount -t debugfs none /sys/kernel/debug 2>/dev/null
debug=/sys/kernel/debug/odrp
fail=$debug/fail
odrp=/sys/block/odrp0/odrp
reads() {
	dd if=/dev/odrp0 bs=4k count=64 iflag=direct 2>/dev/null | cmp - /tmp/a
}
taken_up() {
	read -r now <$odrp/reconnects && [ $now -gt $before ] && is $odrp/state live
}
dd if=/dev/urandom of=/tmp/a bs=4k count=64 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=4k oflag=direct 2>/dev/null || exit 1
for round in 1 2 3; do
	within 60 is $debug/odrp0/spares 6 || exit 2
	read -r before <$odrp/reconnects
	echo 1 >$fail/alloc/every && echo 1 >$fail/alloc/nth || exit 3
	echo 1 >$fail/lost/nth || exit 4
	reads &
	if within 15 taken_up; then
		wait $! || exit 5
		within 30 is $debug/odrp0/spares 0 || exit 6
		echo 0 >$fail/alloc/every && echo 0 >$fail/alloc/nth || exit 7
		within 60 is $debug/odrp0/spares 6 || exit 8
		reads || exit 9
		echo "taken up in round $round"
		exit 0
	fi
	echo 0 >$fail/alloc/every && echo 0 >$fail/alloc/nth || exit 7
	within 60 taken_up || exit 10
	wait
done
exit 11
GUEST

out_of_spares() {
	vm_script --kernel "$1" --faults --mem 256M --swap 64M --no-swapon \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$spared"
	say "$(cat "$case_dir/out")"
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 1'
	expect_clean
}

# is_given_up KERNEL over|forced MS: $3 is the time in which it may be mended
is_given_up() {
	vm_script --kernel "$1" --faults --mem 256M --swap 64M --no-swapon \
		--param hot_add.dead_after_ms=$(($3 * slow)) -- "$blocked" "$2"
	expect_status 0
	expect_out 'I/O error|Input/output error'
	expect_out 'all well'
	expect '.teardown_errors == []'
}

# Under pressure ib_mad may find no memory for a packet of the connection manager,
# see kmod/reserve.c; and rdma_rxe of 6.1 none for one that it sends by its QP1, which
# then never works again: nothing can connect, and the session dies.
((nightly)) && tap_case "a memory node that stands still, 6.1" swaps_on 6.1
((nightly)) && tap_case "a memory node that stands still, 6.12" swaps_on 6.12
# rdma_rxe of 5.10 frees a queue pair before the work that cleans it up has run,
# when a packet of it that was stuck in the network card drops the last reference:
# the kernel may die of that.
((long_cases)) && tap_case "a memory node that stands still, frontswap, 5.10" \
	swaps_on 5.10 --backend frontswap
tap_case "packets that go nowhere, 6.12" goes_nowhere
tap_case "out of what was made before, 6.1" out_of_spares 6.1
if ((nightly)); then
	tap_case "out of what was made before, 5.10" out_of_spares 5.10
	tap_case "out of what was made before, 6.12" out_of_spares 6.12
fi
tap_case "a workqueue that writes meanwhile, 6.1" goes_on_writing 6.1
((nightly)) && tap_case "a workqueue that writes meanwhile, 6.12" goes_on_writing 6.12
tap_case "given up while it cannot even begin, 6.1" is_given_up 6.1 over 10000
tap_case "removed by force while it cannot even begin, 6.1" \
	is_given_up 6.1 forced 150000
if ((nightly)); then
	for kernel in 5.10 6.12; do
		tap_case "given up while it cannot even begin, $kernel" \
			is_given_up $kernel over 10000
		tap_case "removed by force while it cannot even begin, $kernel" \
			is_given_up $kernel forced 150000
	done
fi
tap_end
