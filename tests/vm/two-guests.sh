#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The memory node is a guest, too: swap between two stock kernels with rdma_rxe, without any
# software NIC. Its card arms no chains, so all slabs are direct.
. "$(dirname "$0")/lib.sh"

sorts() {
	vm --kernel "$1" --mnode-in guest --mem 120M --swap 96M -- qsort-far --size=32M
	expect_status 0
	expect_out 'verified=yes'
	expect '.cnodes[0].stats.loads > 5000' '.cnodes[0].stats.load_errors == 0' \
		'.mnode.translate == "direct"' \
		'.teardown_errors == []'
	say "$(jq -r '"\(.cnodes[0].stats | .loads + .stores_mapped + .stores_unmapped) pages, \(
		(.mnode.agent_cpu_s - .mnode_begin.agent_cpu_s) * 100 /
		(.mnode.wall_s - .mnode_begin.wall_s) | . * 100 | round / 100
		) % of a processor for the agent"' "$case_dir/json")"
}

# The compute nodes have a segment, and a memory node, in common.
two_sort() {
	vm --kernel "$1" --mnode-in guest --cnodes 2 --mem 120M --swap 64M -- \
		qsort-far --size=24M
	expect_status 0
	expect '.cnodes | map(.stats.load_errors == 0) == [true, true]' \
		'.mnode.sessions | length == 2' '.teardown_errors == []'
}

read -r -d '' reading <<'GUEST'
dd if=/dev/urandom of=/tmp/a bs=1M count=4 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 1
dd if=/dev/odrp0 bs=1M count=4 iflag=direct 2>/dev/null | cmp - /tmp/a || exit 2
echo check-mnode >/run/ask
kill_mnode
until ! dd if=/dev/odrp0 of=/tmp/c bs=1M count=4 iflag=direct 2>/dev/null; do
	cmp /tmp/a /tmp/c || exit 3
done
GUEST

# The memory node is gone at once, as in a power failure.
dies() {
	vm_script --kernel "$1" --mnode-in guest --mem 160M --swap 16M --no-swapon -- "$reading"
	expect_status 0
	expect '.teardown_errors == []' '.mnode_checks == 1'
}

((nightly)) && kernels=(6.1 6.12)
for kernel in "${kernels[@]}"; do
	tap_case "a quicksort of twice the memory on $kernel" sorts "$kernel"
	((nightly)) && tap_case "two compute nodes on $kernel" two_sort "$kernel"
	tap_case "the memory node dies, $kernel" dies "$kernel"
done
tap_end
