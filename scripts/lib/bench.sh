# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the benchmarks share. To be sourced after common.sh.
# shellcheck shell=bash

# want_rounds VALUE: of --rounds.
want_rounds() {
	[[ $1 =~ ^[1-9][0-9]?$ ]] ||
		die "--rounds '$1': expected a number from 1 to 99"
}

# median_of: of the numbers on standard input, one a line.
median_of() {
	sort -n | awk '{ v[NR] = $1 } END {
		m = int((NR + 1) / 2)
		print NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }'
}
