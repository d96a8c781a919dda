#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The account of scripts/check: what no time is left for has failed, what says
# nothing has failed, and the slowest are named.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
for part in common build check-report check-jobs; do
	# shellcheck source=/dev/null
	. "$top/scripts/lib/$part.sh"
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

# check MINUTES FUNCTION: a check with so much time whose jobs FUNCTION makes; its
# output goes to $dir/out.
check() {
	(
		mode=full
		export ODRP_CACHE=$dir/cache ODRP_CHECK_MINUTES=$1
		report_init
		report_dirs
		jobs_init
		"$2"
		jobs_run
		report_end
	) >"$dir/out" 2>&1
	status=$?
}

# expect STATUS LINE...: how the check ended, and what it said, as patterns.
expect() {
	local line
	[[ $status = "$1" ]] || wrong "exit status $status: expected $1"
	shift
	for line; do
		grep -Eqx -- "$line" "$dir/out" || wrong "no line '$line'"
	done
}

wrong() {
	bad=1
	echo "${FUNCNAME[2]}: $*"
	sed 's/^/    | /' "$dir/out"
}

# works SECONDS NAME
works() {
	passed "$2"
	took vm "$1" "$2"
}

many() {
	local i
	for i in {1..12}; do
		job "job $i" works $((i * 10)) "item-$i"
	done
}

# tap STATUS LINE...: what a TAP program says, and how it ends.
tap() {
	local status=$1 log=$logs/tap-$BASHPID
	shift
	printf '%s\n' "$@" >"$log"
	: >"$log.err"
	tap_results tap "$log" "$status"
}

all_is_well() {
	check 60 many
	expect 0 '12 passed, 0 failed' 'ok      item-7' \
		' *13:00  vm' ' *2:00  item-12' ' *0:30  item-3'
	! grep -q '0:20  item-2' "$dir/out" || wrong "more than ten are named"
}

no_time() {
	check 0 many
	expect 1 '0 passed, 12 failed' 'FAILED  no time left for: job 7'
}

cut_off_jobs() {
	job "cut off" tap 124 "ok 1 - first" "1..2"
}

cut_off() {
	check 60 cut_off_jobs
	expect 1 '1 passed, 1 failed' 'FAILED  no time left for the rest of: tap'
}

silent_jobs() {
	job "silent" true
	job "dies" kill_itself
}

kill_itself() {
	kill -KILL "$BASHPID"
}

silent() {
	check 60 silent_jobs
	expect 1 '0 passed, 2 failed' 'FAILED  silent: has no result' \
		'FAILED  dies: has no result'
}

tap_jobs() {
	job "well" tap 0 "ok 1 - a" "ok 2 - b # SKIP cannot" "1..2"
	job "for the night" tap 0 "1..0"
	job "no plan" tap 0
	job "too few" tap 0 "ok 1 - c" "1..2"
	job "bad" tap 1 "not ok 1 - d" "1..1"
	job "bad end" tap 1 "ok 1 - e" "1..1"
}

taps() {
	check 60 tap_jobs
	expect 1 '3 passed, 4 failed, 1 skipped' 'FAILED  tap: d' \
		'FAILED  tap: 1 of 2 cases reported, exit status 0' \
		'FAILED  tap: 1 of 1 cases reported, exit status 1' \
		'FAILED  tap: 0 of none cases reported, exit status 0'
}

# A job whose program goes on is stopped with it.
stopped_jobs() {
	job "goes on" goes_on
}

goes_on() {
	echo "$BASHPID" >"$dir/job"
	bounded sh -c 'echo $$ >"$1"; exec tail -f /dev/null' sh "$dir/program"
}

stopped() {
	check 60 stopped_jobs_stop
	[[ -s $dir/program ]] || wrong "did not begin"
	! kill -0 "$(cat "$dir/program")" 2>/dev/null || wrong "goes on"
}

stopped_jobs_stop() {
	stopped_jobs
	job_start 0
	until [[ -s $dir/program ]]; do
		sleep 0.1
	done
	jobs_stop
	exit 0
}

for t in all_is_well no_time cut_off silent taps stopped; do
	"$t"
done
exit "$bad"
