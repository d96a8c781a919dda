#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The processor that guests are given keeps its flags: see workload/flags-kept.c.
. "$(dirname "$0")/lib.sh"

keeps_flags() {
	vm --kernel 6.1 --no-odrp \
		--add "$vm_workload/flags-kept" -- flags-kept
	expect_status 0
	expect_out '^flags-kept: '
}

tap_case "flags after cmpxchg16b" keeps_flags
tap_end
