/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How large a table is made: what follows from the number of keys that are expected. */
#ifndef FAR_HASH_SHAPE_H
#define FAR_HASH_SHAPE_H

#include <stdint.h>

struct hash_shape {
	unsigned groups;	/* of a subtable */
	unsigned depth;		/* of each shard at first */
};

/* -E2BIG: more than can be. */
int hash_shape_of(uint64_t expected, unsigned nr_shards, struct hash_shape *ret_shape);
/* Whether a root may say so many groups. */
int hash_shape_sane(unsigned groups);

#endif
