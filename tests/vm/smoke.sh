#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A program that needs twice the memory there is sorts, on each kernel: with what
# the agent arms for its NIC by itself, and with chains for all.
. "$(dirname "$0")/lib.sh"

# sorts KERNEL SIZE [VM_OPTION...]
sorts() {
	vm --kernel "$1" --swap 96M "${@:3}" -- qsort-far --size="$2"
	expect_status 0
	expect_out 'verified=yes'
	expect '.cnodes[0].stats.loads > 2000' \
		'.cnodes[0].stats.stores_unmapped > 2000' \
		'.mnode.chains.unmapped_store >= .cnodes[0].stats.stores_unmapped' \
		'.cnodes[0].stats.bytes_in == .cnodes[0].stats.loads * 4096'
	expect_clean
}

# by_keys KERNEL: of what the software NIC keeps, all is used.
by_keys() {
	sorts "$1" 32M --mem 120M
	expect '.mnode.translate == "nic"' '.mnode.order == "fence"' \
		'.mnode.chains.load == 0' '.mnode.chains.mapped_store == 0'
}

# by_chains KERNEL
by_chains() {
	sorts "$1" 16M --mem 160M --work 10M "${unknown_card[@]}"
	expect '.mnode.translate == "chain"' '.mnode.order == "wait"' \
		'.mnode.chains.load >= .cnodes[0].stats.loads' \
		'.mnode.chains.mapped_store >= .cnodes[0].stats.stores_mapped'
}

# Each kernel has its own, as far as there is little time.
keys=(5.10 6.12)
chains=(6.1)
((short)) && keys=(6.1)
((nightly)) && keys=(5.10 6.1 6.12) chains=(5.10 6.1 6.12)
for kernel in "${keys[@]}"; do
	tap_case "a quicksort of twice the memory on $kernel" by_keys "$kernel"
done
for kernel in "${chains[@]}"; do
	tap_case "the same by chains on $kernel" by_chains "$kernel"
done
tap_end
