#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is asked of hot_add and cannot be: more than the machine has memory for, a key
# twice, another network namespace. And what it does not hold up: others, and who
# wants to end it.
. "$(dirname "$0")/lib.sh"

read -r -d '' script <<'GUEST'
. /etc/odrp/run.conf
control=/sys/class/odrp-control
for w in $HOT_ADD; do
	case $w in
	addr=*) addr="$w $addr" ;;
	key=* | auth=*) addr="$addr$w" ;;
	esac
done
fail() {
	echo "FAILED: $*"
	dmesg | tail -n 25
	exit 1
}
# add WORDS: from a process that would not be killed for want of memory before others
# are. Sets said to what the kernel's log has had to say.
add() {
	echo "mark $*" >/dev/kmsg
	(echo -500 >/proc/self/oom_score_adj; echo "$*" >$control/hot_add) 2>/tmp/err
	status=$?
	said=$(dmesg | sed -n "/mark/h;/mark/!H;\${x;p}" | grep odrp)
}
refused() {
	[ $status != 0 ] || fail "added: $*"
	[ "$(echo "$said" | wc -l)" = 1 ] || fail "$*: not one line: $said"
}
# Somebody who has nothing to do with it.
(x=$(head -c 20000000 /dev/zero | tr '\0' x); echo ${#x} >/tmp/up
while :; do sleep 1; done) &
by=$!
within 60 [ -s /tmp/up ] || fail "no bystander"
echo -1000 >/proc/self/oom_score_adj

for size in 100G 16T; do
	add $addr size=$size
	refused size=$size
	grep -q "Cannot allocate memory\|Out of memory" /tmp/err || fail "$(cat /tmp/err)"
	echo "$said" | grep -q "size=.* takes .* MiB of memory: expected at most" ||
		fail "size=$size: $said"
done
# It is the options that make it too large, or not at all.
add $addr size=40G checksum=crc32c
refused checksum
add $addr size=4G checksum=crc32c depth=1024 queues=64 id=9
[ $status != 0 ] || echo 9 >$control/hot_remove
kill -0 $by || fail "the bystander was killed"
[ "$(dmesg | grep -c "invoked oom\|allocation failure")" = 0 ] || fail "no memory"

add $addr size=4M size=8M
refused twice
echo "$said" | grep -q "size= is given twice" || fail "$said"
unshare -n sh -c "echo '$addr size=4M' >$control/hot_add" 2>/dev/null &&
	fail "added from another network namespace"
dmesg | tail -n 1 | grep -q "another network namespace" || fail "$(dmesg | tail -n 1)"

add $addr size=4M depth=8 queues=64 id=7
[ $status = 0 ] || fail "not added: $said"
echo "$said" | grep -q " 16 of 64 queues, depth 8 of 8," || fail "$said"
echo mark removal >/dev/kmsg
echo 7 >$control/hot_remove || fail "not removed"
said=$(dmesg | sed -n "/mark/h;/mark/!H;\${x;p}" | grep odrp)
[ "$(echo "$said" | wc -l)" = 1 ] || fail "removal of 16 queues: not one line: $said"

# Nobody answers there, and the first would wait for ten minutes.
echo 600000 >/sys/module/odrp/parameters/connect_ms
sh -c "echo '${addr#* } addr=10.77.0.200 size=4M' >$control/hot_add; echo \$? >/tmp/a" &
slow=$!
(echo "$addr size=4M depth=8 queues=1 id=8" >$control/hot_add &&
	echo 8 >$control/hot_remove; echo $? >/tmp/b) &
within 60 [ -s /tmp/b ] || fail "a hot_add waits for another"
[ "$(cat /tmp/b)" = 0 ] || fail "the second hot_add"
[ ! -e /tmp/a ] || fail "the first has ended: $(cat /tmp/a)"
kill -TERM $slow
within 60 [ ! -e /proc/$slow ] || fail "TERM does not end it"
echo 5000 >/sys/module/odrp/parameters/connect_ms
kill -9 $by
echo all well
GUEST

says_no() {
	vm_script --kernel "$1" --mem 170M --swap 64M --no-swapon \
		--param mnode.max-slots=67108864 -- "$script"
	expect_status 0
	expect_out 'all well'
	grep -A 30 FAILED "$case_dir/out" >&2
	expect '.teardown_errors == []'
	expect_pages_back
}

for kernel in "${kernels[@]}"; do
	tap_case "what hot_add refuses, and whom it does not hold up, on $kernel" \
		says_no "$kernel"
done
tap_end
