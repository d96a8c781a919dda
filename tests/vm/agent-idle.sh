#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The agent does nothing per page: while tens of thousands are swapped, it uses
# no more CPU time than its timers and our questions do. (The software NIC's time
# is its own: it stands for hardware.)
. "$(dirname "$0")/lib.sh"
chains_only

# Agent's CPU time per executed chain, in nanoseconds: one wake-up of a process
# takes several thousand. And per second, for timers, heartbeats and questions,
# in milliseconds: a slow kernel takes minutes for the same pages.
limit_ns=500
limit_ms=2.5

# From the first chain on: before that the agent makes its tables.
sample() {
	mnode_status "$1" 2>/dev/null | jq -c '
		{cpu: .agent_cpu_s, wall: .wall_s, chains: ([.chains[]] | add)} |
		select(.chains > 0)' \
		>>"$case_dir/samples"
}

idles() {
	vm_beside sample vm --mem 150M --swap 256M -- \
		pattern-far --size=96M --repeat=2
	expect_status 0
	expect_clean
	jq -s --argjson ns "$limit_ns" --argjson ms "$limit_ms" '
		{cpu_s: (.[-1].cpu - .[0].cpu), wall_s: (.[-1].wall - .[0].wall),
		 chains: (.[-1].chains - .[0].chains)} |
		.limit_s = (.chains * $ns / 1e9 + .wall_s * $ms / 1e3) |
		.ok = (.chains > 15000 and .cpu_s < .limit_s)' \
		"$case_dir/samples" >"$case_dir/result" 2>&1
	say "$(tr -d '\n' <"$case_dir/result")"
	jq -e .ok "$case_dir/result" >/dev/null 2>&1 ||
		wrong "the agent's CPU time grows with the pages swapped"
}

tap_case "no agent CPU time per page" idles
tap_end
