#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two compute nodes on one memory node, each with contents of its own.
. "$(dirname "$0")/lib.sh"
chains_only

share() {
	vm --cnodes 2 --mem 120M --swap 96M -- sh -c \
		'pressure-far --size=32M --processes=3 $1 --seed=$((CNODE_ID + 1))' \
		sh "$(amount 20 2)"
	expect_status 0
	expect '.cnodes | length == 2' \
		'.cnodes | all(.stats.loads > 3000)'
	expect_clean
}

tap_case "each finds its own pages" share
tap_end
