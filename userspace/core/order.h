/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The order of keys, as <far/range.h> states it.
 */
#ifndef FAR_CORE_ORDER_H
#define FAR_CORE_ORDER_H

#include <stddef.h>
#include <string.h>

/* Less than, equal to or greater than 0, as a comes before, is, or comes after b. */
static inline int far_key_cmp(const void *a, size_t a_len, const void *b, size_t b_len)
{
	int diff = memcmp(a, b, a_len < b_len ? a_len : b_len);

	if (diff)
		return diff;
	return a_len < b_len ? -1 : a_len > b_len;
}

#endif
