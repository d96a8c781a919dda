#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A machine that would lose its pages by sleeping does not go to sleep; one that
# would not does, and its device is there when it wakes up.
. "$(dirname "$0")/lib.sh"

read -r -d '' script <<'GUEST'
set -e
dev=/dev/odrp0
sys=/sys/block/odrp0/odrp
power=/sys/power

# However it ends: tasks are frozen at most, and thawed after five seconds.
echo freezer >$power/pm_test

refused() {
	local err
	echo "no sleep $1"
	! err=$(echo freeze 2>&1 >$power/state)
	echo "$err" | grep -q busy
	[ "$(cat $sys/state)" = live ]
}

dd if=/dev/urandom of=/tmp/a bs=1M count=8 2>/dev/null
dd if=/tmp/a of=$dev bs=64k oflag=direct 2>/dev/null
refused "with pages"
dmesg | grep -q 'odrp0: no sleep while it is in use (2048 pages there)'
dd if=$dev bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/a

blkdiscard $dev
within 10 is $sys/mapped 0
exec 4<$dev
refused "while somebody has it open"
exec 4<&-

echo "asleep"
echo freeze >$power/state
echo "awake"
within 20 is $sys/state live
dd if=/tmp/a of=$dev bs=64k oflag=direct 2>/dev/null
dd if=$dev bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/a
echo all well
GUEST

sleeps() {
	vm_script --kernel "$1" --leaks --swap 64M --no-swapon \
		--add "$(command -v blkdiscard)" -- "$script"
	expect_status 0
	expect_out 'all well'
	expect_clean
}

for kernel in "${kernels[@]}"; do
	tap_case "asleep and awake on $kernel" sleeps "$kernel"
done
tap_end
