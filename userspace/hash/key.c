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

uint64_t hash_block_sum(const struct hash_block *block)
{
	return XXH3_64bits(&block->dir, HASH_BLOCK_HEAD - sizeof(block->sum) +
					block->key_len + block->val_len);
}

void hash_block_fill(struct hash_block *block, const struct hash_key *key,
		     const void *value, size_t val_len, uint64_t epoch)
{
	size_t used = HASH_BLOCK_HEAD + key->len + val_len;

	block->dir = hash_key_dir(key);
	block->val_len = val_len;
	block->key_len = key->len;
	block->epoch = epoch;
	block->reserved = 0;
	memcpy(block->data, key->data, key->len);
	if (val_len)
		memcpy(block->data + key->len, value, val_len);
	memset((uint8_t *)block + used, 0, hash_block_len(key->len, val_len) - used);
	block->sum = hash_block_sum(block);
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

uint64_t hash_root_sum(const struct hash_root *root)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t zero = 0;
	uint64_t sum = 0;

	if (!state)
		return 0;
	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, root, offsetof(struct hash_root, sum));
	XXH3_64bits_update(state, &zero, sizeof(zero));
	XXH3_64bits_update(state, root->shard, root->nr_shards * sizeof(root->shard[0]));
	sum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return sum;
}
