#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What a memory node may ask a machine for is done now and then only: one that asks
# to leave all the time does not fill the log, and one that breaks each connection
# as soon as it is there does not keep the machine busy with making others.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
functions='
odrp=/sys/block/odrp0/odrp
fail() {
	echo "FAILED: $*"
	dmesg | tail -n 25
	exit 1
}
now_ms() {
	read -r up idle </proc/uptime
	echo $((${up%.*} * 1000))
}
serves() {
	within 30 is $odrp/state live || fail "not live"
	dd if=/dev/urandom of=/tmp/a bs=64k count=8 2>/dev/null
	dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null
	dd if=/dev/odrp0 bs=64k count=8 iflag=direct 2>/dev/null |
		cmp - /tmp/a || fail "not what was written"
}
'

# shellcheck disable=SC2016
read -r -d '' asked <<'GUEST'
echo added
begin=$(now_ms) times=0
while [ $times -lt $1 ]; do
	within 30 is $odrp/drain 1 && within 30 is $odrp/drain 0 ||
		fail "asked $times times only"
	times=$((times + 1))
done
said=$(dmesg | grep -c "odrp0: memory node asks to swap off and leave")
minutes=$((($(now_ms) - begin) / 60000 + 2))
echo "asked $times times, said $said times in $minutes minutes at most"
[ $said -ge 1 ] && [ $said -le $((10 * minutes)) ] || fail "said $said times"
serves
echo "all well"
GUEST

# shellcheck disable=SC2016
read -r -d '' broken <<'GUEST'
reconnects() {
	read -r count <$odrp/reconnects
	[ $count -ge $1 ]
}
read -r pause <$odrp/reconnect_delay_ms
begin=$(now_ms)
echo added
within 60 reconnects $1 || fail "it came back $count times only"
read -r after <$odrp/reconnects
took=$(($(now_ms) + 1000 - begin))
echo "$after times in $took ms, with pauses of $pause ms"
[ $(((after - 1) * pause)) -le $took ] || fail "without a pause"
serves
echo "all well"
GUEST

limited() {
	vm_beside "$1" vm_script --kernel "$2" --mem 256M --swap 16M \
		--no-swapon --param mnode.beat-ms=100 "${@:3}"
	expect_status 0
	expect_out 'all well'
	expect '.teardown_errors == []'
	expect_pages_back
	say "$(grep times "$case_dir/out")"
}

# Not before the device is there: who is drained lets none in.
is_added() {
	grep -qs '^added$' "$case_dir/out"
}

ask_and_ask_not() {
	is_added || return
	"$vm_ctl" mnode drain --control "$1"
	sleep 0.4
	"$vm_ctl" mnode undrain --control "$1"
} >"$case_dir/ctl" 2>&1

asks() {
	limited ask_and_ask_not "$1" -- "$functions$asked" 25
}

# The agent asks by WRITEs. The software NIC changes most of them, so that they go where
# nothing may be written. The first six stay as they are, since a session that breaks while
# its device is added is not resumed.
breaks() {
	limited ask_and_ask_not "$1" --nic-opt forge_target=1,forge_after=6,forge_max=15 \
		--param hot_add.reconnect_delay_ms=1500 \
		--param hot_add.dead_after_ms=$((60000 * slow)) \
		-- "$functions$broken" 6
}

for kernel in "${kernels[@]}"; do
	tap_case "asked to leave again and again, $kernel" asks "$kernel"
	tap_case "each connection broken at once, $kernel" breaks "$kernel"
done
tap_end
