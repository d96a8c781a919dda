#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A file system on the device: a tree of files is written and changed, the file
# system is whole when it was unmounted, and mounted again it has the same files.
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/lib/initramfs.sh
. "$vm_top/scripts/lib/initramfs.sh"

# The same tree is made in memory, by the same steps.
read -r -d '' script <<'GUEST'
dev=/dev/odrp0
set -e
trap 'umount /mnt 2>/dev/null || :' EXIT
for m in /x/modules/*.ko; do
	insmod $m 2>/dev/null || true	# some are there already
done
mkdir /mnt /tmp/tree

# plant DIR ROUND MB: files of 1 to some 100000 bytes, in directories, with
# links, and one with a hole.
plant() {
	dir=$1/$2 at=0 nr=0 size=1
	mkdir -p $dir
	while [ $at -lt $(($3 << 20)) ]; do
		[ $((nr % 16)) != 0 ] || sub=$dir/d$((nr / 16))/deep/er && mkdir -p $sub
		tail -c +$((at + 1)) /tmp/random | head -c $size >$sub/f$nr
		at=$((at + size))
		nr=$((nr + 1))
		size=$(((size * 29 + 4111) % 131071 + 1))
	done
	ln -s ../$2/d0 $dir/symbolic
	ln $sub/f$((nr - 1)) $dir/hard
	dd if=/tmp/random of=$dir/hole bs=4k count=9 seek=700 2>/dev/null
}

# change DIR ROUND TIME: some files go, a directory moves, some files grow, some
# have bytes in the middle written anew.
change() {
	dir=$1/$2
	find $dir -name "f*$((3 + $3))" -exec rm {} \;
	mv $dir/d$3/deep $dir/d$(($3 + 1))/deep/deeper
	find $dir -name "f*$((5 + $3))" | while read -r f; do
		head -c 5000 /tmp/random >>$f
	done
	find $dir -name "f*$((7 + $3))" | while read -r f; do
		dd if=/tmp/random of=$f bs=100 count=10 seek=3 conv=notrunc
	done 2>/dev/null
}

listing() {
	(cd $1 && find . ! -name lost+found ! -type d | sort | while read -r f; do
		stat -c '%n %s %h %F' "$f"
	done && find . -type f | sort | xargs sha1sum)
}

compare() {
	echo 3 >/proc/sys/vm/drop_caches
	listing /mnt >/tmp/there
	cmp /tmp/here /tmp/there || { diff /tmp/here /tmp/there | head; exit 1; }
}

dd if=/dev/urandom of=/tmp/random bs=1M count=$2 2>/dev/null
mkfs.ext4 -q $dev
round=0
while [ $round -lt $1 ]; do
	mount -t ext4 $dev /mnt
	for top in /tmp/tree /mnt; do
		rm -rf $top/$((round - 2))
		plant $top $round $2
		[ $round = 0 ] || change $top $((round - 1)) 1
		change $top $round 0
	done
	listing /tmp/tree >/tmp/here
	umount /mnt
	fsck.ext4 -f -n $dev >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
	mount -t ext4 -o ro $dev /mnt
	compare
	umount /mnt
	echo "round $round: $(grep -c . /tmp/here) lines agree"
	round=$((round + 1))
done

before=$(cat /sys/block/odrp0/odrp/used)
mount -t ext4 $dev /mnt
rm -rf /mnt/$((round - 1))/d1
rm -rf /tmp/tree/$((round - 1))/d1
sync
fstrim -v /mnt
listing /tmp/tree >/tmp/here
compare
umount /mnt
fsck.ext4 -f -n $dev >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
fewer() {
	[ "$(cat /sys/block/odrp0/odrp/used)" -lt $before ]
}
within 60 fewer || { echo "as many blocks used after fstrim: $before"; exit 1; }
echo all well
GUEST

# holds_files KERNEL ROUNDS MB
holds_files() {
	kernel_fetch "$1" && module_files "$1" "$case_dir/modules" ext4 ||
		wrong "no modules for ext4"
	vm_script --kernel "$1" --mem $((160 + 8 * $3))M --swap $((64 + 4 * $3))M \
		--no-swapon --add "$case_dir/modules" \
		--add "$(command -v mkfs.ext4)" --add "$(command -v fsck.ext4)" \
		-- "$script" "$2" "$3"
	expect_status 0
	expect_out 'all well'
	expect ".cnodes[0].stats.stores_unmapped > $((200 * $3))" \
		".cnodes[0].stats.loads > $((200 * $3))" \
		'.cnodes[0].stats.stores_mapped > 10' \
		'.cnodes[0].stats.invalidates > 100'
	expect_clean
	say "$(grep -E 'agree|trim' "$case_dir/out" | paste -sd,)"
}

tap_case_with disk "a tree of files on 6.1" holds_files 6.1 1 6
if ((nightly)); then
	vm_timeout=1500
	for kernel in 5.10 6.1 6.12; do
		tap_case_with disk "trees of files on $kernel" holds_files $kernel 4 16
	done
fi
tap_end
