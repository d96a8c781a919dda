#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# backing=PATH: the memory node dies, and no page with it.
. "$(dirname "$0")/lib.sh"

# The device anew, with a disk of the guest behind it.
read -r -d '' guest_backing <<'GUEST'
. /etc/odrp/run.conf
control=/sys/class/odrp-control
odrp=/sys/block/odrp0/odrp
modprobe virtio_blk || exit 90
within 5 test -b /dev/vda || exit 91
backed() {
	echo 0 >$control/hot_remove || exit 92
	echo "$HOT_ADD backing=$1" >$control/hot_add || exit 93
	[ "$(cat $odrp/backing)" = $1 ] || exit 94
}
loaded() {
	read -r loads <$odrp/loads && [ $loads -gt $1 ]
}
dead() {
	[ "$(cat $odrp/state)" = dead ]
}
# Before that nothing has a time limit that a slow host may miss.
kill_soon_dead() {
	echo $((2000 * SLOW)) >$odrp/io_timeout_ms || exit 95
	echo $((1000 * SLOW)) >$odrp/dead_after_ms || exit 96
	kill_mnode
}
GUEST

# What is written last must be there as well as what was written first: the
# workload runs on for long enough after the kill.
read -r -d '' swapping <<'GUEST'
backed /dev/vda
mkswap /dev/odrp0 >/dev/null && swapon /dev/odrp0 || exit 2
swapped pressure-far --size=150M --processes=3 --seconds=$1 &
far=$!
within 60 loaded 3000 || exit 7
kill_soon_dead
wait $far || exit 3
dead || exit 4
grep odrp0 /proc/swaps >/tmp/swaps || exit 5
swapped pattern-far --size=100M --repeat=2 >/tmp/log || exit 6
tail -n 1 /tmp/log
GUEST

read -r -d '' as_disk <<'GUEST'
backed /dev/vda
same() {
	dd if=/dev/odrp0 of=/tmp/c bs=$1 count=$((16777216 / $1)) iflag=direct \
		2>/tmp/err && cmp /tmp/a /tmp/c
}
dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 2
# Every third page anew, over and over, until the memory node has gone and on.
round=0
left=10
while [ $left -gt 0 ]; do
	[ $round != 10 ] || kill_soon_dead
	dead && left=$((left - 1))
	dd if=/dev/urandom of=/tmp/b bs=4k count=64 2>/dev/null
	i=$((round % 3))
	while [ $i -lt 64 ]; do
		at=$((round * 64 % 4032 + i))
		dd if=/tmp/b of=/tmp/a bs=4k count=1 skip=$i seek=$at conv=notrunc
		dd if=/tmp/b of=/dev/odrp0 bs=4k count=1 skip=$i seek=$at \
			conv=notrunc oflag=direct || exit 3
		i=$((i + 3))
	done 2>/dev/null
	round=$((round + 1))
done
echo "$round rounds"
[ "$(dmesg | grep -c 'continues with the backing device /dev/vda alone')" = 1 ] ||
	exit 10
same 1048576 || exit 4
same 4096 || exit 5
# What is discarded is zeros, and new pages are pages like all others.
blkdiscard -o 4194304 -l 4194304 /dev/odrp0 || exit 6
dd if=/dev/zero of=/tmp/a bs=1M count=4 seek=4 conv=notrunc 2>/dev/null
same 65536 || exit 7
dd if=/dev/urandom of=/tmp/a bs=64k count=96 seek=32 conv=notrunc 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null || exit 8
same 1048576 || exit 9
echo all well
GUEST

# The backing device is a file on a file system that is full for a time: pages
# that had a good copy get new contents, which the memory node alone has. When
# that has gone they are lost, and are neither what was there before nor zeros.
read -r -d '' bad_copies <<'GUEST'
mkdir /tmp/small && mount -t tmpfs -o size=24M none /tmp/small || exit 2
truncate -s 64M /tmp/small/file && modprobe loop || exit 3
losetup /dev/loop0 /tmp/small/file || exit 4
backed /dev/loop0
written() {
	dd if=/dev/urandom of=/tmp/$1 bs=1M count=4 2>/dev/null
	dd if=/tmp/$1 of=/dev/odrp0 bs=64k seek=$2 oflag=direct 2>/dev/null
}
same() {
	dd if=/dev/odrp0 of=/tmp/back bs=64k count=64 skip=$2 iflag=direct \
		2>/dev/null && cmp /tmp/$1 /tmp/back
}
written a 0 || exit 5
truncate -s 0 /tmp/small/file && truncate -s 64M /tmp/small/file || exit 6
dd if=/dev/zero of=/tmp/small/fill bs=1M 2>/dev/null
written b 0 || exit 7
[ "$(cat $odrp/backing_errors)" -ge 1024 ] || exit 8
rm /tmp/small/fill
written c 128 || exit 9
same b 0 && same c 128 || exit 10
[ "$(cat $odrp/state)" = live ] || exit 11
kill_soon_dead
until dead; do
	same c 128 || exit 12
	usleep 200000
done
same c 128 || exit 13
# What swapoff would say of it: nothing wrong, where it looks.
is $odrp/swapoff_corrupts $((1 - $(cat $odrp/swapoff_safe))) || exit 19
i=0
while [ $i -lt 1024 ]; do
	dd if=/dev/odrp0 of=/dev/null bs=4k count=1 skip=$i iflag=direct \
		2>/dev/null && exit 14
	i=$((i + 31))
done
echo "$(cat $odrp/load_errors) errors, then written anew"
written d 0 || exit 15
same d 0 && same c 128 || exit 16
is $odrp/swapoff_corrupts 0 || exit 20
echo 0 >$control/hot_remove || exit 17
losetup -d /dev/loop0 || exit 18
echo all well
GUEST

read -r -d '' refusals <<'GUEST'
refused() {
	dmesg -c >/dev/null
	echo "$HOT_ADD id=7 backing=$1" 2>/dev/null >$control/hot_add && exit 2
	dmesg | grep -o "backing=.*"
	[ ! -e /sys/block/odrp7 ] || exit 3
}
refused /etc/passwd
refused /dev/nothing
refused /dev/odrp0
modprobe brd rd_nr=1 rd_size=1024 || exit 4
refused /dev/ram0
blockdev --setro /dev/vda || exit 5
refused /dev/vda
blockdev --setrw /dev/vda || exit 6
[ "$(cat $odrp/backing)" = none ] || exit 7
backed /dev/vda
refused /dev/vda
# Not after the device that had it is gone.
echo 0 >$control/hot_remove || exit 8
dd if=/dev/zero of=/dev/vda bs=4k count=1 2>/dev/null || exit 9
echo "$HOT_ADD backing=/dev/vda" >$control/hot_add || exit 10
echo all well
GUEST

# vm_backed OPTION... -- SCRIPT [ARG...]
vm_backed() {
	local -a options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	truncate -s 512M "$case_dir/disk" || exit 1
	vm_script "${options[@]}" --no-swapon \
		--qemu-arg -drive \
		--qemu-arg "file=$case_dir/disk,if=virtio,format=raw,cache=unsafe" \
		-- "$guest_backing
$2" "${@:3}"
}

expect_lossless() {
	expect_status 0
	expect '.cnodes[0].stats.state == "dead"' \
		'.cnodes[0].stats.load_errors == 0' \
		'.cnodes[0].stats.store_errors == 0' \
		'.cnodes[0].stats.backing_errors == 0' \
		'.teardown_errors == []'
	say "$(cat "$case_dir/out")"
	say "$(jq -c '.cnodes[0].stats | {loads, stores_unmapped, stores_mapped,
		backing_loads, backing_stores}' "$case_dir/json")"
}

swaps_on() {
	vm_backed --kernel "$@" --mem 160M --swap 320M -- "$swapping" $((40 * slow))
	expect_lossless
	expect '.cnodes[0].stats.stores_unmapped > 1000' \
		'.cnodes[0].stats.backing_loads > 1000'
}

reads_back() {
	vm_backed --kernel "$@" --mem 256M --swap 64M \
		--add "$(command -v blkdiscard)" -- "$as_disk"
	expect_lossless
	expect_out 'all well'
}

is_not_good() {
	vm_backed --kernel "$1" --mem 256M --swap 64M -- "$bad_copies"
	expect_status 0
	expect_out '34 errors, then'
	expect_out 'all well'
	expect '.teardown_errors == []'
}

is_refused() {
	vm_backed --kernel "$1" --mem 192M --swap 64M -- "$refusals"
	expect_status 0
	expect_out 'passwd: not a block device'
	expect_out 'nothing: no such block device'
	expect_out 'odrp0: a device of our own'
	expect_out 'ram0: has 1048576 bytes: expected 67108864'
	expect_out 'vda: read-only'
	expect_out 'vda: in use'
	expect_out 'all well'
	expect_clean
}

((nightly)) && tap_case "as a disk, the memory node killed, 6.1" reads_back 6.1
((nightly)) && tap_case "as a disk, the memory node killed, 6.12" reads_back 6.12
((nightly)) && tap_case "as a disk, the memory node killed, by chains" \
	reads_back 6.1 "${unknown_card[@]}"
tap_case "copies that are not good, 6.1" is_not_good 6.1
((nightly)) && tap_case "copies that are not good, 5.10" is_not_good 5.10
tap_case "swapping on, the memory node killed, 6.1" swaps_on 6.1
((nightly)) && tap_case "swapping on, the memory node killed, 6.12" swaps_on 6.12
((nightly)) && tap_case "swapping on, the memory node killed, by chains" \
	swaps_on 6.1 "${unknown_card[@]}"
tap_case "what is refused, 6.1" is_refused 6.1
((nightly)) && tap_case "what is refused, 5.10" is_refused 5.10
# See mnode-killed.sh for 5.10's rdma_rxe.
((long_cases)) && tap_case "swapping on by frontswap, 5.10" \
	swaps_on 5.10 --backend frontswap
tap_end
