#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The tracepoints tell the life of each request: one page is followed from its
# arrival to its end, and of many at once none is without an end.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
script='
dev=/dev/odrp0
odrp=/sys/block/odrp0/odrp
trace=/sys/kernel/debug/tracing
die() {
	tail -n 5 $trace/trace
	echo "FAILED: $*"
	exit 1
}
n() {
	read -r n <$odrp/$1 && echo $n
}
sum() {
	total=0
	for f; do
		total=$((total + $(n $f)))
	done
	echo $total
}
# begin: from here on, with nothing on its way
begin() {
	echo 0 >$trace/tracing_on
	echo >$trace/trace
	echo 1 >$trace/tracing_on
}
# None has been dropped, and nobody looks at more than there is.
end() {
	echo 0 >$trace/tracing_on
	grep -v "^#" $trace/trace | sed "s/.*: \(odrp_[a-z]*\): /\1 /" >/tmp/trace
	sed -n "s/^# entries-in-buffer.entries-written: \([0-9]*\)\/\([0-9]*\) .*/\1 \2/p" \
		$trace/trace >/tmp/entries
	read -r held written </tmp/entries && [ $held = $written ] ||
		die "entries lost: $held of $written"
}
# told LINE...: that is what happened to slot 77, and nothing else
told() {
	end
	grep -v "^odrp_free" /tmp/trace >/tmp/is
	for line; do
		echo "$line"
	done >/tmp/should
	sed "s/ queue=[0-9]*//; s/ [ri][a-z]*=[0-9]*//g; s/ ns=[0-9]*//" /tmp/is |
		diff -u /tmp/should - || die "not what was expected"
	begin
}
write() {
	dd if=/tmp/a of=$dev bs=4k count=1 seek=$1 oflag=direct 2>/dev/null || die write
}
read_back() {
	dd if=$dev of=/tmp/b bs=4k count=1 skip=$1 iflag=direct 2>/dev/null || die read
}

dd if=/dev/urandom of=/tmp/a bs=1M count=4 2>/dev/null
echo global >$trace/trace_clock
echo 8192 >$trace/buffer_size_kb || die "no room"
for e in bio wait post done end free; do
	echo 1 >$trace/events/odrp/odrp_$e/enable || die "no tracepoint odrp_$e"
done
# A reader elsewhere knows nothing of our names.
for format in $trace/events/odrp/*/format; do
	grep "^print fmt" $format | grep -q "ODRP_\|REQ_OP\|BLK_STS\|( *int)" &&
		die "$(cat $format)"
done

begin
write 77
told "odrp_bio odrp0 store slot=77 blocks=1" \
	"odrp_post odrp0 chain=unmapped_store slot=77" \
	"odrp_done odrp0 chain=unmapped_store slot=77 ok"
write 77
told "odrp_bio odrp0 store slot=77 blocks=1" \
	"odrp_post odrp0 chain=mapped_store slot=77" \
	"odrp_done odrp0 chain=mapped_store slot=77 ok"
read_back 77
told "odrp_bio odrp0 load slot=77 blocks=1" \
	"odrp_post odrp0 chain=load slot=77" \
	"odrp_done odrp0 chain=load slot=77 ok"
read_back 78
told "odrp_bio odrp0 load slot=78 blocks=1" "odrp_end odrp0 slot=78 zeros"
blkdiscard -f -o $((77 * 4096)) -l 4096 $dev || die discard
within 60 is $odrp/used 0 || die "not given back"
told "odrp_bio odrp0 free slot=77 blocks=1" \
	"odrp_post odrp0 chain=invalidate slot=77" \
	"odrp_done odrp0 chain=invalidate slot=77 ok"
echo "one page was followed"

# Several bios and their blocks at once, two of each slot; more than there are
# requests.
counters="loads stores_mapped stores_unmapped invalidates"
before=$(sum $counters)
credit=$(n waits_credit) slot=$(n waits_slot) zero=$(n loads_zero)
begin
for round in 1 2; do
	for size in 64k 1M; do
		dd if=/tmp/a of=$dev bs=$size oflag=direct 2>/dev/null &
		dd if=$dev of=/dev/null bs=$size count=4M \
			iflag=direct,count_bytes 2>/dev/null &
	done
	wait
done
blkdiscard -f $dev
within 20 is $odrp/used 0 || die "not given back"
end
awk "
	function slot(  i) {
		for (i = 1; i <= NF; i++)
			if (\$i ~ /^slot=/)
				return substr(\$i, 6)
	}
	function chain(  i) {
		for (i = 1; i <= NF; i++)
			if (\$i ~ /^chain=/)
				return substr(\$i, 7)
	}
	function wrong(what) {
		print what \": \" \$0
		bad = 1
	}
	\$1 == \"odrp_bio\" {
		n = substr(\$5, 8) + 0
		if (\$3 != \"free\")
			for (i = 0; i < n; i++)
				arrived[slot() + i]++
		bios++
	}
	\$1 == \"odrp_wait\" {
		if (arrived[slot()] < 1)
			wrong(\"waits, and has not arrived\")
		why = substr(\$4, 5)
		waits[why == \"slot\" || why == \"page\" ? why : \"credit\"]++
	}
	\$1 == \"odrp_post\" {
		if (chain() != \"invalidate\" && arrived[slot()]-- < 1)
			wrong(\"posted, and has not arrived\")
		if (out[slot()]++)
			wrong(\"posted beside another\")
		posts++
	}
	\$1 == \"odrp_done\" {
		if (out[slot()]-- != 1)
			wrong(\"done, and was not posted\")
		if (\$NF !~ /^ns=[0-9]+\$/ || \$(NF - 1) != \"ok\")
			wrong(\"not well\")
		dones++
	}
	\$1 == \"odrp_end\" {
		if (arrived[slot()]-- < 1)
			wrong(\"ended, and has not arrived\")
		if (\$NF != \"zeros\")
			wrong(\"not well\")
		ends++
	}
	END {
		for (s in arrived)
			if (arrived[s])
				wrong(\"slot \" s \": no end\")
		for (s in out)
			if (out[s])
				wrong(\"slot \" s \": not done\")
		print bios + 0, posts + 0, dones + 0, ends + 0, waits[\"credit\"] + 0,
			waits[\"slot\"] + 0
		exit bad
	}" /tmp/trace >/tmp/found || die "$(tail -n 5 /tmp/found)"
read -r bios posts dones ends credits slots </tmp/found
echo "$bios bios, $posts posted, $dones done, $ends ended," \
	"$credits waited for a request, $slots for a slot"
[ $posts = $dones ] && [ $dones = $(($(sum $counters) - before)) ] || die "requests"
[ $ends = $(($(n loads_zero) - zero)) ] || die "loads_zero"
[ $credits = $(($(n waits_credit) - credit)) ] && [ $credits -gt 100 ] || die "waits_credit"
[ $slots = $(($(n waits_slot) - slot)) ] || die "waits_slot"
echo all well
'

follows() {
	vm_script --kernel "$1" --mem 192M --swap 32M --no-swapon \
		--param hot_add.queues=2 --param hot_add.depth=16 \
		--add "$(command -v blkdiscard)" --add "$(command -v dd)" \
		-- "$script"
	expect_status 0
	expect_out 'all well'
	say "$(grep ' bios, ' "$case_dir/out")"
	expect_clean
}

for kernel in "${kernels[@]}"; do
	tap_case "requests are followed on $kernel" follows "$kernel"
done
tap_end
