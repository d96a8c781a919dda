/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How large a table is made. See shape.h. */
#include "shape.h"

#include <errno.h>

#include "layout.h"

#define DEF_GROUPS	32u	/* when nobody knows */
#define MAX_FIRST	20u	/* depth */

/* Keys for which a subtable is made: 3/4 of its slots; most are lost beyond 9/10. */
static uint64_t shape_keys(unsigned groups)
{
	return groups * HASH_GROUP_SLOTS * UINT64_C(3) / 4;
}

int hash_shape_of(uint64_t expected, unsigned nr_shards, struct hash_shape *ret_shape)
{
	/* shards and subtables get their keys by chance: some more than the mean */
	uint64_t keys = expected / nr_shards + expected / nr_shards / 32;
	struct hash_shape shape = { expected ? HASH_MIN_GROUPS : DEF_GROUPS, 0 };

	while (shape.groups < HASH_MAX_GROUPS && shape_keys(shape.groups) < keys)
		shape.groups *= 2;
	while (shape_keys(shape.groups) << shape.depth < keys)
		if (++shape.depth > MAX_FIRST)
			return -E2BIG;
	*ret_shape = shape;
	return 0;
}

int hash_shape_sane(unsigned groups)
{
	return groups >= HASH_MIN_GROUPS && groups <= HASH_MAX_GROUPS &&
	       !(groups & (groups - 1));
}
