/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hashes of a key, and what is written of a key and its value. See key.h. */
#include "key.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <far/hash.h>

#define KEY_SEED	UINT64_C(0x72616365)

void hash_key_init(struct hash_key *key, const void *data, size_t len, unsigned groups,
		   unsigned nr_shards)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(data, len, KEY_SEED);

	key->data = data;
	key->len = len;
	key->first = h.low64;
	key->fp = h.low64 >> 56;
	key->shard = (h.high64 >> 32) * nr_shards >> 32;
	key->main[0] = h.low64 >> 32 & (2 * groups - 1);
	key->main[1] = h.high64 & (2 * groups - 1);
	if (key->main[0] / 2 == key->main[1] / 2)
		key->main[1] ^= 2;
}

int hash_moved(uint32_t dir, unsigned from, unsigned to)
{
	uint64_t bits = dir & ~(UINT64_C(0)) << from & ((UINT64_C(1) << to) - 1);

	return bits ? __builtin_ctzll(bits) : -1;
}

uint64_t hash_block_sum(const struct hash_block *block, uint64_t root)
{
	return XXH3_64bits_withSeed(&block->dir,
				    HASH_BLOCK_HEAD - sizeof(block->sum) + block->key_len +
				    block->val_len, root);
}

void hash_block_fill(struct hash_block *block, uint64_t root, const struct hash_key *key,
		     const void *value, size_t val_len, struct form_age birth)
{
	size_t used = HASH_BLOCK_HEAD + key->len + val_len;

	block->dir = hash_key_dir(key);
	block->val_len = val_len;
	block->key_len = key->len;
	block->birth = form_age_low(birth, HASH_BIRTH_BITS);
	block->reserved = 0;
	memcpy(block->data, key->data, key->len);
	if (val_len)
		memcpy(block->data + key->len, value, val_len);
	memset((uint8_t *)block + used, 0, hash_block_len(key->len, val_len) - used);
	block->sum = hash_block_sum(block, root);
}

int hash_block_sane(const struct hash_block *block)
{
	return block->key_len && block->val_len <= FAR_HASH_MAX_VALUE;
}

int hash_slot_fits(uint64_t word, const struct hash_block *block)
{
	uint64_t units = hash_block_len(block->key_len, block->val_len) / HASH_UNIT;

	return hash_block_sane(block) &&
	       hash_slot_units(word) == (units > HASH_MAX_UNITS ? 0 : units);
}

uint64_t hash_root_sum(const struct hash_root *root, uint64_t addr)
{
	uint64_t shards = XXH3_64bits_withSeed(root->shard, root->nr_shards *
					       sizeof(root->shard[0]), addr);

	return XXH3_64bits_withSeed(root, offsetof(struct hash_root, sum), shards);
}
