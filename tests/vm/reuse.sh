#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stores to slots without a page take the pages of slots that were freed: nothing
# is mapped or unmapped for them, and no slot reads as another.
. "$(dirname "$0")/lib.sh"

# 4 MB are written and given up, and 4 MB written elsewhere, and so on: all in the
# pages of the first.  $1: rounds.
read -r -d '' moves <<'GUEST'
set -e
dev=/dev/odrp0
stat=/sys/block/odrp0/odrp
dd if=/dev/zero of=/tmp/zeros bs=1M count=4 2>/dev/null
write() {
	dd if=/dev/urandom of=/tmp/f$1 bs=1M count=4 2>/dev/null
	dd if=/tmp/f$1 of=$dev bs=64k seek=$(($1 * 64)) oflag=direct 2>/dev/null
}
reads_as() {
	dd if=$dev bs=64k skip=$(($1 * 64)) count=64 iflag=direct 2>/dev/null |
		cmp - $2
}
write 9		# stays where it is
write 0
i=0
while [ $i -lt $1 ]; do
	blkdiscard -o $((i * 4194304)) -l 4194304 $dev
	is $stat/free_pending 1024
	rm /tmp/f$i
	write $((i + 1))
	is $stat/free_pending 0
	is $stat/stores_reused $(((i + 1) * 1024))
	reads_as $i /tmp/zeros
	reads_as $((i + 1)) /tmp/f$((i + 1))
	reads_as 9 /tmp/f9
	i=$((i + 1))
done
is $stat/stores_unmapped 2048
is $stat/used 2048
is $stat/invalidates 0
# What is written to where the first ones were has pages of its own again.
write 0
is $stat/stores_unmapped 3072
for i in 0 9 $1; do
	reads_as $i /tmp/f$i
done
echo all well
GUEST

# $1: kernel, then options.
in_the_same_pages() {
	vm_script --kernel "$@" --mem 256M --swap 64M --no-swapon \
		--param free_delay_ms=600000 --param free_batch=100000 \
		--add "$(command -v blkdiscard)" -- "$moves" 3
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.stores_reused == 3072' \
		'.teardown_errors == []' '.mnode_end.pages_mapped == 0' \
		'.mnode_end.pages_free + .mnode_end.pages_armed == .mnode_end.pages_total'
}

# The pool is full, and what is given up is wanted at once.
read -r -d '' full <<'GUEST'
dev=/dev/odrp0
stat=/sys/block/odrp0/odrp
dd if=/dev/urandom of=/tmp/a bs=1M count=4 2>/dev/null
dd if=/dev/zero of=$dev bs=64k count=1024 oflag=direct 2>/tmp/err
[ $? != 0 ] || exit 1
whole=$(sed -n 's/^\([0-9]*\)+[0-9]* records out/\1/p' /tmp/err)
[ "$whole" -ge 256 ] || exit 2
# What went in of the block that failed, too.
blkdiscard -o $((whole * 65536)) -l 65536 $dev || exit 3
i=0
while [ $i -lt 8 ]; do
	from=$((i % 2 * 960)) to=$(((i + 1) % 2 * 960))
	blkdiscard -o $((from * 65536)) -l 4194304 $dev || exit 4
	dd if=/tmp/a of=$dev bs=64k seek=$to oflag=direct 2>/dev/null || exit 5
	dd if=$dev bs=64k skip=$to count=64 iflag=direct 2>/dev/null |
		cmp - /tmp/a || exit 6
	i=$((i + 1))
done
[ $(cat $stat/stores_reused) -gt 0 ] || exit 7
echo all well
GUEST

when_full() {
	vm_script --mem 256M --swap 64M --pool 32M --no-swapon \
		--add "$(command -v blkdiscard)" -- "$full"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.load_errors == 0' '.teardown_errors == []' \
		'.mnode_end.pages_mapped == 0'
	say "$(jq -c '.cnodes[0].stats | {stores_unmapped, stores_reused,
		invalidates, waits_page, lease_denied}' "$case_dir/json")"
}

tap_case "chains, 6.1" in_the_same_pages 6.1 "${unknown_card[@]}"
tap_case "translation in the NIC, 6.12" in_the_same_pages 6.12 \
	--param mnode.translate=nic
tap_case "a pool that is full" when_full
if ((nightly)); then
	tap_case "with checksums, 5.10" in_the_same_pages 5.10 \
		--param hot_add.checksum=crc32c
fi
tap_end
