/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Images of nodes. See node.h. */
#include "node.h"

#include <errno.h>
#include <stdbool.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint32_t pad8(uint32_t len)
{
	return (len + 7) & ~7u;
}

void btree_geo_init(struct btree_geo *geo, unsigned key_size, unsigned value_size,
		    unsigned span, unsigned near)
{
	uint32_t longest;

	geo->tree = FAR_NIL;
	geo->key_size = key_size;
	geo->key_len = pad8(key_size);
	geo->value_len = pad8(value_size);
	geo->head = BTREE_HEAD + 2 * geo->key_len;
	geo->entry = BTREE_ENTRY + geo->key_len + geo->value_len;
	geo->span = span;
	geo->near = near && near < span ? near : span;
	geo->len = geo->head + span * geo->entry;
	longest = geo->entry > geo->head ? geo->entry : geo->head;
	geo->redo = BTREE_REDO + longest;
	geo->size = geo->len + geo->redo;
}

unsigned btree_default_span(unsigned key_size, unsigned value_size, unsigned bytes)
{
	struct btree_geo geo;
	unsigned span;

	btree_geo_init(&geo, key_size, value_size, 0, 0);
	span = geo.size < bytes ? (bytes - geo.size) / geo.entry : 0;
	if (span < 16)
		span = 16;
	return span < BTREE_MAX_SPAN ? span : BTREE_MAX_SPAN;
}

uint64_t btree_entry_sum(const struct btree_geo *geo, const struct btree_entry *entry,
			 uint64_t version)
{
	return XXH3_64bits_withSeed(entry->data, geo->entry - BTREE_ENTRY, version);
}

static uint64_t head_sum(const struct btree_geo *geo, const struct btree_head *node,
			 uint64_t addr)
{
	return XXH3_64bits_withSeed(&node->version,
				    geo->head - offsetof(struct btree_head, version),
				    far_rng_mix(geo->tree) ^ addr);
}

void btree_sum_set(const struct btree_geo *geo, struct btree_head *node, uint64_t addr)
{
	node->sum = head_sum(geo, node, addr);
}

int btree_sum_ok(const struct btree_geo *geo, const struct btree_head *node, uint64_t addr)
{
	return node->magic == BTREE_NODE_MAGIC && node->sum == head_sum(geo, node, addr);
}

void btree_node_init(const struct btree_geo *geo, struct btree_head *node, uint64_t version,
		     unsigned level)
{
	unsigned i;

	memset(node, 0, geo->len);
	node->version = version;
	node->level = level;
	node->magic = BTREE_NODE_MAGIC;
	for (i = 0; i < geo->span; i++)
		btree_entry_at(geo, node, i)->sum = btree_free_sum(version);
}

void btree_entry_set(const struct btree_geo *geo, struct btree_entry *entry,
		     uint64_t version, const void *key, const void *value, size_t value_size)
{
	memset(entry->data, 0, geo->entry - BTREE_ENTRY);
	memcpy(entry->data, key, geo->key_size);
	memcpy(btree_value(geo, entry), value, value_size);
	entry->sum = btree_entry_sum(geo, entry, version);
}

int btree_whole(const struct btree_geo *geo, const struct btree_head *node)
{
	unsigned i;

	for (i = 0; i < geo->span; i++)
		if (btree_entry_is(geo, btree_entry_at(geo, node, i), node->version) < 0)
			return 0;
	return 1;
}

/* Neighbourhoods do not wrap: each is one READ. */
unsigned btree_home(const struct btree_geo *geo, const void *key)
{
	if (geo->near == geo->span)
		return 0;
	return (unsigned __int128)XXH3_64bits(key, geo->key_size) *
	       (geo->span - geo->near + 1) >> 64;
}

int btree_near_whole(const struct btree_geo *geo, const struct btree_head *node,
		     uint64_t version, unsigned home)
{
	unsigned i;

	for (i = home; i < home + geo->near; i++)
		if (btree_entry_is(geo, btree_entry_at(geo, node, i), version) < 0)
			return 0;
	return 1;
}

int btree_find_key(const struct btree_geo *geo, const struct btree_head *node,
		   const void *key)
{
	uint64_t none = btree_free_sum(node->version);
	unsigned home = btree_home(geo, key), i;
	const struct btree_entry *entry;

	for (i = home; i < home + geo->near; i++) {
		entry = btree_entry_at(geo, node, i);
		if (entry->sum == none || btree_cmp(geo, entry->data, key))
			continue;
		return btree_entry_is(geo, entry, node->version) == 1 ? (int)i : -EAGAIN;
	}
	return -ENOENT;
}

int btree_find_room(const struct btree_geo *geo, const struct btree_head *node,
		    const void *key, const uint8_t *taken)
{
	uint64_t none = taken ? 0 : btree_free_sum(node->version);
	unsigned home = btree_home(geo, key), i, place;
	/* from the end of the node on, where the fewest neighbourhoods are */
	bool down = home * 2 > geo->span - geo->near;

	for (i = 0; i < geo->near; i++) {
		place = down ? home + geo->near - 1 - i : home + i;
		if (taken ? !taken[place] : btree_entry_at(geo, node, place)->sum == none)
			return place;
	}
	return -ENOSPC;
}

struct btree_entry *btree_find_below(const struct btree_geo *geo,
				     const struct btree_head *node, const void *key,
				     int strict)
{
	uint64_t none = btree_free_sum(node->version);
	struct btree_entry *entry, *best = NULL;
	unsigned i;

	for (i = 0; i < geo->span; i++) {
		entry = btree_entry_at(geo, node, i);
		if (entry->sum == none || btree_cmp(geo, entry->data, key) > -strict)
			continue;
		if (!best || btree_cmp(geo, entry->data, best->data) > 0)
			best = entry;
	}
	return best;
}

unsigned btree_sorted(const struct btree_geo *geo, const struct btree_head *node,
		      uint8_t *place)
{
	uint64_t none = btree_free_sum(node->version);
	const struct btree_entry *entry;
	unsigned nr = 0, i, at;

	for (i = 0; i < geo->span; i++) {
		entry = btree_entry_at(geo, node, i);
		if (entry->sum == none)
			continue;
		for (at = nr++; at; at--) {
			if (btree_cmp(geo, btree_entry_at(geo, node, place[at - 1])->data,
				      entry->data) < 0)
				break;
			place[at] = place[at - 1];
		}
		place[at] = i;
	}
	return nr;
}

void btree_recast(const struct btree_geo *geo, struct btree_head *node, uint64_t before,
		  uint64_t after)
{
	struct btree_entry *entry;
	unsigned i;
	int used;

	for (i = 0; i < geo->span; i++) {
		entry = btree_entry_at(geo, node, i);
		used = btree_entry_is(geo, entry, before) > 0 ||
		       btree_entry_is(geo, entry, after) == 1;
		if (used && !(node->flags & BTREE_DEAD) &&
		    !btree_is_left(geo, node, entry->data) &&
		    !btree_is_right(geo, node, entry->data))
			entry->sum = btree_entry_sum(geo, entry, after);
		else
			entry->sum = btree_free_sum(after);
	}
}
