#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# checksum=crc32c: a bit flips in the memory node's memory, and nobody is given
# the page.
. "$(dirname "$0")/lib.sh"

# $1: what page 1000 begins with, so that it is found there.
read -r -d '' reading <<'GUEST'
odrp=/sys/block/odrp0/odrp
[ "$(cat $odrp/checksum)" = crc32c ] || exit 2
page() {
	dd if=$1 of=$2 bs=4k count=1 "$3=1000" $4 2>/tmp/err
}
dd if=/dev/urandom of=/tmp/a bs=1M count=8 2>/dev/null
printf %s "$1" | dd of=/tmp/a bs=4k seek=1000 conv=notrunc 2>/dev/null
page /tmp/a /tmp/good skip
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 3
left=300
while page /dev/odrp0 /tmp/b skip iflag=direct; do
	cmp /tmp/b /tmp/good || exit 4
	left=$((left - 1))
	[ $left -gt 0 ] || exit 5
	usleep 200000
done
cat /tmp/err
[ "$(cat $odrp/state)" = live ] || exit 6
# All others are what they were; this one is when it has been written again.
dd if=/dev/odrp0 of=/tmp/b bs=1M count=3 iflag=direct 2>/dev/null &&
	cmp -n 3145728 /tmp/a /tmp/b || exit 7
dd if=/dev/odrp0 of=/tmp/b bs=4k skip=1001 iflag=direct count=1047 \
	2>/dev/null || exit 8
dd if=/tmp/a of=/tmp/c bs=4k skip=1001 2>/dev/null
cmp /tmp/b /tmp/c || exit 9
dd if=/tmp/good of=/dev/odrp0 bs=4k seek=1000 oflag=direct conv=notrunc \
	2>/dev/null || exit 10
page /dev/odrp0 /tmp/b skip iflag=direct && cmp /tmp/b /tmp/good || exit 11
echo all well
GUEST

# The same page with a second copy behind it: it is what it was, all the time.
read -r -d '' second_copy <<'GUEST'
. /etc/odrp/run.conf
odrp=/sys/block/odrp0/odrp
modprobe brd rd_nr=1 rd_size=65536 || exit 2
echo 0 >/sys/class/odrp-control/hot_remove || exit 3
echo "$HOT_ADD backing=/dev/ram0" >/sys/class/odrp-control/hot_add || exit 4
printf %s "$1" | cat - /dev/urandom | dd of=/tmp/a bs=4k count=1 \
	iflag=fullblock 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=4k oflag=direct 2>/dev/null || exit 5
left=300
until [ "$(cat $odrp/checksum_errors)" -gt 0 ]; do
	dd if=/dev/odrp0 of=/tmp/b bs=4k count=1 iflag=direct 2>/dev/null ||
		exit 6
	cmp /tmp/a /tmp/b || exit 7
	left=$((left - 1))
	[ $left -gt 0 ] || exit 8
	usleep 200000
done
[ "$(cat $odrp/state)" = live ] || exit 9
[ "$(cat $odrp/backing_loads)" = "$(cat $odrp/checksum_errors)" ] || exit 10
echo all well
GUEST

# A page of swap space, on a kernel that would map it. $1: what the page begins with.
read -r -d '' swapped_off <<'GUEST'
odrp=/sys/block/odrp0/odrp
fail() {
	echo "FAILED: $*"
	cat /proc/swaps
	dmesg | tail -n 20
	exit 1
}
is $odrp/swapoff_safe 0 || fail "not such a kernel"
mkswap /dev/odrp0 >/dev/null && swapon /dev/odrp0 || fail swapon
mkdir /tmp/files && mount -t tmpfs -o size=64M none /tmp/files || fail tmpfs
few=/sys/fs/cgroup/few
mkdir $few && echo 16M >$few/memory.max || fail group
# The page, and then so much more that it goes out.
sh -c "echo \$\$ >$few/cgroup.procs
	{ printf %s $1; dd if=/dev/urandom bs=4k count=1; } 2>/dev/null |
		dd of=/tmp/files/a bs=4k count=1 iflag=fullblock 2>/dev/null
	dd if=/dev/urandom of=/tmp/files/b bs=1M count=32 2>/dev/null"
is_out() {
	grep -q "^/dev/odrp0 .*[^0-9][0-9]\{5,\}[^0-9]*-*[0-9]*$" /proc/swaps
}
within 60 is_out || fail "nothing went out"
is $odrp/swapoff_corrupts 0 || fail "corrupts before"
# A reader of the file has the page from then on: so the device is read until then.
is_wrong() {
	! dd if=/dev/odrp0 of=/dev/null bs=64k iflag=direct 2>/tmp/err
}
echo ready
within 60 is_wrong || fail "not wrong"
grep "I/O error\|Input/output error" /tmp/err || fail "another error"
is $odrp/swapoff_corrupts 1 || fail "does not corrupt"
swapoff /dev/odrp0 2>/tmp/err && fail "swapped off"
cat /tmp/err
dmesg | grep "not opened: swapoff would give wrong bytes" || fail "not told"
odrpctl swap remove odrp0 2>/tmp/err && fail "removed by odrpctl"
cat /tmp/err
rm /tmp/files/a && rm /tmp/files/b
# Each processor keeps some of the slots that it frees, until it frees more.
turn_over() {
	taskset $1 sh -c "echo \$\$ >$few/cgroup.procs
		dd if=/dev/urandom of=/tmp/files/c bs=1M count=24 2>/dev/null
		rm /tmp/files/c"
}
is_true_again() {
	turn_over 1
	turn_over 2
	is $odrp/swapoff_corrupts 0
}
within 60 is_true_again || fail "corrupts still"
swapoff /dev/odrp0 || fail "not swapped off"
echo all well
GUEST

marker=

# The agent's control socket is in its command line.
flip() {
	local pid
	[[ -e $case_dir/flipped ]] && return
	pid=$(pgrep -f "odrp-mnoded .*$1") || return
	python3 "$vm_top/tests/vm/flip-bit.py" "$pid" "$marker" 2>/dev/null &&
		: >"$case_dir/flipped"
}

is_noticed() {
	marker="page-$RANDOM-$RANDOM-$RANDOM-$RANDOM"
	vm_beside flip vm_script --kernel "$1" --mem 192M --swap 64M \
		--no-swapon --param hot_add.checksum=crc32c -- "$reading" "$marker"
	[[ -e $case_dir/flipped ]] || wrong "the page was not found"
	expect_status 0
	expect_out 'Input/output error|I/O error'
	expect_out 'all well'
	expect '.cnodes[0].stats.checksum_errors >= 1' \
		'.cnodes[0].stats.load_errors == .cnodes[0].stats.checksum_errors' \
		'.cnodes[0].stats.store_errors == 0' '.teardown_errors == []'
	say "$(jq -c '.cnodes[0].stats | {loads, checksum_errors, bounced}' \
		"$case_dir/json")"
}

is_made_good() {
	marker="page-$RANDOM-$RANDOM-$RANDOM-$RANDOM"
	vm_beside flip vm_script --kernel 6.1 --mem 256M --swap 64M \
		--no-swapon --param hot_add.checksum=crc32c -- \
		"$second_copy" "$marker"
	[[ -e $case_dir/flipped ]] || wrong "the page was not found"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.checksum_errors >= 1' \
		'.cnodes[0].stats.load_errors == 0' \
		'.cnodes[0].stats.store_errors == 0' '.teardown_errors == []'
}

# When the guest is ready: before, the page may not be there, or be written again.
flip_when_ready() {
	grep -q '^ready$' "$case_dir/out" && flip "$1"
}

is_not_mapped() {
	marker="page-$RANDOM-$RANDOM-$RANDOM-$RANDOM"
	vm_beside flip_when_ready vm_script --kernel "$1" --mem 256M --swap 64M \
		--no-swapon --add "$vm_ctl" --param hot_add.checksum=crc32c -- \
		"$swapped_off" "$marker"
	[[ -e $case_dir/flipped ]] || wrong "the page was not found"
	expect_status 0
	expect_out 'all well'
	expect_out 'pages in odrp0 are lost, and swapoff'
	expect '.cnodes[0].devices[0].checksum_errors >= 1 or
		.cnodes[0].stats.checksum_errors >= 1' '.teardown_errors == []'
	grep -A 25 FAILED "$case_dir/out" >&2
}

# Nothing is taken for what it is not, and no page is sent that may change.
swaps() {
	# shellcheck disable=SC2046  # options
	vm --kernel "$@" --mem 150M --swap 256M \
		--param hot_add.checksum=crc32c -- \
		pressure-far --size=110M --processes=4 $(amount 10 2)
	expect_status 0
	expect '.cnodes[0].stats.loads > 5000' \
		'.cnodes[0].stats.checksum_errors == 0' \
		'.cnodes[0].stats | .bounced >= .stores_mapped + .stores_unmapped'
	expect_clean
}

tap_case "a bit flips, 6.1" is_noticed 6.1
((nightly)) && tap_case "a bit flips, 6.12" is_noticed 6.12
tap_case "a bit flips, with a second copy, 6.1" is_made_good
# Kernels whose swapoff maps a page that could not be read, as 5.10.
! case_is_for 5.10 5.10 ||
	tap_case "swapoff of a page that is wrong, 5.10" is_not_mapped 5.10
((nightly)) && tap_case "swapping, 6.12" swaps 6.12
((long_cases)) && tap_case "swapping by frontswap, 5.10" \
	swaps 5.10 --backend frontswap
tap_end
