#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The agent is killed and restarted while two programs of a guest read and write a hash
# table of its space, by verbs on rdma_rxe. Both go on by far_reopen(): the history of all
# is linearizable, and the space is whole after each restart.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
under_clients='
export FAR_TEST_NIC=verbs:rxe0,spin_us=0 FAR_TEST_NODE=10.77.0.1 FAR_TEST_SPACE=kept
export FAR_TEST_KILL="echo kill-agent >/run/ask" FAR_TEST_KILLS=$1
cd /tmp && exec test-mnode-space-restarts elsewhere /x/far 2>&1'

# restarts KERNEL KILLS
restarts() {
	printf '[space kept]\nsize = 16M\nchunk = 1M\nclients = 16\ndead-ms = 60000\n' \
		>"$case_dir/mnode.conf"
	vm_script --kernel "$1" --keep-mnode --wire dgram --auth none --no-swapon \
		--mem 300M --swap 16M --pool 96M --param "mnode.config=$case_dir/mnode.conf" \
		--add "$vm_far_tool" --add "$vm_restarts" -- "$under_clients" "$2"
	expect_status 0
	expect_out "killed $2 times"
	expect '.teardown_errors == []'
	say "$(grep -E '^killed|operations,' "$case_dir/out" | paste -sd';')"
}

vm_far_tool=$(userspace_dir)/userspace/tool/far
vm_restarts=$(userspace_dir)/tests/unit/mnode/test-mnode-space-restarts
kills=10 vm_timeout=900
((nightly)) && kills=200 vm_timeout=3600
for kernel in "${kernels[@]}"; do
	tap_case_guests "killed $kills times under two clients on $kernel" restarts "$kernel" "$kills"
done
tap_end
