#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A machine that would lose its pages by sleeping does not go to sleep; one that
# would not does, and its device is there when it wakes up.  With a backing device
# it may sleep as it is, and may wake up without a memory node.
. "$(dirname "$0")/lib.sh"

read -r -d '' script <<'GUEST'
set -e
dev=/dev/odrp0
sys=/sys/block/odrp0/odrp
power=/sys/power

# What is refused freezes tasks at most, however it ends, and thaws them after
# five seconds.
echo freezer >$power/pm_test

# All but that the machine is off: devices are suspended, the processors but one are
# taken away, and five seconds later all come back.
sleep_deeply() {
	echo core >$power/pm_test
	echo mem >$power/state
	echo freezer >$power/pm_test
}

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
dmesg | grep -q 'odrp0: no sleep while it holds pages (2048 pages there)'
dd if=$dev bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/a

blkdiscard $dev
within 60 is $sys/mapped 0
exec 4<$dev
refused "while somebody has it open"
dmesg | grep -q "odrp0: no sleep while it is in use (0 pages there)"
exec 4<&-

echo "asleep"
sleep_deeply
echo "awake"
within 60 is $sys/state live
dd if=/tmp/a of=$dev bs=64k oflag=direct 2>/dev/null
dd if=$dev bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/a

# What is lost already is not lost by sleeping.
exec 4<$dev
kill_mnode
within 180 is $sys/state dead
echo freeze >$power/state
echo "awake again"
exec 4<&-
echo all well
GUEST

sleeps() {
	vm_script --kernel "$1" --leaks --swap 64M --no-swapon \
		--param mnode.dead-ms=120000 \
		--add "$(command -v blkdiscard)" -- "$script"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []'
}

read -r -d '' backed <<'GUEST'
set -e
. /etc/odrp/run.conf
control=/sys/class/odrp-control
sys=/sys/block/odrp0/odrp
modprobe virtio_blk
within 5 test -b /dev/vda
echo 0 >$control/hot_remove
echo "$HOT_ADD backing=/dev/vda" >$control/hot_add
dd if=/dev/urandom of=/tmp/a bs=1M count=8 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null
[ $(cat $sys/mapped) = 2048 ]
exec 4<>/dev/odrp0

echo freezer >/sys/power/pm_test
echo "asleep"
echo freeze >/sys/power/state
echo "awake"
within 60 is $sys/state dead
dd if=/dev/odrp0 bs=64k count=128 iflag=direct 2>/dev/null | cmp - /tmp/a
dd if=/tmp/a of=/dev/odrp0 bs=64k count=64 seek=64 oflag=direct 2>/dev/null
dd if=/dev/odrp0 bs=64k skip=64 count=64 iflag=direct 2>/dev/null >/tmp/b
dd if=/tmp/a bs=64k count=64 2>/dev/null | cmp - /tmp/b
echo all well
GUEST

# The memory node gives the pages of one that sleeps away.
evict() {
	local id
	[[ ! -e $case_dir/evicted ]] && grep -qs '^asleep$' "$case_dir/out" ||
		return
	id=$(mnode_status "$1" | jq '.sessions[0].id') &&
		"$vm_ctl" mnode evict "$id" --control "$1" &&
		touch "$case_dir/evicted"
} >"$case_dir/ctl" 2>&1

sleeps_backed() {
	truncate -s 64M "$case_dir/disk"
	vm_beside evict vm_script --kernel "$1" --leaks --swap 64M --no-swapon \
		--qemu-arg -drive --qemu-arg \
		"file=$case_dir/disk,if=virtio,format=raw,cache=unsafe" \
		-- "$backed"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []'
	expect_pages_back
}

for kernel in "${kernels[@]}"; do
	tap_case "asleep and awake on $kernel" sleeps "$kernel"
	tap_case "awake with the backing device alone on $kernel" \
		sleeps_backed "$kernel"
done
tap_end
