#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# odrpctl swap up and down, what the unit runs: repeated, interrupted half way,
# in each other's way, and with a memory node that was lost.
. "$(dirname "$0")/lib.sh"

read -r -d '' script <<'GUEST'
. /etc/odrp/run.conf
conf=/tmp/odrp0.conf
fail() {
	echo "FAILED: $*"
	ls /sys/block
	cat /proc/swaps
	cat /tmp/said
	exit 1
}
# settings LINE...: the device of this run, and more
settings() {
	local word
	echo '[swap]' >$conf
	for word in $HOT_ADD; do
		case $word in
		addr=*) echo "address = ${word#*=}" ;;
		size=*) echo "size = ${word#*=}" ;;
		dead_after_ms=*) echo "dead-after-ms = ${word#*=}" ;;
		auth=*) echo "auth = ${word#*=}" ;;
		esac
	done >>$conf
	for word; do
		echo "$word"
	done >>$conf
}
up() {
	odrpctl swap up odrp0 --file $conf >/tmp/said 2>&1
}
down() {
	odrpctl swap down odrp0 >/tmp/said 2>&1
}
is_on() {
	grep -q '^/dev/odrp0 ' /proc/swaps
}
is_there() {
	[ -e /sys/block/odrp0 ]
}
state_is() {
	grep -q "^$1" /sys/block/odrp0/odrp/state
}

echo 0 >/sys/class/odrp-control/hot_remove
down || fail "down without a device"

settings "priority = 7" "min-free-kbytes = 20000"
up || fail up
is_on || fail "not on after up"
odrpctl swap status odrp0 >/tmp/said
grep -q 'auth  *none (insecure: ' /tmp/said || fail "auth=none is not named insecure"
grep -q '^/dev/odrp0 .*7$' /proc/swaps || fail priority
[ "$(cat /proc/sys/vm/min_free_kbytes)" = 20000 ] || fail "min_free raised"
settings "min-free-kbytes = 1000"
up || fail "up again"
[ "$(grep -c odrp0 /proc/swaps)" = 1 ] || fail "once on"
[ "$(cat /proc/sys/vm/min_free_kbytes)" = 20000 ] || fail "min_free lowered"
swapped pattern-far --size=60M --repeat=0 >/tmp/log || fail "pages are wrong"

settings "port = 7490"
up && fail "up with other settings"
grep -q 'expected none, or one that is live on .*:7490' /tmp/said ||
	fail "what was expected"
is_on || fail "was turned off by up"
settings
swapoff /dev/odrp0
up || fail "up of a device that is there"
is_on || fail "not on"

# Somebody else turns it off at the same time; who comes first is not said.
swapped sh -c 'pattern-far --size=60M --repeat=1000000 >/tmp/log & sleep 4
	kill $!; wait $!'
swapoff /dev/odrp0 &
down || fail "down beside a swapoff"
is_there && fail "there after down"
wait
down || fail "down again"

# Somebody looks at it.
up || fail up
sleep 2 </dev/odrp0 &
down || fail "down of an open device"

# A step fails: nothing is left.
mkdir /tmp/bin
printf '#!/bin/sh\nexit 1\n' >/tmp/bin/mkswap
chmod +x /tmp/bin/mkswap
PATH=/tmp/bin:$PATH up && fail "up without mkswap"
grep -q 'mkswap failed' /tmp/said || fail "mkswap is not named"
is_there && fail "a device is left"
echo "[swap]
address = 192.0.2.77
size = 64M" >$conf
up && fail "up with neither key nor auth"
grep -q 'key is missing: .*auth=none, which is insecure' /tmp/said ||
	fail "what is missing"
echo "auth = none" >>$conf
up && fail "up with an address that nobody has"
grep -q 'hot_add: ' /tmp/said || fail "hot_add is not named"
is_there && fail "a device is left"

# A memory node that was lost, while nobody needed it: its address leads nowhere.
settings "timeout-ms = 500"
up || fail up
swapoff /dev/odrp0
node=$(sed -n 's/^address = //p' $conf)
busybox arp -s "$node" 02:00:00:00:00:77 || fail "arp"
dd if=/dev/zero of=/dev/odrp0 bs=4096 count=1 oflag=direct 2>/dev/null
within 30 state_is dead || fail "not dead"
busybox arp -d "$node"
within 30 up || fail "up of a dead device"
state_is live || fail "not live"
is_on || fail "not on"
down || fail "the last down"
is_there && fail "there at the end"
echo all well
GUEST

comes_up_and_down() {
	# What is insecure has to say so.
	vm_script --leaks --auth none --mem 144M --swap 128M --no-swapon \
		--add "$vm_ctl" -- "$script"
	expect_status 0
	expect_out 'all well'
	grep FAILED "$case_dir/out" >&2
	# The session that was lost is there until the agent has missed it for
	# long enough, and with it the page that was stored last.
	expect '.teardown_errors == []' '.mnode_end.sessions | length <= 1' \
		'.mnode_end.pages_mapped <= 1'
}

tap_case "up and down, again and in between" comes_up_and_down
tap_end
