#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the kernel counts for the disk, which iostat shows, is what the device
# counts itself; and nothing is in flight when all is at rest.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
script='
. /etc/odrp/run.conf
dev=/dev/odrp0
disk=/sys/block/odrp0
odrp=$disk/odrp
node=$(echo "$HOT_ADD" | sed "s/.*addr=\([^ ]*\) .*/\1/")
die() {
	echo "$*"
	grep odrp0 /proc/diskstats
	cat $odrp/io_stat
	exit 1
}
n() {
	read -r n <$odrp/$1 && echo $n
}
# The fields of diskstats have the names of the kernel: iostats.rst.
kernel() {
	read -r rd_ios _ rd_sectors rd_ticks wr_ios _ wr_sectors wr_ticks \
		in_flight io_ticks _ dc_ios _ dc_sectors _ <<-LINE
		$(sed -n "s/^.* odrp0 //p" /proc/diskstats)
	LINE
}
ours() {
	read -r load_errors store_errors invalid notify loads mapped unmapped rest \
		<$odrp/io_stat
	zeros=$(n loads_zero)
	[ "$loads $mapped $unmapped" = "$(n loads) $(n stores_mapped) $(n stores_unmapped)" ] ||
		die "io_stat is not what the files say"
	[ "$load_errors $store_errors $invalid" = "0 0 0" ] || die errors
}
# same WHEN
same() {
	ours
	kernel
	[ $rd_ios = $((loads + zeros)) ] || die "$1: $rd_ios reads"
	[ $wr_ios = $((mapped + unmapped)) ] || die "$1: $wr_ios writes"
	[ $rd_sectors = $((rd_ios * 8)) ] || die "$1: $rd_sectors sectors read"
	[ $wr_sectors = $((wr_ios * 8)) ] || die "$1: $wr_sectors sectors written"
	[ $(n bytes_in) = $((loads * 4096)) ] || die "$1: bytes_in"
	[ $(n bytes_out) = $((wr_sectors * 512)) ] || die "$1: bytes_out"
	[ "$dc_ios $dc_sectors" = "$discards $((discarded * 8))" ] ||
		die "$1: $dc_ios discards of $dc_sectors sectors"
	[ $in_flight = 0 ] || die "$1: $in_flight in flight"
	grep -q "^ *0 *0$" $disk/inflight || die "$1: inflight $(cat $disk/inflight)"
	[ "$(sed "s/  */ /g; s/^ //; s/ $//" $disk/stat)" = \
	  "$(sed -n "s/^.* odrp0 //p" /proc/diskstats)" ] || die "$1: stat, diskstats"
	echo "$1: $rd_ios reads, $wr_ios writes, $dc_ios discards"
}
discard() {
	blkdiscard -f -o $(($1 * 4096)) -l $(($2 * 4096)) $dev || die discard
	discards=$((discards + 1))
	discarded=$((discarded + $2))
}

discards=0
discarded=0
same "at first"
dd if=/dev/urandom of=/tmp/a bs=1M count=4 2>/dev/null
for size in 4k 64k 1M; do
	dd if=/tmp/a of=$dev bs=$size oflag=direct 2>/dev/null &&
		dd if=$dev of=/dev/null bs=$size count=4M \
			iflag=direct,count_bytes 2>/dev/null || die I/O
done
same "one by one"
[ $rd_ios = 3072 ] && [ $wr_ios = 3072 ] || die "not as many as there were"
discard 0 512
discard 700 1
dd if=$dev of=/dev/null bs=1M count=8 iflag=direct 2>/dev/null || die read
same "with discards, and blocks that hold nothing"
[ $zeros = $((512 + 1 + 1024)) ] || die "$zeros zeros"

pids=
for i in 1 2 3; do
	dd if=/tmp/a of=$dev bs=64k seek=$((i * 48)) oflag=direct 2>/dev/null &
	pids="$pids $!"
	dd if=$dev of=/dev/null bs=256k count=40 iflag=direct 2>/dev/null &
	pids="$pids $!"
done
for pid in $pids; do
	wait $pid || die "I/O at once"
done
same "many at once"

# What waits is seen to wait, and its time is counted.
discard 0 2048
dd if=/tmp/a of=$dev bs=64k count=1 oflag=direct 2>/dev/null || die write
same "before it waits"
before=$io_ticks
rd_before=$rd_ticks
busybox arp -s "$node" 02:00:00:00:00:77 || die arp
dd if=$dev of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null &
reads=$!
waits() {
	kernel
	[ $in_flight = 1 ] && grep -q "^ *1 *0$" $disk/inflight
}
within 20 waits || die "not in flight"
within 20 is $odrp/state lost || die "not lost"
waits || die "not in flight any more"
busybox arp -d "$node" || die arp
wait $reads || die "not read"
same "when it has waited"
[ $io_ticks -gt $before ] && [ $rd_ticks -gt $rd_before ] || die "no time has passed"

mkswap $dev >/dev/null && swapon $dev || die swapon
mkdir /sys/fs/cgroup/few && echo 16M >/sys/fs/cgroup/few/memory.max
sh -c "echo \$\$ >/sys/fs/cgroup/few/cgroup.procs
	exec pattern-far --size=24M --repeat=1" >/tmp/log || die "pages are wrong"
swapoff $dev || die swapoff
# The page that mkswap and swapon have looked at, and its readahead, is in these.
same "swapping"
[ $(n notify_free) -gt 2000 ] || die "nothing freed"
echo all well
'

counts() {
	vm_script --kernel "$1" --mem 192M --swap 32M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((20000 * slow)) \
		--add "$(command -v blkdiscard)" --add "$(command -v dd)" \
		-- "$script"
	expect_status 0
	expect_out 'all well'
	say "$(tail -n 3 "$case_dir/out" | paste -sd,)"
	expect_clean
}

for kernel in "${kernels[@]}"; do
	tap_case "the kernel counts what the device counts, $kernel" counts "$kernel"
done
tap_end
