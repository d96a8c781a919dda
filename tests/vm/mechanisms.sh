#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the driver does beyond moving pages: doorbells, polling, frees that are
# cancelled or overflow, what it announces, traces and says by odrpctl, and how
# its shim comes. Told by counters and states, not by how long anything takes.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
functions='
. /etc/odrp/run.conf
control=/sys/class/odrp-control
odrp=/sys/block/odrp0/odrp
params=/sys/module/odrp/parameters
dev=/dev/odrp0
# All but the one that can only be written.
attributes() {
	ls -d $odrp/* | grep -v "/key$"
}
fail() {
	echo "FAILED: $*"
	cat /tmp/said
	grep . $(attributes)
	dmesg | tail -n 25
	exit 1
}
# n ATTRIBUTE
n() {
	read -r n <$odrp/$1 && echo $n
}
# From here on moved COUNTER says how much it has counted.
mark() {
	mkdir -p /tmp/mark
	cp $(attributes) /tmp/mark
}
moved() {
	read -r was </tmp/mark/$1 && echo $(($(n $1) - was))
}
# has_moved COUNTER BY
has_moved() {
	[ $(moved $1) = $2 ] || fail "$1 moved by $(moved $1), expected $2"
}
param() {
	echo $2 >$params/$1 || fail "$1=$2"
}
# store FILE [AT [NUMBER]], load AT NUMBER: by 64 KB
store() {
	dd if=$1 of=$dev bs=64k seek=${2:-0} count=${3:-4096} oflag=direct \
		2>/tmp/said || fail "store $*"
}
load() {
	dd if=$dev bs=64k skip=$1 count=$2 iflag=direct 2>/tmp/said
}
# discard AT NUMBER, by 64 KB too
discard() {
	blkdiscard -f -o $(($1 * 65536)) -l $(($2 * 65536)) $dev || fail "discard $*"
}
reads_as() {
	load $1 $2 | cmp -n $(($2 * 65536)) - $3 || fail "other contents: $*"
}
'

# One doorbell for what goes out together: the blocks of a bio, and the bios of a
# plug, which swapping has.
# shellcheck disable=SC2016
doorbells='
few_doorbells() {
	rung=$(moved doorbells)
	echo "$2 $1 by $rung doorbells"
	[ $rung -gt 0 ] || fail "$1 without a doorbell"
	[ $((rung * 4)) -le $2 ] || fail "$rung doorbells for $2 $1"
}
dd if=/dev/urandom of=/tmp/a bs=1M count=4 2>/dev/null
mark
store /tmp/a
has_moved stores_unmapped 1024
few_doorbells stores 1024
mark
store /tmp/a
has_moved stores_mapped 1024
few_doorbells "mapped stores" 1024
mark
reads_as 0 64 /tmp/a
has_moved loads 1024
few_doorbells loads 1024
# Alone it has one of its own.
mark
dd if=$dev of=/dev/null bs=4k count=64 iflag=direct 2>/tmp/said || fail load
has_moved loads 64
has_moved doorbells 64
'

# Whether an answer comes while the reader polls is up to the host; that some do is
# not, when he does so for 10 ms.  Where most take longer nobody polls.
# shellcheck disable=SC2016
polling='
read_some() {
	dd if=$dev of=/dev/null bs=4k count=16 iflag=direct 2>/tmp/said ||
		fail load
}
polled_well() {
	read_some
	[ $(moved polls_hit) -gt 0 ]
}
param poll_us 0
mark
read_some
has_moved loads 16
has_moved polls 0
has_moved polls_hit 0
param poll_us 10000
mark
within 60 polled_well || [ $(n load_p50_ns) -gt 10000000 ] || fail "no poll has hit"
[ $(moved polls) -ge $(moved polls_hit) ] || fail "more hits than polls"
[ $(moved loads) -ge $(moved polls) ] || fail "more polls than loads"
echo "$(moved loads) loads, $(moved polls) polls, $(moved polls_hit) hits"
'

# The ring of a processor holds 2048 slots.
# shellcheck disable=SC2016
overflowing='
param free_delay_ms 600000
param free_batch 100000
dd if=/dev/urandom of=/tmp/b bs=1M count=4 2>/dev/null
dd if=/dev/zero of=/tmp/zeros bs=1M count=4 2>/dev/null
dd if=/dev/urandom of=/tmp/c bs=1M count=12 2>/dev/null
store /tmp/c
is $odrp/used 3072 || fail "used"
mark
taskset 1 blkdiscard -f -l $((192 * 65536)) $dev || fail discard
has_moved free_overflows 1024
is $odrp/free_pending 3072 && is $odrp/used 3072 || fail "free_pending"
# The last ones are in the bitmap.
store /tmp/b 128
has_moved invalidates_cancelled 1024
reads_as 128 64 /tmp/b
reads_as 64 64 /tmp/zeros
discard 128 64
has_moved invalidates 0
# The batch counts from the next free on.
param free_delay_ms 1
param free_batch 1
store /tmp/a 192 1
discard 192 1
within 60 is $odrp/used 0 || fail "not all came back"
is $odrp/mapped 0 && is $odrp/free_pending 0 || fail "not at rest"
[ $(n invalidates) = $(n stores_unmapped) ] || fail "invalidates"
reads_as 0 64 /tmp/zeros
reads_as 128 64 /tmp/zeros
check_mnode
'

# A slot that is written again keeps its page; one that is not is empty at once.
# shellcheck disable=SC2016
cancelling='
param free_delay_ms 600000
param free_batch 100000
store /tmp/a 0 32
for round in 1 2; do
	mark
	discard 0 32
	is $odrp/free_pending 512 || fail "free_pending"
	store /tmp/b 0 28
	has_moved invalidates_cancelled 448
	has_moved stores_mapped 448
	is $odrp/free_pending 64 || fail "free_pending afterwards"
	reads_as 28 4 /tmp/zeros
	has_moved loads 0
	reads_as 0 28 /tmp/b
	store /tmp/a 0 32
	has_moved invalidates_cancelled 512
	is $odrp/free_pending 0 || fail "free_pending in the end"
	reads_as 0 32 /tmp/a
	has_moved stores_reused 0
	has_moved stores_unmapped 0
	has_moved invalidates 0
	has_moved used 0
done
'

# shellcheck disable=SC2016
plugged='
mkswap $dev >/dev/null && swapon $dev || fail swapon
mark
swapped reclaim-far --size=8M >/tmp/said || fail reclaim-far
rung=$(moved doorbells)
loads=$(moved loads)
stores=$(($(moved stores_mapped) + $(moved stores_unmapped)))
echo "$stores stores and $loads loads of swapping by $rung doorbells"
[ $stores -ge 1500 ] && [ $loads -ge 1500 ] || fail "nothing swapped"
[ $((rung * 3)) -le $((stores + loads)) ] || fail "$rung doorbells"
swapoff $dev || fail swapoff
param free_delay_ms 1
param free_batch 1
discard 0 1024
within 60 is $odrp/used 0 || fail "not given back"
'

# All of the device, but what goes on moving: the host compares the JSON.
# shellcheck disable=SC2016
status='
by_sysfs() {
	echo odrp0
	for f in $(attributes); do
		IFS= read -r value <$f && printf "  %-24s %s\n" ${f##*/} "$value"
	done | grep -v "^  \(beats\|lease\) "
}
agrees() {
	odrpctl swap status $1 | grep -v "^  \(beats\|lease\) " >/tmp/status
	by_sysfs >/tmp/said
	cmp /tmp/said /tmp/status
}
agrees || fail "odrpctl swap status differs"
agrees odrp0 || fail "odrpctl swap status odrp0 differs"
grep -q "^  state  *live$" /tmp/status || fail "state"
grep -q "^  loads  *$(n loads)$" /tmp/status || fail "loads"
odrpctl swap status --json || fail "odrpctl swap status --json"
echo all well
'

# What init has read later is the same.
status_agrees() {
	local line
	line=$(grep '^{"odrp0":' "$case_dir/out")
	jq -e --argjson said "${line:-null}" '
		def still: del(.beats, .lease) | map_values(tostring | sub("^ +"; ""));
		(.cnodes[0].stats | still) == ($said.odrp0 | still) and
		($said.odrp0 | length > 40 and .state == "live" and
			.stores_unmapped != "0")' "$case_dir/json" >/dev/null ||
		wrong "odrpctl swap status --json differs: $line"
}

one_at_a_time() {
	vm_script --kernel "$1" --mem 256M --swap 64M --no-swapon \
		--add "$(command -v blkdiscard)" --add "$vm_ctl" \
		--add "$vm_workload/reclaim-far" -- \
		"$functions$doorbells$polling$overflowing$cancelling$plugged$status"
	expect_status 0
	expect_out 'all well'
	grep -A 100 FAILED "$case_dir/out" >&2
	say "$(grep '^[0-9].* doorbells\|^[0-9].* hits' "$case_dir/out" | paste -sd,)"
	status_agrees
	expect '.mnode.pages_mapped == 0' '.mnode_checks == 1'
	expect_clean
}

# A session that is lost for a time, and one that is given up, with stores under way
# that have been posted and others that come meanwhile.
# shellcheck disable=SC2016
announcing='
trace=/sys/kernel/debug/tracing
node=$(echo "$HOT_ADD" | sed "s/.*addr=\([^ ]*\) .*/\1/")
write() {
	dd if=/tmp/a of=$dev bs=4k count=1 seek=$1 oflag=direct
}
has_rung() {
	[ $(moved doorbells) -gt 0 ]
}
# Nothing that was sent before is over in less than half a minute, which no host is
# too slow for.  One that is sent afterwards is.
away() {
	mark
	busybox arp -s "$node" 02:00:00:00:00:77 || fail arp
	write 5 2>/tmp/wrote &
	writer=$!
	within 60 has_rung || fail "not posted"
	echo 300 >$odrp/io_timeout_ms || fail io_timeout_ms
	write 6 2>/tmp/wrote6 &
	late=$!
	within 60 is $odrp/state lost || fail "not lost"
	echo 30000 >$odrp/io_timeout_ms || fail io_timeout_ms
}
back() {
	busybox arp -d "$node" || fail arp
}
# logged NUMBER TEXT, since the mark
log_mark() {
	logged=$(dmesg | wc -l)
}
logged() {
	times=$(dmesg | tail -n +$((logged + 1)) | grep -c "odrp0: .*$2")
	[ $times = $1 ] || fail "\"$2\" logged $times times, expected $1"
}
# announced EVENT...: these, in this order, since the file was made
heard() {
	[ "$(cat /tmp/events)" = "$1" ]
}
announced() {
	within 60 heard "$(for event; do echo "$event"; done)" ||
		fail "announced: $(cat /tmp/events)"
}
# moves_are MOVE...: of the state, since the trace was begun
moves_are() {
	sed -n "s/.* odrp_state: //p" $trace/trace >/tmp/moves
	for move; do
		echo "odrp0 $move"
	done | cmp - /tmp/moves || fail "moves: $(cat /tmp/moves)"
}
traced() {
	grep -q " odrp_$1: odrp0 $2$" $trace/trace ||
		fail "no odrp_$1 $2: $(tail -n 5 $trace/trace)"
}
begin() {
	: >/tmp/events
	echo >$trace/trace
	log_mark
}

# A listener that hears of what is done by hand hears of all that comes later.
cat >/tmp/hear <<"HEAR"
[ "$DEVNAME" = odrp0 ] || exit 0
case $ACTION$ODRP_STATE in
change) : >/tmp/hears ;;
*) echo $ACTION $ODRP_STATE >>/tmp/events ;;
esac
HEAR
busybox uevent sh /tmp/hear &
is_heard() {
	echo change >/sys/block/odrp0/uevent
	[ -e /tmp/hears ]
}
within 60 is_heard || fail "no uevent is heard"

dd if=/dev/urandom of=/tmp/a bs=64k count=4 2>/dev/null
store /tmp/a
echo global >$trace/trace_clock
for e in state done end; do
	echo 1 >$trace/events/odrp/odrp_$e/enable || fail "no tracepoint odrp_$e"
done

echo 600000 >$odrp/dead_after_ms || fail dead_after_ms
begin
away
announced "change lost"
moves_are "live -> lost"
back
wait $writer && wait $late || fail "a write has failed"
within 60 is $odrp/state live || fail "not live"
announced "change lost" "change live"
moves_are "live -> lost" "lost -> live"
traced done "queue=0 chain=mapped_store slot=5 idx=[0-9]* ok ns=[0-9]*"
logged 1 "connection lost"
logged 1 "session resumed"
logged 0 "session is dead"
has_moved reconnects 1
has_moved store_errors 0

echo 1000 >$odrp/dead_after_ms || fail dead_after_ms
begin
away
write 7 2>/tmp/wrote7 && fail "written to nobody"
wait $writer && fail "the write under way has not failed"
wait $late && fail "the write after it has not failed"
within 60 is $odrp/state dead || fail "not dead"
write 8 2>/tmp/wrote8 && fail "written to a dead device"
announced "change lost" "change dead"
moves_are "live -> lost" "lost -> dead"
traced done "queue=0 chain=mapped_store slot=5 idx=[0-9]* failed ns=[0-9]*"
# Posted, if it came before the connections of the lost session were paused.
traced "\(done\|end\)" ".*slot=7 \(io_error\|.*failed .*\)"
traced end "slot=8 io_error"
logged 1 "connection lost"
logged 1 "session is dead"
logged 0 "session resumed"
has_moved reconnects 0
has_moved store_errors 4
back
echo 0 >$control/hot_remove || fail hot_remove
announced "change lost" "change dead" remove
echo all well
'

lost_and_dead() {
	vm_script --kernel "$1" --mem 256M --swap 64M --no-swapon \
		--param hot_add.timeout_ms=30000 \
		--param mnode.dead-ms=$((60000 * slow)) -- "$functions$announcing"
	expect_status 0
	expect_out 'all well'
	grep -A 100 FAILED "$case_dir/out" >&2
	# Nobody has told the memory node yet.
	expect '.teardown_errors == []'
}

# The shim is where modprobe looks, or is not; the driver asks for it. And frees by
# the kernel, of slots that a program has written again, are cancelled by frontswap
# as by bios.
# shellcheck disable=SC2016
by_modprobe='
modules=/lib/modules/$(uname -r)
with_frontswap() {
	eval "modprobe odrp $MODULE_PARAMS" || fail "modprobe odrp"
	echo "$HOT_ADD backend=frontswap" >$control/hot_add 2>/tmp/said
}
mkdir -p $modules/extra
echo 0 >$control/hot_remove && rmmod odrp || fail "not removed"
mv /lib/odrp.ko $modules/extra && depmod || fail depmod
with_frontswap && fail "frontswap without the shim"
grep -q "No such file" /tmp/said || fail "another error"
dmesg | grep -q "backend=frontswap: the module odrp_frontswap cannot be loaded" ||
	fail "the log does not say so"
[ ! -e /sys/block/odrp0 ] || fail "a device is left"
[ ! -e /sys/module/odrp_frontswap ] || fail "there is a shim"
rmmod odrp || fail rmmod
mv /x/odrp_frontswap.ko $modules/extra && depmod || fail depmod
[ ! -e /sys/module/odrp_frontswap ] || fail "the shim came by itself"
with_frontswap || fail "no frontswap with the shim"
[ -e /sys/module/odrp_frontswap ] || fail "no shim"
is $odrp/backend frontswap || fail "backend"
echo "the shim came"
'

# shellcheck disable=SC2016
written_again='
mkswap $dev >/dev/null && swapon $dev || fail swapon
mkdir -p /sys/fs/cgroup/few && echo 16M >/sys/fs/cgroup/few/memory.max || fail group
mark
sh -c "echo \$\$ >/sys/fs/cgroup/few/cgroup.procs
	exec pressure-far --size=32M --processes=1 --rounds=1 --lives=2" >/tmp/said ||
	fail "pages are wrong"
cat /tmp/said
echo "$(moved frontswap_stores) stores and $(moved frontswap_loads) loads by frontswap," \
	"$(moved frontswap_passed) left to bios," \
	"$(moved stores_mapped) stores mapped, $(moved stores_unmapped) not," \
	"$(moved invalidates_cancelled) invalidates cancelled of $(moved notify_free) frees"
[ $(($(moved frontswap_loads) + $(moved frontswap_passed))) -gt 1000 ] || fail loads
for f in frontswap_stores notify_free stores_mapped \
	 invalidates_cancelled; do
	[ $(moved $f) -gt 1000 ] || fail "$f: $(moved $f)"
done
has_moved invalidates 0
# As many pages as stores that found none.
is $odrp/used $(n stores_unmapped) || fail "used"
stores=$(($(moved stores_mapped) + $(moved stores_unmapped)))
[ $stores -ge $(moved frontswap_stores) ] || fail "stores: $stores"
is $odrp/load_errors 0 && is $odrp/store_errors 0 || fail errors
swapoff $dev || fail swapoff
echo all well
'

asked_for() {
	local ko
	ko=$(build_module "$1") || {
		wrong "cannot build the module"
		return
	}
	# So much that the lease does not run low, and nothing is given back for that.
	vm_script --kernel "$1" --mem 240M --swap 128M --no-swapon \
		--param free_delay_ms=600000 --param free_batch=100000 \
		--add "${ko%/*}/odrp_frontswap.ko" -- \
		"$functions$by_modprobe$written_again"
	expect_status 0
	expect_out 'all well'
	grep -A 100 FAILED "$case_dir/out" >&2
	say "$(grep 'by frontswap' "$case_dir/out")"
	expect_clean
}

for kernel in "${kernels[@]}"; do
	tap_case "doorbells, polls, frees, status, $kernel" one_at_a_time "$kernel"
	tap_case "announced, logged and traced, $kernel" lost_and_dead "$kernel"
done
tap_case_frontswap "by frontswap, whose shim is asked for, 5.10" asked_for 5.10
tap_end
