#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# zswap beside frontswap pages of ours, on 5.10, where both are backends of the
# same swap area: what we refuse, for want of room, zswap takes. A page that has
# been with the one and is written anew to the other is never read back old.
. "$(dirname "$0")/lib.sh"

# The shim is loaded by this, when zswap has been switched on, or before.
# shellcheck disable=SC2016  # for the guest's shell
functions='
. /etc/odrp/run.conf
zswap=/sys/module/zswap/parameters
counts=/sys/kernel/debug/zswap
odrp=/sys/block/odrp0/odrp
dev=/dev/odrp0
fail() {
	echo "FAILED: $*"
	cat /proc/swaps /tmp/said /tmp/log*
	grep . $counts/* $odrp/frontswap_*
	dmesg | tail -n 25
	exit 1
}
# in_group NAME MB COMMAND...
in_group() {
	mkdir -p /sys/fs/cgroup/$1 && echo $2M >/sys/fs/cgroup/$1/memory.max
	sh -c "echo \$\$ >/sys/fs/cgroup/\$0/cgroup.procs; shift; exec \"\$@\"" "$@"
}
zswap_on() {
	echo 1 >$zswap/enabled || fail "zswap cannot be switched on"
}
zswap_has() {
	read -r n <$counts/stored_pages && [ $n -ge $1 ]
}
we_have() {
	read -r n <$odrp/used && [ $n -ge $1 ]
}
swap_on() {
	echo 0 >/sys/class/odrp-control/hot_remove || fail hot_remove
	rmmod odrp || fail rmmod
	[ "$1" != zswap ] || zswap_on
	insmod /x/odrp_frontswap.ko || fail "the shim"
	eval "insmod /lib/odrp.ko $MODULE_PARAMS" || fail insmod
	echo "$HOT_ADD backend=frontswap" >/sys/class/odrp-control/hot_add || fail hot_add
	mkswap $dev >/dev/null && swapon $dev || fail swapon
}
# ended PID NAME
ended() {
	wait $1
	status=$?
	cat /tmp/log-$2
	[ $status = 0 ] || fail "$2: status $status"
}
# most PID: how much zswap has at most, as long as that runs
most() {
	most=0
	while kill -0 $1 2>/dev/null; do
		zswap_has $most && most=$n
		sleep 1
	done
	echo "zswap has had $most pages"
}
'

# More than we may have, rewritten and freed all the time; then swapped off with
# pages in both.
# shellcheck disable=SC2016
from_the_beginning='
swap_on zswap
in_group few 24 pressure-far -c --size=72M --processes=3 --rounds=2 \
	--seconds=$1 >/tmp/log-few 2>&1 &
few=$!
within 60 zswap_has 1000 || fail "zswap has nothing"
most $few
ended $few few
in_group off 24 pressure-far -c --size=64M --processes=3 --rounds=100 \
	--seconds=100000 --seed=3 >/tmp/log-off 2>&1 &
off=$!
within 60 zswap_has 1000 && within 60 we_have 1000 || fail "not both have pages"
echo max >/sys/fs/cgroup/off/memory.max
swapoff $dev || fail swapoff
is $counts/stored_pages 0 || fail "zswap keeps pages"
killall -USR1 pressure-far
ended $off off
echo all well
'

# What has been with us for a while; then there is more of it, and zswap; then
# less again, and no zswap any more, but for what it has.
# shellcheck disable=SC2016
later='
swap_on
in_group first 8 pressure-far -c --size=24M --processes=2 --rounds=1000 \
	--seconds=100000 >/tmp/log-first 2>&1 &
first=$!
within 60 we_have 3000 || fail "we have nothing"
is $counts/stored_pages 0 || fail "zswap has something"
zswap_on
in_group more 12 pressure-far -c --size=40M --processes=2 --rounds=2 \
	--seconds=$1 --seed=7 >/tmp/log-more 2>&1 &
more=$!
within 60 zswap_has 500 || fail "zswap has nothing"
most $more
ended $more more
echo 0 >$zswap/enabled
usleep 2000000
killall -USR1 pressure-far
ended $first first
swapoff $dev || fail swapoff
is $counts/stored_pages 0 || fail "zswap keeps pages"
echo all well
'

# beside SCRIPT POOL SECONDS
beside() {
	local ko
	ko=$(build_module "${case_kernel:-5.10}") || {
		wrong "cannot build the module"
		return
	}
	vm_script --kernel 5.10 --mem 208M --swap 96M --pool "$2" --no-swapon \
		--add "${ko%/*}/odrp_frontswap.ko" -- "$functions$1" "$3"
	expect_status 0
	expect_out 'all well'
	grep -A 60 FAILED "$case_dir/out" >&2
	expect '.cnodes[0].stats.backend == "frontswap"' \
		'.cnodes[0].stats.frontswap_stores > 1000' \
		'.cnodes[0].stats | .frontswap_loads + .frontswap_passed > 1000' \
		'.cnodes[0].stats.lease_denied > 100' \
		'.cnodes[0].stats.load_errors == 0' '.teardown_errors == []'
	expect_pages_back
	say "$(grep 'zswap has had' "$case_dir/out" | paste -sd,)" \
		"$(jq -c '.cnodes[0].stats | {frontswap_stores, frontswap_loads,
			lease_denied, store_errors}' "$case_dir/json")"
}

seconds=10
((nightly)) && seconds=100
((nightly)) &&
	tap_case_frontswap "zswap is on when the driver comes" beside "$from_the_beginning" 24M $seconds
tap_case_frontswap "zswap is switched on and off while pages are with us" \
	beside "$later" 32M $seconds
tap_end
