# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the benchmarks share. To be sourced.
# shellcheck shell=bash

# median_of: of the numbers on standard input, one a line.
median_of() {
	sort -n | awk '{ v[NR] = $1 } END {
		m = int((NR + 1) / 2)
		print NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }'
}
