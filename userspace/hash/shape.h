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

/*
 * A new subtable with that suffix, hash_sub_len() bytes at buf, empty; sub[] are the
 * far addresses of all of its shard, by suffix.
 */
void hash_sub_fill(void *buf, const struct hash_shape *shape, uint32_t suffix,
		   unsigned shard, const uint64_t *sub);

#endif
