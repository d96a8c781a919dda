#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# odrpctl and odrp-mnoded, told what is wrong: what they say, how they end; and that
# help and manuals name the same. Nothing here reaches a device or an agent.
# Arguments: the two programs, and the tree.

odrpctl=$1
mnoded=$2
top=$3
man=$top/docs/man
status=0

wrong() {
	echo "$*"
	status=1
}

# ends STATUS TEXT PROGRAM ARG...: exit status, and text in what it said.
ends() {
	want=$1 text=$2
	shift 2
	said=$("$@" 2>&1)
	got=$?
	[ "$got" -eq "$want" ] ||
		wrong "$*: exit status $got, expected $want: $said"
	case $said in
	*"$text"*) ;;
	*) wrong "$*: expected '$text' in: $said" ;;
	esac
}

# An option of another command.
none=/no/such/file
ends 2 '--priority is an option of add, and not of up' \
	"$odrpctl" swap up odrp255 --file $none --priority 5
ends 2 '--backing is an option of add, and not of up' \
	"$odrpctl" swap --backing=/dev/none up odrp255 --file $none
ends 2 '--force is an option of remove and down, and not of drop' \
	"$odrpctl" swap drop --force odrp255
ends 2 '--json is an option of status and top, and not of remove' \
	"$odrpctl" swap remove --json odrp255
ends 2 '--file is an option of up, and not of add' \
	"$odrpctl" swap add --file $none
ends 2 '--count is an option of top, and not of status' \
	"$odrpctl" swap status --count 1
ends 2 '--no-swapon is an option of add, and not of top' \
	"$odrpctl" swap top --no-swapon --count 1
ends 2 "'colour': expected add, remove," "$odrpctl" swap colour --force
ends 2 '--dead-after-ms is an option of add' "$odrpctl" swap status --dead-after-ms=0
ends 2 '1 to 600000' "$odrpctl" swap add --reconnect-delay-ms=0
ends 2 '--min-free-kbytes is an option of add' "$odrpctl" swap top --count 1 --min-free-kbytes 9
ends 2 'queues=010: expected a number without zeros' "$odrpctl" swap add --queues 010
ends 2 '--priority 5: not expected with --no-swapon' \
	"$odrpctl" swap add 192.0.2.1 1G --priority 5 --no-swapon
ends 2 '--queues 3: given twice' "$odrpctl" swap add --queues 2 --queues 3

# Secrets: made once, and shown to nobody.
keys=$(mktemp -d)
ends 0 "$keys/d/cnode1" "$odrpctl" key new cnode1 --dir "$keys/d"
ends 3 'File exists' "$odrpctl" key new cnode1 --dir "$keys/d"
ends 2 "name '../cnode1': expected" "$odrpctl" key new ../cnode1 --dir "$keys/d"
ends 2 "odrpctl key: 'old': expected new, load, remove or list" "$odrpctl" key old
ends 2 "odrpctl key: 'b': expected one name" "$odrpctl" key new a b
ends 2 'usage: odrpctl key new|load|remove NAME' "$odrpctl" key new
ends 2 "odrpctl key: unrecognized option '--old'" "$odrpctl" key new a --old
ends 2 'expected status, check, sessions, clients, top' "$odrpctl" mnode
"$odrpctl" mnode top --help | grep -q "^Usage: odrpctl mnode top \[OPTION" ||
	wrong "top has no help of its own"
"$odrpctl" swap top --help >"$keys/help"
grep -q "^Usage: odrpctl swap \[OPTION...\] top" "$keys/help" ||
	wrong "swap top has no help of its own"
! grep -q -- --no-swapon "$keys/help" || wrong "the help of top has options of add"
[ "$(stat -c %a "$keys/d/cnode1")" = 600 ] || wrong "others can read a secret"
ends 0 cnode1 "$odrpctl" key list --dir "$keys/d"
ends 0 '' "$odrpctl" key list --dir "$keys/none"
ends 2 "'cnode1': expected no name" "$odrpctl" key list cnode1 --dir "$keys/d"
chmod 644 "$keys/d/cnode1"
ends 1 'cnode1: mode 0644: expected 0600' "$odrpctl" key list --dir "$keys/d"
ends 2 "name '../d/cnode1': expected" "$odrpctl" key remove ../d/cnode1 --dir "$keys/d"
ends 3 'cnode2: No such file' "$odrpctl" key remove cnode2 --dir "$keys/d"
ends 0 '' "$odrpctl" key remove cnode1 --dir "$keys/d"
[ ! -e "$keys/d/cnode1" ] || wrong "a secret is not removed"
rm -r "$keys"

# A device that is none.
for command in remove drop up down status; do
	ends 2 "$command: 'sda': expected one device, odrp0 to odrp255" \
		"$odrpctl" swap $command sda
	ends 2 "'odrp256': expected one device, odrp0 to odrp255" \
		"$odrpctl" swap $command odrp256
	ends 2 "'odrp00': expected one device, odrp0 to odrp255" \
		"$odrpctl" swap $command odrp00
	ends 2 "'odrp1': not expected" "$odrpctl" swap $command odrp255 odrp1
done
ends 2 'swap drop: expected one device' "$odrpctl" swap drop
ends 2 'odrp255: not expected' "$odrpctl" swap top odrp255
ends 2 'odrp255: not expected' "$odrpctl" swap metrics odrp255
ends 2 "'colour': expected status, check, sessions, clients, top," "$odrpctl" mnode colour
ends 2 '--interval and --count are options of top, and not of check' \
	"$odrpctl" mnode check --count 1
ends 2 'count=x: expected a number' "$odrpctl" mnode top --count x
ends 2 'interval=0: expected seconds, 0.1 to 3600' "$odrpctl" mnode top --interval 0
ends 3 "$none: no agent is there" "$odrpctl" mnode top --count 1 --control $none
ends 2 '--output is an option of metrics, and not of top' \
	"$odrpctl" swap top --count 1 --output $none
ends 3 "$none: No such file" "$odrpctl" swap metrics --output $none
# Nothing to ask: what to start.
for command in 'status odrp255' status 'remove odrp255' 'drop odrp255' 'top --count 1' 'add 192.0.2.1 1G --auth none'; do
	# shellcheck disable=SC2086  # words
	ends 3 'the module odrp is not loaded: "modprobe odrp" loads it' \
		"$odrpctl" swap $command
done
# For whoever collects numbers that is an answer: no error each 15 seconds.
ends 0 'odrp_swap_module_loaded 0' "$odrpctl" swap metrics
for command in status check sessions clients drain undrain 'evict 1'; do
	# shellcheck disable=SC2086
	ends 3 'no agent is there: "systemctl start odrp-mnoded" starts it' \
		"$odrpctl" mnode $command --control $none
done

# An address that is none of IPv4's.
for address in fd00::1 '[fd00::1]:7489' ::1 '[::1]'; do
	ends 2 'IPv6: expected an IPv4 address' "$odrpctl" swap add "$address" 1G
done
ends 2 'IPv6: expected an IPv4 address' "$odrpctl" swap add 192.0.2.1 1G --src fd00::2
ends 2 'key is missing: expected our name' "$odrpctl" swap add 192.0.2.1 1G
ends 2 'port=: expected' "$odrpctl" swap add 192.0.2.1: 1G

for level in '' mnode swap 'swap add' 'mnode status'; do
	# shellcheck disable=SC2086
	ends 0 'odrpctl 0' "$odrpctl" $level --version
done

# Settings that do not get better by waiting: see the unit.
ends 2 "$none" "$odrpctl" swap up odrp255 --file $none
ends 2 'address is missing' "$odrpctl" swap up odrp255 --file /dev/null
ends 2 '/: cannot be read: expected a file' "$odrpctl" swap up odrp255 --file /
ends 2 '/: cannot be read: expected a file' "$mnoded" --config /
grep -qx 'RestartPreventExitStatus=2' "$top/mnode/ctl/odrp-swap@.service.in" ||
	wrong 'odrp-swap@.service: settings that are wrong are tried again'

ends 2 'unrecognized option' "$mnoded" --colour
ends 2 'expected options only' "$mnoded" now
ends 2 'pool=much' "$mnoded" --config /dev/null --pool much
for address in 127.0.0.1 :9489 localhost:9489 127.0.0.1:0 127.0.0.1:65536 \
		127.0.0.1:9489x '[::1]:9489' 1.2.3.4.5.6.7.8.9:1; do
	ends 2 "metrics=$address: expected ADDRESS:PORT" \
		"$mnoded" --config /dev/null --metrics "$address"
done
ends 2 'no NIC' "$mnoded" --config /dev/null
ends 2 "$none" "$mnoded" --config $none
ends 2 'expected soft:' "$mnoded" --config /dev/null --nic hard:x
ends 2 'needs a port' "$mnoded" --config /dev/null --nic soft:ip=10.0.0.1
ends 1 'nosuchif0' "$mnoded" --config /dev/null \
	--nic soft:ip=10.0.0.1,packet=nosuchif0
ends 1 'packet=lo: a loopback interface' "$mnoded" --config /dev/null \
	--nic soft:ip=10.0.0.1,packet=lo

# options PROGRAM WORD...: the long ones of its help, without dashes.
options() {
	COLUMNS=200 "$@" --help |
		sed -nE 's/^ *(-., )?--([a-z-]+).*/\2/p' |
		grep -Evx 'help|usage|version'
}

# named WHAT FILE OPTION...: each stands in the manual.
named() {
	file=$1
	shift
	for option; do
		sed 's/\\-/-/g' "$file" | grep -q -e "--$option" ||
			wrong "$file does not name --$option"
	done
}

# shellcheck disable=SC2046  # words
named "$man/odrpctl.1" $(options "$odrpctl" swap) $(options "$odrpctl" mnode)
# shellcheck disable=SC2046
named "$man/odrp-mnoded.8" $(options "$mnoded")

# Each setting of a file is an option of add, but for its words, and for activate, by
# which others do what add does.
swap_options=$(options "$odrpctl" swap)
for setting in $(sed -n '/^\.SH SETTINGS/,/^\.SH THE UNIT/s/^\.B \([a-z\\-]*\)$/\1/p' \
		"$man/odrp-swap.conf.5" | tr -d '\\'); do
	case $setting in
	address | port | size | activate) ;;
	*)
		echo "$swap_options" | grep -qx "$setting" ||
			wrong "odrpctl swap add has no --$setting"
		;;
	esac
done
for command in add remove drop up down status top metrics; do
	"$odrpctl" --help | grep 'swap' | grep -qw "$command" ||
		wrong "odrpctl --help does not name $command"
	sed 's/\\-/-/g' "$man/odrpctl.1" | grep -q "^\.B odrpctl swap $command" ||
		wrong "odrpctl(1) does not name $command"
done
exit $status
