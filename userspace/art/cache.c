/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client's cache of nodes. See cache.h.
 *
 * Buckets of four ways; a way is a word that says where an entry is, or 0. An entry has
 * those slots of its node that lead somewhere, in the order of their symbols, and behind
 * them their indices. Readers take no lock: a bucket's sequence number tells them whether
 * somebody has changed it under them, and then they have read nothing. Each load acquires
 * and each store releases: the sequence number is read last, and made odd first. One writer
 * at a time; a second one leaves it at that.
 *
 * Entries lie one behind the other in one piece of memory, whatever their lengths, so that
 * what is evicted makes room in bytes and not for entries of its own size. It is filled
 * segment by segment. The segment that is the oldest is swept before it is filled again:
 * entries that nobody has used since it was swept last go, the others move together. Who
 * goes down to a node uses all that are above it, so that upper levels go last; where too
 * many are used, the deepest go. A late reader may read words of other entries, and its
 * bucket tells it so: nothing that it computes from them leads out of the memory.
 */
#include "cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../base/rng.h"

#define CACHE_LEAST	4096u	/* bytes */
#define CACHE_WAYS	4u
#define CACHE_MEAN	96u	/* bytes: an entry and its way, for the number of buckets */
/* Segments: eight of at least 1,024 words; more when they would be longer than 8,192. */
#define CACHE_SEGMENTS	8u
#define CACHE_SHORTEST	1024u
#define CACHE_LONGEST	8192u
#define CACHE_DEPTHS	32u	/* of nodes that are told apart; the last has "or deeper" */

/* AT_NAME: the node's far address, and the entry's length in words above it; 0: none. */
enum { AT_NAME, AT_WAY, AT_AGE, AT_HEADER, AT_SLOT };

#define NAME_LEN	FAR_ADDR_BITS

/* Words of indices behind `live` slots, a byte each. */
#define INDEX_WORDS(live)	(((live) + 7) / 8)
#define ENTRY_WORDS(live)	(AT_SLOT + (live) + INDEX_WORDS(live))

/*
 * A way: where its entry begins, plus 1, in the lower bits; above that how many slots it
 * has.
 */
#define WAY_LIVE	48

struct cache_bucket {
	_Atomic(uint64_t) seq;		/* odd: it is being changed */
	_Atomic(uint64_t) way[CACHE_WAYS];
	_Atomic(uint8_t) used[CACHE_WAYS];	/* since the entry's segment was swept */
};

struct art_cache {
	size_t nr;			/* of buckets */
	struct cache_bucket *bucket;
	_Atomic(uint64_t) *word;	/* of entries */
	size_t words, segment;		/* how many, and of a segment: these divide them */
	_Atomic(size_t) filled;		/* words of segments that have been in use */
	atomic_flag writing;		/* covers what follows, and all sequence numbers */
	size_t at, end;			/* of the segment that is being filled */
	struct far_rng rng;
};

static uint64_t load(const _Atomic(uint64_t) *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static void store(_Atomic(uint64_t) *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

uint64_t art_cache_cost(unsigned live)
{
	return (ENTRY_WORDS(live) - AT_SLOT) * 8 + art_cache_overhead();
}

uint64_t art_cache_overhead(void)
{
	return AT_SLOT * 8 + sizeof(struct cache_bucket) / CACHE_WAYS;
}

/* Few words are swept at a time, and there is room for the longest entry. */
static size_t segment_words(size_t words)
{
	size_t nr = words / CACHE_SHORTEST;

	if (nr > CACHE_SEGMENTS)
		nr = CACHE_SEGMENTS;
	if (nr < words / CACHE_LONGEST)
		nr = words / CACHE_LONGEST;
	return nr ? words / nr : words;
}

int art_cache_new(uint64_t bytes, struct art_cache **ret_cache)
{
	struct art_cache *cache;

	*ret_cache = NULL;
	if (bytes < CACHE_LEAST)
		return 0;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	cache->nr = bytes / (CACHE_WAYS * CACHE_MEAN);
	cache->words = (bytes - cache->nr * sizeof(*cache->bucket)) / sizeof(*cache->word);
	cache->segment = segment_words(cache->words);
	cache->words -= cache->words % cache->segment;
	cache->bucket = calloc(cache->nr, sizeof(*cache->bucket));
	cache->word = calloc(cache->words, sizeof(*cache->word));
	if (!cache->bucket || !cache->word) {
		art_cache_free(cache);
		return -ENOMEM;
	}
	cache->filled = cache->end = cache->segment;
	atomic_flag_clear(&cache->writing);
	far_rng_init(&cache->rng, bytes, 0);
	*ret_cache = cache;
	return 0;
}

void art_cache_free(struct art_cache *cache)
{
	if (!cache)
		return;
	free(cache->bucket);
	free(cache->word);
	free(cache);
}

uint64_t art_cache_bytes(const struct art_cache *cache)
{
	return cache->nr * sizeof(*cache->bucket) +
	       atomic_load(&cache->filled) * sizeof(*cache->word);
}

static struct cache_bucket *bucket_of(const struct art_cache *cache, uint64_t addr)
{
	uint64_t hash = far_rng_mix(addr / ART_UNIT);

	return &cache->bucket[(unsigned __int128)hash * cache->nr >> 64];
}

static uint64_t way_make(size_t at, unsigned live)
{
	return (at + 1) | (uint64_t)live << WAY_LIVE;
}

static size_t way_at(uint64_t way)
{
	return (way & ((UINT64_C(1) << WAY_LIVE) - 1)) - 1;
}

static unsigned way_live(uint64_t way)
{
	return way >> WAY_LIVE;
}

static const _Atomic(uint64_t) *way_entry(const struct art_cache *cache, uint64_t way)
{
	return &cache->word[way_at(way)];
}

static uint64_t entry_addr(const _Atomic(uint64_t) *entry)
{
	return far_addr_bare(load(&entry[AT_NAME]));
}

/* Words from the entry at `at` to the next one; 0: it is the last one of its segment. */
static size_t entry_len(const struct art_cache *cache, size_t at)
{
	return load(&cache->word[at + AT_NAME]) >> NAME_LEN;
}

/* The hash of the key's way down to a node at this depth. */
static uint64_t way_hash(const struct art_key *key, unsigned depth)
{
	return XXH3_64bits(key->data, depth);
}

/* The first slot with that symbol or a greater one. */
static unsigned entry_find(const _Atomic(uint64_t) *entry, unsigned live, unsigned symbol)
{
	unsigned lo = 0, hi = live, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (art_slot_symbol(load(&entry[AT_SLOT + mid])) < symbol)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The index in its node of slot i. In the greatest type that is its symbol. */
static unsigned entry_index(const _Atomic(uint64_t) *entry, unsigned live, unsigned type,
			    unsigned i, unsigned symbol)
{
	if (type == ART_TYPES - 1)
		return symbol;
	return load(&entry[AT_SLOT + live + i / 8]) >> (8 * (i % 8)) & 0xff;
}

/* The key's slot in an entry that may change meanwhile. */
static bool entry_look(const _Atomic(uint64_t) *entry, unsigned live,
		       const struct art_key *key, struct art_hint *hint)
{
	unsigned depth, symbol, i;
	uint64_t slot = 0;

	hint->age.epoch = load(&entry[AT_AGE]);
	hint->header = load(&entry[AT_HEADER]);
	depth = art_header_depth(hint->header);
	hint->slot = 0;
	if (depth > key->len || way_hash(key, depth) != load(&entry[AT_WAY]))
		return false;
	symbol = art_symbol(key->data, key->len, depth);
	i = entry_find(entry, live, symbol);
	if (i < live)
		slot = load(&entry[AT_SLOT + i]);
	if (slot && art_slot_symbol(slot) == symbol) {
		hint->slot = slot;
		hint->at = entry_index(entry, live, art_header_type(hint->header), i, symbol);
	}
	return true;
}

bool art_cache_get(struct art_cache *cache, uint64_t addr, const struct art_key *key,
		   struct art_hint *ret_hint)
{
	struct cache_bucket *bucket = bucket_of(cache, addr);
	uint64_t seq = load(&bucket->seq), way;
	unsigned i;

	if (seq & 1)
		return false;
	for (i = 0; i < CACHE_WAYS; i++) {
		way = load(&bucket->way[i]);
		if (way && entry_addr(way_entry(cache, way)) == addr)
			break;
	}
	if (i == CACHE_WAYS ||
	    !entry_look(way_entry(cache, way), way_live(way), key, ret_hint) ||
	    load(&bucket->seq) != seq)
		return false;
	/* lines of upper levels are read by all, and so written only once */
	if (!atomic_load_explicit(&bucket->used[i], memory_order_relaxed))
		atomic_store_explicit(&bucket->used[i], 1, memory_order_relaxed);
	return true;
}

/* Gives a way another entry, or none, before anything of the old one is overwritten. */
static void way_set(struct cache_bucket *bucket, unsigned i, uint64_t way, unsigned used)
{
	store(&bucket->seq, load(&bucket->seq) + 1);
	store(&bucket->way[i], way);
	atomic_store_explicit(&bucket->used[i], used, memory_order_relaxed);
	store(&bucket->seq, load(&bucket->seq) + 1);
}

/* The way that has the node, or CACHE_WAYS. */
static unsigned way_of(const struct art_cache *cache, struct cache_bucket *bucket,
		       uint64_t addr)
{
	unsigned i;

	for (i = 0; i < CACHE_WAYS; i++) {
		uint64_t way = load(&bucket->way[i]);

		if (way && entry_addr(way_entry(cache, way)) == addr)
			break;
	}
	return i;
}

static unsigned entry_depth(const _Atomic(uint64_t) *entry)
{
	unsigned depth = art_header_depth(load(&entry[AT_HEADER]));

	return depth < CACHE_DEPTHS ? depth : CACHE_DEPTHS - 1;
}

/* The way that leads to the entry at `at`; NULL: none does any more. */
static struct cache_bucket *entry_bucket(const struct art_cache *cache, size_t at,
					 unsigned *ret_way)
{
	struct cache_bucket *bucket = bucket_of(cache, entry_addr(&cache->word[at]));
	unsigned i;

	for (i = 0; i < CACHE_WAYS; i++) {
		uint64_t way = load(&bucket->way[i]);

		if (way && way_at(way) == at) {
			*ret_way = i;
			return bucket;
		}
	}
	return NULL;
}

static bool is_used(struct cache_bucket *bucket, unsigned i)
{
	return atomic_load_explicit(&bucket->used[i], memory_order_relaxed);
}

/* What a sweep keeps of the entries that are used. */
struct sweep {
	unsigned depth;		/* all above it; and of those that are as deep */
	size_t words;		/* so many */
};

/* The plan keeps at most `most` words of the segment. */
static struct sweep sweep_plan(const struct art_cache *cache, size_t from, size_t most)
{
	size_t by_depth[CACHE_DEPTHS] = { 0 }, at, len;
	struct sweep sweep = { .words = most };
	struct cache_bucket *bucket;
	unsigned i;

	for (at = from; at < from + cache->segment; at += len) {
		len = entry_len(cache, at);
		if (!len)
			break;
		bucket = entry_bucket(cache, at, &i);
		if (bucket && is_used(bucket, i))
			by_depth[entry_depth(&cache->word[at])] += len;
	}
	while (sweep.depth < CACHE_DEPTHS && by_depth[sweep.depth] <= sweep.words)
		sweep.words -= by_depth[sweep.depth++];
	return sweep;
}

static bool sweep_keeps(struct sweep *sweep, unsigned depth, size_t len)
{
	if (depth != sweep->depth)
		return depth < sweep->depth;
	if (len > sweep->words)
		return false;
	sweep->words -= len;
	return true;
}

/* Moves an entry to the front; its way leads nowhere meanwhile. */
static void entry_move(struct art_cache *cache, size_t from, size_t to, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		store(&cache->word[to + i], load(&cache->word[from + i]));
}

/*
 * Makes room for `len` words in the segment that begins there, and an eighth of it at
 * least. What stays lies at its front.
 */
static void segment_sweep(struct art_cache *cache, size_t from, size_t len)
{
	size_t most = cache->segment / 8 * 7, at, to = from, next;
	struct cache_bucket *bucket;
	struct sweep sweep;
	uint64_t way;
	unsigned i;
	bool keep;

	if (most > cache->segment - len)
		most = cache->segment - len;
	sweep = sweep_plan(cache, from, most);
	for (at = from; at < from + cache->segment; at = next) {
		len = entry_len(cache, at);
		if (!len)
			break;
		next = at + len;
		bucket = entry_bucket(cache, at, &i);
		if (!bucket)
			continue;
		way = load(&bucket->way[i]);
		keep = is_used(bucket, i) &&
		       sweep_keeps(&sweep, entry_depth(&cache->word[at]), len);
		way_set(bucket, i, 0, 0);
		if (!keep)
			continue;
		entry_move(cache, at, to, len);
		way_set(bucket, i, way_make(to, way_live(way)), 0);
		to += len;
	}
	cache->at = to;
	cache->end = from + cache->segment;
}

/* Room for an entry of that length, which is not longer than a segment. */
static size_t entry_room(struct art_cache *cache, size_t len)
{
	size_t at, next;

	while (cache->end - cache->at < len) {
		if (cache->at < cache->end)
			store(&cache->word[cache->at], 0);
		next = cache->end < cache->words ? cache->end : 0;
		if (cache->end == cache->filled && next) {
			cache->at = next;
			cache->end = next + cache->segment;
			atomic_store(&cache->filled, cache->end);
		} else {
			segment_sweep(cache, next, len);
		}
	}
	at = cache->at;
	cache->at += len;
	return at;
}

/* An empty way: of nobody, or of an entry that is used the least, and lies the deepest. */
static unsigned way_for(struct art_cache *cache, struct cache_bucket *bucket)
{
	unsigned first = far_rng_below(&cache->rng, CACHE_WAYS), best = first, most = 0, i, k;

	for (k = 0; k < CACHE_WAYS; k++) {
		uint64_t way;
		unsigned worth;

		i = (first + k) % CACHE_WAYS;
		way = load(&bucket->way[i]);
		if (!way)
			return i;
		worth = entry_depth(way_entry(cache, way)) + 1 +
			(is_used(bucket, i) ? 0 : CACHE_DEPTHS);
		if (worth > most) {
			most = worth;
			best = i;
		}
	}
	return best;
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

static void entry_fill(_Atomic(uint64_t) *entry, const struct art_node *node,
		       const uint16_t *at, unsigned live)
{
	unsigned i, k;
	uint64_t word;

	for (i = 0; i < live; i++)
		store(&entry[AT_SLOT + i], node->slot[at[i]] & ~ART_FROZEN);
	for (i = 0; i < INDEX_WORDS(live); i++) {
		for (word = 0, k = 0; k < 8 && 8 * i + k < live; k++)
			word |= (uint64_t)(at[8 * i + k] & 0xff) << (8 * k);
		store(&entry[AT_SLOT + live + i], word);
	}
}

static void cache_put(struct art_cache *cache, uint64_t addr, uint64_t key_way,
		      const struct art_node *node, struct form_age age)
{
	struct cache_bucket *bucket = bucket_of(cache, addr);
	unsigned old = way_of(cache, bucket, addr), used = 0, live, way;
	_Atomic(uint64_t) *entry;
	uint16_t slot_at[ART_SYMBOLS];
	size_t at;

	if (old < CACHE_WAYS) {
		used = is_used(bucket, old);
		way_set(bucket, old, 0, 0);
	}
	live = slots_sort(node, slot_at);
	if (ENTRY_WORDS(live) > cache->segment)
		return;
	at = entry_room(cache, ENTRY_WORDS(live));
	entry = &cache->word[at];
	store(&entry[AT_NAME], addr | (uint64_t)ENTRY_WORDS(live) << NAME_LEN);
	store(&entry[AT_WAY], key_way);
	store(&entry[AT_AGE], age.epoch);
	store(&entry[AT_HEADER], node->header);
	entry_fill(entry, node, slot_at, live);
	way = way_for(cache, bucket);
	way_set(bucket, way, way_make(at, live), used);
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
	way = way_of(cache, bucket, addr);
	if (way < CACHE_WAYS)
		way_set(bucket, way, 0, 0);
	atomic_flag_clear_explicit(&cache->writing, memory_order_release);
}
