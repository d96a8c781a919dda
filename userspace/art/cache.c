/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client's cache of nodes. See cache.h.
 *
 * Buckets of four ways; a way is a pointer to an entry. An entry has those slots of its node
 * that lead somewhere, in the order of their symbols, and behind them their indices. Readers
 * take no lock: a bucket's sequence number tells them whether somebody has changed it under
 * them, and then they have read nothing. Entries are words that are written and read one by
 * one, and go back to a list of their size, never to the system, so that a late reader reads
 * an entry all the same. Each load acquires and each store releases: the sequence number
 * is read last, and made odd first. One writer at a time; a second one leaves it at that.
 */
#include "cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../base/rng.h"

#define CACHE_WAYS	4u
#define CACHE_MEAN	96u	/* bytes: an entry and its way, for the number of buckets */
#define CACHE_TRIES	32u	/* buckets that are looked at for something to evict */

enum { AT_ADDR, AT_WAY, AT_AGE, AT_HEADER, AT_SLOT };

/* Slots that an entry has room for, by its size. */
static const uint16_t rooms[] = { 2, 4, 6, 10, 14, 22, 30, 62, 126, ART_SYMBOLS };

#define CACHE_SIZES	(sizeof(rooms) / sizeof(rooms[0]))
#define NO_SLOT		UINT64_MAX	/* its symbol is above all others */

struct cache_entry {
	struct cache_entry *next;	/* of the free ones; the writer's */
	struct cache_entry *also;	/* of all */
	unsigned size;			/* its index in rooms */
	_Atomic(uint64_t) at[];
};

struct cache_bucket {
	_Atomic(uint64_t) seq;		/* odd: it is being changed */
	_Atomic(struct cache_entry *) way[CACHE_WAYS];
};

struct art_cache {
	uint64_t limit;
	_Atomic(uint64_t) bytes;	/* of buckets, and of entries that exist */
	size_t nr;			/* of buckets: a power of two */
	struct cache_bucket *bucket;
	atomic_flag writing;		/* covers what follows, and all sequence numbers */
	struct far_rng rng;
	struct cache_entry *free[CACHE_SIZES];
	struct cache_entry *all;	/* every entry there is */
};

static uint64_t load(const _Atomic(uint64_t) *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void store(_Atomic(uint64_t) *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* Words of indices, a byte each. A node that fills the largest entry has none to say. */
static unsigned index_words(unsigned room)
{
	return room == ART_SYMBOLS ? 0 : (room + 7) / 8;
}

static size_t entry_len(unsigned size)
{
	return sizeof(struct cache_entry) +
	       (AT_SLOT + rooms[size] + index_words(rooms[size])) * 8;
}

/* The least entry for so many slots. */
static unsigned entry_size(unsigned live)
{
	unsigned size = 0;

	while (rooms[size] < live)
		size++;
	return size;
}

uint64_t art_cache_cost(unsigned live)
{
	return entry_len(entry_size(live)) + art_cache_overhead() -
	       sizeof(struct cache_entry) - AT_SLOT * 8;
}

uint64_t art_cache_overhead(void)
{
	return sizeof(struct cache_entry) + AT_SLOT * 8 +
	       sizeof(struct cache_bucket) / CACHE_WAYS;
}

int art_cache_new(uint64_t bytes, struct art_cache **ret_cache)
{
	struct art_cache *cache;

	*ret_cache = NULL;
	if (bytes < 4096)
		return 0;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	cache->limit = bytes;
	cache->nr = 1;
	while (2 * cache->nr * CACHE_WAYS * CACHE_MEAN <= bytes)
		cache->nr *= 2;
	cache->bytes = cache->nr * sizeof(*cache->bucket);
	cache->bucket = calloc(cache->nr, sizeof(*cache->bucket));
	if (!cache->bucket) {
		free(cache);
		return -ENOMEM;
	}
	atomic_flag_clear(&cache->writing);
	far_rng_init(&cache->rng, bytes, 0);
	*ret_cache = cache;
	return 0;
}

void art_cache_free(struct art_cache *cache)
{
	struct cache_entry *entry;

	if (!cache)
		return;
	while ((entry = cache->all)) {
		cache->all = entry->also;
		free(entry);
	}
	free(cache->bucket);
	free(cache);
}

uint64_t art_cache_bytes(const struct art_cache *cache)
{
	return load(&cache->bytes);
}

static struct cache_bucket *bucket_of(const struct art_cache *cache, uint64_t addr)
{
	return &cache->bucket[far_rng_mix(addr / ART_UNIT) & (cache->nr - 1)];
}

static struct cache_entry *way_get(struct cache_bucket *bucket, unsigned i)
{
	return atomic_load_explicit(&bucket->way[i], memory_order_acquire);
}

/* Of the way to a node at depth, which the key takes. */
static uint64_t way_hash(const struct art_key *key, unsigned depth)
{
	return XXH3_64bits(key->data, depth);
}

/* The first slot with that symbol or a greater one. */
static unsigned entry_find(const struct cache_entry *entry, unsigned symbol)
{
	unsigned lo = 0, hi = rooms[entry->size], mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (art_slot_symbol(load(&entry->at[AT_SLOT + mid])) < symbol)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The index in its node of slot i. In the greatest type that is its symbol. */
static unsigned entry_index(const struct cache_entry *entry, unsigned type, unsigned i,
			    unsigned symbol)
{
	unsigned room = rooms[entry->size];

	if (type == ART_TYPES - 1 || room == ART_SYMBOLS)
		return symbol;
	return load(&entry->at[AT_SLOT + room + i / 8]) >> (8 * (i % 8)) & 0xff;
}

/* The key's slot in an entry that may change meanwhile. */
static bool entry_look(const struct cache_entry *entry, const struct art_key *key,
		       struct art_hint *hint)
{
	unsigned depth, symbol, i;
	uint64_t slot;

	hint->age.epoch = load(&entry->at[AT_AGE]);
	hint->header = load(&entry->at[AT_HEADER]);
	depth = art_header_depth(hint->header);
	hint->slot = 0;
	if (depth > key->len || way_hash(key, depth) != load(&entry->at[AT_WAY]))
		return false;
	symbol = art_symbol(key->data, key->len, depth);
	i = entry_find(entry, symbol);
	slot = i < rooms[entry->size] ? load(&entry->at[AT_SLOT + i]) : NO_SLOT;
	if (art_slot_symbol(slot) == symbol) {
		hint->slot = slot;
		hint->at = entry_index(entry, art_header_type(hint->header), i, symbol);
	}
	return true;
}

bool art_cache_get(struct art_cache *cache, uint64_t addr, const struct art_key *key,
		   struct art_hint *ret_hint)
{
	struct cache_bucket *bucket = bucket_of(cache, addr);
	uint64_t seq = atomic_load_explicit(&bucket->seq, memory_order_acquire);
	bool found = false;
	unsigned i;

	if (seq & 1)
		return false;
	for (i = 0; i < CACHE_WAYS && !found; i++) {
		struct cache_entry *entry = way_get(bucket, i);

		if (entry && load(&entry->at[AT_ADDR]) == addr)
			found = entry_look(entry, key, ret_hint);
	}
	return found && load(&bucket->seq) == seq;
}

/* Around changes of a bucket, by the one who writes. */
static void bucket_begin(struct cache_bucket *bucket)
{
	store(&bucket->seq, load(&bucket->seq) + 1);
}

static void bucket_end(struct cache_bucket *bucket)
{
	store(&bucket->seq, load(&bucket->seq) + 1);
}

/* Empties a way; the entry goes to its list. */
static void way_clear(struct art_cache *cache, struct cache_bucket *bucket, unsigned i)
{
	struct cache_entry *entry = way_get(bucket, i);

	bucket_begin(bucket);
	atomic_store_explicit(&bucket->way[i], NULL, memory_order_release);
	store(&entry->at[AT_ADDR], FAR_NIL);
	bucket_end(bucket);
	entry->next = cache->free[entry->size];
	cache->free[entry->size] = entry;
}

static struct cache_entry *entry_make(struct art_cache *cache, unsigned size)
{
	struct cache_entry *entry;

	if (load(&cache->bytes) + entry_len(size) > cache->limit)
		return NULL;
	entry = calloc(1, entry_len(size));
	if (!entry)
		return NULL;
	entry->size = size;
	entry->also = cache->all;
	cache->all = entry;
	store(&cache->bytes, load(&cache->bytes) + entry_len(size));
	return entry;
}

/* Throws out one of that size that lies near a random place. */
static void evict(struct art_cache *cache, unsigned size)
{
	size_t at = far_rng_next(&cache->rng);
	unsigned i, k;

	for (i = 0; i < CACHE_TRIES; i++) {
		struct cache_bucket *bucket = &cache->bucket[(at + i) & (cache->nr - 1)];

		for (k = 0; k < CACHE_WAYS; k++) {
			struct cache_entry *entry = way_get(bucket, k);

			if (entry && entry->size == size) {
				way_clear(cache, bucket, k);
				return;
			}
		}
	}
}

static struct cache_entry *entry_take(struct art_cache *cache, unsigned size)
{
	struct cache_entry *entry;

	if (!cache->free[size]) {
		entry = entry_make(cache, size);
		if (entry)
			return entry;
		evict(cache, size);
	}
	entry = cache->free[size];
	if (entry)
		cache->free[size] = entry->next;
	return entry;
}

/* The way that has the node, or CACHE_WAYS. */
static unsigned way_of(struct cache_bucket *bucket, uint64_t addr)
{
	unsigned i;

	for (i = 0; i < CACHE_WAYS; i++) {
		struct cache_entry *entry = way_get(bucket, i);

		if (entry && load(&entry->at[AT_ADDR]) == addr)
			break;
	}
	return i;
}

/* An empty way: of the node itself, of nobody, or of somebody. */
static unsigned way_for(struct art_cache *cache, struct cache_bucket *bucket, uint64_t addr)
{
	unsigned i = way_of(bucket, addr);

	if (i == CACHE_WAYS)
		for (i = 0; i < CACHE_WAYS && way_get(bucket, i); i++)
			;
	if (i == CACHE_WAYS)
		i = far_rng_below(&cache->rng, CACHE_WAYS);
	if (way_get(bucket, i))
		way_clear(cache, bucket, i);
	return i;
}

/* Indices of a node's slots that lead somewhere, in the order of symbols; how many. */
static unsigned slots_sort(const struct art_node *node, uint16_t *ret_at)
{
	unsigned nr = art_type_slots(art_header_type(node->header));
	unsigned n = 0, i, k, symbol;

	for (i = 0; i < nr; i++) {
		symbol = art_slot_symbol(node->slot[i]);
		if (!art_pointee(node->slot[i]) || symbol >= ART_SYMBOLS)
			continue;
		for (k = n++; k && art_slot_symbol(node->slot[ret_at[k - 1]]) > symbol; k--)
			ret_at[k] = ret_at[k - 1];
		ret_at[k] = i;
	}
	return n;
}

static void entry_fill(struct cache_entry *entry, const struct art_node *node,
		       const uint16_t *at, unsigned nr)
{
	unsigned room = rooms[entry->size], i, k;
	uint64_t word;

	for (i = 0; i < room; i++)
		store(&entry->at[AT_SLOT + i],
		      i < nr ? node->slot[at[i]] & ~ART_FROZEN : NO_SLOT);
	for (i = 0; i < index_words(room); i++) {
		for (word = 0, k = 0; k < 8 && 8 * i + k < nr; k++)
			word |= (uint64_t)(at[8 * i + k] & 0xff) << (8 * k);
		store(&entry->at[AT_SLOT + room + i], word);
	}
}

static void cache_put(struct art_cache *cache, uint64_t addr, uint64_t key_way,
		      const struct art_node *node, struct form_age age)
{
	struct cache_bucket *bucket = bucket_of(cache, addr);
	unsigned way = way_for(cache, bucket, addr);
	uint16_t at[ART_SYMBOLS];
	unsigned nr = slots_sort(node, at);
	struct cache_entry *entry = entry_take(cache, entry_size(nr));

	if (!entry)
		return;
	bucket_begin(bucket);
	store(&entry->at[AT_ADDR], addr);
	store(&entry->at[AT_WAY], key_way);
	store(&entry->at[AT_AGE], age.epoch);
	store(&entry->at[AT_HEADER], node->header);
	entry_fill(entry, node, at, nr);
	atomic_store_explicit(&bucket->way[way], entry, memory_order_release);
	bucket_end(bucket);
}

void art_cache_put(struct art_cache *cache, uint64_t addr, const struct art_key *key,
		   const struct art_node *node, struct form_age age)
{
	uint64_t key_way = way_hash(key, art_header_depth(node->header));

	if (atomic_flag_test_and_set_explicit(&cache->writing, memory_order_acquire))
		return;
	cache_put(cache, addr, key_way, node, age);
	atomic_flag_clear_explicit(&cache->writing, memory_order_release);
}

void art_cache_drop(struct art_cache *cache, uint64_t addr)
{
	struct cache_bucket *bucket = bucket_of(cache, addr);
	unsigned way;

	if (atomic_flag_test_and_set_explicit(&cache->writing, memory_order_acquire))
		return;
	way = way_of(bucket, addr);
	if (way < CACHE_WAYS)
		way_clear(cache, bucket, way);
	atomic_flag_clear_explicit(&cache->writing, memory_order_release);
}
