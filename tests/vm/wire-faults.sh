#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A bad wire makes it slower, and nothing wrong.
. "$(dirname "$0")/lib.sh"
chains_only

seconds=15
mnode=()		# options of the memory node
((nightly)) && seconds=120

# No request failed, and every page is somewhere. The compute node says goodbye
# once, before its machine is off; when that is lost it is there until it has
# been silent for ten seconds.
expect_nothing_wrong() {
	if [[ $(value '.mnode_end.sessions | length') = 0 ]]; then
		expect_clean
		return
	fi
	expect '.cnodes | all(.stats.load_errors == 0)' \
		'.cnodes | all(.stats.store_errors == 0)' \
		'.teardown_errors == []' \
		'.mnode_end.pages_free + .mnode_end.pages_armed +
			.mnode_end.pages_mapped == .mnode_end.pages_total'
}

# swaps_over SIZE NIC_OPTIONS COUNTER...: SIZE is what the processes use, of
# which some 55 MB fit; the faults must have happened.
swaps_over() {
	local size=$1 faults=$2 c
	shift 2
	# A lost message of the connection manager costs the kernel 4 s. A packet
	# lost at the end of a burst, or twice in a row, costs rxe its time-out,
	# here 67 ms; what the software NIC loses it asks for earlier.
	vm --mem 160M --swap 256M --nic-opt "$faults" "${mnode[@]}" \
		--param connect_ms=60000 --param hot_add.timeout_ms=30000 -- \
		pressure-far --size="$size" --processes=3 --rounds=1 \
		--seconds=$((seconds * slow))
	expect_status 0
	expect ".cnodes[0].stats.loads > $((100 / slow))" \
		".cnodes[0].stats.stores_unmapped > $((500 / slow))"
	for c; do
		expect ".mnode.nic.$c > 10"
	done
	expect_nothing_wrong
	say "$(cat "$case_dir/out")"
}

((nightly)) && tap_case "1 % of all packets lost" \
	swaps_over 80M loss=0.01 fault_lost
vm_timeout=900 tap_case "5 % lost, 5 % out of order" \
	swaps_over 64M loss=0.05,reorder=0.05 \
	fault_lost fault_reordered reordered
tap_case "1 % doubled, 1 % corrupted, 1 % out of order" \
	swaps_over 80M duplicate=0.01,corrupt=0.01,reorder=0.01 \
	fault_duplicated fault_corrupted
# READs, whose answers are lost, and WRITEs.
if ((nightly)); then
	mnode=(--param mnode.translate=nic)
	tap_case "1 % of all packets lost, translate=nic" \
		swaps_over 80M loss=0.01 fault_lost
	vm_timeout=900 tap_case "5 % lost, 5 % out of order, translate=nic" \
		swaps_over 64M loss=0.05,reorder=0.05 \
		fault_lost fault_reordered
	tap_case "1 % doubled, 1 % corrupted, translate=nic" \
		swaps_over 80M duplicate=0.01,corrupt=0.01,reorder=0.01 \
		fault_duplicated fault_corrupted
fi
tap_end
