#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The memory node's agent ends, by SIGTERM and by SIGKILL, while pages are under way, and
# another one goes on with what it has left: nobody notices but by the time that it
# takes. Who keeps the pages meanwhile is tests/lib/fd-store.c.
. "$(dirname "$0")/lib.sh"

# $1: ends; $2: "swap", or the device is read and written
read -r -d '' ends <<'GUEST'
odrp=/sys/block/odrp0/odrp
resumed() {
	read -r count <$odrp/reconnects && [ $count -ge $1 ] && is $odrp/state live
}
# It ends by itself when it finds a wrong page.
if [ $2 = swap ]; then
	swapped pattern-far --size=140M --repeat=1000000 >/tmp/log 2>&1 &
	far=$!
	within 120 grep -q verify1 /tmp/log || exit 2
else
	dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
	dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 3
	while dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null &&
	      dd if=/dev/odrp0 bs=1M count=16 iflag=direct 2>/dev/null | cmp - /tmp/a
	do [ ! -e /tmp/enough ] || exit 0; done &
	far=$!
fi
round=0
while [ $round -lt $1 ]; do
	round=$((round + 1))
	read -r before <$odrp/reconnects
	# Wherever it is.
	usleep $(($(od -An -N2 -tu2 /dev/urandom) * 10))
	if [ $((round % 2)) = 1 ]; then kill_agent; else end_agent; fi
	within 120 resumed $((before + 1)) || exit 4
	kill -0 $far || exit 5
	check_mnode
done
if [ $2 = swap ]; then
	kill $far
	wait $far
else
	>/tmp/enough
	wait $far || exit 7
fi
echo "all well after $round"
GUEST

# goes_on ENDS WHAT OPTION...
goes_on() {
	local nr=$1 what=$2
	shift 2
	vm_script --keep-mnode --wire dgram "$@" \
		--param hot_add.timeout_ms=$((3000 * slow)) \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((120000 * slow)) -- "$ends" "$nr" "$what"
	expect_status 0
	expect_out "all well after $nr"
	expect ".cnodes[0].stats.reconnects >= $nr" \
		'.cnodes[0].stats.state == "live"' \
		'.cnodes[0].stats.load_errors == 0' \
		'.cnodes[0].stats.store_errors == 0' \
		".mnode_checks == $nr" '.teardown_errors == []'
	say "$(jq -c '.cnodes[0].stats | {reconnects, resent}' "$case_dir/json")"
}

# All is lost, as after a reboot of the memory node: who had pages there is told so, long
# before its own time is over.
read -r -d '' anew <<'GUEST'
odrp=/sys/block/odrp0/odrp
dd if=/dev/urandom of=/dev/odrp0 bs=1M count=4 oflag=direct 2>/dev/null || exit 1
restart_mnode
within 120 is $odrp/state dead || exit 2
dmesg | grep 'has no session .* any more' || exit 3
dd if=/dev/odrp0 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null && exit 4
echo all well
GUEST

begins_anew() {
	vm_script --kernel "$1" --wire dgram --mem 256M --swap 16M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=600000 -- "$anew"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []'
}

tap_case_guests "killed, then ended, while the device is read and written" \
	goes_on 2 disk --kernel 6.1 --mem 256M --swap 32M --no-swapon
if ((nightly)) || [[ $mnode_in = guest ]]; then
	tap_case_guests "all is lost" begins_anew 6.1
	tap_case_guests "again and again while swapping, 6.12" \
		goes_on 12 swap --kernel 6.12 --mem 136M --swap 256M
	tap_case "again and again while swapping, chains translate" \
		goes_on 12 swap --kernel 6.1 --mem 136M --swap 256M \
		--param mnode.translate=chain
fi
tap_end
