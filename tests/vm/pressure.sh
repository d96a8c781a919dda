#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Several processes under pressure: every byte comes back as it was written.
. "$(dirname "$0")/lib.sh"

seconds=15
((nightly)) && seconds=120

# under_pressure KERNEL QUEUES PROCESSES
under_pressure() {
	# shellcheck disable=SC2046  # options
	vm --kernel "$1" --mem 150M --swap 256M --param "hot_add.queues=$2" \
		$([[ $mnode_in = host ]] || vm_patience) \
		-- pressure-far --size=110M --processes="$3" $(amount "$seconds" 2)
	expect_status 0
	expect '.cnodes[0].stats.loads > 5000' \
		'.cnodes[0].stats.stores_unmapped > 5000' \
		'.cnodes[0].stats.stores_mapped > 10'
	expect_chains '.cnodes[0].stats.invalidates > 100'
	expect_clean
	say "$(cat "$case_dir/out")"
}

((nightly)) && tap_case "six processes, one queue, 6.1" under_pressure 6.1 1 6
tap_case_guests "six processes, two queues, 6.12" under_pressure 6.12 2 6
tap_end
