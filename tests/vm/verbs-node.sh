#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory nodes on a plain RDMA device, the rdma_rxe of stock kernels, without any software
# NIC: "far space serve" has one in the guest, then the agent, and libfar's clients reach it
# over the same device. The hash table keeps its history, and the space is clean afterwards.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
device=$rxe_device'
nic=verbs:rxe9,spin_us=0 far=/x/far'

# shellcheck disable=SC2016
served=$device'
$far space serve cache --size 16M --chunk 1M --nic $nic,nodes=1 >/tmp/serve 2>&1 &
server=$!
within 30 grep -q "serving space cache" /tmp/serve || { cat /tmp/serve; exit 4; }
$far space list --nic $nic --node 10.78.0.1 || exit 5
FAR_TEST_NIC=$nic FAR_TEST_NODE=10.78.0.1 FAR_TEST_SPACE=cache \
	test-far-hash-concurrent elsewhere 2>&1 || exit 6
$far bench index --nic $nic --node 10.78.0.1 --space cache --index hash \
	--workload A --keys 500 --tasks 4 --ops 2000 --warm-ms 0 || exit 7
$far space check cache --nic $nic --node 10.78.0.1 || exit 8
kill $server
wait $server || exit 9

printf "[space cache]\nsize = 16M\nchunk = 1M\n" >/tmp/mnode.conf
odrp-mnoded --config /tmp/mnode.conf --nic verbs:rxe9 --auth none --pool 24M \
	--control /tmp/control >/tmp/agent 2>&1 &
agent=$!
within 60 grep -q "auth: none" /tmp/agent || { cat /tmp/agent; exit 10; }
$far bench index --nic $nic --node 10.78.0.1 --space cache --index hash \
	--workload A --keys 50 --ops 20 --warm-ms 0 || exit 11
$far space check cache --nic $nic --node 10.78.0.1 || exit 12
kill $agent
wait $agent || exit 13
cat /tmp/serve /tmp/agent'

# served KERNEL
space_served() {
	rxe_modules "$1"
	vm_script --kernel "$1" --no-odrp --mem 300M --add "$case_dir/modules" \
		--add "$vm_far/hash/test-far-hash-concurrent" --add "$vm_far_tool" \
		--add "$(userspace_dir)/mnode/odrp-mnoded" -- "$served"
	expect_status 0
	expect_out 'linearizable'
	expect_out 'this NIC arms no chains'
	say "$(grep -E 'linearizable' "$case_dir/out" | paste -sd';')"
}

vm_far=$(userspace_dir)/tests/unit/userspace
vm_far_tool=$(userspace_dir)/userspace/tool/far
for kernel in "${kernels[@]}"; do
	tap_case "far space serve on rdma_rxe, $kernel" space_served "$kernel"
done
tap_end
