#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A device that is removed by force while it is in use: its I/O fails in time, it
# goes with its last user, and it leaves nothing behind.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
functions='
. /etc/odrp/run.conf
control=/sys/class/odrp-control
odrp=/sys/block/odrp0/odrp
dev=/dev/odrp0
slow=$SLOW
mark=0
node=$(echo "$HOT_ADD" | sed "s/.*addr=\([^ ]*\) .*/\1/")
fail() {
	echo "FAILED: $*"
	cat /tmp/err /tmp/said
	dmesg | tail -n 25
	exit 1
}
now() {
	cut -d. -f1 /proc/uptime
}
# told TEXT: the log does, since the mark.
mark() {
	mark=$(dmesg | wc -l)
}
told() {
	dmesg | tail -n +$((mark + 1)) | grep -q "$1"
}
# Without a word.
quietly() {
	"$@" 2>/tmp/err
}
remove() {
	echo "$1" >$control/hot_remove
}
# refused WHAT ERROR LOG: hot_remove says no, and why.
refused() {
	mark
	err=$(remove "$1" 2>&1) && fail "hot_remove took \"$1\""
	echo "$err" | grep -q "$2" || fail "\"$1\": $err, expected: $2"
	told "\(hot_remove\|odrp0\): $3" || fail "\"$1\": no \"$3\" in the log"
}
force() {
	mark
	begin=$(now)
	remove "0 force" || fail "not removed by force"
	[ $(($(now) - begin)) -le $((8 * slow)) ] || fail "hot_remove took its time"
	is $odrp/state dead || fail "state $(cat $odrp/state)"
	is $odrp/forced 1 || fail "not forced"
	within 60 told "odrp0: removed by force" || fail "the log does not say so"
}
write() {
	dd if=/dev/urandom of=$dev bs=4k count=$1 oflag=direct 2>/tmp/err
}
read_back() {
	dd if=$dev of=/tmp/back bs=4k count=$1 iflag=direct 2>/tmp/err
}
is_eio() {
	grep -q "Input/output error\|I/O error" /tmp/err
}
is_gone() {
	[ ! -e /sys/block/odrp0 ] && [ ! -e $dev ]
}
goes() {
	within 20 is_gone || fail "not gone after the last close"
}
# add KEY=VALUE...: the first device again, with these instead of what it had, and with
# any the default time until it is dead.
add() {
	again=" $HOT_ADD"
	for word in ${1:+dead_after_ms=} "$@"; do
		again=$(echo "$again" | sed "s/ ${word%%=*}=[^ ]*//")
	done
	echo "$again id=0 $*" >$control/hot_add 2>/tmp/err
}
# More than when somebody was about to begin.
about_to_write() {
	read -r stored <$odrp/stores_unmapped
}
has_written() {
	read -r n <$odrp/stores_unmapped && [ $n -gt $((stored + 200)) ]
}
works() {
	dd if=/dev/urandom of=/tmp/a bs=64k count=32 2>/dev/null
	dd if=/tmp/a of=$dev bs=64k oflag=direct 2>/dev/null || fail writing
	dd if=$dev bs=64k count=32 iflag=direct 2>/dev/null | cmp - /tmp/a ||
		fail "other contents"
}
unreachable() {
	busybox arp -s "$node" 02:00:00:00:00:77 || fail arp
}
reachable() {
	busybox arp -d "$node" || fail arp
}
'

# Somebody writes, somebody else only has it open.
# shellcheck disable=SC2016
writing='
cat >/tmp/heard <<"HEARD"
[ "$DEVNAME" = odrp0 ] && echo "$ACTION $ODRP_STATE" >>/tmp/events
HEARD
busybox uevent sh /tmp/heard &
refused "0 farce" "Invalid argument" "0: .farce.: expected nothing, or force"
refused "0 force now" "Invalid argument" "0: .force now.: expected"
refused "0 0" "Invalid argument" "0: .0.: expected"
refused force "Invalid argument" ".force.: expected a device number"
refused "" "Invalid argument" "..: expected a device number"
refused "7 force" "No such device" "7: no such device"
is $odrp/state live || fail "not live"
is $odrp/forced 0 || fail "forced"
works

# Without users it is removed as usual.
remove "0 force" || fail "not removed"
is_gone || fail "there, and nobody had it open"
add || fail "not added again"
works

exec 5<>$dev
about_to_write
(
	dd if=/dev/urandom of=$dev bs=4k seek=1024 oflag=direct 2>/tmp/err
	echo $? >/tmp/wrote
) &
within 30 has_written || fail "nobody writes"
quietly remove 0 && fail "removed while it is open"
: >/tmp/events
force
wait $!
is /tmp/wrote 1 || fail "the writer had no error"
is_eio || fail "another error"
write 1 && fail "could be opened"
grep -q "No such device" /tmp/err || fail "another error"
dd bs=4k count=1 <&5 >/dev/null 2>/tmp/err && fail "could be read"
is_eio || fail "another error"
refused 0 busy "already removed by force"
refused "0 force" busy "already removed by force"
add && fail "the number is not taken"
grep -q "File exists" /tmp/err || fail "another error"
quietly rmmod odrp && fail "unloaded under an open device"
grep . $(ls -d $odrp/* | grep -v "/key$") >/dev/null || fail "its attributes cannot be read"
exec 5<&-
goes
[ "$(ls -d /sys/block/odrp* 2>/dev/null)" = "" ] || fail "something is left"
within 60 grep -q remove /tmp/events || fail "its removal was not announced"
[ "$(tr "\n" , </tmp/events)" = "change dead,remove ," ] ||
	fail "announced: $(cat /tmp/events)"

# At once after the last close: it waits for what is under way.
add || fail "not added after it"
works
exec 5<$dev
force
exec 5<&-
within 20 quietly rmmod odrp || fail "not unloaded"
is_gone || fail "there without a module"
eval "insmod /lib/odrp.ko $MODULE_PARAMS" || fail "not loaded again"
add || fail "not added to the new module"
works
echo all well
'

# Lost: requests wait, and mending rests for a minute. Dead: all has been done, but
# for the backing device, which went on.
# shellcheck disable=SC2016
dying='
remove 0
add timeout_ms=$((1500 * slow)) dead_after_ms=300000 reconnect_delay_ms=100000 || fail add
write 64 || fail write
exec 5<$dev
unreachable
write 64 &
within 30 is $odrp/state lost || fail "not lost"
# Into the first rest, with somebody who waits.
sleep $((8 * slow))
force
begin=$(now)
wait $! && fail "written to nobody"
is_eio || fail "another error"
waited=$(($(now) - begin))
echo "lost: an error after $waited s"
[ $waited -le $((20 * slow)) ] || fail "an error after $waited s"
exec 5<&-
goes
reachable

modprobe brd rd_nr=1 rd_size=65536 || fail brd
within 30 add timeout_ms=$((1500 * slow)) dead_after_ms=0 backing=/dev/ram0 || fail add
write 64 || fail write
exec 5<$dev
unreachable
within 30 is $odrp/state dead || fail "not dead"
reachable
write 64 && read_back 64 || fail "not served by the backing device"
force
told "do not swap off" && is $odrp/swapoff_safe 1 && fail "a warning for nothing"
(exec 6<$dev) 2>/tmp/err && fail "could be opened"
dd bs=4k count=1 <&5 >/dev/null 2>/tmp/err && fail "served by the backing device"
is_eio || fail "another error"
exec 5<&-
goes

within 30 add backing=/dev/ram0 || fail "the backing device is not free"
works
exec 5<$dev
about_to_write
(
	while dd if=/dev/urandom of=$dev bs=64k count=800 oflag=direct; do
		:
	done 2>/tmp/err
) &
within 30 has_written || fail "nobody writes"
force
told "continues with the backing device" && fail "it does not"
wait $!
is_eio || grep -q "No such device" /tmp/err || fail "another error"
dd bs=4k count=1 <&5 >/dev/null 2>/tmp/err && fail "served by the backing device"
exec 5<&-
goes
within 30 add || fail add
works
# Until the memory node has missed those who left without a word.
sleep $((5 * slow))
echo all well
'

# $slow is what the kernel takes longer for. Who has pages there is killed by them;
# what is left of the machine goes on, and the kernel finds other room, or none.
# shellcheck disable=SC2016
swapping='
swapped pattern-far --size=64M --repeat=1000000 >/tmp/log &
far=$!
within 120 grep -q verify1 /tmp/log || fail "nothing verified"
odrpctl swap drop odrp0 >/tmp/said 2>&1 || fail "odrpctl swap drop"
grep -q "odrp0 is in use: .*(swapoff)" /tmp/said || fail "it says nothing"
is $odrp/state dead || fail "state $(cat $odrp/state)"
odrpctl swap drop odrp0 >/tmp/said 2>&1 && fail "dropped twice"
wait $far
status=$?
echo "status $status"
[ $status = 135 ] || fail "status $status, expected a bus error"
swapped pressure-far --size=16M --seconds=2 || fail "not usable"
grep -q "^$dev " /proc/swaps || fail "swapped off by itself"
quietly mkswap $dev && fail "mkswap"
is $odrp/swapoff_safe 1 || {
	told "do not swap off" || fail "no warning"
	more=--force	# some kilobytes may be left, and nobody has them
}
odrpctl swap down $more odrp0 >/tmp/said 2>&1 || fail "swap down"
goes
add || fail "not added again"
mkswap $dev >/dev/null && swapon $dev || fail swapon
swapped pattern-far --size=64M --repeat=0 >/tmp/log || fail "pages are wrong"
echo all well
'

# The memory node hears a good-bye each time: it would wait for long.
goes_while_written() {
	vm_script --kernel "$1" --leaks --mem 256M --swap 64M --no-swapon \
		--param mnode.dead-ms=600000 -- "$functions$writing"
	expect_status 0
	expect_out 'all well'
	grep -A 35 FAILED "$case_dir/out" >&2
	expect '.teardown_errors == []' '.mnode_end.counters.dead == 0' \
		'.mnode_end.sessions == []'
	expect_pages_back
}

goes_while_dying() {
	vm_script --kernel "$1" --mem 256M --swap 64M --no-swapon \
		--param mnode.dead-ms=$((3000 * slow)) -- "$functions$dying"
	expect_status 0
	expect_out 'all well'
	grep -A 35 FAILED "$case_dir/out" >&2
	say "$(grep '^lost:' "$case_dir/out")"
	expect '.teardown_errors == []'
	expect_pages_back
}

goes_while_swapping() {
	vm_script --kernel "$@" --mem 136M --swap 256M --add "$vm_ctl" \
		-- "$functions$swapping"
	expect_status 0
	expect_out 'all well'
	grep -A 35 FAILED "$case_dir/out" >&2
	expect '.teardown_errors == []'
	expect_pages_back
}

for kernel in "${kernels[@]}"; do
	tap_case "while it is written, $kernel" goes_while_written "$kernel"
	tap_case "lost or dead, with a backing device, $kernel" \
		goes_while_dying "$kernel"
	tap_case "while it is swapped to, $kernel" goes_while_swapping "$kernel"
done
((long_cases)) && tap_case "while it is swapped to by frontswap, 5.10" \
	goes_while_swapping 5.10 --backend frontswap
tap_end
