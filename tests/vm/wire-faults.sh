#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A bad wire makes it slower, and nothing wrong.
. "$(dirname "$0")/lib.sh"

seconds=15
((nightly)) && seconds=120

# swaps_over SIZE NIC_OPTIONS COUNTER...: SIZE is what the processes use, of
# which some 55 MB fit; the faults must have happened.
swaps_over() {
	local size=$1 faults=$2 c
	shift 2
	# A lost message of the connection manager costs the kernel 4 s, a lost
	# packet at the end of a burst rxe a quarter.
	vm --mem 160M --swap 256M --nic-opt "$faults" \
		--param connect_ms=60000 --param hot_add.timeout_ms=30000 -- \
		pressure-far --size="$size" --processes=3 --rounds=1 \
		--seconds="$seconds"
	expect_status 0
	expect '.cnodes[0].stats.loads > 100' \
		'.cnodes[0].stats.stores_unmapped > 500'
	for c; do
		expect ".mnode.nic.$c > 10"
	done
	expect_clean
	say "$(cat "$case_dir/out")"
}

tap_case "1 % of all packets lost" \
	swaps_over 80M loss=0.01 fault_lost
# Each loss that rxe notices by its time-out costs a quarter of a second; with
# the host busy this may take longer than a request may.
if ((nightly)); then
	vm_timeout=1200 tap_case "5 % lost, 5 % out of order" \
		swaps_over 58M loss=0.05,reorder=0.05 fault_lost fault_reordered
else
	tap_skip "5 % lost, 5 % out of order" "long: scripts/check --nightly"
fi
tap_case "1 % doubled, 1 % corrupted, 1 % out of order" \
	swaps_over 80M duplicate=0.01,corrupt=0.01,reorder=0.01 \
	fault_duplicated fault_corrupted
tap_end
