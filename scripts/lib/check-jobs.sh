# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The jobs of scripts/check, several at a time. To be sourced after
# check-report.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154  # the settings are shared with scripts/check
#
#   jobs_init              how many at a time: a processor for each, four at most
#   job NAME COMMAND...    one more at the end of the queue
#   jobs_run               all of the queue; what a job says is said when it ends
#   jobs_stop              those that run are stopped, and waited for
#   bounded COMMAND...     in a job: until all time is over; exit status 124 then
#
# A job is a function, in a shell of its own. What no time is left for has failed.

job_names=()
job_commands=()
job_next=0			# the first that has not begun
declare -A job_running=()		# its number, by process
job_child=			# of this job

jobs_init() {
	local processors
	processors=$(nproc)
	job_slots=$((processors < 4 ? processors : 4))
	# What a job may use itself.
	job_cpus=$((processors / job_slots))
}

job() {
	job_names+=("$1")
	shift
	job_commands+=("$(sh_quote "$@")")
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
	local log=$logs/job-$1
	(
		trap - EXIT INT
		trap job_stopped TERM
		account=$log.account
		: >"$account"
		eval "${job_commands[$1]}"
	) >"$log.said" 2>&1 &
	job_running[$!]=$1
	phase "${job_names[$1]}"
}

# job_end PROCESS
job_end() {
	local n=${job_running[$1]}
	local log=$logs/job-$n
	unset "job_running[$1]"
	cat "$log.said"
	[[ -s $log.account ]] || failed "${job_names[n]}: has no result"
}

# jobs_wait: until one has ended.  (Of one that is killed "wait -n" may know nothing
# any more.)
jobs_wait() {
	local p ended=0
	while ((!ended)); do
		for p in "${!job_running[@]}"; do
			kill -0 "$p" 2>/dev/null && continue
			job_end "$p"
			ended=1
		done
		((ended)) || wait -n "${!job_running[@]}" 2>/dev/null
	done
}

jobs_run() {
	while ((job_next < ${#job_names[@]} || ${#job_running[@]})); do
		while ((job_next < ${#job_names[@]} &&
			${#job_running[@]} < job_slots)); do
			if (($(seconds_left) < LEAST_SECONDS)); then
				failed "no time left for: ${job_names[job_next]}"
			else
				job_start "$job_next"
			fi
			job_next=$((job_next + 1))
		done
		((${#job_running[@]} == 0)) || jobs_wait
	done
}

jobs_stop() {
	[[ -z $job_child ]] || kill "$job_child" 2>/dev/null
	((${#job_running[@]})) || return 0
	kill "${!job_running[@]}" 2>/dev/null
	wait "${!job_running[@]}"
}
