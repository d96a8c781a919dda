#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libfar's back end verbs on the rdma_rxe of stock kernels: the conformance suite, whose
# memory nodes soft has at the other end of a veth, and the hash table in a space of the
# agent: the histories of tasks that fight for few keys, and what one task posts, against
# what it posts in virtual time; the trees likewise, by night.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
on_veth=$rxe_device'
export FAR_TEST_NIC=verbs:rxe9,spin_us=0
export FAR_TEST_HOST=soft:nodes=2,ip=10.78.0.9/24,mtu=2200,packet=veth0
exec test-far-nic-suite verbs 2>&1'

# suite KERNEL
suite() {
	rxe_modules "$1"
	vm_script --kernel "$1" --no-odrp --mem 300M --add "$case_dir/modules" \
		--add "$vm_far/nic/test-far-nic-suite" -- "$on_veth"
	expect_status 0
	((case_failed)) && grep -B3 FAILED "$case_dir/out" >&2
	say "$(grep -c '^\[ *OK \]' "$case_dir/out") tests of the suite"
}

# Spaces of the agent, for --param mnode.config.
space_config() {
	printf '[space %s]\nsize = 16M\nchunk = 1M\n' "$@" >"$case_dir/mnode.conf"
}

# agent KERNEL SPACES OPTION... -- SCRIPT
agent() {
	# shellcheck disable=SC2086  # names
	space_config $2
	vm_script --kernel "$1" --auth none --no-swapon --mem 300M --swap 16M --pool 96M \
		--param "mnode.config=$case_dir/mnode.conf" --add "$vm_far_tool" "${@:3}"
	expect_status 0
}

# shellcheck disable=SC2016
in_space='
far=/x/far nic=verbs:rxe0,spin_us=0
$far info || exit 4
$far space list --nic $nic --node 10.77.0.1 || exit 5
export FAR_TEST_NIC=$nic FAR_TEST_NODE=10.77.0.1
FAR_TEST_SPACE=cache test-far-hash-concurrent elsewhere 2>&1 || exit 6
FAR_TEST_SPACE=counted test-far-hash-counts elsewhere 2>&1 || exit 9
$far bench index --nic $nic --node 10.77.0.1 --space cache --index hash \
	--workload A --keys 500 --tasks 4 --ops 2000 --warm-ms 0 || exit 7
$far space check cache --nic $nic --node 10.77.0.1 || exit 8'

# hash KERNEL OPTION...
hash() {
	agent "$1" 'cache counted' "${@:2}" --add "$vm_far/hash/test-far-hash-concurrent" \
		--add "$vm_far/hash/test-far-hash-counts" -- "$in_space"
	expect_out 'linearizable'
	expect_out '^seed .*; verbs:'
	say "$(grep -E 'linearizable|^seed' "$case_dir/out" | paste -sd';')"
}

# shellcheck disable=SC2016
in_spaces='
far=/x/far nic=verbs:rxe0,spin_us=0
for tree in btree art; do
	FAR_TEST_NIC=$nic FAR_TEST_NODE=10.77.0.1 FAR_TEST_SPACE=$tree \
		test-far-$tree-concurrent elsewhere 2>&1 || exit 6
	$far bench index --nic $nic --node 10.77.0.1 --space $tree --index $tree \
		--workload A --keys 300 --tasks 4 --ops 1000 --warm-ms 0 || exit 7
	$far space check $tree --nic $nic --node 10.77.0.1 || exit 8
done'

trees() {
	agent "$1" 'btree art' --add "$vm_far/btree/test-far-btree-concurrent" \
		--add "$vm_far/art/test-far-art-concurrent" -- "$in_spaces"
	[[ $(grep -c linearizable "$case_dir/out") = 2 ]] || wrong "not two histories"
	say "$(grep 'linearizable' "$case_dir/out")"
}

vm_far=$(userspace_dir)/tests/unit/userspace
vm_far_tool=$(userspace_dir)/userspace/tool/far
for kernel in "${kernels[@]}"; do
	# Each of its tests opens and connects anew.
	((nightly)) && tap_case "the conformance suite on $kernel" suite "$kernel"
	tap_case_guests "the hash table on $kernel, history" hash "$kernel"
	((nightly)) || [[ $mnode_in = guest ]] || continue
	tap_case_guests "the trees on $kernel, histories" trees "$kernel"
done
tap_end
