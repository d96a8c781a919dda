/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ranges of keys, for structures that keep their keys in order. Keys are strings of
 * bytes, compared as memcmp() does, and a key comes before those that it begins.
 * Integers in big-endian order are in their own order.
 */
#ifndef FAR_RANGE_H
#define FAR_RANGE_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum {
	FAR_RANGE_DOWN	= 1 << 0,	/* the greatest key first */
};

/* Keys of at least `from` and at most `to`; zeros are the defaults. */
struct far_range {
	const void *from;	/* NULL: from the least key on */
	size_t from_len;
	const void *to;		/* NULL: to the greatest one */
	size_t to_len;
	uint64_t max;		/* keys that are given at most; 0: all */
	unsigned flags;		/* FAR_RANGE_* */
};

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
