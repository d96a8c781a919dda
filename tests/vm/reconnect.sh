#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections break and the session is taken up again: nobody notices but by the
# time that it took.
. "$(dirname "$0")/lib.sh"
chains_only

# Now and then the memory node stands still for longer than a request may take:
# every connection breaks while pages are under way. The first time when enough
# has been written, as the number of pages that are mapped tells; and not any more
# when the machine goes, or its goodbye may be lost.
stands=0
stand_still() {
	local pid mapped
	((stands < 3)) || return 0
	mapped=$(mnode_status "$1" | jq .pages_mapped)
	((${mapped:-0} > 2000)) || return 0
	pid=$(pgrep -f "odrp-mnoded.*$1") || return 0
	stands=$((stands + 1))
	kill -STOP "$pid"
	sleep $((4 * slow))
	kill -CONT "$pid"
	sleep $((5 * slow))
}

swaps_on() {
	vm_beside stand_still vm --kernel "$@" --mem 160M --swap 320M \
		--param hot_add.timeout_ms=$((2000 * slow)) \
		--param hot_add.dead_after_ms=$((20000 * slow)) \
		--param mnode.dead-ms=$((10000 * slow)) -- \
		pressure-far --size=150M --processes=3 --seconds=$((25 * slow))
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 2' \
		'.cnodes[0].stats.state == "live"' \
		'.mnode_end.counters.resumed >= 2'
	expect_clean
	say "$(cat "$case_dir/out")"
	say "$(jq -c '.cnodes[0].stats | {reconnects, resent}' "$case_dir/json")"
}

# Packets to the memory node go nowhere for a while. (Not by taking the link
# down: rdma_rxe of 6.1 then leaves its QP1 deaf, and nothing can connect.)
read -r -d '' lost <<'GUEST'
node=10.77.0.1
odrp=/sys/block/odrp0/odrp
taken_up() {
	read -r count <$odrp/reconnects && [ $count -ge $round ]
}
dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
for round in 1 2; do
	(
		usleep 500000
		arp -s $node 02:00:00:00:00:01 || exit
		within 60 is $odrp/state lost
		sleep 2
		arp -d $node
	) &
	until taken_up; do
		dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 1
		dd if=/dev/odrp0 of=/tmp/c bs=1M count=16 iflag=direct \
			2>/dev/null || exit 2
		cmp /tmp/a /tmp/c || exit 3
	done
	wait
done
GUEST

goes_nowhere() {
	vm_script --kernel 6.12 --mem 256M --swap 64M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$lost"
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 1' '.teardown_errors == []'
	expect_clean
}

# A workqueue is not made to wait for a session that is lost, for ib_mad's take it up
# again and write to us when they have to reclaim memory. Here it is the flusher's:
# all that is dirty comes to be under writeback, many times what may wait for requests.
# (The shell keeps the device open: the last to close it would write all himself.)
# What is put by for the same work is given away meanwhile, and collected again.
read -r -d '' flushed <<'GUEST'
mount -t debugfs none /sys/kernel/debug 2>/dev/null
node=10.77.0.1
reserve=/sys/kernel/debug/odrp/odrp0/reserve
pages=2048
sysfs=/sys/block/odrp0/odrp
under_writeback() {
	[ "$(awk '/^Writeback:/ { print $2 / 4 }' /proc/meminfo)" -ge $pages ]
}
echo 10 >/proc/sys/vm/dirty_writeback_centisecs
echo 10 >/proc/sys/vm/dirty_expire_centisecs
dd if=/dev/urandom of=/tmp/a bs=4k count=$pages 2>/dev/null
within 30 is $reserve 512 || exit 8
exec 5</dev/odrp0
arp -s $node 02:00:00:00:00:01 || exit 1
dd if=/tmp/a of=/dev/odrp0 bs=4k count=1 oflag=direct 2>/dev/null &
within 30 is $sysfs/state lost || exit 2
dd if=/tmp/a of=/dev/odrp0 bs=1M 2>/dev/null || exit 3
within 30 under_writeback || { grep -E '^(Dirty|Writeback):' /proc/meminfo; exit 4; }
within 60 is $reserve 0 || exit 9
is $sysfs/state lost || exit 5
arp -d $node
within 60 is $sysfs/state live || exit 6
wait
within 60 is $reserve 512 || exit 10
dd if=/dev/odrp0 bs=1M count=8 iflag=direct 2>/dev/null | cmp - /tmp/a || exit 7
GUEST

goes_on_writing() {
	vm_script --kernel "$1" --mem 256M --swap 64M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$flushed"
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 1' '.teardown_errors == []'
	expect_clean
}

# What a connection takes with it when it breaks has been made before: the session is
# taken up again though nothing of ours can be made, and when it can, there is some for
# the next time. (An attempt may also fail because the machine is slow, and the next
# has to make something: so there are three, of which one has to do.)
read -r -d '' spared <<'GUEST'
mount -t debugfs none /sys/kernel/debug 2>/dev/null
debug=/sys/kernel/debug/odrp
fail=$debug/fail
odrp=/sys/block/odrp0/odrp
reads() {
	dd if=/dev/odrp0 bs=4k count=64 iflag=direct 2>/dev/null | cmp - /tmp/a
}
taken_up() {
	read -r now <$odrp/reconnects && [ $now -gt $before ] && is $odrp/state live
}
dd if=/dev/urandom of=/tmp/a bs=4k count=64 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=4k oflag=direct 2>/dev/null || exit 1
for round in 1 2 3; do
	within 60 is $debug/odrp0/spares $1 || exit 2
	read -r before <$odrp/reconnects
	echo 1 >$fail/alloc/every && echo 1 >$fail/alloc/nth || exit 3
	echo 1 >$fail/lost/nth || exit 4
	reads &
	if within 15 taken_up; then
		wait $! || exit 5
		within 30 is $debug/odrp0/spares 0 || exit 6
		echo 0 >$fail/alloc/every && echo 0 >$fail/alloc/nth || exit 7
		within 60 is $debug/odrp0/spares $1 || exit 8
		reads || exit 9
		echo "taken up in round $round"
		exit 0
	fi
	echo 0 >$fail/alloc/every && echo 0 >$fail/alloc/nth || exit 7
	within 60 taken_up || exit 10
	wait
done
exit 11
GUEST

# Each connection has some: by direct slabs the queue has two, else one for each chain.
out_of_spares() {
	local spares=6
	[[ $mnode_in = host ]] || spares=4
	vm_script --kernel "$1" --faults --mem 256M --swap 64M --no-swapon \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$spared" $spares
	say "$(cat "$case_dir/out")"
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 1'
	expect_clean
}

# Whatever waits, and in whatever state: requests fail in time, those under way as well;
# then what waited goes on, and the device can be removed. A cell is STATE:PLACE:END.
# Its place waits for a mutex or memory (busy), for the RDMA device (firmware), for an
# id's handler, or for the answer of a memory node that cannot be reached (connection).
# Somebody else has the mutex, and may be waiting for this device.
read -r -d '' waits <<'GUEST'
. /etc/odrp/run.conf
mount -t debugfs none /sys/kernel/debug 2>/dev/null
fail=/sys/kernel/debug/odrp/fail
control=/sys/class/odrp-control
odrp=/sys/block/odrp0/odrp
wrong() {
	echo "$cell: $*: state $(cat $odrp/state)"
	dmesg | tail -n 12
	for i in $fail/*/every; do
		echo 0 >$i
	done
	exit 1
}
# begins PLACE [NTH], ends PLACE: what waits there
begins() {
	if [ $1 = connection ]; then
		busybox arp -s 10.77.0.1 02:00:00:00:00:01 || wrong arp
	else
		echo 1 >$fail/$1/every && echo ${2:-1} >$fail/$1/nth || wrong $1
	fi
}
ends() {
	if [ $1 = connection ]; then
		busybox arp -d 10.77.0.1 || wrong arp
	else
		echo 0 >$fail/$1/every && echo 0 >$fail/$1/nth || wrong $1
	fi
}
# A read of the N-th page, in the background: /tmp/read.N when it has ended.
reads() {
	rm -f /tmp/read.$1
	(dd if=/dev/odrp0 of=/dev/null bs=4k count=1 skip=$1 iflag=direct 2>/dev/null
		echo $? >/tmp/read.$1) &
}
ended() {
	within 30 [ -s /tmp/read.$1 ] || wrong "a read waits"
}
fails() {
	ended $1
	is /tmp/read.$1 1 || wrong "a read was served"
}
served() {
	reads $1
	ended $1
	is /tmp/read.$1 0 || wrong "a read was not served"
}
# blocks PLACE: somebody waits there
blocks() {
	read -r blocked <$fail/$1/failed && [ $blocked -gt $before ]
}
gone() {
	[ ! -e /sys/block/odrp0 ]
}
added() {
	echo "$HOT_ADD ${1:-id=0}" >$control/hot_add
}
anew() {
	gone || echo 0 >$control/hot_remove || wrong "not removed"
	within 30 added || wrong "not added"
	dd if=/dev/zero of=/dev/odrp0 bs=4k count=64 oflag=direct 2>/dev/null || wrong fill
	exec 5</dev/odrp0
}
# set_times END: io_fail_ms and dead_after_ms
set_times() {
	case $1 in
	over) set 0 4000 ;;
	failing) set 2000 60000 ;;
	forced) set 0 60000 ;;
	esac
	echo $(($1 * SLOW)) >$odrp/io_fail_ms && echo $(($2 * SLOW)) >$odrp/dead_after_ms ||
		wrong times
}
force() {
	echo "0 force" >$control/hot_remove || wrong "not removed by force"
	is $odrp/state dead || wrong force
}
comes_to() {
	case $1 in
	over) within 60 is $odrp/state dead || wrong "not dead" ;;
	failing) within 60 is $odrp/state failing || wrong "not failing" ;;
	forced) force ;;
	esac
}
# The reader is gone as well.
closed() {
	exec 5<&-
	wait
	[ $1 != forced ] || within 60 gone || wrong "not gone"
}
lost() {
	set_times $2
	begins $1
	echo 1 >$fail/lost/nth || wrong lost
	reads 0
	within 30 is $odrp/state lost || wrong "not lost"
	reads 32
	comes_to $2
	fails 32
	ended 0
	reads 33
	fails 33
	ends $1
	if [ $2 = failing ]; then
		within 60 is $odrp/state live || wrong "not resumed"
		served 32
	fi
	closed $2
}
# Nobody can open it any more: who has it open reads.
live() {
	begins $1
	comes_to $2
	rm -f /tmp/read.1
	(dd of=/dev/null bs=4k count=1 <&5 2>/dev/null
		echo $? >/tmp/read.1) &
	fails 1
	exec 5<&-
	ends $1
	within 60 gone || wrong "not gone"
}
# Spares are made after the session has been resumed, and it is lost meanwhile.
spares() {
	read -r before <$fail/$1/failed
	begins $1 2
	echo 1 >$fail/lost/nth || wrong lost
	reads 0
	within 60 blocks $1 || wrong "nobody makes spares"
	within 60 is $odrp/state live || wrong "not resumed"
	served 1
	set_times $2
	begins connection
	reads 2
	within 30 is $odrp/state lost || wrong "not lost"
	comes_to $2
	fails 2
	ends $1
	ends connection
	closed $2
}
# A process that removes a device that waits holds up no other one that adds or removes, and can be
# killed; the device goes when the wait is over. Its number is taken as long as it is
# there.
removal() {
	set_times over
	exec 5<&-
	begins $1
	echo 1 >$fail/lost/nth || wrong lost
	reads 0
	comes_to over
	wait
	sh -c "echo 0 >$control/hot_remove" &
	remover=$!
	sleep 2
	[ -d /proc/$remover ] || wrong "does not wait"
	added id=5 || wrong "another one is not added"
	dd if=/dev/odrp5 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null ||
		wrong "another one does not serve"
	echo 5 >$control/hot_remove || wrong "another one is not removed"
	kill -KILL $remover
	wait $remover
	[ ! -d /proc/$remover ] || wrong "is not killed"
	is $fail/$1/every 1 || wrong "the wait was over"
	added id=0 2>/dev/null && wrong "its number was free"
	ends $1
	within 60 gone || wrong "not gone"
}
for cell; do
	anew
	IFS=:
	set -- $cell
	unset IFS
	"$@"
	echo "$cell"
done
gone || echo 0 >$control/hot_remove || wrong "not removed"
within 60 rmmod odrp 2>/tmp/err || wrong "$(cat /tmp/err)"
echo all well
GUEST

# Each end and each place once; all of them by night.
cells=(lost:busy:over lost:firmware:failing lost:handler:forced lost:connection:failing
	live:firmware:forced spares:busy:over removal:busy)
if ((long_cases)); then
	cells=(live:firmware:forced spares:busy:{over,failing,forced} removal:busy
		lost:{busy,firmware,handler,connection}:{over,failing,forced})
fi

nothing_waits() {
	vm_script --kernel "$1" --faults --mem 256M --swap 64M --pool 512M \
		--no-swapon --param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.queues=1 --param hot_add.depth=16 \
		--param mnode.dead-ms=$((90000 * slow)) -- "$waits" "${cells[@]}"
	say "$(cat "$case_dir/out")"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []'
}

# Under pressure ib_mad may find no memory for a packet of the connection manager,
# see kmod/reserve.c; and rdma_rxe of 6.1 none for one that it sends by its QP1, which
# then never works again: nothing can connect, and the session dies.
((nightly)) && tap_case "a memory node that stands still, 6.1" swaps_on 6.1
((nightly)) && tap_case "a memory node that stands still, 6.12" swaps_on 6.12
# rdma_rxe of 5.10 frees a queue pair before the work that cleans it up has run,
# when a packet of it that was stuck in the network card drops the last reference:
# the kernel may die of that.
((long_cases)) && tap_case "a memory node that stands still, frontswap, 5.10" \
	swaps_on 5.10 --backend frontswap
tap_case_guests "packets that go nowhere, 6.12" goes_nowhere
tap_case_guests "out of what was made before, 6.1" out_of_spares 6.1
if ((nightly)); then
	tap_case "out of what was made before, 5.10" out_of_spares 5.10
	tap_case "out of what was made before, 6.12" out_of_spares 6.12
fi
tap_case_guests "a workqueue that writes meanwhile, 6.1" goes_on_writing 6.1
((nightly)) && tap_case "a workqueue that writes meanwhile, 6.12" goes_on_writing 6.12
tap_case_guests "whatever waits, 6.1" nothing_waits 6.1
if ((nightly)); then
	tap_case "whatever waits, 5.10" nothing_waits 5.10
	tap_case "whatever waits, 6.12" nothing_waits 6.12
fi
tap_end
