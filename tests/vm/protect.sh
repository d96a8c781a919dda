#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# protect=aead: the memory node has noise; a page that it has changed, exchanged for
# another or for an old one is an I/O error, and no other page is.
. "$(dirname "$0")/lib.sh"

read -r -d '' guest_pages <<'GUEST'
. /etc/odrp/run.conf
control=/sys/class/odrp-control
odrp=/sys/block/odrp0/odrp
nr=16
fail() {
	echo "FAILED: $*"
	cat /tmp/err
	dmesg | tail -n 15
	exit 1
}
page() {
	dd if=$1 of=$2 bs=4k count=1 conv=notrunc $3 2>/tmp/err
}
write() {
	dd if=/tmp/a bs=4k of=/dev/odrp0 oflag=direct conv=notrunc \
		skip=$1 seek=$1 count=$2 2>/tmp/err || fail "write $1"
}
# Those that cannot be read; all others are what they were.
look() {
	wrong= nr_wrong=0 i=0
	while [ $i -lt $nr ]; do
		if page /dev/odrp0 /tmp/b "skip=$i iflag=direct"; then
			page /tmp/a /tmp/c skip=$i
			cmp /tmp/b /tmp/c || fail "page $i is not what it was"
		else
			grep -q "I/O error\|Input/output error" /tmp/err || fail "page $i"
			wrong="$wrong $i" nr_wrong=$((nr_wrong + 1))
		fi
		i=$((i + 1))
	done
}
so_many() {
	look
	[ $nr_wrong = $1 ]
}
GUEST

# $1: what each page is full of. The host looks for it, and does something to pages,
# each time that "attack N" is said.
read -r -d '' attacked <<'GUEST'
# Then they are written again, and all is well.
attack() {
	echo "attack $1"
	within 60 so_many $2 || fail "attack $1: $nr_wrong are wrong, not $2"
	for i in $wrong; do
		write $i 1
	done
	so_many 0 || fail "attack $1: wrong after they were written"
}
echo 0 >$control/hot_remove || fail "hot_remove"
for both in "protect=aead checksum=crc32c" protect=aes; do
	echo "$(echo "$HOT_ADD" | sed "s/protect=aead/$both/")" >$control/hot_add \
		2>/tmp/err && fail "$both"
	dmesg | tail -n 3 | grep "hot_add: protect=.*: expected" || fail "$both"
done
echo "$HOT_ADD" >$control/hot_add || fail "hot_add"
is $odrp/protect aead || fail "protect"
yes "$1" | dd bs=4k count=$nr iflag=fullblock >/tmp/a 2>/dev/null
write 0 $nr
so_many 0 || fail "wrong from the start"
attack change 1
attack exchange 2
attack old 2
is $odrp/state live || fail "not live"
is $odrp/store_errors 0 || fail "stores"
is $odrp/load_errors "$(cat $odrp/protect_errors)" || fail "other errors"
echo "protect_errors $(cat $odrp/protect_errors)"
# Without it the text is found there, and what is changed is believed.
echo 0 >$control/hot_remove || fail "hot_remove"
echo "$HOT_ADD" | sed s/protect=aead/protect=none/ >$control/hot_add || fail "hot_add"
write 0 $nr
is_believed() {
	page /dev/odrp0 /tmp/b iflag=direct || fail "read"
	! cmp -s -n 4096 /tmp/b /tmp/a
}
echo "attack none"
within 60 is_believed || fail "nothing was changed"
echo all well
GUEST

# With a second copy: a page that was changed is read from there, and so are all when the
# memory node has gone.
read -r -d '' backed <<'GUEST'
modprobe brd rd_nr=1 rd_size=16384 || fail "brd"
echo 0 >$control/hot_remove || fail "hot_remove"
echo "$HOT_ADD backing=/dev/ram0" >$control/hot_add || fail "hot_add"
is $odrp/protect aead || fail "protect"
yes "$1" | dd bs=4k count=$nr iflag=fullblock >/tmp/a 2>/dev/null
write 0 $nr
so_many 0 || fail "wrong from the start"
is $odrp/backing_loads 0 || fail "read from the second copy"
was_changed() {
	so_many 0 || fail "wrong with a second copy"
	[ "$(cat $odrp/protect_errors)" -gt 0 ]
}
echo "attack change"
within 60 was_changed || fail "nothing was changed"
is $odrp/backing_loads "$(cat $odrp/protect_errors)" || fail "read from elsewhere"
echo "protect_errors $(cat $odrp/protect_errors)"
echo $((2000 * SLOW)) >$odrp/io_timeout_ms || fail "io_timeout_ms"
echo $((1000 * SLOW)) >$odrp/dead_after_ms || fail "dead_after_ms"
kill_mnode
within 60 is $odrp/state dead || fail "not dead"
so_many 0 || fail "wrong without the memory node"
write 3 5
so_many 0 || fail "wrong after they were written"
is $odrp/load_errors 0 && is $odrp/store_errors 0 || fail "errors"
echo all well
GUEST

marker=

# do_attack PID NAME
do_attack() {
	local pages=$vm_top/tests/vm/pool-pages.py
	case $2 in
	change)
		if python3 "$vm_top/tests/vm/flip-bit.py" "$1" "$marker" 2>/dev/null; then
			: >"$case_dir/text-found"
		fi
		python3 "$pages" "$1" flip
		;;
	exchange | old) python3 "$pages" "$1" "$2" "$case_dir/pages" ;;
	none) python3 "$vm_top/tests/vm/flip-bit.py" "$1" "$marker" 2>/dev/null ;;
	esac
}

# The agent's control socket is in its command line.
attack() {
	local name pid
	name=$(sed -n 's/^attack //p' "$case_dir/out" | tail -n 1)
	[[ -n $name && ! -e $case_dir/did-$name ]] || return
	pid=$(pgrep -f "odrp-mnoded .*$1") || return
	do_attack "$pid" "$name" && : >"$case_dir/did-$name"
}

is_refused() {
	marker="page-$RANDOM-$RANDOM-$RANDOM-$RANDOM"
	vm_beside attack vm_script --mem 192M --swap 16M --pool 64M --no-swapon \
		--param hot_add.protect=aead --kernel "$@" -- \
		"$guest_pages"$'\n'"$attacked" "$marker"
	[[ ! -e $case_dir/text-found ]] || wrong "the memory node has the text of a page"
	[[ -e $case_dir/did-none ]] || wrong "no text without protect=aead"
	expect_status 0
	expect_out '^protect_errors [5-9]|^protect_errors [1-9][0-9]'
	expect_out 'all well'
	expect '.teardown_errors == []'
	expect_pages_back
	say "$(grep -E '^protect_errors' "$case_dir/out")"
}

is_read_elsewhere() {
	marker="page-$RANDOM-$RANDOM-$RANDOM-$RANDOM"
	vm_beside attack vm_script --mem 192M --swap 16M --pool 64M --no-swapon \
		--param hot_add.protect=aead --kernel "$1" -- \
		"$guest_pages"$'\n'"$backed" "$marker"
	[[ ! -e $case_dir/text-found ]] || wrong "the memory node has the text of a page"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []'
	say "$(grep -E '^protect_errors' "$case_dir/out")"
}

# sorts KERNEL [VM_OPTION...]
sorts() {
	vm --kernel "$1" --mem 160M --work 10M --swap 48M \
		--param hot_add.protect=aead "${@:2}" -- qsort-far --size=16M
	expect_status 0
	expect_out 'verified=yes'
	expect '.cnodes[0].stats.loads > 2000' \
		'.cnodes[0].stats.protect_errors == 0' \
		'.cnodes[0].stats | .bounced >= .stores_mapped + .stores_unmapped'
	expect_clean
}

tap_case "changed, exchanged and old pages, 6.1" is_refused 6.1
tap_case "a changed page and a second copy, 6.1" is_read_elsewhere 6.1
tap_case "a quicksort of twice the memory, 6.1" sorts 6.1
if ((nightly)); then
	for kernel in 5.10 6.12; do
		tap_case "changed, exchanged and old pages, $kernel" \
			is_refused $kernel
		tap_case "a quicksort, $kernel" sorts $kernel
	done
	# Not on 5.10: mnode-killed.sh says what rdma_rxe may do there.
	tap_case "a changed page and a second copy, 6.12" is_read_elsewhere 6.12
	tap_case "a quicksort by chains, 6.1" sorts 6.1 "${unknown_card[@]}"
fi
((long_cases)) && tap_case "a quicksort by frontswap, 5.10" \
	sorts 5.10 --backend frontswap
tap_end
