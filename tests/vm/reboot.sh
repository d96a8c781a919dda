#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A machine that swaps hard is rebooted, in good order or at once, with a memory
# node or without: it goes down, and the memory node has its pages back.
. "$(dirname "$0")/lib.sh"

# Before each script. What it says it says to the kernel's log: nothing else is
# sure to leave the machine.
read -r -d '' guest_busy <<'GUEST'
odrp=/sys/block/odrp0/odrp
has_pages() {
	read -r mapped <$odrp/mapped
	[ $mapped -gt 4000 ]
}
busy() {
	swapped pressure-far --size=110M --processes=3 --seconds=10000 >/tmp/log 2>&1 &
	swapped sleep 10000 </dev/odrp0 &
	within 60 has_pages
}
# Lost, or dead by the time that this finds memory to look again.
alone() {
	! is $odrp/state live
}
# What an init does before it.
put_down() {
	kill -TERM -1
	usleep 200000
	kill -KILL -1
	swapoff /dev/odrp0 || exit 10
	within 20 sh -c 'echo 0 >/sys/class/odrp-control/hot_remove' || exit 11
	[ ! -e /sys/block/odrp0 ] || exit 12
}
down() {
	echo '<4>test: reboot' >/dev/kmsg
	reboot -f
	exit 20
}
GUEST

# goes_down SCRIPT KERNEL OPTION...
goes_down() {
	vm_script --kernel "$2" --mem 150M --swap 256M --reboots \
		--keep-logs "$case_dir/logs" "${@:3}" -- "$guest_busy
$1"
	expect_status 0
	say "$(tr -d '\r' <"$case_dir/logs/console0" | awk -F '[][]' '
		/test: reboot/ { begin = $2 }
		/Restarting system/ { printf "down within %.1f s", $2 - begin }')"
}

expect_given_back() {
	expect '.mnode_end.chains.unmapped_store > 4000' \
		'.mnode_end.sessions == []'
	expect_pages_back
}

# The memory node would wait for ten minutes, were it not told.
in_order() {
	goes_down 'busy && put_down && down' "$1" \
		--param mnode.dead-ms=600000
	expect_given_back
}

at_once() {
	goes_down 'busy && down' "$1" --param mnode.dead-ms=$((3000 * slow))
	expect_given_back
}

# without_mnode SCRIPT KERNEL: the session is lost, and requests have no answer.
# A task that needs memory now, as one that starts a process does, may have to wait until
# it is dead.
without_mnode() {
	goes_down "busy && kill_mnode && within 60 alone && $1" "$2" \
		--param hot_add.timeout_ms=$((1000 * slow))
}


for kernel in "${kernels[@]}"; do
	tap_case "in good order, $kernel" in_order "$kernel"
	((nightly)) && tap_case "at once, $kernel" at_once "$kernel"
	# rdma_rxe of 5.10 warns of itself, see mnode-killed.sh.
	! case_is_for 5.10 "$kernel" || continue
	tap_case "in good order, the memory node killed, $kernel" \
		without_mnode 'put_down && down' "$kernel"
	tap_case "at once, the memory node killed, $kernel" \
		without_mnode down "$kernel"
done
tap_end
