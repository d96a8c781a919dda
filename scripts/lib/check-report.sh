# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The account of scripts/check: what passed, failed, was skipped, and the time
# it may take. To be sourced after common.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the settings are shared with scripts/check

nr_passed=0
nr_skipped=0
failures=()

report_init() {
	local minutes=29
	# Most of it is for the debug kernels.
	[[ $mode = nightly ]] && minutes=1440
	check_begin=$SECONDS
	check_budget=$((${ODRP_CHECK_MINUTES:-$minutes} * 60))
}

# One work directory per source tree, so that a second run builds little.
report_dirs() {
	work=$ODRP_CACHE/check/$(path_key "$ODRP_ROOT")
	logs=$work/logs
	rm -rf "$logs"
	mkdir -p "$logs" || die "cannot make '$logs'"
	# What scripts/vm uses is the plain build of this check.
	export ODRP_BUILD=$work
}

seconds_left() {
	echo $((check_budget - (SECONDS - check_begin)))
}

phase() {
	printf '== %s (%d:%02d)\n' "$1" $(((SECONDS - check_begin) / 60)) \
		$(((SECONDS - check_begin) % 60))
}

passed() {
	nr_passed=$((nr_passed + 1))
	echo "ok      $1"
}

skipped() {
	nr_skipped=$((nr_skipped + 1))
	echo "skipped $1"
}

# excerpt LOG: what a person wants to see of it: a sanitizer's report from its
# first line on, and before it the assertion that may have been its cause, else
# the end.
excerpt() {
	local first
	first=$(grep -nm1 -E 'ERROR: [A-Z]\w+Sanitizer|runtime error:' "$1")
	if [[ -n $first ]]; then
		head -n "${first%%:*}" "$1" | grep -E '^\[ +(ERROR|LINE) +\]' |
			head -n 6
		tail -n "+${first%%:*}" "$1" | head -n 25
	else
		tail -n 30 "$1"
	fi
}

# failed NAME [LOG]: with an excerpt, indented.
failed() {
	failures+=("$1")
	echo "FAILED  $1"
	[[ -n ${2:-} && -s $2 ]] && excerpt "$2" | cut -c 1-300 |
		sed 's/^/        | /'
	return 0
}

# tap_results PREFIX LOG STATUS: one result per line of a TAP log. A program
# that ends badly without having said why, or that says nothing, failed, too; one
# whose status is "slow" had no time for what it does not report.
tap_results() {
	local prefix=$1 log=$2 status=$3 line name planned=0 nr=0 bad=0
	while read -r line; do
		case $line in
		1..*)
			planned=${line#1..}
			continue
			;;
		ok\ * | not\ ok\ *) ;;
		*) continue ;;
		esac
		nr=$((nr + 1))
		name=$(sed -E 's/^(not )?ok [0-9]+ - //' <<<"$line")
		case $line in
		*'# SKIP'*) skipped "$prefix: $name" ;;
		ok*) passed "$prefix: $name" ;;
		*)
			bad=1
			failed "$prefix: $name" "$log.err"
			;;
		esac
	done <"$log"
	if [[ $status = slow ]]; then
		skipped "$prefix: no time left for the rest of it"
	elif ((status == 124 || status == 137)); then
		failed "$prefix: out of time" "$log.err"
	elif ((nr == 0 || nr != planned || (status != 0 && !bad))); then
		failed "$prefix: $nr of $planned cases reported, exit status $status" \
			"$log.err"
	fi
}

report_end() {
	local f
	echo
	printf 'Time: %d:%02d minutes\n' $(((SECONDS - check_begin) / 60)) \
		$(((SECONDS - check_begin) % 60))
	if ((${#failures[@]})); then
		echo "Logs: $logs"
		for f in "${failures[@]}"; do
			echo "FAILED  $f"
		done
	fi
	printf '%d passed, %d failed' "$nr_passed" "${#failures[@]}"
	((nr_skipped)) && printf ', %d skipped' "$nr_skipped"
	echo
	exit $((${#failures[@]} > 0))
}
