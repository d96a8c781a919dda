/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a key may be: the hashes of a key, and what they choose.
 *
 * first hash	bits 0 to 31 the subtable, 32 to 55 one main bucket, 56 to 63 the fp
 * second hash	bits 0 to 31 the other main bucket, 32 to 63 the shard
 */
#ifndef FAR_HASH_KEY_H
#define FAR_HASH_KEY_H

#include "layout.h"

struct hash_key {
	const void *data;
	size_t len;
	uint64_t first;		/* the first hash */
	unsigned shard;		/* the node too */
	unsigned main[2];	/* main buckets, never of one group; main[0] is home */
	uint8_t fp;
};

void hash_key_init(struct hash_key *key, const void *data, size_t len, unsigned groups,
		   unsigned nr_shards);

static inline uint32_t hash_key_dir(const struct hash_key *key)
{
	return (uint32_t)key->first;
}

/*
 * The first split, from depth `from` up to the one below `to`, that took keys with
 * these bits away; -1 if none did.
 */
int hash_moved(uint32_t dir, unsigned from, unsigned to);

/*
 * The block of a key and a value in the table with that root, at `block`, which has
 * hash_block_len() bytes.
 */
void hash_block_fill(struct hash_block *block, uint64_t root, const struct hash_key *key,
		     const void *value, size_t val_len, struct form_age birth);
/* The sum that a block of that table with these lengths should have. */
uint64_t hash_block_sum(const struct hash_block *block, uint64_t root);
/* Whether the lengths in a block's head can be. */
int hash_block_sane(const struct hash_block *block);
/* The same, and whether a slot word that names the block says so too. */
int hash_slot_fits(uint64_t word, const struct hash_block *block);
/* The sum of a root that lies at far address addr. */
uint64_t hash_root_sum(const struct hash_root *root, uint64_t addr);

#endif
