#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Somebody on a port of the memory node's NIC attacks (tests/attack/say.c) while a guest
# swaps, and while its session is resumed: it keeps its pages and its connections, and
# nobody else gets any.
. "$(dirname "$0")/lib.sh"
chains_only

# attack: from when the guest has a session on. Before that, whoever speaks first in its
# name has its address (docs/security.md).
attack() {
	local sessions=0
	until ((sessions)); do
		sleep 0.5
		sessions=$(mnode_status "$case_dir"/tmp/odrp-vm.*/control.sock |
			jq '.sessions | length') 2>/dev/null
	done
	exec "$(userspace_dir)/tests/attack/attack-wire" \
		--mnode 10.77.0.1,52:54:00:77:00:01 --node 10.77.0.10,52:54:00:77:00:0a \
		--own 10.77.0.99,52:54:00:77:00:63 "127.0.0.1:$port"
}

# attacked VM_FUNCTION OPTION... -- COMMAND: one run, beside an attacker.
attacked() {
	local port=$((20000 + RANDOM % 10000)) attacker
	attack >"$case_dir/said" &
	attacker=$!
	vm_beside check_pages "$1" --nic-opt "udp=127.0.0.1:$port" "${@:2}"
	kill "$attacker"
	wait "$attacker" || wrong "the attacker ended with $?"
	say "$(cat "$case_dir/said")"
}

# What the memory node has noticed, and that nobody but the guest had a session.
expect_attacked() {
	expect '.mnode.nic.rx_spoofed > 100' '.mnode.handshakes.cookies > 50' \
		'.mnode_end.counters.sessions == 1'
	expect_checked
	expect_clean
}

swaps() {
	attacked vm_script --mem 160M --swap 256M -- '
		swapped pressure-far --size=140M --processes=2 $1
		status=$?
		check_mnode
		exit $status' "$(amount 60 2)"
	expect_status 0
	expect '.cnodes[0].stats.loads > 3000' '.cnodes[0].stats.reconnects == 0' \
		'.cnodes[0].stats.state == "live"'
	expect_attacked
}

# Frames for the memory node go nowhere for a while, so the session is lost.
resumes() {
	attacked vm_script --mem 160M --swap 128M --no-swapon \
		--param hot_add.timeout_ms=$((2000 * slow)) -- '
		node=10.77.0.1 odrp=/sys/block/odrp0/odrp
		dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
		dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 1
		arp -s $node 02:00:00:00:00:01 || exit 2
		dd if=/dev/odrp0 of=/tmp/b bs=1M count=16 iflag=direct 2>/dev/null &
		within 60 is $odrp/state lost || exit 3
		sleep 2
		arp -d $node
		wait $! || exit 4
		cmp /tmp/a /tmp/b || exit 5
		check_mnode'
	expect_status 0
	expect '.cnodes[0].stats.reconnects == 1' '.mnode_end.counters.resumed == 1'
	expect_attacked
}

((nightly)) && tap_case "a guest that swaps" swaps
tap_case "a session that is resumed" resumes
tap_end
