#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Swap to direct slabs, without chains: on the software NIC, and on a plain RDMA device, the
# rdma_rxe of stock kernels, where the agent is in the guest. Contents are right, freed pages
# come back, and another slot finds nothing of them.
. "$(dirname "$0")/lib.sh"

direct=(--param mnode.translate=direct)

expect_direct() {
	expect '.mnode.translate == "direct"' \
		'.cnodes[0].stats.translate == "direct"' \
		'.mnode.chains.load == 0' '.mnode.chains.mapped_store == 0' \
		'.mnode.chains.unmapped_store == 0' '.mnode.chains.invalidate == 0' \
		'.cnodes[0].stats.unknown_ids == 0' '.mnode.use.peak_used > 0' \
		'.mnode.use.used_page_s <= .mnode.use.held_page_s'
	say "used / held: $(jq -c .mnode.use "$case_dir/json")"
	say "$(jq -c '.cnodes[0].stats | {loads, stores_mapped, stores_unmapped,
		stores_reused, reconnects, resent}' "$case_dir/json")"
}

# sorts KERNEL [VM_OPTION...]
sorts() {
	vm --kernel "$1" --mem 160M --work 10M --swap 48M "${direct[@]}" "${@:2}" -- \
		qsort-far --size=16M
	expect_status 0
	expect_out 'verified=yes'
	expect '.cnodes[0].stats.loads > 2000' \
		'.cnodes[0].stats.stores_unmapped > 1000' \
		'.cnodes[0].stats.bytes_in == .cnodes[0].stats.loads * 4096'
	expect_direct
	expect_clean
}

# The device as a disk: what is written is read, what is discarded is free and reads as
# zeros, and after packets went nowhere for a while all is as it was.
read -r -d '' disk <<'GUEST'
set -e
dev=/dev/odrp0 odrp=/sys/block/odrp0/odrp
dd if=/dev/urandom of=/tmp/a bs=1M count=6 2>/dev/null
dd if=/dev/zero of=/tmp/zeros bs=1M count=6 2>/dev/null
for at in 0 8 24; do
	dd if=/tmp/a of=$dev bs=1M seek=$at oflag=direct 2>/dev/null
done
for at in 0 8 24; do
	dd if=$dev bs=1M skip=$at count=6 iflag=direct 2>/dev/null | cmp - /tmp/a
done
blkdiscard $dev
within 60 is $odrp/used 0
dd if=$dev bs=64k count=96 iflag=direct 2>/dev/null | cmp - /tmp/zeros
dd if=/tmp/a of=$dev bs=256k oflag=direct 2>/dev/null
check_mnode
arp -s 10.77.0.1 02:00:00:00:00:01
dd if=$dev bs=256k count=24 iflag=direct of=/tmp/b 2>/dev/null &
within 60 is $odrp/state lost
sleep 1
arp -d 10.77.0.1
wait $!
cmp /tmp/b /tmp/a
within 60 is $odrp/state live
dd if=$dev bs=256k count=24 iflag=direct 2>/dev/null | cmp - /tmp/a
echo all well
GUEST

is_a_disk() {
	vm_script --kernel "$1" --mem 256M --swap 32M --no-swapon "${direct[@]}" \
		--add "$(command -v blkdiscard)" -- "$disk"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.reconnects >= 1'
	expect_direct
	expect_clean
}

# Use goes to all of the disk and back to a quarter. The pages that are left lie in all slabs:
# the mover brings them together, and the other slabs go back.
read -r -d '' wave <<'GUEST'
set -e
odrp=/sys/block/odrp0/odrp
little() {
	read -r lease <$odrp/lease && [ $lease -le 3072 ]
}
wave-far --device /dev/odrp0 --size 32M --seconds 2 --waves 1
within 60 little
read -r moved <$odrp/moved
[ $moved -gt 500 ]
wave-far --device /dev/odrp0 --size 32M --seconds 0 --waves 1
echo all well
GUEST

waves() {
	vm_script --kernel "$1" --mem 160M --swap 32M --no-swapon "${direct[@]}" "${@:2}" \
		--add "$(userspace_dir)/tests/workload/wave-far" -- "$wave"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.lease_denied == 0' '.cnodes[0].stats.load_errors == 0'
	say "moved: $(jq .cnodes[0].stats.moved "$case_dir/json")"
	expect_direct
	expect_clean
}

# The agent in the guest, on a device of the guest's kernel.
# shellcheck disable=SC2016  # for the guest's shell
plain=$rxe_device'
odrp-mnoded --nic verbs:rxe9 --auth none --pool 48M --control /tmp/control \
	>/tmp/agent 2>&1 &
agent=$!
within 120 grep -q "auth: none" /tmp/agent || { cat /tmp/agent; exit 4; }
echo "addr=10.78.0.1 size=40M queues=1 auth=none id=7" \
	>/sys/class/odrp-control/hot_add || { dmesg | tail; exit 5; }
is /sys/block/odrp7/odrp/translate direct || exit 6
mkswap /dev/odrp7 >/dev/null && swapon /dev/odrp7 || exit 7
WORK_GROUP=/sys/fs/cgroup/few
mkdir $WORK_GROUP && echo 12M >$WORK_GROUP/memory.max || exit 16
export WORK_GROUP
swapped qsort-far --size=24M || exit 8
[ "$(cat /sys/block/odrp7/odrp/stores_unmapped)" -gt 500 ] || exit 9
[ "$(cat /sys/block/odrp7/odrp/load_errors)" = 0 ] || exit 10
swapoff /dev/odrp7 || exit 11
odrpctl mnode check --control /tmp/control || exit 12
echo 7 >/sys/class/odrp-control/hot_remove || exit 13
free_again() {
	odrpctl mnode status --control /tmp/control --json >/tmp/status &&
		grep -q "\"pages_pool\": *12288" /tmp/status
}
within 60 free_again || { cat /tmp/status; exit 14; }
kill $agent
wait $agent || exit 15
cat /tmp/agent
echo all well'

# plain_device KERNEL
plain_device() {
	rxe_modules "$1"
	vm_script --kernel "$1" --mem 320M --swap 16M --no-swapon \
		--add "$case_dir/modules" --add "$(userspace_dir)/mnode/odrp-mnoded" \
		-- "$plain"
	expect_status 0
	expect_out 'verified=yes'
	expect_out 'slabs of their own'
	expect_out 'all well'
}

for kernel in "${kernels[@]}"; do
	tap_case "a quicksort of twice the memory, $kernel" sorts "$kernel"
	tap_case "a disk, discards and a loss, $kernel" is_a_disk "$kernel"
	tap_case "a wave, $kernel" waves "$kernel"
	tap_case "an agent on rdma_rxe, $kernel" plain_device "$kernel"
done
tap_end
