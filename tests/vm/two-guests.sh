#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The memory node is a guest, too: two stock kernels with rdma_rxe, without any software NIC.
# Its card arms no chains, so all slabs are direct. Both are booted once for much: a program
# swaps, then tasks fight for few keys of a hash table and of trees, then the memory node is
# gone. (With ODRP_MNODE_IN=guest other files run between two guests, by night all.)
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
much='
odrp=/sys/block/odrp0/odrp
is $odrp/translate direct || exit 4
mkswap /dev/odrp0 >/dev/null && swapon /dev/odrp0 || exit 5
WORK_GROUP=/sys/fs/cgroup/few
mkdir $WORK_GROUP && echo 10M >$WORK_GROUP/memory.max || exit 6
export WORK_GROUP
swapped qsort-far --size=16M || exit 7
swapoff /dev/odrp0 || exit 8
check_mnode
far=/x/far
export FAR_TEST_NIC=verbs:rxe0,spin_us=0 FAR_TEST_NODE=10.77.0.1
for index in hash btree art; do
	FAR_TEST_SPACE=$index test-far-$index-concurrent elsewhere 2>&1 || exit 9
	$far space check $index --nic $FAR_TEST_NIC --node $FAR_TEST_NODE || exit 10
done
dd if=/dev/urandom of=/tmp/a bs=1M count=4 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 11
dd if=/dev/odrp0 bs=1M count=4 iflag=direct 2>/dev/null | cmp - /tmp/a || exit 12
check_mnode
kill_mnode
until ! dd if=/dev/odrp0 of=/tmp/c bs=1M count=4 iflag=direct 2>/dev/null; do
	cmp /tmp/a /tmp/c || exit 13
done
echo all well'

# does_much KERNEL
does_much() {
	local index
	for index in hash btree art; do
		printf '[space %s]\nsize = 16M\nchunk = 1M\n' "$index"
	done >"$case_dir/mnode.conf"
	vm_script --kernel "$1" --mnode-in guest --auth none --no-swapon --mem 300M \
		--swap 48M --pool 112M --param "mnode.config=$case_dir/mnode.conf" \
		--add "$vm_far_tool" --add "$vm_far/hash/test-far-hash-concurrent" \
		--add "$vm_far/btree/test-far-btree-concurrent" \
		--add "$vm_far/art/test-far-art-concurrent" -- "$much"
	expect_status 0
	expect_out 'verified=yes'
	expect_out 'all well'
	[[ $(grep -c linearizable "$case_dir/out") = 3 ]] || wrong "not three histories"
	expect '.mnode_begin.translate == "direct"' '.mnode_checks == 2' \
		'.cnodes[0].stats.loads > 2000' '.teardown_errors == []'
	say "$(jq -c '.cnodes[0].stats | {loads, stores_mapped, stores_unmapped}' \
		"$case_dir/json"); $(grep linearizable "$case_dir/out" | paste -sd';')"
}

# The agent wakes up for its timers and our questions while 100,000 pages are swapped, and
# not for a page; see agent-idle.sh. Its share of a processor is printed only: the host says
# how much a wake-up takes.
idles() {
	# shellcheck disable=SC2046  # options
	vm --kernel "$1" --mnode-in guest --mem 150M --swap 256M $(vm_patience) -- \
		pressure-far --size=110M --processes=3 --lives=1 --rounds=6
	expect_status 0
	jq '(.mnode.wall_s - .mnode_begin.wall_s) as $wall |
		(.cnodes[0].stats | .loads + .stores_mapped + .stores_unmapped) as $pages |
		(.mnode.agent_cpu_s - .mnode_begin.agent_cpu_s) as $cpu |
		(.mnode.woken - .mnode_begin.woken) as $woken |
		{pages: $pages, wall_s: $wall, cpu_s: $cpu, percent: ($cpu * 100 / $wall),
		 woken: $woken, limit: ($pages * 0.02 + $wall * 30)} |
		.ok = (.pages >= 100000 and .woken < .limit)' \
		"$case_dir/json" >"$case_dir/result" 2>&1
	say "$(tr -d '\n' <"$case_dir/result")"
	jq -e .ok "$case_dir/result" >/dev/null 2>&1 ||
		wrong "the agent wakes up for the pages that are swapped"
	expect_clean
}

# The compute nodes have a segment, and a memory node, in common.
two_sort() {
	vm --kernel "$1" --mnode-in guest --cnodes 2 --mem 120M --swap 64M -- \
		qsort-far --size=24M
	expect_status 0
	expect '.cnodes | map(.stats.load_errors == 0) == [true, true]' \
		'.mnode.sessions | length == 2' '.teardown_errors == []'
}

vm_far=$(userspace_dir)/tests/unit/userspace
vm_far_tool=$(userspace_dir)/userspace/tool/far
for kernel in 6.12 6.1; do
	tap_case "swap, libfar, and the memory node dies, $kernel" does_much "$kernel"
	# By day the newest kernel only.
	((nightly)) || break
	tap_case "the agent does not wake up for a page, $kernel" idles "$kernel"
	tap_case "two compute nodes on $kernel" two_sort "$kernel"
done
tap_end
