# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What in a guest kernel's log means a fault. To be sourced after common.sh.
# shellcheck shell=bash
#
#   kernel_log_bugs KERNEL FILE  prints the lines of FILE that begin a report of
#                                a fault, but for those that are allowed
#
# Reports that are not ours, and that nothing can be done about, are named in
# kernel-log.allowed: what begins the report, and what must be in it.

KERNEL_LOG_ALLOWED=${KERNEL_LOG_ALLOWED:-${BASH_SOURCE[0]%/*}/kernel-log.allowed}

# BUG: is KASAN's, lockdep's and that of what sleeps where it may not, WARNING:
# that of most others. What /init found leaked it writes there itself. kmemleak
# says when it cannot go on; that it is off is no more than was asked for.
KERNEL_BUGS='BUG:|WARNING: |Oops|possible recursive locking|circular locking'
KERNEL_BUGS+='|inconsistent lock state|INFO: task .* blocked|general protection'
KERNEL_BUGS+='|Kernel panic|refcount_t:|list_(add|del) corruption'
KERNEL_BUGS+='|Unable to handle kernel|unable to handle page fault'
KERNEL_BUGS+='|UBSAN: |ODEBUG: |INFO: trying to register non-static key'
KERNEL_BUGS+='|DMA-API: .*(device driver|disabl|exceeded|cacheline|mismatch)'
KERNEL_BUGS+='|kmemleak: (unreferenced object|Cannot|Failed|Memory pool empty)'

kernel_log_bugs() {
	tr -d '\r' <"$2" | awk -v kernel="$1" -v bugs="$KERNEL_BUGS" \
		-v allowed="$KERNEL_LOG_ALLOWED" '
		# An entry: "[KERNEL] REGEX", then indented REGEXes.
		function read_allowed(    line, rest) {
			while ((getline line <allowed) > 0) {
				if (line ~ /^(#|[ \t]*$)/)
					continue
				if (line !~ /^[ \t]/) {
					rest = line
					sub(/^\[[^]]*\] /, "", rest)
					of[++nr] = substr(line, 2, index(line, "]") - 2)
					first[nr] = rest
				} else {
					sub(/^[ \t]+/, "", line)
					inside[nr, ++insides[nr]] = line
				}
			}
		}
		# Is entry e what begins at line at?  A report has at most 150 lines;
		# what has leaked is one report each.
		function is(e, at,    i, j, end) {
			if (of[e] != kernel || text[at] !~ first[e])
				return 0
			for (end = at + 1; end < at + 150 && end <= NR; end++)
				if (text[end] ~ /kmemleak: unreferenced/)
					break
			for (i = 1; i <= insides[e]; i++) {
				for (j = at; j < end; j++)
					if (text[j] ~ inside[e, i])
						break
				if (j == end)
					return 0
			}
			return 1
		}
		BEGIN { read_allowed() }
		{ text[NR] = $0 }
		END {
			for (at = 1; at <= NR; at++) {
				if (text[at] !~ bugs)
					continue
				for (e = 1; e <= nr && !is(e, at); e++)
					;
				if (e > nr)
					print text[at]
			}
		}'
}
