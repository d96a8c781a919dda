#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A memory node that translates in its NIC: the CNode reads and writes pages by
# rkeys of its own, and only what maps and unmaps them goes to chains.
. "$(dirname "$0")/lib.sh"

keyed=(--param mnode.translate=nic)

# No chain has run for what the CNode did itself.
expect_keyed() {
	expect '.cnodes[0].stats.translate == "nic"' \
		'.mnode.chains.load == 0' '.mnode.chains.mapped_store == 0' \
		'.mnode.chains.unmapped_store >= .cnodes[0].stats.stores_unmapped' \
		'.cnodes[0].stats.unknown_ids == 0'
	say "$(jq -c '.cnodes[0].stats | {loads, stores_mapped, stores_unmapped, stores_reused,
		invalidates, reconnects, resent}' "$case_dir/json")"
}

# $1: kernel, then options. Up to half an hour by frontswap on a debug kernel.
sorts() {
	vm_timeout=900 vm --kernel "$@" --mem 120M --swap 96M "${keyed[@]}" -- \
		qsort-far --size=32M
	expect_status 0
	expect_out 'verified=yes'
	expect '.cnodes[0].stats.loads > 5000' \
		'.cnodes[0].stats.bytes_in == .cnodes[0].stats.loads * 4096'
	expect_keyed
	expect_clean
}

# More slots than one key has; each third page anew, by writes to mapped slots.
read -r -d '' disk <<'GUEST'
set -e
dev=/dev/odrp0
dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
dd if=/dev/zero of=/tmp/zeros bs=1M count=16 2>/dev/null
for at in 0 24 48; do
	dd if=/tmp/a of=$dev bs=1M seek=$at oflag=direct 2>/dev/null
done
dd if=/dev/urandom of=/tmp/b bs=4k count=192 2>/dev/null
i=0
while [ $i -lt 192 ]; do
	dd if=/tmp/b of=/tmp/a bs=4k count=1 skip=$i seek=$i conv=notrunc
	for at in 0 6144 12288; do
		dd if=/tmp/b of=$dev bs=4k count=1 skip=$i seek=$((at + i)) \
			conv=notrunc oflag=direct
	done
	i=$((i + 3))
done 2>/dev/null
for at in 0 24 48; do
	dd if=$dev bs=1M skip=$at count=16 iflag=direct 2>/dev/null | cmp - /tmp/a
done
dd if=$dev bs=16k skip=1536 count=1024 iflag=direct of=/tmp/c 2>/dev/null &
dd if=$dev bs=4k skip=12288 count=4096 iflag=direct 2>/dev/null | cmp - /tmp/a
wait $!
cmp /tmp/c /tmp/a
blkdiscard $dev
within 60 is /sys/block/odrp0/odrp/used 0
dd if=$dev bs=64k count=256 iflag=direct 2>/dev/null | cmp - /tmp/zeros
dd if=/tmp/a of=$dev bs=256k oflag=direct 2>/dev/null
dd if=$dev bs=256k count=64 iflag=direct 2>/dev/null | cmp - /tmp/a
is /sys/block/odrp0/odrp/translate "$1"
echo all well
GUEST

# $1: kernel, $2: what holds, then options.
reads_back() {
	vm_script --kernel "$1" --leaks --mem 288M --swap 64M --no-swapon \
		"${keyed[@]}" "${@:3}" --add "$(command -v blkdiscard)" \
		-- "$disk" "$2"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.invalidates >= 12288' \
		'.cnodes[0].stats.stores_mapped >= 192'
	expect_clean
}

is_a_disk() {
	reads_back "$1" nic "${@:2}"
	expect_keyed
}

# A CNode that does not offer it has chains like any other.
has_chains() {
	reads_back 6.1 chain --param hot_add.translate=chain
	expect '.cnodes[0].stats.translate == "chain"' \
		'.mnode.chains.load >= .cnodes[0].stats.loads' \
		'.mnode.chains.mapped_store >= .cnodes[0].stats.stores_mapped'
}

# Packets go nowhere for a while, under reads and under mapped stores.
read -r -d '' lost <<'GUEST'
node=10.77.0.1
odrp=/sys/block/odrp0/odrp
taken_up() {
	read -r count <$odrp/reconnects && [ $count -ge $round ]
}
dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
dd if=/dev/urandom of=/tmp/b bs=1M count=16 2>/dev/null
for round in 1 2; do
	(
		usleep 500000
		arp -s $node 02:00:00:00:00:01 || exit
		within 60 is $odrp/state lost
		sleep 2
		arp -d $node
	) &
	until taken_up; do
		for f in /tmp/a /tmp/b; do
			dd if=$f of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null ||
				exit 1
			dd if=/dev/odrp0 of=/tmp/c bs=1M count=16 iflag=direct \
				2>/dev/null || exit 2
			cmp $f /tmp/c || exit 3
		done
	done
	wait
done
GUEST

goes_on() {
	vm_script --kernel 6.12 --mem 256M --swap 64M --no-swapon "${keyed[@]}" \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$lost"
	expect_status 0
	expect '.cnodes[0].stats.reconnects >= 1' '.cnodes[0].stats.resent >= 1'
	expect_keyed
	expect_clean
}

# The memory node dies: reads and writes fail, and no page is read that was not
# written as a whole.
read -r -d '' dying <<'GUEST'
dd if=/dev/urandom of=/tmp/a bs=1M count=16 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/dev/null || exit 1
kill_mnode
while dd if=/dev/odrp0 of=/tmp/c bs=1M count=16 iflag=direct 2>/tmp/err; do
	cmp /tmp/a /tmp/c || exit 2
	dd if=/tmp/a of=/dev/odrp0 bs=1M oflag=direct 2>/tmp/err || break
done
cat /tmp/err
within 20 is /sys/block/odrp0/odrp/state dead || exit 3
dd if=/dev/odrp0 of=/tmp/c bs=4k count=1 iflag=direct 2>/dev/null && exit 4
dd if=/tmp/a of=/dev/odrp0 bs=4k count=1 oflag=direct 2>/dev/null && exit 5
exit 0
GUEST

dies() {
	vm_script --mem 256M --swap 64M --no-swapon "${keyed[@]}" -- "$dying"
	expect_status 0
	expect_out 'Input/output error|I/O error'
	expect '.teardown_errors == []'
}

# The node says an rkey that leads nowhere when the session is taken up again: nothing is
# read or written by it, nor by that of before. The session is lost once more, and goes
# on with what it is told then.
read -r -d '' other_rkeys <<'GUEST'
node=10.77.0.1
state=/sys/block/odrp0/odrp/state
read_back() {
	dd if=/dev/odrp0 bs=64k count=16 iflag=direct 2>/dev/null | cmp - /tmp/a
}
dd if=/dev/urandom of=/tmp/a bs=64k count=16 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null || exit 1
arp -s $node 02:00:00:00:00:01 || exit 2
dd if=/tmp/a of=/dev/odrp0 bs=4k count=1 oflag=direct 2>/dev/null &
within 30 is $state lost || exit 3
arp -d $node
wait $! || exit 4
read_back || exit 5
within 60 is $state live || exit 6
is /sys/block/odrp0/odrp/reconnects 2 || exit 7
echo all well
GUEST

# What was true once is that the device was added; pages are only written then. Without
# secrets, or what is forged would be the handshake; and of a device that has a page for
# each slot and asks for none, or it would be an answer.
are_others() {
	vm_script --mem 256M --swap 1M --no-swapon "${keyed[@]}" \
		--auth none --nic-opt forge_after=1,forge_max=1,forge_data=1 \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$other_rkeys"
	expect_status 0
	expect_out 'all well'
	expect '.mnode.nic.fault_forged == 1' '.teardown_errors == []'
	expect_keyed
}

# By day smoke.sh does so.
((long_cases)) && tap_case "a quicksort of twice the memory on 6.1" sorts 6.1
tap_case "the device as a disk, 6.1" is_a_disk 6.1
((long_cases)) &&
	tap_case "a quicksort by frontswap, 5.10" sorts 5.10 --backend frontswap
tap_case "packets that go nowhere, 6.12" goes_on
tap_case "a memory node that dies" dies
tap_case "an rkey that leads nowhere" are_others
tap_case "a CNode that does not offer it" has_chains
if ((nightly)); then
	tap_case "a quicksort with checksums" sorts 6.1 \
		--param hot_add.checksum=crc32c
	tap_case "the device as a disk, with checksums, 6.12" is_a_disk 6.12 \
		--param hot_add.checksum=crc32c
fi
tap_end
