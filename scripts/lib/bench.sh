# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the benchmarks share. To be sourced after common.sh and options.sh.
# shellcheck shell=bash

# want_rounds VALUE: of --rounds.
want_rounds() {
	[[ $1 =~ ^[1-9][0-9]?$ ]] ||
		bad_usage "--rounds '$1': expected a number from 1 to 99"
}

# median_of: of the numbers on standard input, one a line.
median_of() {
	sort -n | awk '{ v[NR] = $1 } END {
		m = int((NR + 1) / 2)
		print NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }'
}

# command_line ARG...: how the benchmark was started, without the files it was
# to write.
command_line() {
	local line="scripts/${0##*/}${*:+ $*}"
	sed -E 's/ --save\b//; s/ --json [^ ]+//' <<<"$line"
}

# result_save NAME LABEL COMMAND [KEY=VALUE...]: docs/results/NAME.md from the
# table on standard input. See result.py.
result_save() {
	local name=$1 label=$2 command=$3 row rows=()
	shift 3
	for row; do
		rows+=(--row "$row")
	done
	python3 -B "$ODRP_ROOT/scripts/lib/result.py" "$name" --label "$label" \
		--command "$command" "${rows[@]}" || die "cannot write the result"
}

# guest_accel JSON: what ran the guest, of a run's statistics.
guest_accel() {
	case $(jq -r .accel "$1") in
	tcg) echo "QEMU's emulation" ;;
	*) echo "QEMU with KVM" ;;
	esac
}
