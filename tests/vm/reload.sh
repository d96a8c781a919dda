#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The driver, and its shim, come when others' swap areas are in use already, and
# the driver goes and comes again meanwhile: what lies in those areas is theirs,
# and is not disturbed.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
functions='
. /etc/odrp/run.conf
control=/sys/class/odrp-control
few=/sys/fs/cgroup/few
fail() {
	echo "FAILED: $*"
	cat /proc/swaps /tmp/log /tmp/ours
	dmesg | tail -n 25
	exit 1
}
# in_group NAME COMMAND...: in 16 MB
in_group() {
	mkdir -p /sys/fs/cgroup/$1 && echo 16M >/sys/fs/cgroup/$1/memory.max
	sh -c "echo \$\$ >/sys/fs/cgroup/\$0/cgroup.procs; exec \"\$@\"" "$@"
}
swap_to() {
	mkswap $1 >/dev/null && /x/swapon -p $2 $1 || fail "swapon $1"
}
# used DEVICE KB: that much of it is in use
used() {
	while read -r area _ _ kb _; do
		[ $area != $1 ] || [ $kb -lt $2 ] || return 0
	done </proc/swaps
	return 1
}
# zram_on SIZE PRIORITY
zram_on() {
	modprobe zram num_devices=1 2>/dev/null
	echo $1 >/sys/block/zram0/disksize || fail zram
	swap_to /dev/zram0 $2
}
number() {
	read -r number </sys/block/$1/odrp/$2 && echo $number
}
'

# Two areas are in use when the shim registers: the kernel calls its init() for
# each. One is a device of ours, by block.
# shellcheck disable=SC2016
shim_later='
zram_on 8M 20
in_group few pattern-far --size=32M --repeat=1000000 >/tmp/log 2>&1 &
far=$!
within 60 used /dev/odrp0 3000 || fail "odrp0 is not used"
verified() {
	[ $(grep -c ^verify /tmp/log) -ge $1 ]
}
goes_on() {
	within 60 verified $(($(grep -c ^verify /tmp/log) + 1)) || fail "$1: no progress"
}
used /dev/zram0 3000 && used /dev/odrp0 3000 || fail "not both are used"
insmod /x/odrp_frontswap.ko || fail "the shim"
goes_on "with the shim"
echo "$HOT_ADD id=1 backend=frontswap" >$control/hot_add || fail "not added"
[ $(number odrp1 frontswap_stores) = 0 ] || fail "stores before swapon"
swap_to /dev/odrp1 30
in_group ours pattern-far --size=24M --repeat=1 >/tmp/ours 2>&1 || fail "pages are wrong"
echo "$(number odrp1 frontswap_stores) stores by frontswap"
[ $(number odrp1 frontswap_stores) -gt 1000 ] || fail "not by frontswap"
[ $(($(number odrp1 frontswap_loads) + $(number odrp1 frontswap_passed))) -gt 1000 ] ||
	fail "not read by frontswap, nor left to bios"
[ $(number odrp0 frontswap_stores) = 0 ] || fail "odrp0 by frontswap"
goes_on "with an area of ours"
swapoff /dev/odrp1 && echo 1 >$control/hot_remove || fail "not removed"
goes_on "without ours"
used /dev/zram0 1000 && used /dev/odrp0 1000 || fail "not both are used any more"
killall pattern-far
wait $far
[ $? = 143 ] || fail "pages are wrong"
swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset || fail zram
echo all well
'

# shellcheck disable=SC2016
replaced='
zram_on 96M 1
in_group few pressure-far --size=40M --processes=3 --rounds=2 \
	--seconds=100000 >/tmp/log 2>&1 &
far=$!
within 60 used /dev/zram0 10000 || fail "zram is not used"
i=0
while [ $i -lt $1 ]; do
	swap_to /dev/odrp0 10
	within 60 used /dev/odrp0 4000 || fail "odrp0 is not used"
	swapoff /dev/odrp0 || fail swapoff
	echo 0 >$control/hot_remove || fail hot_remove
	rmmod odrp || fail rmmod
	used /dev/zram0 1000 || fail "zram is not used any more"
	eval "insmod /lib/odrp.ko $MODULE_PARAMS" || fail insmod
	echo "$HOT_ADD" >$control/hot_add || fail hot_add
	i=$((i + 1))
done
swap_to /dev/odrp0 10
within 60 used /dev/odrp0 4000 || fail "odrp0 is not used"
killall -USR1 pressure-far
wait $far
status=$?
[ $status = 0 ] || fail "status $status"
cat /tmp/log
swapoff /dev/odrp0 && swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset || fail swapoff
echo all well
'

ended_well() {
	expect_status 0
	expect_out 'all well'
	grep -A 60 FAILED "$case_dir/out" >&2
	say "$(grep -v 'all well' "$case_dir/out" | head -n 3 | paste -sd,)"
	expect_clean
}

comes_later() {
	local ko
	ko=$(build_module "${case_kernel:-5.10}") || {
		wrong "cannot build the module"
		return
	}
	vm_script --kernel 5.10 --mem 240M --swap 64M --pool 192M \
		--add "${ko%/*}/odrp_frontswap.ko" --add "$(command -v swapon)" \
		-- "$functions$shim_later"
	ended_well
}

# replaced_under_load ROUNDS KERNEL OPTION...
replaced_under_load() {
	vm_script --kernel "${@:2}" --mem 208M --swap 64M --no-swapon \
		--add "$(command -v swapon)" -- "$functions$replaced" "$1"
	ended_well
}

rounds=2
((nightly)) && rounds=20
tap_case_frontswap "the shim comes when areas are in use" comes_later
((long_cases)) &&
	tap_case "the driver is replaced under load, by frontswap, 5.10" \
	replaced_under_load $rounds 5.10 --backend frontswap
tap_case "the driver is replaced under load, 6.1" \
	replaced_under_load $rounds 6.1
((nightly)) && tap_case "the driver is replaced under load, 6.12" \
	replaced_under_load $rounds 6.12
tap_end
