#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The memory node dies. Who needs a lost page gets an I/O error in time; the
# machine goes on, without a warning in its log, and the module unloads.
. "$(dirname "$0")/lib.sh"
chains_only

# pattern-far only reads when the node goes, so the bus error is certain.
read -r -d '' swapping <<'GUEST'
swapped pattern-far --size=64M --repeat=1000000 >/tmp/log &
far=$!
within 60 grep -q verify1 /tmp/log || exit 2
kill_mnode
read -r begin _ </proc/uptime
wait $far
status=$?
read -r end _ </proc/uptime
tail -n 1 /tmp/log
echo "status $status after $(awk "BEGIN { printf \"%d\", $end - $begin }") s"
# The machine is usable: memory, processes, files.
swapped pressure-far --size=16M --seconds=2 || exit 1
ls -l /x >/tmp/list && cmp /tmp/list /tmp/list || exit 1
[ $status = 135 ]
GUEST

read -r -d '' reading <<'GUEST'
dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 1
kill_mnode
begin=$(date +%s)
while dd if=/dev/odrp0 of=/tmp/c bs=1M count=16 iflag=direct 2>/tmp/err; do
	cmp /tmp/a /tmp/c || exit 2
done
cat /tmp/err
echo "error after $(($(date +%s) - begin)) s"
dd if=/tmp/a of=/dev/odrp0 bs=4k count=1 oflag=direct 2>/dev/null && exit 3
exit 0
GUEST

# Nothing is asked of the device when its node goes (its address leads nowhere):
# only the heartbeat can miss it. Then it is swapped off, as the udev rule has it;
# but not where the kernel would map wrong bytes, before nobody needs them. By force it is
# swapped off; but kernels before 5.19 try for ever to read lost pages of tmpfs, until the
# file is removed. (The log must not have such a page: who writes it first is charged for
# it.)
read -r -d '' leaving <<'GUEST'
few=/sys/fs/cgroup/few
odrp=/sys/block/odrp0/odrp
mkdir $few || exit 2
echo >/tmp/log
sh -c 'echo $$ >/sys/fs/cgroup/few/cgroup.procs
	dd if=/dev/urandom of=/dev/shm/file bs=4k count=64 2>/dev/null
	exec pattern-far --size=40M --repeat=1000000' >>/tmp/log 2>&1 &
far=$!
within 60 grep -q verify1 /tmp/log || exit 3
killall -STOP pattern-far
# A limit while it runs would have it killed when the host is slow.
for i in 1 2 3 4 5; do
	echo 16M >$few/memory.high
	sleep 1
done
[ $(cat $odrp/used) -gt 1000 ] || exit 16
# There is room for all that comes back.
echo max >$few/memory.high
# What is on its way, and what is still to be freed.
sleep 2
within 60 is $odrp/free_pending 0 || exit 13
is $odrp/state live || exit 4
node=$(sed -n 's/.*addr=\([^ ]*\) .*/\1/p' /etc/odrp/run.conf)
busybox arp -s "$node" 02:00:00:00:00:77 || exit 12
within 30 is $odrp/state dead || exit 5
dmesg | grep 'odrp0: .*connection lost' | tail -n 1
dd if=/dev/shm/file of=/dev/null bs=4k 2>/dev/null && exit 17
if is $odrp/swapoff_safe 1; then
	odrpctl swap down odrp0 || exit 6
	echo "swapped off"
else
	odrpctl swap down odrp0 2>/tmp/said && exit 7
	cat /tmp/said
	swapoff /dev/odrp0 2>/tmp/said && exit 14
	cat /tmp/said
	dmesg | grep -q 'not opened: swapoff would give wrong bytes' || exit 15
	grep -q '^/dev/odrp0 ' /proc/swaps || exit 8
fi
killall -CONT pattern-far
wait $far
status=$?
cat /tmp/log
echo "status $status"
# By SIGBUS; or, when its stack is lost, too, by SIGSEGV.
[ $status = 135 ] || [ $status = 139 ] || exit 9
if is $odrp/swapoff_safe 0; then
	odrpctl swap down --force odrp0 2>/tmp/said &
	down=$!
	within 30 grep -q "files in tmpfs" /tmp/said || exit 18
	rm /dev/shm/file
	wait $down || exit 19
fi
odrpctl swap down --force odrp0 || exit 10
[ ! -e /sys/block/odrp0 ] || exit 11
echo all well
GUEST

# $1: kernel, then options. The time-out is at most 10 s, plus slack.
dies_while_swapping() {
	local after
	vm_script --kernel "$@" --mem 136M --swap 256M -- "$swapping"
	expect_status 0
	expect_out '^status 135 after'
	after=$(sed -n 's/^status .* after \([0-9]*\) s/\1/p' "$case_dir/out")
	((${after:-999} <= 40 * slow)) || wrong "bus error after ${after:-?} s"
	expect '.cnodes[0].stats.load_errors > 0' '.teardown_errors == []'
	say "$(grep '^status' "$case_dir/out")"
}

dies_while_reading() {
	local after
	vm_script --mem 256M --swap 64M --no-swapon -- "$reading"
	expect_status 0
	expect_out 'Input/output error|I/O error'
	after=$(sed -n 's/^error after \([0-9]*\) s/\1/p' "$case_dir/out")
	((${after:-999} <= 40 * slow)) || wrong "I/O error after ${after:-?} s"
	expect '.teardown_errors == []'
}

leaves_when_dead() {
	local said='swapped off'
	[[ ${1%-debug} != 5.10 ]] || said='pages in odrp0 are lost'
	vm_script --kernel "$1" --mem 256M --swap 64M --add "$vm_ctl" \
		-- "$leaving"
	expect_status 0
	# By direct slabs the device also reads the table of slabs now and then.
	expect_out 'connection lost: (no heartbeat acknowledged|reading the table of slabs)'
	expect_out "$said"
	[[ ${1%-debug} != 5.10 ]] || expect_out 'swapoff.*(I/O|Input/output) error'
	expect_out 'all well'
	expect '.teardown_errors == []'
}

# On 6.1 also in backing.sh.
((nightly)) && tap_case "killed while swapping, 6.1" dies_while_swapping 6.1
tap_case_guests "killed while swapping, 6.12" dies_while_swapping 6.12
tap_case_guests "killed while the device is read" dies_while_reading
tap_case_guests "gone while nothing is asked, then swapped off, 6.12" \
	leaves_when_dead 6.12
tap_case "gone while nothing is asked, not swapped off, 5.10" \
	leaves_when_dead 5.10
# Once in a few times rdma_rxe of 5.10 logs "refcount_t: underflow" from
# rxe_qp_do_cleanup: a packet that waits for the dead node's ARP answer keeps the
# queue pair beyond its completion queue. No fault of ours, and nothing to do
# about it from outside.
((long_cases)) && tap_case "killed while swapping by frontswap, 5.10" \
	dies_while_swapping 5.10 --backend frontswap
tap_end
