#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The agent does nothing per page: while tens of thousands are swapped, it wakes up
# for its timers and our questions, and not more often. (Counted, not timed: how
# much processor time a wake-up takes is the host's. The software NIC's thread is
# not looked at: it stands for hardware.)
. "$(dirname "$0")/lib.sh"
chains_only

# Wake-ups of the agent per executed chain; per second, for timers and heartbeats,
# which the agent looks for every 40 ms;
# and per question. A slow kernel takes minutes for the same pages.
per_chain=0.02
per_second=30
per_question=20

agent_pid() {
	local pid
	for pid in $(pgrep -x odrp-mnoded); do
		! grep -qs "$1" "/proc/$pid/cmdline" || echo "$pid"
	done
}

# From the first chain on: before that the agent makes its tables.
sample() {
	local pid woken
	pid=$(agent_pid "$1")
	woken=$(awk '/^voluntary/ { print $2 }' "/proc/$pid/status") || return
	mnode_status "$1" 2>/dev/null | jq -c --argjson woken "$woken" '
		{woken: $woken, cpu: .agent_cpu_s, wall: .wall_s,
		 chains: ([.chains[]] | add)} |
		select(.chains > 0)' \
		>>"$case_dir/samples"
}

idles() {
	vm_beside sample vm --mem 150M --swap 256M -- \
		pattern-far --size=80M --repeat=1
	expect_status 0
	expect_clean
	jq -s --argjson chain "$per_chain" --argjson second "$per_second" \
		--argjson question "$per_question" '
		{woken: (.[-1].woken - .[0].woken), questions: (length - 1),
		 cpu_s: (.[-1].cpu - .[0].cpu), wall_s: (.[-1].wall - .[0].wall),
		 chains: (.[-1].chains - .[0].chains)} |
		.limit = .chains * $chain + .wall_s * $second +
			.questions * $question |
		.ok = (.chains > 15000 and .woken < .limit)' \
		"$case_dir/samples" >"$case_dir/result" 2>&1
	say "$(tr -d '\n' <"$case_dir/result")"
	jq -e .ok "$case_dir/result" >/dev/null 2>&1 ||
		wrong "the agent wakes up for the pages that are swapped"
}

tap_case "the agent does not wake up for a page" idles
tap_end
