#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libfar's back end verbs, on the rdma_rxe of stock kernels, and a network that fails:
# packets get lost or overtake others, clients die or stop for a while, the agent begins
# anew or is gone; several guests, and a space on two memory nodes. Slower, or an error
# that says what it is; nothing is lost.
. "$(dirname "$0")/lib.sh"
vm_timeout=900	# each packet that gets lost costs rxe its time-out

# shellcheck disable=SC2016  # for the guest's shell
in_guest='
far=/x/far nic=verbs:rxe0,spin_us=0,timeout=14
nodes=${NODES:-10.77.0.1}
at="--nic $nic --node $(echo $nodes | sed "s/,/ --node /g")"
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
	FAR_TEST_NIC=$nic FAR_TEST_NODE=$nodes FAR_TEST_SPACE=cache \
		test-far-hash-concurrent elsewhere 2>&1
}
# Its part of what two guests do to the same keys; the host has the other one.
history_part() {
	export FAR_TEST_SIDE=$CNODE_ID/2 FAR_TEST_HISTORY=/tmp/history
	history && cat $FAR_TEST_HISTORY
}
# What a dead client has left is repaired by whoever comes upon it.
whole() {
	$far space check cache $at || { $bench --ops 500 >/dev/null && false; }
}
'

# space_conf [LINE]: an agent's settings.
space_conf() {
	printf '[space cache]\nsize = 16M\ndead-ms = 3000\n%s\n' "${1:-}"
}

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
	[[ -e $case_dir/mnode0.conf ]] || space_conf >"$case_dir/mnode0.conf"
	vm_script --kernel "$kernel" --auth none --no-swapon --mem 300M --swap 16M --pool 96M \
		--param "mnode.config=$case_dir/mnode{K}.conf" --add "$vm_far_tool" \
		--add "$vm_far/hash/test-far-hash-concurrent" "${options[@]}" \
		-- "${NODES:+NODES=$NODES }
$in_guest$2"
}

# lossy KERNEL FAULTS [CONDITION]: a lost message of the connection manager costs 4 s.
lossy() {
	guests "$1" --nic-opt "$2" --param connect_ms=60000 \
		--param hot_add.timeout_ms=30000 -- '
		history || exit 4
		$far space list --nic $nic --node 10.77.0.1:1 2>/tmp/err && exit 5
		grep "it serves no spaces" /tmp/err || exit 6
		within 60 whole || exit 7'
	expect_status 0
	expect_out 'linearizable'
	expect '.mnode.nic.fault_lost > 20' "${3:-true}"
	say "$(grep 'linearizable' "$case_dir/out");" \
		"$(value .mnode.nic.fault_lost) packets lost"
}

# What two guests have done, as one history.
judge_both() {
	grep '^{' "$case_dir/out" >"$case_dir/history0"
	sed -n 's/^\[cnode 1\] {/{/p' "$case_dir/err" >"$case_dir/history1"
	"$vm_judge" "$case_dir/history0" "$case_dir/history1" >"$case_dir/judged" 2>&1 ||
		wrong "$(cat "$case_dir/judged")"
	say "$(grep linearizable "$case_dir/judged")"
}

# Two machines that work on the same keys of the same table at the same time.
together() {
	guests "$1" --cnodes 2 -- '
		history_part || exit 4
		within 60 whole || exit 5'
	expect_status 0
	judge_both
	expect '.mnode.spaces[0].structures == 2' '.mnode.spaces[0].fenced == 0'
}

# A space on two memory nodes. A client dies; each node has confirmed that nothing of it
# can arrive before others repair what it has left.
set_of_two() {
	local k set='nodes = 10.77.0.1,10.77.0.2'
	for k in 0 1; do
		space_conf "$set"$'\n'"node = $k" >"$case_dir/mnode$k.conf"
	done
	NODES=10.77.0.1,10.77.0.2 guests "$1" --mnodes 2 --joined -- '
		bench_on || exit 4
		kill -9 $client
		history || exit 5
		within 60 whole || exit 6'
	expect_status 0
	expect_out 'linearizable'
	expect '.mnodes[0].spaces[0].fenced >= 1' \
		'.mnodes | all(.spaces[0].used > 1048576)'
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
			fails_with "this client was fenced" || exit 6
		else
			export FAR_TEST_SHARED=1	# they load keys meanwhile
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
		fails_with "this client was fenced|the memory node does not answer|the memory node is away" || exit 5
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
vm_judge=$(userspace_dir)/tests/unit/lib/check-histories
# By day the same is tested over soft: tests/unit/userspace/hash/test-lossy.c and
# tests/unit/mnode/test-space-tool.sh.
((nightly)) || kernels=()
for kernel in "${kernels[@]}"; do
	tap_case "1 % lost on $kernel" lossy "$kernel" loss=0.01
	tap_case "5 % lost on $kernel" lossy "$kernel" loss=0.05
	tap_case "lost and out of order on $kernel" lossy "$kernel" \
		loss=0.01,reorder=0.05 '.mnode.nic.fault_reordered > 20'
	tap_case "two guests on $kernel" together "$kernel"
	tap_case "two memory nodes on $kernel" set_of_two "$kernel"
	tap_case "clients die and stop on $kernel" dies "$kernel"
	tap_case "the agent begins anew on $kernel" restarts "$kernel"
	tap_case "the agent is gone on $kernel" gone "$kernel"
done
tap_end
