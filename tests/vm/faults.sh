#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Whatever can fail fails, once at each place in turn: memory, posting, a completion,
# the connection. With a module that was built for that (make ODRP_FAULTS=1). A
# device that cannot be added leaves nothing behind; one that is there loses no
# request and no byte, and is itself again.
. "$(dirname "$0")/lib.sh"
chains_only

# A place is a number: the n-th call of a kind from where it is armed. Of what is
# tried the first places are looked at one by one, then every stride-th, until
# there are no more.
# shellcheck disable=SC2016  # for the guest's shell
functions='
. /etc/odrp/run.conf
fail=/sys/kernel/debug/odrp/fail
odrp=/sys/block/odrp0/odrp
control=/sys/class/odrp-control
dev=/dev/odrp0
len=32768
first=$1 stride=$2 backing=$3 kinds=$4
dmesg -n 3
if [ -n "$backing" ]; then
	modprobe brd rd_nr=1 rd_size=4096 || exit 20
	HOT_ADD="$HOT_ADD backing=$backing"
	echo 0 >$control/hot_remove || exit 21
	echo "$HOT_ADD" >$control/hot_add || exit 22
fi
for i in 0 1 2; do
	dd if=/dev/urandom of=/tmp/f$i bs=$len count=1 2>/dev/null
done
dd if=/dev/zero of=/tmp/zeros bs=$((len / 2)) count=1 2>/dev/null

die() {
	echo "$kind, place $n: $*"
	dmesg | tail -n 15
	exit 1
}

# await WHAT COMMAND...
await() {
	what=$1
	shift
	within 30 "$@" || die "it is never $what; state $(cat $odrp/state)"
}

has_lease() {
	read -r is <$odrp/lease && [ "$is" -gt 64 ]	# more than a newcomer has at once
}

has_reconnected() {
	read -r now <$odrp/reconnects && [ "$now" -gt "$reconnects" ]
}

write() {
	dd if=$1 of=$dev bs=$2 oflag=direct 2>/dev/null || die "writing failed"
}

holds() {
	dd if=$dev bs=$len count=1 iflag=direct 2>/dev/null | cmp -s - $1 ||
		die "not what was written"
}

discard() {
	blkdiscard -l $1 $dev
	await "freed" is $odrp/free_pending 0
}

# What becomes of a page, with contents of the place: new, over another, freed.
pages() {
	old=/tmp/f$((n % 3)) new=/tmp/f$(((n + 1) % 3))
	write $old $len
	holds $old
	write $new 16384
	holds $new
	discard $((len / 2))
	check_mnode
}

pages_are_there() {
	dd if=$dev bs=$((len / 2)) count=1 iflag=direct 2>/dev/null |
		cmp -s - /tmp/zeros || die "freed, and not zeros"
	dd if=$dev bs=$((len / 2)) skip=1 count=1 iflag=direct 2>/dev/null |
		cmp -s -n $((len / 2)) - $new 0 $((len / 2)) || die "not what was there"
}

arm() {
	echo $2 >$fail/$1/nth
}

# Sets left: 0 when it has failed.
disarm() {
	read -r left <$fail/$kind/nth
	echo 0 >$fail/$kind/nth
	check_mnode
}

# each_place KIND COMMAND: which arms, tries and disarms, until nothing fails.
each_place() {
	kind=$1
	n=1 hit=0
	while "$2" && [ "$left" = 0 ]; do
		hit=$((hit + 1))
		n=$((n < first ? n + 1 : n + stride))
	done
	[ $hit -gt 0 ] || die "nothing failed"
	echo "$kind: failed at $hit places below $n, every ${stride}th from $first on"
}
'

# Added anew at each place.
# shellcheck disable=SC2016
adds='
add() {
	arm $kind $n
	if (echo "$HOT_ADD" >$control/hot_add) 2>/dev/null; then
		# It did without, or the first beat failed.
		disarm
		await live is $odrp/state live
		echo 0 >$control/hot_remove || die "cannot be removed"
	else
		disarm
		[ ! -e $odrp ] || die "something was left behind"
		[ "$left" = 0 ] || die "hot_add failed by itself"
	fi
}
echo 0 >$control/hot_remove
for kind in alloc step recv post status lost; do
	each_place $kind add
done
echo "$HOT_ADD" >$control/hot_add || exit 2
# Those that could not say goodbye have to be missed first.
await "given a lease" has_lease
n=0
pages
echo all well
'

# A device does not complete what set-up waits for, not even when its queue pair is
# broken: hot_add fails, and nothing is left of it. Nor does it flush anything when a
# device that works is removed: nobody waits for that for long.
# shellcheck disable=SC2016
mute='
kind=mute
echo 0 >$control/hot_remove
arm mute 1
! (echo "$HOT_ADD" >$control/hot_add) 2>/dev/null || die "added all the same"
disarm
[ "$left" = 0 ] || die "nothing was waited for"
[ ! -e $odrp ] || die "something was left behind"
echo "$HOT_ADD" >$control/hot_add || exit 2
await "given a lease" has_lease
n=0
pages
echo 1 >$fail/mute/every && arm mute 1
echo 0 >$control/hot_remove || die "cannot be removed"
echo 0 >$fail/mute/every && arm mute 0
dmesg | grep -q "has not flushed a queue pair" || die "all was flushed"
echo "$HOT_ADD" >$control/hot_add || exit 3
await "given a lease" has_lease
pages
echo all well
'

# While pages come and go.
# shellcheck disable=SC2016
works='
work() {
	read -r reconnects <$odrp/reconnects
	arm $kind $n
	pages
	disarm
	[ "$left" != 0 ] || [ $kind = map ] || await reconnected has_reconnected
	await live is $odrp/state live
	pages_are_there
}
for kind in $kinds; do
	each_place $kind work
done
echo all well
'

# While the session is taken up again, with stores under way.
# shellcheck disable=SC2016
mends='
mend() {
	trigger=lost
	[ $kind != lost ] || trigger=status
	discard $len
	read -r reconnects <$odrp/reconnects
	arm $trigger 1
	arm $kind $n
	write /tmp/f$((n % 3)) $len
	await reconnected has_reconnected
	await live is $odrp/state live
	disarm
	holds /tmp/f$((n % 3))
	await live is $odrp/state live
}
for kind in alloc step recv post status lost; do
	each_place $kind mend
done
pages
echo all well
'

# A request that the device refuses has not been sent. It is given up when it was
# sent, so many times, and never answered; however often it was refused before.
# shellcheck disable=SC2016
refused='
kind=post
was_refused() {
	read -r now <$fail/post/failed && [ "$now" -gt $((failed + 8)) ]
}
for n in 1 2 3 4 5; do
	write /tmp/f0 $len
	read -r failed <$fail/post/failed
	echo 1 >$fail/post/every
	arm post 1
	write /tmp/f$((n % 2 + 1)) $len &
	await refused was_refused
	arm status 1
	echo 0 >$fail/post/every
	arm post 0
	wait $! || die "writing failed"
	await live is $odrp/state live
	holds /tmp/f$((n % 2 + 1))
	check_mnode
done
echo all well
'

# All of a long list is refused from one request on: nothing of what follows in the
# same breath may go out on that connection, since requests are numbered for the
# memory node without a gap.
# shellcheck disable=SC2016
gapless='
kind=post n=0
len=262144
for i in 0 1 2; do
	dd if=/dev/urandom of=/tmp/f$i bs=$len count=1 2>/dev/null
done
echo 0 >$control/hot_remove
echo "$(echo "$HOT_ADD" | sed "s/depth=[0-9]*/depth=64/")" >$control/hot_add || exit 2
for n in 1 2 9 30; do
	write /tmp/f0 $len
	read -r resent <$odrp/resent
	read -r reconnects <$odrp/reconnects
	arm post $n
	write /tmp/f$((n % 2 + 1)) $len
	await reconnected has_reconnected
	await live is $odrp/state live
	read -r now <$odrp/resent
	[ $((now - resent)) -lt $n ] || die "sent $((now - resent)) behind it"
	holds /tmp/f$((n % 2 + 1))
	check_mnode
done
disarm
echo all well
'

# A device that refuses everything from now on: dead_after_ms holds, however often
# the session is taken up again meanwhile. The next one is another.
# shellcheck disable=SC2016
refuses='
kind=post n=0
pages
echo $((2000 * SLOW)) >$odrp/dead_after_ms
echo 1 >$fail/post/every
arm post 1
dd if=$new of=$dev bs=$len oflag=direct 2>/dev/null &
await dead is $odrp/state dead
! wait $! || die "written where nothing can be posted"
echo 0 >$fail/post/every
arm post 0
echo 0 >$control/hot_remove || die "cannot be removed"
echo "$HOT_ADD" >$control/hot_add || die "cannot be added again"
await "given a lease" has_lease
pages
pages_are_there
echo all well
'

first=8
stride=7
backing=
kinds='post recv status lost map'	# while pages come and go
# By direct slabs no receive is posted for a page.
[[ $mnode_in = host ]] || kinds='post status lost map'
((nightly)) && first=100000

# tries KERNEL SCRIPT [OPTION]...
tries() {
	vm_timeout=900 vm_beside check_pages vm_script --kernel "$1" --faults --leaks \
		--mem 256M --swap 4M --no-swapon \
		--param hot_add.depth=4 --param free_batch=1 \
		--param hot_add.timeout_ms=$((20000 * slow)) \
		--param hot_add.dead_after_ms=$((20000 * slow)) \
		--param mnode.dead-ms=$((3000 * slow)) "${@:3}" -- \
		"$functions$2" $first $stride "$backing" "$kinds"
	say "$(cat "$case_dir/out")"
	expect_status 0
	expect_out 'all well'
	expect_checked
}

at_each_place() {
	tries "$@"
	expect_clean
}

# The session that was given up cannot say goodbye: its pages may still be kept.
is_given_up() {
	tries "$1" "$refuses"
	expect '.teardown_errors == []' \
		'.mnode_end.pages_free + .mnode_end.pages_armed +
			.mnode_end.pages_mapped == .mnode_end.pages_total'
}

for kernel in 6.1 6.12; do
	[[ $kernel = 6.1 ]] || ((nightly)) || continue
	tap_case_guests "a device is added, $kernel" at_each_place $kernel "$adds"
	tap_case_guests "a device completes nothing, $kernel" at_each_place $kernel "$mute"
	tap_case_guests "pages come and go, $kernel" at_each_place $kernel "$works"
	tap_case_guests "a session is taken up again, $kernel" \
		at_each_place $kernel "$mends"
	tap_case_guests "refused in the middle, $kernel" \
		at_each_place $kernel "$gapless"
	tap_case_guests "refused for ever, $kernel" is_given_up $kernel
	tap_case_guests "refused again and again, $kernel" \
		at_each_place $kernel "$refused"
done
# What one queue has, the other has to do without.
if ((nightly)); then
	two=(--param hot_add.queues=2)
	tap_case "a device is added, two queues" \
		at_each_place 6.1 "$adds" "${two[@]}"
	tap_case "a session is taken up again, two queues" \
		at_each_place 6.1 "$mends" "${two[@]}"
	# Pages read and written by rkeys, which are read first.
	keyed=(--param mnode.translate=nic)
	tap_case "a device is added, translate=nic" \
		at_each_place 6.1 "$adds" "${keyed[@]}"
	# So few answers come then that no receives are posted again.
	kinds='post status lost map'
	tap_case "pages come and go, translate=nic" \
		at_each_place 6.1 "$works" "${keyed[@]}"
	kinds+=' recv'
	tap_case "a session is taken up again, translate=nic" \
		at_each_place 6.1 "$mends" "${keyed[@]}"
	# Nobody waits for the connection then: what it had is read elsewhere.
	backing=/dev/ram0
	tap_case "a device with a backing one is added" \
		at_each_place 6.1 "$adds"
	tap_case "pages come and go, with a backing device" \
		at_each_place 6.1 "$works"
	tap_case "a session is taken up again, with a backing device" \
		at_each_place 6.1 "$mends"
fi
tap_end
