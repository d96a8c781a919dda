#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory is refused, once at each place in turn (or at every seventh) where a device
# that is being added asks for it: hot_add fails, nothing of the device stays behind, and the next is
# as if nothing had been. For kernels that can refuse on request.
. "$(dirname "$0")/lib.sh"

# A place is a number: the n-th allocation of the task that writes to hot_add.
read -r -d '' script <<'GUEST'
. /etc/odrp/run.conf
control=/sys/class/odrp-control
for kind in failslab fail_page_alloc; do
	cd /sys/kernel/debug/$kind || exit 2
	echo N >ignore-gfp-wait && echo 0 >verbose || exit 3
done
echo 0 >min-order || exit 4
cd /
echo 0 >$control/hot_remove || exit 5
# Adds, with the n-th refused, says whether it was added and what is left of n.
cat >/tmp/add <<'ADD'
echo $1 >/proc/self/fail-nth
echo "$2" 2>/dev/null >/sys/class/odrp-control/hot_add
added=$?
left=-1
read left 2>/dev/null </proc/self/fail-nth
echo 0 >/proc/self/fail-nth
echo $added $left
ADD
step=$1
n=0
refused=0
while :; do
	n=$((n + step))
	dmesg -n 3	# who is refused memory says so
	set -- $(sh /tmp/add $n "$HOT_ADD" 2>/dev/null)
	case "$1 $2" in
	"0 0") ;;			# it did without
	"0 "*) break ;;			# there are fewer than n places
	*" 0")
		refused=$((refused + 1))
		[ ! -e /sys/block/odrp0 ] || exit 6
		continue
		;;
	" "*) continue ;;		# the shell was refused it
	*)
		echo "place $n: hot_add failed by itself: $*"
		dmesg | tail -n 5
		exit 7
		;;
	esac
	echo 0 >$control/hot_remove || exit 8
done
echo "refused at $refused of $((n / step)) places"
dd if=/dev/urandom of=/tmp/a bs=1M count=4 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null || exit 9
dd if=/dev/odrp0 bs=64k count=64 iflag=direct 2>/dev/null | cmp - /tmp/a ||
	exit 10
[ $((refused * step)) -gt 50 ] || exit 11
echo all well
GUEST

# Every so-many-th place, by a number that is not one of its patterns.
step=7
((nightly)) && step=1

is_refused() {
	vm_timeout=900 vm_script --kernel "$1" --leaks --mem 256M --swap 16M \
		--no-swapon --param hot_add.depth=2 \
		--param mnode.dead-ms=3000 -- "$script" $step
	expect_status 0
	expect_out 'all well'
	say "$(cat "$case_dir/out")"
	expect '.teardown_errors == []'
}

for kernel in $KERNEL_DEBUG_VERSIONS; do
	[[ " ${ODRP_KERNELS:-} " != *" $kernel "* ]] ||
		tap_case "memory is refused while a device is added" \
			is_refused "$kernel"
done
tap_end
