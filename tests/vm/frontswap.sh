#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Pages by frontswap, where the stock kernel still has that for modules: the
# same contents, and a driver that can be replaced. (A dead node: mnode-killed.sh.)
. "$(dirname "$0")/lib.sh"
chains_only

rounds=1
((nightly)) && rounds=5

by_frontswap() {
	expect '.cnodes[0].stats.backend == "frontswap"' \
		'.cnodes[0].stats.frontswap_stores > 1000' \
		'.cnodes[0].stats.frontswap_passed > 500' \
		'.cnodes[0].stats | .frontswap_loads + .frontswap_passed > 1000'
	say "$(jq -c '.cnodes[0].stats | {frontswap_stores, frontswap_loads,
		frontswap_passed, stores_mapped}' "$case_dir/json")"
}

sorts() {
	vm --kernel "$@" --mem 160M --work 7M --swap 48M -- qsort-far --size=10M
	expect_status 0
	expect_out 'verified=yes'
	by_frontswap
	expect_clean
}

rewrites() {
	vm --kernel "$@" --cpus 2 --mem 120M --swap 96M -- \
		pressure-far --size=44M --seconds=120
	expect_status 0
	by_frontswap
	expect_clean
}

# The shim stays, and serves nobody while there is no driver.
read -r -d '' replacing <<'GUEST'
. /etc/odrp/run.conf
i=0
while [ $i -lt $1 ]; do
	swapped pattern-far --size=24M --repeat=1 --seed=$i >/tmp/log || exit 2
	swapoff /dev/odrp0 || exit 3
	echo 0 >/sys/class/odrp-control/hot_remove || exit 4
	rmmod odrp || exit 5
	rmmod odrp_frontswap 2>/dev/null && exit 6
	modprobe zram num_devices=1 2>/dev/null
	echo 64M >/sys/block/zram0/disksize || exit 7
	mkswap /dev/zram0 >/dev/null && swapon /dev/zram0 || exit 8
	mkdir -p /sys/fs/cgroup/few && echo 8M >/sys/fs/cgroup/few/memory.max
	sh -c 'echo $$ >/sys/fs/cgroup/few/cgroup.procs
		exec pattern-far --size=12M --repeat=1' >/tmp/log || exit 9
	swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset || exit 10
	eval "insmod /lib/odrp.ko $MODULE_PARAMS" || exit 11
	echo "$HOT_ADD" >/sys/class/odrp-control/hot_add || exit 12
	mkswap /dev/odrp0 >/dev/null && swapon /dev/odrp0 || exit 13
	i=$((i + 1))
done
swapped pattern-far --size=24M --repeat=1 >/tmp/log || exit 14
echo all well
GUEST

replaced() {
	vm_script --kernel "$@" --mem 160M --work 10M --swap 48M -- "$replacing" \
		"$rounds"
	expect_status 0
	expect_out 'all well'
	by_frontswap
	expect_clean
}

# Where there is none, the operator is told so.
refused() {
	vm_script --kernel 6.1 --mem 128M --swap 64M --no-swapon -- '
		. /etc/odrp/run.conf
		echo "$HOT_ADD id=7 backend=frontswap" >/sys/class/odrp-control/hot_add
		echo "status $?"
		dmesg | grep -o "backend=frontswap: .*"
		echo "$HOT_ADD id=7 backend=zram" >/sys/class/odrp-control/hot_add
		dmesg | grep -o "backend=zram: .*"; ls /sys/block'
	expect_out '^status [1-9]'
	expect_out 'frontswap: this kernel has none for modules: expected block'
	expect_out 'zram: expected block or frontswap'
	grep -q odrp7 "$case_dir/out" && wrong "odrp7 exists"
}

tap_case "a quicksort of more than the memory" sorts 5.10 --backend frontswap
tap_case "the driver is replaced behind the shim" replaced 5.10 --backend frontswap
case_is_for 5.10 6.1 || tap_case "refused on 6.1" refused
((long_cases)) && tap_case "pages rewritten under pressure" \
	rewrites 5.10 --backend frontswap
tap_end
