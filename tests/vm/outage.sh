#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The memory node cannot be reached for a while, as when a switch reboots: with the
# time-outs that are the default no page is lost, and no request fails; with io_fail_ms
# requests fail meanwhile, and no other page is lost. And sessions are resumed
# though packets get lost.
. "$(dirname "$0")/lib.sh"

# $1: for how long; $2: io_fail_ms, 0 if requests are to wait
read -r -d '' outage <<'GUEST'
node=10.77.0.1
odrp=/sys/block/odrp0/odrp
reads() {
	dd if=/dev/odrp0 bs=1M count=8 iflag=direct 2>/dev/null | cmp - /tmp/a
}
dd if=/dev/urandom of=/tmp/a bs=1M count=8 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 1
arp -s $node 02:00:00:00:00:01 || exit 2
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/tmp/err &
writer=$!
within 30 is $odrp/state lost || exit 3
if [ $2 != 0 ]; then
	within 60 is $odrp/state failing || exit 4
	wait $writer && exit 5
	grep -q "I/O error\|Input/output error" /tmp/err || exit 6
	dd if=/dev/odrp0 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null && exit 7

fi
sleep $1
arp -d $node
within 90 is $odrp/state live || exit 8
if [ $2 = 0 ]; then
	wait $writer || exit 9
fi
# What a store that failed has left void can be stored to, and is read back.
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 10
reads || exit 11
is $odrp/reconnects 1 || exit 12
echo all well
GUEST

# outlasts KERNEL SECONDS IO_FAIL_MS QUEUES NIC_OPTIONS
outlasts() {
	vm_script --kernel "$1" --mem 256M --swap 32M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((60000 * slow)) \
		--param hot_add.io_fail_ms=$(($3 * slow)) \
		--param "hot_add.queues=$4" --param "mnode.queues=$4" \
		--param connect_ms=60000 --param mnode.dead-ms=$((90000 * slow)) \
		${5:+--nic-opt "$5"} -- "$outage" "$2" "$3"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.state == "live"' '.teardown_errors == []'
	if (($3 == 0)); then
		expect '.cnodes[0].stats.store_errors == 0'
	fi
	expect_pages_back
	say "$(jq -c '.cnodes[0].stats | {reconnects, resent, store_errors}' \
		"$case_dir/json")"
}

tap_case_guests "5 seconds" outlasts 6.1 5 0 1 ''
if ((nightly)); then
	tap_case "5 seconds, requests fail after 1" outlasts 6.1 5 1000 1 ''
	tap_case "15 seconds" outlasts 6.1 15 0 1 ''
	tap_case "45 seconds" outlasts 6.1 45 0 1 ''
	tap_case "one packet of 20 is lost, 4 queues" outlasts 6.1 5 0 4 loss=0.05
	tap_case "one packet of 20 is lost, 64 queues" outlasts 6.1 5 0 64 loss=0.05
fi
tap_end
