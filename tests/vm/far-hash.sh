#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libfar's back end verbs on the rdma_rxe of stock kernels: the conformance suite, with
# memory nodes of the software NIC at the other end of a veth, and the hash table in a
# space of the agent.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
veth='
for m in "${0%/*}"/modules/*.ko; do
	insmod "$m" 2>/dev/null
done
ip link add v0 type veth || exit 3
ip addr add 10.78.0.1/24 dev v0 || exit 3
ip link set v0 mtu 2200 up && ip link set veth0 mtu 2200 up || exit 3
rdma link add rxe9 type rxe netdev v0 || exit 3
'

# suite KERNEL
suite() {
	kernel_fetch "$1" && module_files "$1" "$case_dir/modules" veth af_packet || {
		wrong "no modules"
		return
	}
	vm_script --kernel "$1" --no-odrp --mem 256M --add "$case_dir/modules" \
		--add "$vm_far_suite" -- '
		set -- /x/x
		for m in /x/modules/*.ko; do insmod "$m" 2>/dev/null; done
		'"${veth#*done}"'
		export FAR_TEST_NIC=verbs:rxe9,spin_us=0
		export FAR_TEST_HOST=soft:nodes=2,ip=10.78.0.9/24,mtu=2200,packet=veth0
		exec test-far-nic-suite verbs 2>&1'
	expect_status 0
	say "$(grep -cE '^\[ +OK' "$case_dir/out") tests of the suite"
}

tap_case "the conformance suite on 6.1" suite 6.1
tap_end
