#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# More than ten minutes of guest time under pressure, every byte verified.
. "$(dirname "$0")/lib.sh"

soaks() {
	vm_timeout=1200 vm --kernel "$1" --mem 150M --swap 256M \
		--param hot_add.queues=2 -- \
		pressure-far --size=115M --processes=6 --seconds=660
	expect_status 0
	expect '.elapsed_s > 600' \
		".cnodes[0].stats.loads > $((100000 / (slow * slow)))"
	expect_clean
	say "$(cat "$case_dir/out")"
}

# By day pressure.sh is what there is of it.
for kernel in 6.1 6.12; do
	! ((long_cases)) || tap_case "eleven minutes on $kernel" soaks "$kernel"
done
tap_end
