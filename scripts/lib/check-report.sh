# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The account of scripts/check: what passed, failed, was skipped, and where the
# time went. To be sourced after common.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the settings are shared with scripts/check
#
# Jobs run beside each other (check-jobs.sh), so the account is kept in files of
# $logs: each job has one of its own for its results, and all add lines to "times":
# a kind, the seconds, a name.

# With less left nothing is begun.
LEAST_SECONDS=60

report_init() {
	local minutes
	case $mode in
	short) minutes=30 ;;
	all) minutes=84 ;;
	# Most of it is for the debug kernels.
	nightly) minutes=1440 ;;
	esac
	check_begin=$SECONDS
	check_budget=$((${ODRP_CHECK_MINUTES:-$minutes} * 60))
}

# One work directory per source tree, so that a second run builds little.
report_dirs() {
	work=$ODRP_CACHE/check/$(path_key "$ODRP_ROOT")
	logs=$work/logs
	rm -rf "$logs"
	mkdir -p "$logs" || die "cannot make '$logs'"
	account=$logs/check.account
	: >"$account"
	: >"$logs/times"
	# What scripts/vm uses is the plain build of this check.
	export ODRP_BUILD=$work
}

seconds_left() {
	echo $((check_budget - (SECONDS - check_begin)))
}

minutes() {
	printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

phase() {
	echo "== $1 ($(minutes $((SECONDS - check_begin))))"
}

# took KIND SECONDS NAME
took() {
	printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$logs/times"
}

passed() {
	echo "passed $1" >>"$account"
	echo "ok      $1"
}

skipped() {
	echo "skipped $1" >>"$account"
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
	echo "failed $1" >>"$account"
	echo "FAILED  $1"
	[[ -n ${2:-} && -s $2 ]] && excerpt "$2" | cut -c 1-300 |
		sed 's/^/        | /'
	return 0
}

# tap_results PREFIX LOG STATUS: one result per line of a TAP log. A program
# that ends badly without having said why, or that has no plan, failed, too; so
# did one that the end of all time has cut off (status 124 or 137). One whose cases
# are all for the night plans none.
tap_results() {
	local prefix=$1 log=$2 status=$3 line name planned=none nr=0 bad=0
	while read -r line; do
		case $line in
		1..*)
			planned=${line#1..}
			planned=${planned%% *}
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
	if ((status == 124 || status == 137)); then
		failed "no time left for the rest of: $prefix" "$log.err"
	elif [[ $nr != "$planned" ]] || ((status != 0 && !bad)); then
		failed "$prefix: $nr of $planned cases reported, exit status $status" \
			"$log.err"
	elif ((nr == 0)); then
		echo "none $prefix" >>"$account"
	fi
}

# results WORD: the names of what passed, failed or was skipped.
results() {
	sed -n "s/^$1 //p" "$logs"/*.account
}

report_times() {
	local kind seconds name
	echo "Where the time went (${job_slots:-1} at a time):"
	awk -F'\t' '{ s[$1] += $2 }
		END { for (k in s) print s[k] "\t" k }' "$logs/times" |
		sort -rn | while IFS=$'\t' read -r seconds kind; do
			printf '%8s  %s\n' "$(minutes "${seconds%.*}")" "$kind"
		done
	echo "The twenty slowest:"
	sort -t$'\t' -k2,2rn "$logs/times" | head -n 20 |
		while IFS=$'\t' read -r kind seconds name; do
			printf '%8s  %s\n' "$(minutes "${seconds%.*}")" "$name"
		done
}

report_end() {
	local nr_failed nr_skipped
	nr_failed=$(results failed | wc -l)
	nr_skipped=$(results skipped | wc -l)
	echo
	report_times
	echo "Time: $(minutes $((SECONDS - check_begin))) minutes of" \
		"$((check_budget / 60))"
	if ((nr_failed)); then
		echo "Logs: $logs"
		results failed | sed 's/^/FAILED  /'
	fi
	printf '%d passed, %d failed' "$(results passed | wc -l)" "$nr_failed"
	((nr_skipped)) && printf ', %d skipped' "$nr_skipped"
	echo
	exit $((nr_failed > 0))
}
