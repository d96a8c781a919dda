#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The device as a disk, without swap: what is written is read, in any order
# and size of requests; and what was discarded is given back.
. "$(dirname "$0")/lib.sh"
chains_only

read -r -d '' script <<'GUEST'
set -e
dev=/dev/odrp0
dd if=/dev/urandom of=/tmp/a bs=1M count=12 2>/dev/null
dd if=/dev/zero of=/tmp/zeros bs=1M count=12 2>/dev/null

echo "in order, 1 MB at a time"
dd if=/tmp/a of=$dev bs=1M oflag=direct 2>/dev/null
dd if=$dev bs=1M count=12 iflag=direct 2>/dev/null | cmp - /tmp/a

echo "4 KB at a time, every third page anew"
dd if=/dev/urandom of=/tmp/b bs=4k count=192 2>/dev/null
i=0
while [ $i -lt 192 ]; do
	dd if=/tmp/b of=/tmp/a bs=4k count=1 skip=$i seek=$i conv=notrunc
	dd if=/tmp/b of=$dev bs=4k count=1 skip=$i seek=$i conv=notrunc oflag=direct
	i=$((i + 3))
done 2>/dev/null
dd if=$dev bs=4k count=3072 iflag=direct 2>/dev/null | cmp - /tmp/a

echo "through the page cache"
echo 3 >/proc/sys/vm/drop_caches
dd if=$dev bs=64k count=192 2>/dev/null | cmp - /tmp/a

echo "by two at once"
dd if=$dev bs=16k count=768 iflag=direct of=/tmp/c 2>/dev/null &
dd if=$dev bs=128k count=96 iflag=direct 2>/dev/null | cmp - /tmp/a
wait $!
cmp /tmp/c /tmp/a

echo "discarded"
blkdiscard $dev
within 60 is /sys/block/odrp0/odrp/used 0
dd if=$dev bs=64k count=192 iflag=direct 2>/dev/null | cmp - /tmp/zeros

echo "written again after that"
dd if=/tmp/a of=$dev bs=256k oflag=direct 2>/dev/null
dd if=$dev bs=256k count=48 iflag=direct 2>/dev/null | cmp - /tmp/a
echo all well
GUEST

reads_back() {
	vm_script --kernel "$1" --leaks --mem 288M --swap 64M --no-swapon \
		--add "$(command -v blkdiscard)" -- "$script"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.invalidates >= 3072'
	expect_clean
}

tap_case "write, rewrite, read, discard on 6.1" reads_back 6.1
((nightly)) && tap_case "write, rewrite, read, discard on 6.12" reads_back 6.12
tap_end
