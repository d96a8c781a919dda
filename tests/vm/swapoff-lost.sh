#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Swapping off while the session is lost, with loads and stores under way: if the
# memory node comes back in time it is as if nothing had been; if not, swapoff
# comes to its end all the same, and nobody reads a wrong byte.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
functions='
. /etc/odrp/run.conf
few=/sys/fs/cgroup/few
odrp=/sys/block/odrp0/odrp
dev=/dev/odrp0
node=$(echo "$HOT_ADD" | sed "s/.*addr=\([^ ]*\) .*/\1/")
fail() {
	echo "FAILED: $*"
	cat /proc/swaps /tmp/said /tmp/log
	dmesg | tail -n 25
	exit 1
}
away() {
	busybox arp -s "$node" 02:00:00:00:00:77 || fail arp
}
back() {
	busybox arp -d "$node" || fail arp
}
in_few() {
	sh -c "echo \$\$ >$few/cgroup.procs; exec \"\$@\"" sh "$@"
}
is_on() {
	grep -q "^$dev " /proc/swaps
}
# This many KB of it are in use.
holds() {
	while read -r area _ _ used _; do
		[ $area != $dev ] || [ $used -lt $1 ] || return 0
	done </proc/swaps
	return 1
}
# What swaps has so little memory that it does all the time, to either device;
# what is written first goes to ours.
swap_beside() {
	mkdir -p $few && echo 24M >$few/memory.max || fail group
	modprobe zram num_devices=1 2>/dev/null
	echo 96M >/sys/block/zram0/disksize || fail zram
	mkswap /dev/zram0 >/dev/null && /x/swapon -p 1 /dev/zram0 || fail zram
}
swap_on() {
	mkswap $dev >/dev/null && /x/swapon -p 10 $dev || fail swapon
}
# Until it is told to end; waits until enough is out there.
writing() {
	in_few pressure-far --size=56M --processes=3 --seconds=100000 \
		>/tmp/log 2>&1 &
	far=$!
	within 60 holds 20000 || fail "nothing swapped out"
}
is_lost() {
	is $odrp/state lost
}
is_running() {
	kill -0 $1 2>/dev/null
}
'

# The node is away when swapoff begins, or goes while it is at work; or swapoff
# is given up meanwhile, or is part of more.
# shellcheck disable=SC2016
returns='
swap_beside
round() {
	[ -e $odrp ] || echo "$HOT_ADD" >/sys/class/odrp-control/hot_add ||
		fail "$1: not added"
	swap_on
	writing
	case $1 in
	before | killed)
		away
		usleep 300000
		swapoff $dev >/tmp/said 2>&1 &
		;;
	during)
		swapoff $dev >/tmp/said 2>&1 &
		usleep 100000
		away
		;;
	down)
		odrpctl swap down odrp0 >/tmp/said 2>&1 &
		usleep 100000
		away
		;;
	down_late)
		away
		within 20 is_lost || fail "$1: not lost"
		odrpctl swap down odrp0 >/tmp/said 2>&1 &
		;;
	esac
	off=$!
	within 20 is_lost || fail "$1: not lost"
	is_running $off || fail "$1: swapoff has ended"
	[ $1 != killed ] || kill $off
	sleep $((2 * SLOW))
	is_lost || fail "$1: not lost any more"
	is_running $off || fail "$1: swapoff has ended, without the node"
	if [ $1 = down_late ] && is $odrp/swapoff_safe 0; then
		grep -q "waiting until it is live" /tmp/said ||
			fail "$1: does not wait, on such a kernel"
	fi
	back
	wait $off
	status=$?
	echo "$1: swapoff ended with $status"
	if [ $1 = killed ]; then
		[ $status = 143 ] && is_on || fail "killed: not on any more"
		swapoff $dev >/tmp/said 2>&1 || fail "swapoff afterwards"
	else
		[ $status = 0 ] || fail "$1: swapoff failed"
	fi
	is_on && fail "$1: still on"
	killall -USR1 pressure-far
	wait $far
	status=$?
	[ $status = 0 ] || fail "$1: the programs ended with $status"
	[ -e $odrp ] || return 0
	is $odrp/state live || fail "$1: state"
	is $odrp/load_errors 0 && is $odrp/store_errors 0 || fail "$1: errors"
}
for how; do
	round $how
done
[ ! -e /sys/block/odrp0 ] || fail "there after odrpctl swap down"
echo "$HOT_ADD" >/sys/class/odrp-control/hot_add || fail "not added again"
swap_on
in_few pattern-far --size=48M --repeat=0 >/tmp/log || fail "pages are wrong"
swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset || fail zram
echo all well
'

# Whoever needs what is lost gets a bus error, during swapoff or after it. (Or a
# segmentation fault, if it was the kernel that needed it, for the process.)
# shellcheck disable=SC2016
stays_away='
swap_beside
swap_on
in_few pattern-far --size=32M --repeat=1000000 >/tmp/read 2>&1 &
reads=$!
writing
within 60 grep -q verify1 /tmp/read || fail "nothing verified"
away
usleep 300000
swapoff $dev >/tmp/said 2>&1 &
off=$!
within 20 is_lost || fail "not lost"
is_running $off || fail "swapoff has ended"
within 30 is $odrp/state dead || fail "not dead"
is_over() {
	! is_running $off
}
within 60 is_over || fail "swapoff hangs"
wait $off
status=$?
is_on && is=on || is=off
echo "swapoff ended with $status, swap is $is"
[ $status = 0 ] || cat /tmp/said
wait $reads
status=$?
echo "reader: $status"
[ $status = 135 ] || fail "the reader: $status, expected a bus error"
killall -USR1 pressure-far
wait $far
status=$?
echo "writers: $status"
grep BAD /tmp/log && fail "wrong contents"
case $status in
0 | 3 | 135 | 139) ;;
*) fail "the writers ended with $status" ;;
esac
[ $is = off ] || swapoff $dev || fail "swapoff afterwards"
in_few pressure-far --size=40M --seconds=3 >/tmp/log || fail "not usable"
dd if=$dev of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null && fail "readable"
echo 0 >/sys/class/odrp-control/hot_remove || fail "not removed"
[ ! -e /sys/block/odrp0 ] || fail "there after hot_remove"
back
swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset || fail zram
echo all well
'

# lost KERNEL DEAD_AFTER_MS MNODE_DEAD_MS SCRIPT OPTION... [-- ARG...]
lost() {
	local kernel=$1 after=$2 forgets=$3 script=$4
	local -a options=()
	shift 4
	while (($#)) && [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	vm_script --kernel "$kernel" "${options[@]}" --mem 256M --swap 64M \
		--no-swapon --add "$vm_ctl" --add "$(command -v swapon)" \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((after * slow)) \
		--param mnode.dead-ms=$((forgets * slow)) \
		-- "$functions$script" "${@:2}"
	expect_status 0
	expect_out 'all well'
	grep -A 45 FAILED "$case_dir/out" >&2
	expect '.teardown_errors == []'
	say "$(grep ': \|ended with' "$case_dir/out" | paste -sd, | cut -c1-300)"
}

comes_back() {
	lost "$1" 90000 90000 "$returns" "${@:2}"
	expect '.mnode_end.counters.resumed >= 1'
	expect_clean
}

does_not_come_back() {
	lost "$1" 2000 4000 "$stays_away" "${@:2}"
	expect '.cnodes[0].devices == []'
	expect_pages_back
}

hows=(down)
((nightly)) && hows=(before during killed down_late down)
tap_case_guests "the node comes back, 6.1" comes_back 6.1 -- "${hows[@]}"
# Not on 5.10: see swapoff_safe in docs/ABI/sysfs-block-odrp.
case_is_for 5.10 6.1 ||
	tap_case_guests "the node does not come back, 6.1" does_not_come_back 6.1
if ((nightly)); then
	tap_case "the node comes back, 6.12" comes_back 6.12 -- "${hows[@]}"
	tap_case "the node does not come back, 6.12" does_not_come_back 6.12
	tap_case "the node comes back, 5.10" comes_back 5.10 -- "${hows[@]}"
fi
((long_cases)) && tap_case "the node comes back, frontswap, 5.10" \
	comes_back 5.10 --backend frontswap -- "${hows[@]}"
tap_end
