#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The kernel freezes the queue of the device, as it does when an attribute of the queue is
# written, in each state of the session, also while writers are held up: the freeze ends,
# and so do reads that need no memory node.
. "$(dirname "$0")/lib.sh"

read -r -d '' frozen <<'GUEST'
node=10.77.0.1
odrp=/sys/block/odrp0/odrp
queue=/sys/block/odrp0/queue
lat=1000
# freezes: a write to an attribute for which the kernel freezes the queue ends: any for 6.12,
# that of writeback throttling for those before.
freezes() {
	lat=$((lat + 1000))
	rm -f /tmp/frozen
	(echo 64 >$queue/read_ahead_kb &&
		{ [ ! -w $queue/wbt_lat_usec ] || echo $lat >$queue/wbt_lat_usec; } &&
		>/tmp/frozen) &
	within 20 [ -e /tmp/frozen ]
}
# reads_empty: a read of what holds nothing ends, and says that, or fails with an argument
reads_empty() {
	rm -f /tmp/read
	(dd if=/dev/odrp0 bs=4k count=1 skip=9000 iflag=direct 2>/dev/null >/tmp/empty
		echo $? >/tmp/read) &
	within 20 [ -s /tmp/read ] || return 1
	if [ $# = 0 ]; then
		is /tmp/read 0 && cmp -n 4096 /tmp/empty /dev/zero
	else
		is /tmp/read 1
	fi
}
reads() {
	dd if=/dev/odrp0 bs=4k count=64 iflag=direct 2>/dev/null | cmp - /tmp/a
}
held_up() {
	read -r waits <$odrp/waits_room && [ $waits -gt $1 ]
}
# More than may wait for requests: some are held up.
write_many() {
	read -r before <$odrp/waits_room
	i=0
	while [ $i -lt 64 ]; do
		dd if=/tmp/a of=/dev/odrp0 bs=4k count=1 skip=$i seek=$i oflag=direct \
			2>/dev/null &
		i=$((i + 1))
	done
}
unreachable() {
	busybox arp -s $node 02:00:00:00:00:01 || exit 2
}
dd if=/dev/urandom of=/tmp/a bs=4k count=64 2>/dev/null
exec 5</dev/odrp0

write_many
freezes || exit 10
reads_empty || exit 11
wait
reads || exit 12

unreachable
write_many
within 30 is $odrp/state lost || exit 20
within 30 held_up $before || exit 21
freezes || exit 22
reads_empty || exit 23
is $odrp/state lost || exit 24
busybox arp -d $node
within 60 is $odrp/state live || exit 25
wait
reads || exit 26

echo 3000 >$odrp/io_fail_ms
unreachable
write_many
within 30 held_up $before || exit 30
freezes || exit 31
within 60 is $odrp/state failing || exit 32
wait
freezes || exit 33
reads_empty fails || exit 34
is $odrp/state failing || exit 35
busybox arp -d $node
within 60 is $odrp/state live || exit 36
write_many
wait
reads || exit 37

echo 0 >$odrp/io_fail_ms
echo 1000 >$odrp/dead_after_ms
unreachable
write_many
within 60 is $odrp/state dead || exit 40
wait
freezes || exit 41
echo all well
GUEST

ends() {
	vm_script --kernel "$1" --mem 256M --swap 64M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((200000 * slow)) \
		--param hot_add.queues=1 --param hot_add.depth=16 \
		--param mnode.dead-ms=$((300000 * slow)) -- "$frozen"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []'
}

for kernel in 5.10 6.1 6.12; do
	if ((nightly)) || [[ $kernel = 6.12 ]]; then
		tap_case "in each state, $kernel" ends "$kernel"
	fi
done
tap_end
