#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The MTU of the interface is cut while the device is in use: connections are made
# anew, with packets that fit, long before a request is over its time.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
read -r -d '' script <<'GUEST'
odrp=/sys/block/odrp0/odrp
fail() {
	echo "FAILED: $*"
	dmesg | tail -n 25
	exit 1
}
serves() {
	dd if=/dev/urandom of=/tmp/a bs=64k count=8 2>/dev/null
	dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null
	dd if=/dev/odrp0 bs=64k count=8 iflag=direct 2>/dev/null |
		cmp - /tmp/a || fail "not what was written"
}
serves
ip link set eth0 mtu 1500 || fail "ip"
within 30 is $odrp/reconnects 1 || fail "no connection was made anew"
within 30 is $odrp/state live || fail "not live"
dmesg | grep -q 'odrp0: .*MTU of the interface was cut' || fail "not said"
serves
is $odrp/reconnects 1 || fail "again"
echo "all well"
GUEST

goes_on() {
	vm_script --kernel "$1" --mem 160M --swap 16M --no-swapon \
		--param hot_add.timeout_ms=600000 -- "$script"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []' '.cnodes[0].stats.load_errors == 0' \
		'.cnodes[0].stats.store_errors == 0'
	expect_pages_back
}

for kernel in "${kernels[@]}"; do
	tap_case "cut from that of the card to 1500, $kernel" goes_on "$kernel"
done
tap_end
