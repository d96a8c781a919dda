#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The RDMA device is taken away, from a device that is in use, from one whose link
# is down, whose session is lost, that is dead, and while one is added: nothing of
# ours is left on it, what is lost is an I/O error, and with the RDMA device back
# all begins anew.
. "$(dirname "$0")/lib.sh"

read -r -d '' guest_card <<'GUEST'
. /etc/odrp/run.conf
control=/sys/class/odrp-control
odrp=/sys/block/odrp0/odrp
# It may wait for ever, for whoever has an id on it.
card_begins_to_go() {
	rm -f /tmp/gone
	(rdma link delete rxe0 && >/tmp/gone) >/dev/null 2>&1 &
}
card_is_gone() {
	within 30 [ -e /tmp/gone ] || {
		dmesg | tail -n 12
		exit 80
	}
	[ ! -e /sys/class/infiniband/rxe0 ] || exit 81
}
card_goes() {
	card_begins_to_go
	card_is_gone
}
card_comes() {
	rdma link add rxe0 type rxe netdev eth0 || exit 82
	within 5 grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state || exit 91
}
fill() {
	dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null
}
# The memory node keeps what the last one had until it gives that up.
filled() {
	dd if=/dev/urandom of=/tmp/a bs=1M count=8 2>/dev/null
	within 30 fill || exit 83
}
added() {
	echo "$HOT_ADD" >$control/hot_add
}
# waits IO_TIMEOUT_MS DEAD_AFTER_MS: not before it is to be lost, or a host that
# stands still for a moment loses it, and for long.
waits() {
	echo $1 >$odrp/io_timeout_ms && echo $2 >$odrp/dead_after_ms || exit 93
}
fails() {
	dd if=/dev/odrp0 bs=4k count=1 iflag=direct 2>/dev/null >/tmp/c && exit 84
	dd if=/tmp/a of=/dev/odrp0 bs=4k count=1 oflag=direct 2>/dev/null && exit 85
	is $odrp/state dead || exit 86
}
leave() {
	echo 0 >$control/hot_remove || exit 87
	[ ! -e /sys/block/odrp0 ] || exit 88
}
# Each connection id that is still to go is a use of the module, as each device is.
ids_left() {
	for left in /sys/block/odrp*; do
		[ ! -d $left ] || set -- $(($1 + 1))
	done
	within 60 is /sys/module/odrp/refcnt $1 || {
		dmesg | tail -n 12
		exit 94
	}
}
# With the same number: the next test takes it down.
anew() {
	within 30 added || exit 89
	filled
	dd if=/dev/odrp0 bs=64k count=128 iflag=direct 2>/dev/null |
		cmp - /tmp/a || exit 90
	# The session of before had no goodbye: it is given up after dead-ms.
	sleep $((4 * SLOW))
	echo all well
}
GUEST

read -r -d '' live <<'GUEST'
filled
dd if=/dev/odrp0 of=/dev/null bs=4k count=1000000 iflag=direct 2>/dev/null &
while dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null; do :; done &
sleep 1
card_goes
wait
fails
leave
card_comes
anew
GUEST

# Nobody has an id on it between two attempts, and the first one fails at once.
read -r -d '' lost <<'GUEST'
leave
added || exit 2
filled
waits 1000 600000
echo 600000 >$odrp/reconnect_delay_ms || exit 92
ip link set eth0 down || exit 3
within 60 is $odrp/state lost || exit 4
sleep 8
is $odrp/state lost || exit 5
card_goes
fails
leave
ip link set eth0 up || exit 6
card_comes
anew
GUEST

# The goodbyes cannot be sent. With kworkers that are there already they are all
# said at once: so more than one round. (rdma_rxe of 6.1 hears nothing any more
# where a message could not be sent, until it is made anew.)
read -r -d '' down <<'GUEST'
for round in 1 2 3; do
	filled
	waits 60000 600000
	ip link set eth0 down || exit 3
	leave
	ids_left 0
	card_goes
	ip link set eth0 up || exit 4
	card_comes
	within 30 added || exit 5
	filled
	waits 60000 600000
	ip link set eth0 down || exit 6
	card_goes
	ids_left 0
	fails
	leave
	ip link set eth0 up || exit 7
	card_comes
	within 30 added || exit 8
done
leave
anew
GUEST

# RDMA keeps one of our ids, here because we do not destroy it (--faults). The others
# go.
read -r -d '' held <<'GUEST'
held=/sys/kernel/debug/odrp/fail/held
filled
# Nobody has the device open; it is there.
rmmod odrp 2>/dev/null && exit 11
echo 1000 >$held/every && echo 1 >$held/nth || exit 3
card_begins_to_go
within 30 is $odrp/state dead || exit 4
fails
leave
ids_left 1
dmesg | grep 'connection ids: no unloading' || exit 5
[ ! -e /tmp/gone ] || exit 6
rmmod odrp 2>/dev/null && exit 7
echo 0 >$held/every && echo 0 >$held/nth || exit 8
card_is_gone
ids_left 0
rmmod odrp || exit 9
eval "insmod /lib/odrp.ko $MODULE_PARAMS" || exit 10
card_comes
anew
GUEST

read -r -d '' dead <<'GUEST'
leave
added || exit 2
filled
waits 1000 500
ip link set eth0 down || exit 3
within 60 is $odrp/state dead || exit 4
card_goes
fails
leave
ip link set eth0 up || exit 5
card_comes
anew
GUEST

# Whichever comes first, it ends, one way or the other.
read -r -d '' adding <<'GUEST'
n=0
while [ $n -lt 20 ]; do
	leave
	echo "$HOT_ADD" >$control/hot_add 2>/dev/null &
	usleep $((n * 15000))
	card_goes
	wait
	if [ -e /sys/block/odrp0 ]; then
		is $odrp/state dead || exit 2
	else
		echo "$n: not added"
	fi
	card_comes
	[ -e /sys/block/odrp0 ] || within 30 added || exit 3
	n=$((n + 1))
done
leave
anew
GUEST

# goes SCRIPT KERNEL [OPTION...]
goes() {
	vm_script --kernel "$2" "${@:3}" --leaks --mem 256M --swap 64M --no-swapon \
		--param mnode.dead-ms=$((3000 * slow)) -- "$guest_card
$1"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []'
	expect_pages_back
}

# down_case NAME SCRIPT: whose link is taken down. rdma_rxe of 5.10 then keeps every id
# whose goodbye comes after one that could not be sent, for ever: the requester of
# its QP1 stays at that one.
down_case() {
	if case_is_for 5.10 "$kernel"; then
		tap_skip "$1" "rdma_rxe of 5.10 keeps ids when its link is down"
	else
		tap_case "$1" goes "$2" "$kernel"
	fi
}

for kernel in "${kernels[@]}"; do
	tap_case "in use, $kernel" goes "$live" "$kernel"
	down_case "with its link down, $kernel" "$down"
	down_case "while the session is lost, $kernel" "$lost"
	down_case "when it is dead, $kernel" "$dead"
	tap_case "while a device is added, $kernel" goes "$adding" "$kernel"
	tap_case "while ids are held, $kernel" goes "$held" "$kernel" --faults
done
tap_end
