#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Several devices, on two memory nodes or on one: swap fills them by their
# priorities, none shows what belongs to another, and one that dies dies alone.
. "$(dirname "$0")/lib.sh"

read -r -d '' guest_devices <<'GUEST'
. /etc/odrp/run.conf
control=/sys/class/odrp-control

# add MNODE [PAIR]...: one more device on that memory node; a pair instead of the run's
add() {
	line=$(echo "$HOT_ADD" | sed -n $(($1 + 1))p)
	shift
	for pair; do
		line="$(echo "$line" | sed "s/ ${pair%%=*}=[^ ]*//") $pair"
	done
	echo "$line" >$control/hot_add
}
remove() {
	echo $1 >$control/hot_remove
}
state_is() {
	is /sys/block/odrp$1/odrp/state $2
}
# swap_to DEVICE PRIORITY (busybox's swapon knows none)
swap_to() {
	mkswap /dev/odrp$1 >/dev/null && /x/swapon -p $2 /dev/odrp$1
}
# How many blocks have been written to a device.
stores() {
	read -r mapped </sys/block/odrp$1/odrp/stores_mapped
	read -r unmapped </sys/block/odrp$1/odrp/stores_unmapped
	echo $((mapped + unmapped))
}
# How many KB of the first two are in use.
look() {
	used0=0
	used1=0
	while read -r dev _ _ used _; do
		case $dev in
		/dev/odrp0) used0=$used ;;
		/dev/odrp1) used1=$used ;;
		esac
	done </proc/swaps
}

# limited GROUP COMMAND...: in 8 MB of memory
limited() {
	mkdir -p /sys/fs/cgroup/$1
	echo 8M >/sys/fs/cgroup/$1/memory.max
	sh -c 'echo $$ >/sys/fs/cgroup/$0/cgroup.procs; exec "$@"' "$@"
}
# verified LOG TIMES: pattern-far has looked at all its pages that often.
verified() {
	[ $(grep -c ^verify $1) -ge $2 ]
}
# From now on, all of them once at least.
verifies() {
	within 60 verified $1 $(($(grep -c ^verify $1) + 2))
}

# holds DEVICE BLOCK [FLAG]: what was written to it last
holds() {
	dd if=/dev/odrp$1 bs=$2 $3 2>/dev/null | head -c 4194304 | cmp - /tmp/$1
}
keeps() {
	dd if=/dev/urandom of=/tmp/$1 bs=1M count=4 2>/dev/null
	for bs in 1M 64k 16k; do
		dd if=/tmp/$1 of=/dev/odrp$1 bs=$bs oflag=direct 2>/dev/null &&
			holds $1 $bs iflag=direct || return 1
	done
}
# all_keep DEVICE...: at the same time, and afterwards
all_keep() {
	pids=
	for n; do
		keeps $n &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait $pid || return 1
	done
	for n; do
		holds $n 64k || return 1
	done
}
GUEST

read -r -d '' in_order <<'GUEST'
remove 0 && add 0 size=16M || exit 2
swap_to 0 10 && swap_to 1 5 || exit 3
before=$(stores 1)
limited few pattern-far --size=14M --repeat=1 >/tmp/log || exit 4
[ $(stores 0) -gt 1500 ] || exit 5
[ $(stores 1) = $before ] || exit 6

limited few pattern-far --size=32M --repeat=1000000 >/tmp/log &
far=$!
goes_on() {
	look
	[ $used1 -gt 0 ]
}
within 60 goes_on || exit 7
echo "the second is used when the first has $used0 KB"
[ $used0 -gt 15000 ] || exit 8
within 60 verified /tmp/log 1 || exit 9

look
echo "swapoff of $used0 KB while there are $used1 KB"
moved=$used0
before=$used1
swapoff /dev/odrp0 || exit 10
look
echo "then $used1 KB"
[ $used1 -gt $((before + moved / 2)) ] || exit 11
verifies /tmp/log || exit 12
killall pattern-far
wait $far
[ $? = 143 ] || exit 13
swapoff /dev/odrp1 || exit 14
GUEST

read -r -d '' equal <<'GUEST'
remove 0 && add 0 || exit 20
a=$(stores 0)
b=$(stores 1)
swap_to 0 5 && swap_to 1 5 || exit 21
limited few qsort-far --size=20M || exit 22
a=$(($(stores 0) - a))
b=$(($(stores 1) - b))
echo "$a and $b blocks written"
[ $((a + b)) -gt 6000 ] || exit 23
[ $a -gt $(((a + b) / 3)) ] && [ $b -gt $(((a + b) / 3)) ] || exit 24
limited few pattern-far --size=20M --repeat=1 >/tmp/log || exit 25
swapoff /dev/odrp0 && swapoff /dev/odrp1 || exit 26
GUEST

# What is swapped out first goes to the one device, what comes later to the
# other. The kernel keeps free slots at hand, of the first: a swapoff lets go of
# them, while nobody is about who would make it take new ones.
read -r -d '' one_dies <<'GUEST'
swap_to 0 5 || exit 2
limited lost pattern-far --size=14M --repeat=1000000 >/tmp/lost &
lost=$!
within 60 verified /tmp/lost 1 || exit 3
killall -STOP pattern-far
swap_to 1 10 && swapoff /dev/odrp1 && swap_to 1 10 || exit 4
killall -CONT pattern-far
limited kept pattern-far --size=14M --repeat=1000000 >/tmp/kept &
kept=$!
within 60 verified /tmp/kept 1 || exit 5
look
echo "$used0 and $used1 KB when the first node goes"
[ $used0 -gt 10000 ] && [ $used1 -gt 10000 ] && state_is 0 live || exit 6

kill_mnode
within 60 state_is 0 dead || exit 7
wait $lost
[ $? = 135 ] || exit 8
dd if=/dev/odrp0 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null && exit 9
verifies /tmp/kept || exit 10

# Not while it is swapped to; the dead one as any other.
remove 0 2>/dev/null && exit 11
swapoff /dev/odrp0 && remove 0 || exit 12
[ ! -e /sys/block/odrp0 ] && state_is 1 live || exit 13
verifies /tmp/kept || exit 14
killall pattern-far
wait $kept
[ $? = 143 ] || exit 15
swapoff /dev/odrp1 && keeps 1 || exit 16
GUEST

read -r -d '' as_disks <<'GUEST'
all_keep 0 1 || exit 2
GUEST

read -r -d '' one_node <<'GUEST'
remove 1 && add 0 && all_keep 0 1 || exit 30
remove 0 && holds 1 64k iflag=direct || exit 31
add 0 && all_keep 1 0 || exit 32
GUEST

# vm_devices OPTION... -- SCRIPT
vm_devices() {
	local -a options=("${@:1:$#-2}")
	vm_script "${options[@]}" --mem 176M --swap 48M --pool 112M --no-swapon \
		--add "$(command -v swapon)" -- "$guest_devices
${!#}
echo all well"
	expect_status 0
	expect_out 'all well'
	say "$(grep -v 'all well' "$case_dir/out" | paste -sd,)"
}

# well KERNEL SCRIPT
well() {
	vm_devices --kernel "$1" --mnodes 2 -- "$2"
	expect_clean
}

dies_alone() {
	vm_devices --kernel "$1" --mnodes 2 -- "$one_dies"
	expect '.cnodes[0].devices | map(.device) == ["odrp1"]' \
		'.cnodes[0].stats.load_errors == 0' \
		'.cnodes[0].stats.store_errors == 0' \
		'.teardown_errors == []' \
		'.mnodes_end[0] == null' '.mnodes_end[1].pages_mapped == 0'
}

# Two on two nodes; at last both on the first.
live_together() {
	well "$1" "$in_order
$equal
$one_node"
	expect '.mnodes | map(.sessions | length) == [2, 0]'
}

for kernel in "${kernels[@]}"; do
	tap_case "one after the other, equal, two on one memory node, $kernel" \
		live_together "$kernel"
	# rdma_rxe of 5.10 warns of itself, see mnode-killed.sh.
	case_is_for 5.10 "$kernel" ||
		tap_case "one memory node dies, $kernel" dies_alone "$kernel"
	((nightly)) && tap_case "as disks, $kernel" well "$kernel" "$as_disks"
done
tap_end
