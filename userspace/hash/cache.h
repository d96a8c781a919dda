/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client's cache of slots: where the slot of a key was, and what was in it. Lossy,
 * of fixed size, shared by all threads without locks.
 *
 * What it answers is a hint, with one promise: the word was in that slot, and named
 * a block of this very key, at a moment when E had reached hint.age.
 */
#ifndef FAR_HASH_CACHE_H
#define FAR_HASH_CACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "../form/age.h"

/*
 * A key as the cache compares it: the key itself and its length up to 15 bytes, else
 * a hash of 128 bits under a seed that nobody outside of the process knows.
 */
struct hash_id {
	uint64_t lo, hi;
	uint64_t at;		/* a hash of the key: where in the cache */
};

struct hash_hint {
	uint64_t addr;		/* far address of the slot */
	uint64_t word;
	struct form_age age;
	uint64_t looks;		/* look before the CAS: so often, until it is right again */
};

struct hash_cache;

/* bytes is a limit; below 4 KiB there is no cache: *ret_cache is NULL. */
int hash_cache_new(uint64_t bytes, uint64_t seed, struct hash_cache **ret_cache);
void hash_cache_free(struct hash_cache *cache);

/* at: a hash of the key. */
struct hash_id hash_cache_id(const struct hash_cache *cache, const void *key, size_t len,
			     uint64_t at);
/* Whether there was a hint. */
int hash_cache_get(struct hash_cache *cache, const struct hash_id *id,
		   struct hash_hint *ret_hint);
void hash_cache_put(struct hash_cache *cache, const struct hash_id *id,
		    const struct hash_hint *hint);
void hash_cache_drop(struct hash_cache *cache, const struct hash_id *id);

#endif
