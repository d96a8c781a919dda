/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cache: see cache.h. Each table is direct-mapped. A slot begins with a count that
 * is odd while somebody writes the slot; who finds it odd or changed has found nothing,
 * and who would write it then does not.
 */
#include "cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../base/rng.h"

#define LEAST_BYTES	8192u

/* Slots of `words` words: the count, then the name, then what is kept. */
struct table {
	_Atomic uint64_t *at;
	uint64_t nr;
	unsigned words;
};

enum { COUNT, NAME, DATA };

struct btree_cache {
	struct table node, spot, leaf;
};

static int table_init(struct table *table, uint64_t bytes, unsigned data_words)
{
	table->words = DATA + data_words;
	table->nr = bytes / (table->words * sizeof(uint64_t));
	if (!table->nr)
		return 0;	/* it has no room for one, and knows nothing */
	table->at = calloc(table->nr * table->words, sizeof(uint64_t));
	return table->at ? 0 : -ENOMEM;
}

static _Atomic uint64_t *slot_of(const struct table *table, uint64_t name)
{
	uint64_t which = (unsigned __int128)far_rng_mix(name) * table->nr >> 64;

	return table->at + which * table->words;
}

static int slot_get(const struct table *table, uint64_t name, uint64_t *data)
{
	_Atomic uint64_t *slot = slot_of(table, name);
	uint64_t count;
	unsigned i;

	if (!table->nr)
		return 0;
	count = atomic_load_explicit(&slot[COUNT], memory_order_acquire);
	if (count & 1 || atomic_load_explicit(&slot[NAME], memory_order_acquire) != name)
		return 0;
	for (i = DATA; i < table->words; i++)
		data[i - DATA] = atomic_load_explicit(&slot[i], memory_order_acquire);
	return atomic_load_explicit(&slot[COUNT], memory_order_relaxed) == count;
}

/* data NULL: the slot has no name any more. */
static void slot_put(const struct table *table, uint64_t name, const uint64_t *data)
{
	_Atomic uint64_t *slot = slot_of(table, name);
	uint64_t count;
	unsigned i;

	if (!table->nr)
		return;
	count = atomic_load_explicit(&slot[COUNT], memory_order_relaxed);
	if (!data && atomic_load_explicit(&slot[NAME], memory_order_relaxed) != name)
		return;
	if (count & 1 || !atomic_compare_exchange_strong(&slot[COUNT], &count, count + 1))
		return;
	atomic_store_explicit(&slot[NAME], data ? name : 0, memory_order_release);
	for (i = DATA; data && i < table->words; i++)
		atomic_store_explicit(&slot[i], data[i - DATA], memory_order_release);
	atomic_store_explicit(&slot[COUNT], count + 2, memory_order_release);
}

int btree_cache_new(uint64_t bytes, uint32_t node_len, struct btree_cache **ret_cache)
{
	struct btree_cache *cache;

	*ret_cache = NULL;
	if (bytes < LEAST_BYTES)
		return 0;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	bytes -= sizeof(*cache);
	if (table_init(&cache->node, bytes / 2, node_len / 8) ||
	    table_init(&cache->spot, bytes / 4, 2) ||
	    table_init(&cache->leaf, bytes / 4, 3)) {
		btree_cache_free(cache);
		return -ENOMEM;
	}
	*ret_cache = cache;
	return 0;
}

void btree_cache_free(struct btree_cache *cache)
{
	if (!cache)
		return;
	free(cache->node.at);
	free(cache->spot.at);
	free(cache->leaf.at);
	free(cache);
}

int btree_cache_node(struct btree_cache *cache, uint64_t addr, void *buf)
{
	return cache && slot_get(&cache->node, addr, buf);
}

void btree_cache_put_node(struct btree_cache *cache, uint64_t addr, const void *buf)
{
	if (cache)
		slot_put(&cache->node, addr, buf);
}

void btree_cache_drop_node(struct btree_cache *cache, uint64_t addr)
{
	if (cache)
		slot_put(&cache->node, addr, NULL);
}

int btree_cache_spot(struct btree_cache *cache, uint64_t hash, struct btree_spot *ret_spot)
{
	uint64_t data[2];

	if (!cache || !slot_get(&cache->spot, hash, data))
		return 0;
	ret_spot->leaf = data[0] & ((UINT64_C(1) << 48) - 1);
	ret_spot->place = data[0] >> 48;
	ret_spot->version = data[1];
	return 1;
}

void btree_cache_put_spot(struct btree_cache *cache, uint64_t hash,
			  const struct btree_spot *spot)
{
	uint64_t data[2] = { spot->leaf | (uint64_t)spot->place << 48, spot->version };

	if (cache)
		slot_put(&cache->spot, hash, data);
}

void btree_cache_drop_spot(struct btree_cache *cache, uint64_t hash)
{
	if (cache)
		slot_put(&cache->spot, hash, NULL);
}

int btree_cache_version(struct btree_cache *cache, uint64_t leaf, uint64_t *ret_version)
{
	uint64_t data[3];

	if (!cache || !slot_get(&cache->leaf, leaf, data))
		return 0;
	*ret_version = data[2];
	return 1;
}

int btree_cache_word(struct btree_cache *cache, uint64_t leaf, struct form_age now,
		     uint64_t *ret_word)
{
	uint64_t data[3];

	if (!cache || !slot_get(&cache->leaf, leaf, data) ||
	    !form_age_is_now((struct form_age){ data[0] }, now))
		return 0;
	*ret_word = data[1];
	return 1;
}

void btree_cache_put_leaf(struct btree_cache *cache, uint64_t leaf, struct form_age age,
			  uint64_t word, uint64_t version)
{
	uint64_t data[3] = { age.epoch, word, version };

	if (cache)
		slot_put(&cache->leaf, leaf, data);
}

void btree_cache_drop_leaf(struct btree_cache *cache, uint64_t leaf)
{
	if (cache)
		slot_put(&cache->leaf, leaf, NULL);
}
