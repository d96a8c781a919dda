#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A pool smaller than the device: stores fail cleanly, nothing that was stored
# is lost, and the pool serves again once pages were freed.
. "$(dirname "$0")/lib.sh"

read -r -d '' disk <<'GUEST'
dev=/dev/odrp0
dd if=/dev/urandom of=/tmp/a bs=1M count=64 2>/dev/null
dd if=/tmp/a of=$dev bs=64k oflag=direct 2>/tmp/err
[ $? != 0 ] || { echo "64 MB went into a pool of 32"; exit 1; }
cat /tmp/err
# What went in before the first error is still there.
whole=$(sed -n 's/^\([0-9]*\)+[0-9]* records out/\1/p' /tmp/err)
echo "stored $whole blocks of 64 KB"
[ "$whole" -ge 128 ] || exit 2
dd if=$dev bs=64k count=$whole iflag=direct 2>/dev/null >/tmp/c
head -c $((whole * 65536)) /tmp/a | cmp - /tmp/c || exit 3
# Rewriting needs no new page.
dd if=/tmp/c of=$dev bs=64k count=$whole oflag=direct 2>/dev/null || exit 4
blkdiscard $dev || exit 5
# What is given up is there for the next, however long it takes to give back.
dd if=/tmp/c of=$dev bs=64k count=$whole oflag=direct 2>/dev/null || exit 6
dd if=$dev bs=64k count=$whole iflag=direct 2>/dev/null | cmp - /tmp/c || exit 7
echo all well
GUEST

# A bystander that fits must never see a wrong byte, whatever becomes of the
# one that does not fit; then there is room again. That one is ended by the OOM killer,
# or by us: the memory group of a debug kernel never comes to that. Its reclaim finds
# nothing, and counts as found what it freed of slab pages itself (reclaimed_slab in
# shrink_node(), 6.1); here there are some each time. So it
# tries again, and one that is killed goes on, until there is room.
# (What has to be read meanwhile is in the root, a ramfs: /tmp may be swapped, and to
# read it then takes room.)
read -r -d '' swap <<'GUEST'
room=$WORK_GROUP/memory.max
# By the clock: a look takes long where much else is going on.
big_ends() {
	end=$(($(date +%s) + 60))
	until [ -s /big.status ]; do
		[ $(date +%s) -lt $end ] || return 1
		sleep 1
	done
}
kill_big() {
	echo "too big, and ended by the test"
	read -r max <$room
	kill -9 -$(cat /big.pid)
	echo max >$room
	wait $big
	echo $max >$room
}
swapped pressure-far --size=60M --seconds=5 || exit 1
swapped pressure-far --size=24M --processes=2 --seconds=12 2>/tmp/small >/tmp/small.out &
small=$!
(
	swapped setsid sh -c 'echo $$ >/big.pid; exec "$@"' sh \
		pressure-far --size=150M --processes=3 --seconds=8 --seed=9 \
		2>/tmp/big >/tmp/big.out
	echo $? >/big.status
) &
big=$!
[ ! -e $room ] || big_ends || kill_big
wait $big
read -r big </big.status || exit 5
cat /tmp/big /tmp/big.out
echo "too big: status $big"
grep BAD /tmp/big && exit 2
[ $big = 1 ] && exit 2
wait $small
small=$?
cat /tmp/small
echo "bystander: status $small"
grep BAD /tmp/small && exit 3
sleep 2
swapped pressure-far --size=60M --seconds=5 || exit 4
echo all well
GUEST

as_disk() {
	vm_script --mem 320M --swap 64M --pool 32M --no-swapon \
		--add "$(command -v blkdiscard)" -- "$disk"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.load_errors == 0' \
		'.cnodes[0].stats.store_errors > 0' '.teardown_errors == []' \
		'.mnode_end.pages_mapped == 0' \
		'.mnode_end.pages_free + .mnode_end.pages_armed == .mnode_end.pages_total'
}

as_swap() {
	vm_script --mem 150M --swap 192M --pool 48M -- "$swap"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.load_errors == 0' '.teardown_errors == []' \
		'.mnode_end.pages_mapped == 0' \
		'.mnode_end.pages_free + .mnode_end.pages_armed == .mnode_end.pages_total'
	say "$(grep -E 'status|ended' "$case_dir/out" | paste -sd' ')"
}

tap_case "the device as a disk" as_disk
vm_timeout=900 tap_case "swap, with more demand than pages" as_swap
tap_end
