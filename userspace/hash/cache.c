/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client's cache of slots. See cache.h.
 *
 * An entry is written word by word while others read it; its first word is a hash of
 * the rest, so that a mixture of two entries is seen to be one.
 */
#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../base/rng.h"

enum { AT_SUM, AT_LO, AT_HI, AT_ADDR, AT_WORD, AT_AGE, AT_LOOKS, NR_AT = 8 };

struct cache_entry {
	_Atomic(uint64_t) at[NR_AT];
};

struct hash_cache {
	uint64_t seed;
	size_t nr;		/* a power of two */
	struct cache_entry *entry;
};

int hash_cache_new(uint64_t bytes, uint64_t seed, struct hash_cache **ret_cache)
{
	struct hash_cache *cache;
	size_t nr = 1;

	*ret_cache = NULL;
	if (bytes < 4096)
		return 0;
	while (2 * nr * sizeof(struct cache_entry) <= bytes)
		nr *= 2;
	cache = malloc(sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	cache->seed = seed;
	cache->nr = nr;
	cache->entry = calloc(nr, sizeof(*cache->entry));
	if (!cache->entry) {
		free(cache);
		return -ENOMEM;
	}
	*ret_cache = cache;
	return 0;
}

void hash_cache_free(struct hash_cache *cache)
{
	if (!cache)
		return;
	free(cache->entry);
	free(cache);
}

struct hash_id hash_cache_id(const struct hash_cache *cache, const void *key, size_t len,
			     uint64_t at)
{
	struct hash_id id = { .at = at };
	uint8_t bytes[16] = { 0 };
	XXH128_hash_t h;

	if (len < sizeof(bytes)) {
		if (len == sizeof(uint64_t))	/* the usual length, without a call */
			memcpy(bytes, key, sizeof(uint64_t));
		else
			memcpy(bytes, key, len);
		bytes[sizeof(bytes) - 1] = len;
		memcpy(&id.lo, bytes, sizeof(id.lo));
		memcpy(&id.hi, bytes + sizeof(id.lo), sizeof(id.hi));
		return id;
	}
	h = XXH3_128bits_withSeed(key, len, cache->seed);
	id.lo = h.low64;
	/* the last byte of hi says 255: not a short key */
	id.hi = h.high64 | UINT64_C(0xff) << 56;
	return id;
}

static struct cache_entry *entry_of(struct hash_cache *cache, const struct hash_id *id)
{
	return &cache->entry[id->at & (cache->nr - 1)];
}

static uint64_t entry_sum(const uint64_t *at)
{
	/* odd, and without a pattern: products that need not wait for each other */
	return far_rng_mix(at[AT_LO] * UINT64_C(0x9e3779b97f4a7c15) +
			   at[AT_HI] * UINT64_C(0xd6e8feb86659fd93) +
			   at[AT_ADDR] * UINT64_C(0xa0761d6478bd642f) +
			   at[AT_WORD] * UINT64_C(0xe7037ed1a0b428db) +
			   at[AT_AGE] * UINT64_C(0x8ebc6af09c88c6e3) +
			   at[AT_LOOKS] * UINT64_C(0x589965cc75374cc3) + 1);
}

int hash_cache_get(struct hash_cache *cache, const struct hash_id *id,
		   struct hash_hint *ret_hint)
{
	struct cache_entry *entry = entry_of(cache, id);
	uint64_t at[NR_AT];
	unsigned i;

	for (i = AT_SUM; i <= AT_LOOKS; i++)
		at[i] = atomic_load_explicit(&entry->at[i], memory_order_relaxed);
	if (at[AT_LO] != id->lo || at[AT_HI] != id->hi || !at[AT_ADDR] ||
	    at[AT_SUM] != entry_sum(at))
		return 0;
	ret_hint->addr = at[AT_ADDR];
	ret_hint->word = at[AT_WORD];
	ret_hint->age.epoch = at[AT_AGE];
	ret_hint->looks = at[AT_LOOKS];
	return 1;
}

void hash_cache_put(struct hash_cache *cache, const struct hash_id *id,
		    const struct hash_hint *hint)
{
	struct cache_entry *entry = entry_of(cache, id);
	uint64_t at[NR_AT] = {
		[AT_LO] = id->lo,
		[AT_HI] = id->hi,
		[AT_ADDR] = hint->addr,
		[AT_WORD] = hint->word,
		[AT_AGE] = hint->age.epoch,
		[AT_LOOKS] = hint->looks,
	};
	unsigned i;

	at[AT_SUM] = entry_sum(at);
	/* most often it is there, and other threads have the line too */
	if (atomic_load_explicit(&entry->at[AT_SUM], memory_order_relaxed) == at[AT_SUM])
		return;
	for (i = AT_SUM; i <= AT_LOOKS; i++)
		atomic_store_explicit(&entry->at[i], at[i], memory_order_relaxed);
}

void hash_cache_drop(struct hash_cache *cache, const struct hash_id *id)
{
	struct hash_hint hint;

	if (hash_cache_get(cache, id, &hint))
		atomic_store_explicit(&entry_of(cache, id)->at[AT_SUM], 0,
				      memory_order_relaxed);
}
