/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client's cache of nodes: what they led to when they were READ. Lossy, within a
 * budget of bytes, shared by all threads; nobody waits for anybody. What is used stays,
 * whatever its size: so upper levels, through which all others are reached, go last.
 *
 * Nodes are found by their far address, so that the cached slots of one lead to the
 * next: the cache is a part of the tree, and keeps no keys beside it. A hash of the way
 * to the node tells it from another one that had the same address.
 *
 * What it answers is a hint, with one promise: each slot was in that node at a moment
 * when E was at least the entry's age. What is read behind a hint is what the slot
 * meant if it was not born after that (docs/far-trees.md).
 */
#ifndef FAR_ART_CACHE_H
#define FAR_ART_CACHE_H

#include "../form/age.h"
#include "key.h"

struct art_cache;

/* bytes is a limit; below 4 KiB there is no cache: *ret_cache is NULL. */
int art_cache_new(uint64_t bytes, struct art_cache **ret_cache);
void art_cache_free(struct art_cache *cache);

struct art_hint {
	uint64_t header;	/* of the node */
	uint64_t slot;		/* the key's way on, without ART_FROZEN; or 0: unknown */
	unsigned at;		/* its index */
	struct form_age age;	/* of the node's READ */
};

/* Whether a node that was at addr, and on the key's way, is there. */
bool art_cache_get(struct art_cache *cache, uint64_t addr, const struct art_key *key,
		   struct art_hint *ret_hint);
/* The node, which is on the key's way, as it was READ at that age. */
void art_cache_put(struct art_cache *cache, uint64_t addr, const struct art_key *key,
		   const struct art_node *node, struct form_age age);
void art_cache_drop(struct art_cache *cache, uint64_t addr);

/*
 * Bytes that a node takes of which so many slots lead somewhere, its way in a bucket included;
 * and of these what is no slot and no index.
 */
uint64_t art_cache_cost(unsigned live);
uint64_t art_cache_overhead(void);

/* Bytes in use. */
uint64_t art_cache_bytes(const struct art_cache *cache);

#endif
