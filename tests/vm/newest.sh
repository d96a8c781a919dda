#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The newest kernel that Debian has, by night: what is swapped comes back, the session is
# resumed, freed pages are given back there as well, by what that kernel has for it, and
# the memory node dies. ODRP_KERNELS=newest runs other files on it.
. "$(dirname "$0")/lib.sh"

read -r -d '' swaps <<'GUEST'
node=10.77.0.1
odrp=/sys/block/odrp0/odrp
resumed() {
	read -r count <$odrp/reconnects && [ $count -gt 0 ] && is $odrp/state live
}
few_left() {
	read -r used <$odrp/used && [ $used -lt 2000 ]
}
swapped qsort-far || exit 1
[ $(cat $odrp/notify_free) -gt 5000 ] || exit 2
# Its pages have been freed when it ended.
within 60 few_left || exit 3
within 60 is $odrp/free_pending 0 || exit 4

swapped pattern-far --size=64M --repeat=1000000 >/tmp/log &
far=$!
within 60 grep -q verify1 /tmp/log || exit 5
busybox arp -s $node 02:00:00:00:00:01 || exit 6
within 60 is $odrp/state lost || exit 7
sleep 2
busybox arp -d $node
within 60 resumed || exit 8
sleep 2
kill -0 $far || exit 9
kill_mnode
wait $far
status=$?
tail -n 1 /tmp/log
[ $status = 135 ] || [ $status = 139 ] || exit 10
is $odrp/state dead || exit 11
echo all well
GUEST

goes() {
	vm_script --kernel newest --mem 170M --swap 256M \
		--param hot_add.dead_after_ms=$((20000 * slow)) -- "$swaps"
	expect_status 0
	expect_out 'verified=yes'
	expect_out 'all well'
	expect '.cnodes[0].stats.loads > 5000' '.teardown_errors == []'
}

((nightly)) && tap_case "swap, a loss, freed pages, a memory node that dies" goes
tap_end
