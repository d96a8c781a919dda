#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A bad wire makes it slower, and nothing wrong. The software NIC injects the faults; with
# ODRP_MNODE_IN=guest there is none, and netem of both machines' kernels does. What netem
# cannot do is the software NIC's alone: forged packets (liar.sh), and faults at a certain
# packet.
. "$(dirname "$0")/lib.sh"
chains_only

seconds=15
mnode=()		# options of the memory node
((nightly)) && seconds=120

# No request failed, and every page is somewhere. The compute node says goodbye
# once, before its machine is off; when that is lost it is there until it has
# been silent for ten seconds.
expect_nothing_wrong() {
	if [[ $(value '.mnode_end.sessions | length') = 0 ]]; then
		expect_clean
		return
	fi
	expect '.cnodes | all(.stats.load_errors == 0)' \
		'.cnodes | all(.stats.store_errors == 0)' \
		'.teardown_errors == []' \
		'.mnode_end.pages_free + .mnode_end.pages_armed +
			.mnode_end.pages_mapped == .mnode_end.pages_total'
}

# swaps_over SIZE NIC_OPTIONS COUNTER...: SIZE is what the processes use, of
# which some 55 MB fit; the faults must have happened.
swaps_over() {
	local size=$1 faults=$2 c
	shift 2
	# A lost message of the connection manager costs the kernel 4 s. A packet
	# lost at the end of a burst, or twice in a row, costs rxe its time-out,
	# here 67 ms; what the software NIC loses it asks for earlier.
	vm --mem 160M --swap 256M --nic-opt "$faults" "${mnode[@]}" \
		--param connect_ms=60000 --param hot_add.timeout_ms=30000 -- \
		pressure-far --size="$size" --processes=3 --rounds=1 \
		--seconds=$((seconds * slow))
	expect_status 0
	expect ".cnodes[0].stats.loads > $((100 / slow))" \
		".cnodes[0].stats.stores_unmapped > $((500 / slow))"
	for c; do
		expect ".mnode.nic.$c > 10"
	done
	expect_nothing_wrong
	say "$(cat "$case_dir/out")"
}

# shellcheck disable=SC2016  # for the guest's shell
over_netem='
swapped pressure-far --size=$1 --processes=3 --rounds=1 --seconds=$2 || exit 1
check_mnode
/x/tc -s qdisc show dev eth0
grep . /sys/class/infiniband/rxe0/ports/1/hw_counters/* | sed "s|.*/||"'

# netem KERNEL SIZE FAULTS COUNTER...: these counters of rdma_rxe have found the faults. Both
# ends ask again after 67 ms, which a slow host may need for an answer: a connection may
# break, and the session is resumed.
netem() {
	local c
	vm_script --kernel "$1" --mem 160M --swap 256M --netem "$3" \
		--param connect_ms=60000 --param hot_add.timeout_ms=30000 \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((120000 * slow)) -- \
		"$over_netem" "$2" "$((seconds * slow))"
	expect_status 0
	expect ".cnodes[0].stats.loads > $((100 / slow))" \
		".cnodes[0].stats.stores_unmapped > $((500 / slow))" '.mnode_checks == 1'
	for c in "${@:4}"; do
		expect_out "^$c:[0-9]+[0-9]\$"
	done
	expect_nothing_wrong
	say "$(grep -E 'verified|:[1-9]|dropped' "$case_dir/out" | paste -sd';')"
}

# The link of the compute node goes down, and up again. A packet that rdma_rxe cannot send
# puts its queue pair into the state ERR, QP1 as any other (6.1, 6.12: "rdma res show qp"); the
# connection manager's goodbye is such a packet. Then nothing can connect: the session dies,
# with I/O errors.
# shellcheck disable=SC2016
unlinked='
odrp=/sys/block/odrp0/odrp
over() {
	read -r is <$odrp/state && [ "$is" = live -o "$is" = dead ]
}
dd if=/dev/urandom of=/tmp/a bs=1M count=4 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 1
ip link set eth0 down
within 60 is $odrp/state lost || exit 2
ip link set eth0 up
within 90 over || exit 3
is $odrp/state live && expected=0 || expected=1
dd if=/dev/odrp0 of=/tmp/c bs=1M count=4 iflag=direct 2>/dev/null
[ $? = $expected ] || exit 4
[ $expected = 1 ] || cmp /tmp/a /tmp/c || exit 5
cat $odrp/state'

link_returns() {
	vm_script --kernel "$1" --mem 256M --swap 16M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((30000 * slow)) \
		--param mnode.dead-ms=$((60000 * slow)) -- "$unlinked"
	expect_status 0
	expect '.teardown_errors == []'
	say "the session is $(cat "$case_dir/out")"
}

if [[ $mnode_in = guest ]]; then
	tap_case_guests "the link goes down and up, 6.12" link_returns 6.12
	tap_case_guests "5 % lost, 6.1" netem 6.1 64M 'loss 5%' \
		completer_retry_err
	tap_case_guests "1 % lost, doubled, corrupted and out of order, 6.1" netem 6.1 80M \
		'delay 2ms reorder 99% loss 1% duplicate 1% corrupt 1%' \
		completer_retry_err
fi
((nightly)) && tap_case "1 % of all packets lost" \
	swaps_over 80M loss=0.01 fault_lost
vm_timeout=900 tap_case "5 % lost, 5 % out of order" \
	swaps_over 64M loss=0.05,reorder=0.05 \
	fault_lost fault_reordered reordered
tap_case "1 % doubled, 1 % corrupted, 1 % out of order" \
	swaps_over 80M duplicate=0.01,corrupt=0.01,reorder=0.01 \
	fault_duplicated fault_corrupted
# READs, whose answers are lost, and WRITEs.
if ((nightly)); then
	mnode=(--param mnode.translate=nic)
	tap_case "1 % of all packets lost, translate=nic" \
		swaps_over 80M loss=0.01 fault_lost
	vm_timeout=900 tap_case "5 % lost, 5 % out of order, translate=nic" \
		swaps_over 64M loss=0.05,reorder=0.05 \
		fault_lost fault_reordered
	tap_case "1 % doubled, 1 % corrupted, translate=nic" \
		swaps_over 80M duplicate=0.01,corrupt=0.01,reorder=0.01 \
		fault_duplicated fault_corrupted
fi
tap_end
