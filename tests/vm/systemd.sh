#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The device under systemd and udev, by the unit and the rules that are shipped:
# there at boot before what needs it, gone at shutdown with nothing lost, and when
# its memory node asks for that or is dead.
. "$(dirname "$0")/lib.sh"
# shellcheck source=/dev/null
. "$vm_top/scripts/lib/systemd.sh"

# Process 1, until it is systemd. $1: what test.service runs; $2: where odrpctl has
# its settings; $3: more of these.
read -r -d '' boot <<'GUEST'
. /etc/odrp/run.conf
echo 0 >/sys/class/odrp-control/hot_remove
cp -a /x/system/. /
# systemd runs what is in /sbin, where busybox has its own.
for f in /usr/sbin/swapon /usr/sbin/swapoff; do
	[ ! -e $f ] || ln -sf $f /sbin/
done
mkdir -p "$2" /etc/systemd/system/multi-user.target.wants
# Where odrpctl looks for secrets.
[ -e "${2%/swap}/keys.d" ] || cp -a /etc/odrp/keys.d "${2%/swap}/"
{
	echo '[swap]'
	for word in $HOT_ADD; do
		case $word in
		addr=*)
			NODE=${word#*=}
			echo "address = $NODE"
			;;
		size=*) echo "size = ${word#*=}" ;;
		timeout_ms=*) echo "timeout-ms = ${word#*=}" ;;
		dead_after_ms=*) echo "dead-after-ms = ${word#*=}" ;;
		key=*) echo "key = ${word#*=}" ;;
		esac
	done
	echo "$3"
} >"$2/odrp0.conf"
{
	echo "NODE=$NODE ETC=${2%/odrp/swap}"
	echo "$1"
} >/etc/odrp/test
cat >/etc/systemd/system/test.service <<'UNIT'
[Service]
MemorySwapMax=0
ExecStart=/bin/sh -c 'exec sh /etc/odrp/test >/run/out 2>/run/err'
UNIT
# A service that needs the memory, as man odrp-swap.conf says it.
cat >/etc/systemd/system/hog.service <<'UNIT'
[Unit]
After=odrp-swap@odrp0.service
[Service]
MemoryHigh=40M
Environment=PATH=/x:/bin
ExecStart=/x/pressure-far --size=90M --seconds=100000
UNIT
cd /etc/systemd/system/multi-user.target.wants
ln -s /lib/systemd/system/odrp-swap@.service odrp-swap@odrp0.service
ln -s /lib/systemd/system/remote-fs.target .
ln -s ../test.service .
cd /
exec /lib/systemd/systemd --unit=multi-user.target --log-target=kmsg \
	--log-level=info --show-status=no
GUEST

# Before each test.
read -r -d '' test_functions <<'GUEST'
unit=odrp-swap@odrp0.service
fail() {
	echo "FAILED: $*"
	systemctl status --no-pager $unit
	cat /proc/swaps
	dmesg | tail -n 30
	systemctl reboot
	exit 1
}
is_on() {
	grep -q '^/dev/odrp0 ' /proc/swaps
}
is_off() {
	! is_on
}
is_gone() {
	[ ! -e /sys/block/odrp0 ]
}
hog_lives() {
	[ "$(systemctl is-active hog.service)" = active ] || fail "hog.service is dead"
}
# is_kept GROUP: nothing of it is ever swapped.
is_kept() {
	is /sys/fs/cgroup/$1/memory.swap.max 0 || fail "$1 may be swapped"
}
unit_is() {
	[ "$(systemctl is-active $unit)" = "$1" ]
}
has_pages() {
	read -r mapped </sys/block/odrp0/odrp/mapped && [ $mapped -gt 4000 ]
}
# since UNIT: when it became active, in microseconds.
since() {
	systemctl show --value -p ActiveEnterTimestampMonotonic "$1"
}
is_reached() {
	[ "$(systemctl is-active remote-fs.target)" = active ]
}
work() {
	within 60 is_reached || fail "remote-fs.target is not reached"
	is_on || fail "not on when remote-fs.target is reached"
	[ "$(since $unit)" -le "$(since remote-fs.target)" ] ||
		fail "$unit came after remote-fs.target"
	is_kept init.scope
	is_kept system.slice/systemd-udevd.service
	systemctl start hog.service || fail "hog.service"
	within 60 has_pages || fail "nothing was swapped"
	# Nobody's own, and in the way of who takes memory at shutdown.
	dd if=/dev/urandom of=/tmp/file bs=1M count=20 2>/dev/null
}
GUEST

read -r -d '' through_boot <<'GUEST'
work
systemctl stop $unit || fail "$unit does not stop"
is_off && is_gone || fail "there after a stop"
systemctl start $unit || fail "$unit does not start again"
within 60 has_pages || fail "nothing was swapped the second time"
hog_lives
GUEST

read -r -d '' through_drain <<'GUEST'
work
echo now
within 60 is_off || fail "not off"
within 60 is_gone || fail "not gone"
within 20 unit_is inactive || fail "$unit is $(systemctl is-active $unit)"
hog_lives
GUEST

# What has pages there gets a bus error, and nobody brings it up again.
read -r -d '' through_force <<'GUEST'
work
odrpctl swap drop odrp0 || fail "drop"
within 60 is_off || fail "not off"
within 60 is_gone || fail "not gone"
within 20 unit_is inactive || fail "$unit is $(systemctl is-active $unit)"
sleep 2
is_gone || fail "there again"
GUEST

# Its address leads nowhere, and later where it did. What has pages there gets a
# bus error. The unit tries again until it works.
read -r -d '' through_death <<'GUEST'
work
busybox arp -s "$NODE" 02:00:00:00:00:77 || fail "arp"
within 90 is_off || fail "not off"
within 60 is_gone || fail "not gone"
within 60 unit_is activating || fail "$unit is $(systemctl is-active $unit)"
busybox arp -d "$NODE" || fail "arp"
within 90 unit_is active || fail "$unit is $(systemctl is-active $unit)"
is_on || fail "not on again"
GUEST

# Found by its label and its UUID: a line of fstab swaps it on at boot, after the
# drop-in of docs/packaging.md; then a unit.
read -r -d '' through_names <<'GUEST'
uuid=0f0e0d0c-1234-5678-9abc-0123456789ab
by_label='dev-disk-by\x2dlabel-far.swap'
by_uuid='dev-disk-by\x2duuid-0f0e0d0c\x2d1234\x2d5678\x2d9abc\x2d0123456789ab.swap'
has_names() {
	[ "$(readlink -f /dev/disk/by-label/far)" = /dev/odrp0 ] &&
		[ "$(readlink -f /dev/disk/by-uuid/$uuid)" = /dev/odrp0 ]
}
# All units of the device follow when one of them swaps it off: with what is begun at
# once they would be in each other's way.
units_are_off() {
	local u
	[ -z "$(systemctl list-jobs --no-legend '*.swap')" ] || return
	for u in dev-odrp0.swap "$by_label" "$by_uuid"; do
		case $(systemctl is-active "$u") in
		inactive | failed) ;;
		*) return 1 ;;
		esac
	done
}
within 60 is_reached || fail "remote-fs.target is not reached"
has_names || fail "names when the unit has started: $(ls -l /dev/disk/*)"
within 60 is_on || fail "the line of fstab did not swap it on"
has_names || fail "names: $(ls -l /dev/disk/*)"
grep -q '^/dev/odrp0 .*[[:blank:]]7$' /proc/swaps || fail "not with fstab's priority"
systemctl is-active "$by_label" >/dev/null || fail "$by_label is not active"
# systemd stops all units of the device together. The swapoff that comes second finds
# nothing to do and fails, and this job may fail with it: the device is off all the same.
systemctl stop "$by_label"
within 60 is_off || fail "on after a stop of $by_label"
within 60 units_are_off || fail "units: $(systemctl --no-pager list-units -a '*.swap')"
systemctl reset-failed "$by_uuid"
systemctl start "$by_uuid" || fail "$by_uuid does not start"
is_on || fail "$by_uuid did not swap it on"
GUEST

# The agent, in the sandbox of its unit.
read -r -d '' agent <<'GUEST'
agent=odrp-mnoded.service
agent_is() {
	[ "$(systemctl is-active $agent)" = "$1" ]
}
answers() {
	odrpctl mnode status --json >/tmp/status && grep -q '"pages_total":8192' /tmp/status
}
printf '[mnode]\nnic = soft:ip=10.77.9.1/24\n\tpacket=eth0\npool = 32M\n' >$ETC/odrp/mnoded.conf
unit=$agent
systemctl start $agent || fail "$agent does not start"
answers || fail "no answer: $(cat /tmp/status)"
systemctl reload $agent || fail "$agent does not reload"
answers || fail "no answer after a reload"
kill -KILL "$(systemctl show --value -p MainPID $agent)"
within 20 agent_is active && within 20 answers || fail "not back"
systemctl stop $agent || fail "$agent does not stop"
[ ! -e /run/odrp ] || fail "/run/odrp is left"
sed -i s/eth0/eth7/ $ETC/odrp/mnoded.conf
systemctl start $agent && fail "$agent started without its device"
systemctl stop $agent
GUEST

# What a case adds: more settings of the device, and a function that puts more into the
# directory with what the guest has.
boot_settings=
boot_stage=

# boots SCRIPT OPTION...
boots() {
	local system=$case_dir/system dir units prefix etc unit
	dir=$(userspace_dir)/mnode
	units=$dir/ctl
	systemd_stage "$system" || wrong "cannot stage systemd"
	cp "$dir/odrp-mnoded.service" "$units/odrp-swap@.service" \
		"$system/lib/systemd/system/"
	for unit in init.scope systemd-udevd.service; do
		mkdir "$system/lib/systemd/system/$unit.d"
		cp "$units/$unit-odrp.conf" "$system/lib/systemd/system/$unit.d/"
	done
	cp "$vm_top"/mnode/ctl/*.rules "$system/lib/udev/rules.d/"
	# Where the unit says it is.
	prefix=$(sed -n 's|^ExecStart=\([^ ]*\)/bin/odrpctl .*|\1|p' \
		"$units/odrp-swap@.service")
	etc=$prefix/etc
	[[ $prefix != /usr ]] || etc=/etc
	mkdir -p "$system$prefix"/{bin,sbin}
	cp "$vm_ctl" "$system$prefix/bin/"
	cp "$dir/odrp-mnoded" "$system$prefix/sbin/"
	[[ -z $boot_stage ]] || "$boot_stage" "$system"
	vm_timeout=800 vm --init --no-swapon --add "$system" --mem 320M \
		--swap 128M "${@:2}" -- \
		sh -c "$boot" sh "$guest_functions$test_functions
$1
echo all well
systemctl reboot" "$etc/odrp/swap" "$boot_settings"
	expect_status 0
	expect_out 'all well'
	grep -A 60 FAILED "$case_dir/out" >&2
}

# The memory node hears a good-bye each time: it would wait for long.
expect_good_byes() {
	expect '.mnode_end.sessions == []' '.mnode_end.counters.dead == 0' \
		".mnode_end.counters.left == $1"
	expect_pages_back
}

comes_and_goes() {
	boots "$through_boot" --param mnode.dead-ms=600000
	expect_good_byes 3
}

agent_serves() {
	boots "$agent"
}

drain_once() {
	[[ ! -e $case_dir/drained ]] && grep -q now "$case_dir/out" || return 0
	touch "$case_dir/drained"
	"$vm_ctl" mnode drain --control "$1" >"$case_dir/drain" 2>&1
}

is_drained() {
	boots "$through_drain" --param mnode.dead-ms=600000
	expect_good_byes 2
}

# As docs/packaging.md says it.
stage_names() {
	local system=$1 f
	local units=$system/etc/systemd/system
	local drop_in=$units/odrp-swap@odrp0.service.d

	mkdir -p "$drop_in" "$system/usr/sbin"
	# Those of busybox know no UUID, nor all options that systemd gives them.
	for f in mkswap swapon swapoff; do
		cp -L "$(command -v $f)" "$system/usr/sbin/"
	done
	echo 'LABEL=far none swap noauto,pri=7 0 0' >"$system/etc/fstab"
	cat >"$drop_in/activate.conf" <<-'UNIT'
		[Service]
		ExecStartPost=systemctl start --no-block dev-disk-by\\x2dlabel-far.swap
	UNIT
	cat >"$units/dev-disk-by\x2duuid-${names_uuid//-/\\x2d}.swap" <<-UNIT
		[Swap]
		What=/dev/disk/by-uuid/$names_uuid
	UNIT
}

is_found_by_name() {
	local names_uuid=0f0e0d0c-1234-5678-9abc-0123456789ab
	local boot_stage=stage_names boot_settings="label = far
uuid = $names_uuid
activate = no"
	boots "$through_names" --param hot_add.dead_after_ms=600000 \
		--param mnode.dead-ms=600000
	expect_good_byes 2
}

is_forced() {
	boots "$through_force" --param mnode.dead-ms=600000
	expect_good_byes 2
}

dies() {
	boots "$through_death"
	expect '.mnode_end.counters.dead == 1'
}

drains() {
	vm_beside drain_once is_drained
}

tap_case_with init "up at boot, down at shutdown" comes_and_goes
tap_case_with init "the agent under its unit" agent_serves
tap_case_with init "the memory node is drained" drains
tap_case_with init "found by its label and UUID" is_found_by_name
tap_case_with init "removed by force" is_forced
tap_case_with init "the memory node is dead, and back" dies
tap_end
