#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The jobs of scripts/check and its account: what no time is left for has failed, what
# says nothing has failed, the slowest are named, lines say what goes on, a module is
# built once, and a signal leaves no process behind.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
for part in common build check-report check-jobs; do
	# shellcheck source=/dev/null
	. "$top/scripts/lib/$part.sh"
done
if [[ ${1:-} = interrupted_check ]]; then
	dir=$2
else
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
fi
bad=0

# check MINUTES FUNCTION: a check with so much time whose jobs FUNCTION makes; its
# output goes to $dir/out.
check() {
	(
		mode=all
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
	for i in {1..22}; do
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
	expect 0 '22 passed, 0 failed' 'ok      item-7' \
		' *42:10  vm' ' *3:40  item-22' ' *0:30  item-3'
	! grep -q '0:20  item-2' "$dir/out" || wrong "more than twenty are named"
}

no_time() {
	check 0 many
	expect 1 '0 passed, 22 failed' 'FAILED  no time left for: job 7'
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

# A job begins after those that it needs, and fails with each of them.
needing_jobs() {
	job_after "at once;made" "uses made" uses
	job_after "broken;at once" "uses broken" works 1 never
	job_after "at once;nothing" "uses nothing" works 1 never
	job "at once" works 1 item-1
	job "made" makes
	job "broken" failed "item"
}

makes() {
	sleep 0.3
	touch "$dir/made"
	passed "made"
}

uses() {
	if [[ -e $dir/made ]]; then
		passed "made was there"
	else
		failed "made was not there"
	fi
}

needing() {
	check 60 needing_jobs
	expect 1 '3 passed, 3 failed' 'ok      made was there' \
		'FAILED  uses broken: not begun, it needs: broken' \
		'FAILED  uses nothing: not begun, it needs: nothing'
	! grep -q never "$dir/out" || wrong "what it needs has failed"
}

# Lines say what goes on.
slow_jobs() {
	JOBS_TICK=0.2
	job "slow" slow
}

slow() {
	echo "half of it" >"$logs/slow"
	look "$logs/slow"
	sleep 1
	passed "all of it"
}

ticks() {
	check 60 slow_jobs
	expect 0 '1 passed, 0 failed' '\.\. 0:0[0-9]  \| slow \(0:0[0-9]\): half of it'
}

# found_is TEXT ARG...: what build_module finds of these arguments, without a kernel that
# anything could be built for.
found_is() {
	local ko
	ko=$(ODRP_CACHE=$dir/cache build_module 6.1 "${@:2}" 2>/dev/null)
	[[ $(cat "$ko" 2>/dev/null) = "$1" ]] ||
		wrong "odrp.ko${*:2} is '$(cat "$ko" 2>&1)': expected '$1'"
}

# What a job has built is what virtual machines load, if it is made in the same way. It
# is the first in its cache.
kept() {
	local ODRP_CACHE=$dir/cache text
	rm -rf "$dir/cache/modules"
	for text in first second; do
		mkdir "$dir/$text" && echo "$text" >"$dir/$text/odrp.ko"
	done
	keep_module 6.1 "$dir/first"
	found_is '' ODRP_FAULTS=1
	keep_module 6.1 "$dir/second" ODRP_FAULTS=1
	found_is first
	found_is second ODRP_FAULTS=1
}

# All that kernels.sh is asked here.
kernel_release() {
	echo "$1.0-test"
}
kernel_headers() {
	echo "$dir/none"
}

# A check in a session of its own, whose jobs leave programs behind in every way: one
# waits for a program that goes on, one has begun one that left its group and one
# that does not mind signals.
interrupted_check() {
	mode=all
	export ODRP_CACHE=$dir/cache ODRP_CHECK_MINUTES=60
	report_init
	report_dirs
	jobs_init
	job_slots=2
	jobs_traps
	job "goes on" goes_on
	job "goes off" goes_off
	jobs_run
}

goes_on() {
	bounded sh -c 'echo $$ >"$1"; exec tail -f /dev/null' sh "$dir/program1"
}

goes_off() {
	setsid sh -c 'echo $$ >"$1"; exec tail -f /dev/null' sh "$dir/program2" &
	sh -c 'trap "" TERM INT; echo $$ >"$1"; tail -f /dev/null' sh "$dir/program3"
}

# interrupted_by SIGNAL STATUS
interrupted_by() {
	local check f
	rm -f "$dir"/program*
	# Bash ignores INT in what it runs in the background, but for Python's child.
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$0" interrupted_check "$dir" >"$dir/out" 2>&1 &
	check=$!
	until [[ -s $dir/program1 && -s $dir/program2 && -s $dir/program3 ]] ||
		! kill -0 "$check" 2>/dev/null; do
		sleep 0.1
	done
	kill "-$1" "$check"
	wait "$check"
	status=$?
	expect "$2"
	for f in 1 2 3; do
		[[ -s $dir/program$f ]] || wrong "program $f did not begin"
		! kill -0 "$(cat "$dir/program$f")" 2>/dev/null || {
			wrong "program $f goes on after $1"
			kill -KILL "$(cat "$dir/program$f")"
		}
	done
}

interrupted() {
	interrupted_by INT 130
	interrupted_by TERM 143
}

if [[ ${1:-} = interrupted_check ]]; then
	interrupted_check
	exit
fi
for t in all_is_well no_time cut_off silent taps needing ticks kept interrupted; do
	"$t"
done
exit "$bad"
