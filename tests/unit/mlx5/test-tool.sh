#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# odrp-hwcheck and odrp-mnoded where there is no such card: what they say, and
# how they end. Arguments: the two programs.

hwcheck=$1
mnoded=$2
status=0

# ends STATUS TEXT PROGRAM ARG...: exit status, and text in what it said.
ends() {
	want=$1 text=$2
	shift 2
	said=$("$@" 2>&1)
	got=$?
	if [ "$got" -ne "$want" ]; then
		echo "$*: exit status $got, expected $want: $said"
		status=1
	fi
	case $said in
	*"$text"*) ;;
	*)
		echo "$*: expected '$text' in: $said"
		status=1
		;;
	esac
}

ends 77 'no_such_card: no such RDMA device' "$hwcheck" no_such_card
ends 77 'nothing was checked' "$hwcheck" no_such_card
ends 77 '"device":null' "$hwcheck" --json no_such_card
ends 77 'no such RDMA device' "$hwcheck" mlx5:no_such_card,port=1
ends 64 'port=0: expected a number from 1' "$hwcheck" card,port=0
ends 77 'nothing was checked' "$hwcheck" --save=/proc/none no_such_card
ends 64 'save=: expected a path' "$hwcheck" --save= card
ends 64 'report= says what odrp-mnoded reads; expected --save=PATH' \
	"$hwcheck" card,report=/a/b.json
ends 64 'expected --save=PATH' "$hwcheck" mlx5:card,report=none
ends 64 'expected one device' "$hwcheck" one two
ends 0 'Usage: odrp-hwcheck' "$hwcheck" --help
ends 0 'odrp-hwcheck' "$hwcheck" --version
ends 1 'nic: no_such_card: no such RDMA device' \
	"$mnoded" --config /dev/null --nic mlx5:no_such_card
ends 2 'nic: strict=x: expected yes or no' \
	"$mnoded" --config /dev/null --nic mlx5:card,strict=x
ends 2 'nic: report=a.json: expected none or an absolute path' \
	"$mnoded" --config /dev/null --nic mlx5:card,report=a.json
ends 1 'nic: no_such_card: no such RDMA device' \
	"$mnoded" --config /dev/null --nic mlx5:no_such_card,report=/a/b.json
ends 1 'nic: auto: no_such_card: no such RDMA device' \
	"$mnoded" --config /dev/null --nic auto:no_such_card
ends 2 'expected auto, auto:DEVICE or auto:DEVICE,port=N' \
	"$mnoded" --config /dev/null --nic auto:card,gid=3
ends 2 'verbs:DEVICE... or auto' "$mnoded" --config /dev/null --nic automatic
exit $status
