#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The agent does nothing per page: its CPU time is that of an agent nobody
# swaps to. (The software NIC's time is its own: it stands for hardware.)
. "$(dirname "$0")/lib.sh"

# The agent's CPU time per swapped page may be this, in microseconds: far less
# than one wake-up costs.
limit_us=1

idles() {
	local idle busy chains wall
	vm --mem 150M --swap 256M -- pattern-far --size=96M --repeat=2
	expect_status 0
	expect_clean
	busy=$(value .mnode.agent_cpu_s)
	chains=$(value '[.mnode.chains[]] | add')
	wall=$(value .elapsed_s)
	vm --mem 150M --swap 256M -- sleep "$wall"
	expect_status 0
	idle=$(value .mnode.agent_cpu_s)
	say "agent_cpu_s: $busy with $chains chains, $idle with none, in $wall s"
	awk -v b="$busy" -v i="$idle" -v n="$chains" -v l="$limit_us" \
		'BEGIN { exit !(n > 15000 && (b - i) * 1e6 / n < l) }' ||
		wrong "the agent's CPU time grows with the pages swapped"
}

tap_case "no agent CPU time per page" idles
tap_end
