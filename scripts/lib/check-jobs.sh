# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The jobs of scripts/check, several at a time. To be sourced after
# check-report.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154  # the settings are shared with scripts/check
#
#   jobs_init              how many at a time: a processor for each, four at most
#   job NAME COMMAND...    one more at the end of the queue
#   job_after JOBS NAME COMMAND...  the same; it begins when all JOBS, with a ";"
#                          between two, have ended, and has failed when one of them has
#   jobs_run               all of the queue; what a job says is printed when it ends
#   jobs_traps             the script's end, also by INT or TERM, ends all jobs, and
#                          every process that these have started
#   bounded COMMAND...     in a job: until all time is over; exit status 124 then
#   look LOG               in a job: the last line of LOG says what it does now
#
# A job is a function, in a shell of its own. What no time is left for has failed. At
# least every JOBS_TICK seconds a line says what is going on.

JOBS_TICK=15

job_names=()
job_commands=()
job_needs=()			# the names of jobs that have to have ended, or ''
declare -A job_waiting=()	# numbers of those that have not begun
declare -A job_ended=()		# "passed" or "failed", by name
declare -A job_running=()	# numbers, by process
declare -A job_begin=()		# when they began, by number
job_ticker=			# a process that ends after JOBS_TICK seconds
job_child=			# of this job

jobs_init() {
	local processors
	processors=$(nproc)
	job_slots=$((processors < 4 ? processors : 4))
	# What a job may use itself.
	job_cpus=$((processors / job_slots))
	# In the environment of every process of a job, however it was started.
	job_mark=ODRP_CHECK_RUN=$$.$RANDOM$RANDOM
}

job() {
	job_after '' "$@"
}

job_after() {
	job_waiting[${#job_names[@]}]=1
	job_needs+=("$1")
	job_names+=("$2")
	shift 2
	job_commands+=("$(sh_quote "$@")")
}

look() {
	echo "$1" >"$job_log.look"
}

bounded() {
	local left status
	left=$(seconds_left)
	timeout -k 30 "$((left > 1 ? left : 1))" "$@" &
	job_child=$!
	wait "$job_child"
	status=$?
	job_child=
	return "$status"
}

job_stopped() {
	if [[ -n $job_child ]]; then
		kill "$job_child" 2>/dev/null
		wait "$job_child"
	fi
	exit 143
}

# job_start NUMBER
job_start() {
	job_log=$logs/job-$1
	(
		trap - EXIT INT
		trap job_stopped TERM
		account=$job_log.account
		: >"$account"
		look "$job_log.said"
		# shellcheck disable=SC2163  # its value is an assignment
		export "$job_mark"
		eval "${job_commands[$1]}"
	) >"$job_log.said" 2>&1 &
	job_running[$!]=$1
	job_begin[$1]=$SECONDS
	phase "${job_names[$1]}"
}

# job_end PROCESS
job_end() {
	local n=${job_running[$1]}
	local log=$logs/job-$n
	unset "job_running[$1]"
	cat "$log.said"
	[[ -s $log.account ]] || failed "${job_names[n]}: has no result"
	job_ended[${job_names[n]}]=passed
	! grep -q '^failed' "$log.account" || job_ended[${job_names[n]}]=failed
}

# job_now NUMBER: what it does, in a few words.
job_now() {
	local log line=
	log=$(cat "$logs/job-$1.look" 2>/dev/null)
	[[ ! -s $log ]] || line=$(last_line "$log")
	echo "${job_names[$1]} ($(minutes $((SECONDS - job_begin[$1]))))${line:+: $line}"
}

jobs_say() {
	local n
	printf '.. %s' "$(minutes $((SECONDS - check_begin)))"
	for n in "${job_running[@]}"; do
		printf '  | %s' "$(job_now "$n")"
	done
	echo
}

# jobs_tick: whenever JOBS_TICK seconds are over.
jobs_tick() {
	[[ -n $job_ticker ]] && kill -0 "$job_ticker" 2>/dev/null && return
	[[ -z $job_ticker ]] || jobs_say
	sleep "$JOBS_TICK" &
	job_ticker=$!
}

# jobs_wait: until one has ended.  (Of one that is killed "wait -n" may know nothing
# any more.)
jobs_wait() {
	local p ended=0
	while ((!ended)); do
		jobs_tick
		for p in "${!job_running[@]}"; do
			kill -0 "$p" 2>/dev/null && continue
			job_end "$p"
			ended=1
		done
		((ended)) ||
			wait -n "${!job_running[@]}" "$job_ticker" 2>/dev/null
	done
}

# job_lacks NUMBER STATE: the first of those it needs that has not ended as STATE, a
# pattern; fails when there is none.
job_lacks() {
	local name
	local -a needs
	IFS=';' read -ra needs <<<"${job_needs[$1]}"
	for name in "${needs[@]}"; do
		# shellcheck disable=SC2053
		[[ ${job_ended[$name]:-} = $2 ]] || {
			echo "$name"
			return
		}
	done
	return 1
}

# jobs_next: the first that waits for no other; fails when there is none.
jobs_next() {
	local n
	for ((n = 0; n < ${#job_names[@]}; n++)); do
		[[ -n ${job_waiting[$n]:-} ]] || continue
		! job_lacks "$n" '?*' >/dev/null || continue
		echo "$n"
		return
	done
	return 1
}

# job_begin_or_fail NUMBER
job_begin_or_fail() {
	local name=${job_names[$1]} needs
	unset "job_waiting[$1]"
	if needs=$(job_lacks "$1" passed); then
		failed "$name: not begun, it needs: $needs"
	elif (($(seconds_left) < LEAST_SECONDS)); then
		failed "no time left for: $name"
	else
		job_start "$1"
		return
	fi
	job_ended[$name]=failed
}

jobs_run() {
	local n
	while ((${#job_waiting[@]} + ${#job_running[@]})); do
		while ((${#job_running[@]} < job_slots)) && n=$(jobs_next); do
			job_begin_or_fail "$n"
		done
		if ((${#job_running[@]})); then
			jobs_wait
		elif ! jobs_next >/dev/null; then
			# What they need is no job.
			for n in "${!job_waiting[@]}"; do
				job_begin_or_fail "$n"
			done
		fi
	done
}

# jobs_left: processes of this check that are there, but for the jobs' own shells.
jobs_left() {
	grep -lszx -- "$job_mark" /proc/[0-9]*/environ | cut -d/ -f3
}

# Programs get time to take down what they have begun.
jobs_end_left() {
	local left try
	for try in {1..100}; do
		left=$(jobs_left)
		[[ -n $left ]] || return 0
		# shellcheck disable=SC2086  # several
		case $try in
		1) kill $left ;;
		50 | 100) kill -KILL $left ;;
		esac 2>/dev/null
		sleep 0.2
	done
}

jobs_stop() {
	trap '' INT TERM
	[[ -z $job_ticker ]] || kill "$job_ticker" 2>/dev/null
	if ((${#job_running[@]})); then
		echo "ending what runs"
		kill "${!job_running[@]}" 2>/dev/null
		jobs_end_left
		wait "${!job_running[@]}"
	fi
	jobs_end_left
}

jobs_traps() {
	trap jobs_stop EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}
