#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What a device counts about itself adds up: the histograms of its queues are all
# loads and stores, invalidates are told apart by why they were sent. And it goes
# when it is told to, whoever is reading.
. "$(dirname "$0")/lib.sh"

read -r -d '' script <<'GUEST'
. /etc/odrp/run.conf
dev=/dev/odrp0
control=/sys/class/odrp-control
stats=/sys/block/odrp0/odrp
debug=/sys/kernel/debug/odrp/odrp0
trace=/sys/kernel/debug/tracing
die() {
	echo "$*"
	exit 1
}
n() {
	read -r n <$stats/$1 && echo $n
}

# counted load|store: how many, in all queues together.
counted() {
	cat $debug/queue*/$1 | awk '{ n += $3 } END { print n + 0 }'
}

# Lines of three numbers, ranges that follow one another, none of them empty.
in_order() {
	awk -v last=-1 '
		NF != 3 || $0 ~ /[^0-9 ]/ || $1 <= last || $2 < $1 || $3 < 1 {
			print FILENAME ": " $0
			bad = 1
		}
		{ last = $2 }
		END { exit bad || !NR }' $1
}

# The largest of all queues is within their last range.
largest_fits() {
	tail -qn 1 $debug/queue*/$1 | sort -n | tail -n 1 |
		awk -v max=$(n $1_max_ns) '{ exit max < $1 || max > $2 }'
}

all_add_up() {
	loads=$(n loads) stores=$(($(n stores_mapped) + $(n stores_unmapped)))
	[ $(counted load) = $loads ] || die "$(counted load) of $loads loads"
	[ $(counted store) = $stores ] || die "$(counted store) of $stores stores"
	for what in load store; do
		for f in $debug/queue*/$what; do
			in_order $f || die "$f: not a histogram"
		done
		largest_fits $what || die "$what: max is $(n ${what}_max_ns)"
		[ $(n ${what}_p50_ns) -gt 0 ] &&
			[ $(n ${what}_p50_ns) -le $(n ${what}_p90_ns) ] &&
			[ $(n ${what}_p90_ns) -le $(n ${what}_p99_ns) ] &&
			[ $(n ${what}_p99_ns) -le $(n ${what}_max_ns) ] ||
			die "$what: $(cat $stats/${what}_*_ns)"
	done
}

# use CPU BLOCKSIZE: 2 MB, with the queue of that processor
use() {
	taskset -c $1 dd if=/tmp/a of=$dev bs=$2 oflag=direct 2>/dev/null &&
		taskset -c $1 dd if=$dev bs=$2 count=$((2097152 / $2)) \
			iflag=direct of=/dev/null 2>/dev/null || die "I/O failed"
}

# The end that gives back counts and traces that behind the last answer.
all_flushed() {
	[ $(($(n flushed_age) + $(n flushed_count) + $(n flushed_now))) = \
		$(n invalidates) ]
}
traced() {
	grep -q "odrp_free: odrp0 $1 sent=" $trace/trace
}
flushed() {
	within 20 all_flushed
	[ "$(n flushed_age) $(n flushed_count) $(n flushed_now)" = "$1" ] ||
		die "flushed: $(cat $stats/flushed_*), expected $1"
}

[ $(ls -d $debug/queue* | wc -l) = $(n queues) ] && [ $(n queues) = 2 ] ||
	die "queues: $(ls $debug)"
dd if=/dev/urandom of=/tmp/a bs=1M count=2 2>/dev/null
for cpu in 0 1; do
	use $cpu 65536 &
	others="$others $!"
	use $cpu 4096
done
for p in $others; do
	wait $p || exit
done
all_add_up
echo "$loads loads, $stores stores"

echo "given back because it is old"
# Else half of what the lease has left is much.
echo 1024 >/sys/module/odrp/parameters/free_batch
echo 1 >$trace/events/odrp/odrp_free/enable || die "no tracepoint"
blkdiscard $dev
within 20 is $stats/used 0 || die "used: $(n used)"
flushed "512 0 0"
within 20 traced age || die "not traced"
[ $(n invalidates) = 512 ] || die "$(n invalidates) invalidates"

echo "given back because there is much of it"
use 0 65536
echo 64 >/sys/module/odrp/parameters/free_batch
blkdiscard $dev
within 20 is $stats/used 0 || die "used: $(n used)"
echo 0 >/sys/module/odrp/parameters/free_batch
within 20 all_flushed
within 20 traced count || die "not traced"
[ $(n flushed_count) -ge 448 ] && [ $(n flushed_now) = 0 ] &&
	[ $(($(n flushed_count) + $(n flushed_age))) = $(n invalidates) ] ||
	die "flushed: $(cat $stats/flushed_*) of $(n invalidates)"
echo 0 >$trace/events/odrp/odrp_free/enable

echo "removed while it is read"
for i in 1 2 3 4; do
	use 0 65536
	exec 5<$debug/queue0/load
	[ $((i % 2)) = 0 ] || read -r line <&5
	while cat $debug/queue*/*; do :; done >/dev/null 2>&1 &
	usleep $((i * 10000))
	echo 0 >$control/hot_remove || die "hot_remove failed"
	[ ! -e $debug ] || die "$debug is still there"
	wait $!
	! cat <&5 >/tmp/rest 2>/tmp/err || die "read: $(cat /tmp/rest)"
	grep -q 'Input/output error' /tmp/err || die "$(cat /tmp/err)"
	[ $i -eq 4 ] || exec 5<&-
	echo "$HOT_ADD" >$control/hot_add || die "hot_add failed"
	[ "$(cat $debug/queue*/* | wc -l)" = 0 ] || die "it does not begin anew"
done
# The old one is not the new one.
use 0 65536
! cat <&5 >/dev/null 2>&1 || die "the old file reads what is new"
exec 5<&-
echo all well
GUEST

adds_up() {
	vm_script --kernel "$1" --leaks --mem 192M --swap 32M --no-swapon \
		--param hot_add.queues=2 --add "$(command -v blkdiscard)" \
		--add "$(command -v taskset)" -- "$script"
	expect_status 0
	expect_out 'all well'
	expect_clean
}

for kernel in "${kernels[@]}"; do
	tap_case "histograms and counters add up on $kernel" adds_up "$kernel"
done
tap_end
