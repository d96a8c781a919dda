/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two clients that do the same thing to one key at the same time, when a connection of
 * the first one breaks at its N-th operation, for all N.
 */
#ifndef TEST_FAR_ORDERED_BROKEN_H
#define TEST_FAR_ORDERED_BROKEN_H

#include "program.h"

#define BROKEN_VALUE_MAX	17000u

/*
 * All values have value_len bytes, a multiple of 8. The key is inserted, or deleted, between
 * `prefill` others: by one of the two. Afterwards nothing is wrong, in nobody's hands, or
 * waited for. Fails else. Returns how often client 0 did not know what it had done.
 */
unsigned broken_everywhere(const struct ordered_kind *kind, unsigned prefill,
			   size_t value_len, int deletes, unsigned last);

#endif
