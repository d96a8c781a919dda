#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libfar's back end verbs, on the rdma_rxe of stock kernels, and a network that fails:
# packets get lost, clients die or stop for a while, the agent begins anew or is gone.
# Slower, or an error that says what it is; nothing is lost.
. "$(dirname "$0")/lib.sh"
vm_timeout=900	# each packet that gets lost costs rxe its time-out

# shellcheck disable=SC2016  # for the guest's shell
in_guest='
far=/x/far nic=verbs:rxe0,spin_us=0,timeout=14
at="--nic $nic --node 10.77.0.1"
bench="$far bench index $at --space cache --index hash --workload A --keys 200"
bench="$bench --tasks 4 --warm-ms 0"
# One that goes on, in the background: $client is its process.
bench_on() {
	$bench --ms 600000 >/tmp/out 2>/tmp/err &
	client=$!
	within 60 grep -q measuring /tmp/err && return
	cat /tmp/err >&2
	return 1
}
# fails_with WORDS: it has ended, with them.
fails_with() {
	! wait $client && grep -Eq "the first one: $1" /tmp/err && return
	tail -n 2 /tmp/err >&2
	return 1
}
history() {
	FAR_TEST_NIC=$nic FAR_TEST_NODE=10.77.0.1 FAR_TEST_SPACE=cache \
		test-far-hash-concurrent elsewhere 2>&1
}
# What a dead client has left is repaired by whoever comes upon it.
whole() {
	$far space check cache $at || { $bench --ops 500 >/dev/null && false; }
}
'

# Whoever comes may use the space: who may is of test-space-tool.sh.
# guests KERNEL OPTION... -- SCRIPT
guests() {
	local kernel=$1
	local -a options=()
	shift
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	printf '[space cache]\nsize = 16M\ndead-ms = 3000\n' >"$case_dir/mnode.conf"
	vm_script --kernel "$kernel" --auth none --no-swapon --mem 300M --swap 16M --pool 96M \
		--param "mnode.config=$case_dir/mnode.conf" --add "$vm_far_tool" \
		--add "$vm_far/hash/test-far-hash-concurrent" "${options[@]}" \
		-- "$in_guest$2"
}

# lossy KERNEL FAULTS: a lost message of the connection manager costs 4 s.
lossy() {
	guests "$1" --nic-opt "$2" --param connect_ms=60000 \
		--param hot_add.timeout_ms=30000 -- '
		history || exit 4
		$far space list --nic $nic --node 10.77.0.1:1 2>/tmp/err && exit 5
		grep "it serves no spaces" /tmp/err || exit 6
		within 60 whole || exit 7'
	expect_status 0
	expect_out 'linearizable'
	expect '.mnode.nic.fault_lost > 20'
	say "$(grep 'linearizable' "$case_dir/out");" \
		"$(value .mnode.nic.fault_lost) packets lost"
}

# Two machines on one space. In one of them a client is killed, and another one stops
# for longer than a client may be silent; in the other one two work meanwhile.
dies() {
	guests "$1" --cnodes 2 -- '
		if [ $CNODE_ID = 1 ]; then
			bench_on || exit 4
			kill -9 $client
			bench_on || exit 5
			kill -STOP $client
			sleep 8
			kill -CONT $client
			fails_with "Stale file handle" || exit 6
		else
			history || exit 7
		fi
		within 60 whole || exit 8'
	expect_status 0
	expect_out 'linearizable'
	expect '.mnode.spaces[0].fenced >= 2'
}

# The agent begins anew: clients of before are told, others have an empty space.
restarts() {
	guests "$1" --wire dgram -- '
		bench_on || exit 4
		restart_mnode
		fails_with "Stale file handle|Connection timed out|Host is down" || exit 5
		history || exit 6
		within 60 whole || exit 7'
	expect_status 0
	expect_out 'linearizable'
	say "$(grep 'linearizable' "$case_dir/out")"
}

# The agent is gone, and with it, on the wire vhost, the guest's link.
gone() {
	guests "$1" -- '
		bench_on || exit 4
		kill_mnode
		fails_with "Connection timed out|Host is down" || exit 5
		$far space list $at 2>/tmp/err && exit 6
		cat /tmp/err'
	expect_status 0
	expect_out 'no port of rxe0 is up|node "10.77.0.1": '
}

vm_far=$(userspace_dir)/tests/unit/userspace
vm_far_tool=$(userspace_dir)/userspace/tool/far
# By day the same is tested over soft: tests/unit/userspace/hash/test-lossy.c and
# tests/unit/mnode/test-space-tool.sh.
((nightly)) || kernels=()
for kernel in "${kernels[@]}"; do
	tap_case "1 % lost on $kernel" lossy "$kernel" loss=0.01
	tap_case "clients die and stop on $kernel" dies "$kernel"
	tap_case "the agent begins anew on $kernel" restarts "$kernel"
	tap_case "the agent is gone on $kernel" gone "$kernel"
done
tap_end
