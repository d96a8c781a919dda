# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Shared by all scripts: messages, the cache directory, locks. To be sourced.
# shellcheck shell=bash

ODRP_ROOT=${ODRP_ROOT:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
ODRP_CACHE=${ODRP_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/odrp}
ODRP_PROG=${ODRP_PROG:-${0##*/}}

# Progress goes to standard error: standard output belongs to results.
# ODRP_QUIET=1 silences progress, never errors.
info() {
	[[ ${ODRP_QUIET:-0} = 1 ]] || printf '%s: %s\n' "$ODRP_PROG" "$*" >&2
}

# last_line LOG: what is not empty, in few words.
last_line() {
	tail -n 5 "$1" | grep -a . | tail -n 1 | tr -s ' \t\r' ' ' |
		sed "s|$ODRP_CACHE/||g" | cut -c 1-70
}

# progress LOG: as progress, the last line of LOG every five seconds, until
# progress_end or the end of this shell.
progress() {
	local log=$1 shell=$BASHPID line
	progress_pid=
	[[ ${ODRP_QUIET:-0} != 1 ]] || return 0
	while sleep 5 2>/dev/null && kill -0 "$shell" 2>/dev/null; do
		line=$(last_line "$log")
		[[ -z $line ]] || info "$line"
	done >/dev/null &
	progress_pid=$!
	# The shell need not report its end.
	disown "$progress_pid"
}

progress_end() {
	[[ -z $progress_pid ]] || kill "$progress_pid" 2>/dev/null
}

warn() {
	printf '%s: warning: %s\n' "$ODRP_PROG" "$*" >&2
}

error() {
	printf '%s: error: %s\n' "$ODRP_PROG" "$*" >&2
}

die() {
	error "$@"
	exit "${ODRP_DIE_STATUS:-1}"
}

need_cmd() {
	local c
	for c; do
		command -v "$c" >/dev/null ||
			die "the command '$c' is missing, and it is needed here"
	done
}

# with_lock NAME FUNCTION [ARG...]: one process at a time per NAME, so that
# runs in parallel do not fill the same cache entry twice.
with_lock() {
	local name=$1 fd rc=0
	shift
	mkdir -p "$ODRP_CACHE/lock"
	exec {fd}>"$ODRP_CACHE/lock/$name"
	flock "$fd"
	"$@" || rc=$?
	# Whatever still has the file open.
	flock -u "$fd"
	exec {fd}>&-
	return "$rc"
}

# size_bytes TEXT: "268435456", "256M", "4G", "64k" as a number of bytes.
size_bytes() {
	local n=${1%[kKmMgG]} mult=1
	case $1 in
	*[kK]) mult=1024 ;;
	*[mM]) mult=$((1024 * 1024)) ;;
	*[gG]) mult=$((1024 * 1024 * 1024)) ;;
	esac
	[[ $n =~ ^[1-9][0-9]{0,14}$ ]] || return 1
	echo $((n * mult))
}

# can_write FILE: whether it is a file that can be written, or be made; one that was
# not there is not there afterwards.
can_write() {
	[[ ! -d $1 ]] || return
	if [[ -e $1 ]]; then
		{ : >>"$1"; } 2>/dev/null
	else
		{ : >"$1"; } 2>/dev/null && rm -f -- "$1"
	fi
}

# scratch_dir: makes a directory, dir, for as long as the script runs. What runs in
# the background then, the script ends with itself.
scratch_dir() {
	dir=$(mktemp -d) || exit 1
	trap scratch_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

scratch_end() {
	local jobs
	jobs=$(jobs -p)
	# shellcheck disable=SC2086  # several
	[[ -z $jobs ]] || { kill $jobs; wait; } 2>/dev/null
	rm -rf "$dir"
}

# attended COMMAND...: waits for it so that a signal to this script is heard at once.
attended() {
	"$@" <&0 &
	wait "$!"
}

# sh_quote ARG...: the arguments quoted for any POSIX shell.
sh_quote() {
	local a out=
	for a; do
		out+=" '${a//\'/\'\\\'\'}'"
	done
	printf '%s' "${out# }"
}
