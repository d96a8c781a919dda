/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Images of nodes in local memory: what is where, what is valid, and what changes.
 */
#ifndef FAR_BTREE_NODE_H
#define FAR_BTREE_NODE_H

#include <string.h>

#include "../base/rng.h"
#include "layout.h"

/* Lengths of the nodes of a tree: of leaves, or of inner nodes. */
struct btree_geo {
	uint32_t key_len, value_len;	/* padded to 8 */
	uint32_t key_size;		/* not padded */
	uint32_t head;			/* with the fences */
	uint32_t entry;
	uint32_t span;
	uint32_t near;		/* places that a key may have; of inner nodes all */
	uint32_t len;			/* what is READ */
	uint32_t redo;			/* bytes of the longest record */
	uint32_t size;			/* as allocated */
	uint64_t tree;			/* far address of the root: whose nodes these are */
};

/* near: places that a key may have; 0: all. */
void btree_geo_init(struct btree_geo *geo, unsigned key_size, unsigned value_size,
		    unsigned span, unsigned near);
/* Entries of a node by default, if it is to have so many bytes. */
unsigned btree_default_span(unsigned key_size, unsigned value_size, unsigned bytes);

static inline uint8_t *btree_low(const struct btree_head *node)
{
	return (uint8_t *)node->fence;
}

static inline uint8_t *btree_high(const struct btree_geo *geo, const struct btree_head *node)
{
	return (uint8_t *)node->fence + geo->key_len;
}

static inline uint32_t btree_entry_off(const struct btree_geo *geo, unsigned place)
{
	return geo->head + place * geo->entry;
}

static inline struct btree_entry *btree_entry_at(const struct btree_geo *geo,
						 const struct btree_head *node,
						 unsigned place)
{
	return (void *)((uint8_t *)node + btree_entry_off(geo, place));
}

static inline uint8_t *btree_value(const struct btree_geo *geo, const struct btree_entry *e)
{
	return (uint8_t *)e->data + geo->key_len;
}

static inline uint64_t btree_child(const struct btree_geo *geo, const struct btree_entry *e)
{
	uint64_t child;

	memcpy(&child, btree_value(geo, e), sizeof(child));
	return child;
}

static inline int btree_cmp(const struct btree_geo *geo, const void *a, const void *b)
{
	return memcmp(a, b, geo->key_size);
}

/* True if the key comes behind all that belongs to the node. */
static inline int btree_is_right(const struct btree_geo *geo, const struct btree_head *node,
				 const void *key)
{
	return !(node->flags & BTREE_LAST) && btree_cmp(geo, key, btree_high(geo, node)) >= 0;
}

static inline int btree_is_left(const struct btree_geo *geo, const struct btree_head *node,
				const void *key)
{
	return btree_cmp(geo, key, btree_low(node)) < 0;
}

uint64_t btree_entry_sum(const struct btree_geo *geo, const struct btree_entry *entry,
			 uint64_t version);
/* True if the entry is of this version: 1 in use, 0 free, 2 coming by a merge, -1 neither. */
static inline int btree_entry_is(const struct btree_geo *geo,
				 const struct btree_entry *entry, uint64_t version)
{
	if (entry->sum == btree_free_sum(version))
		return 0;
	if (entry->sum == btree_entry_sum(geo, entry, version))
		return 1;
	return entry->sum == btree_entry_sum(geo, entry, btree_coming(version)) ? 2 : -1;
}

/* Head: as it should be after a change, and whether it is. */
void btree_sum_set(const struct btree_geo *geo, struct btree_head *node, uint64_t addr);
int btree_sum_ok(const struct btree_geo *geo, const struct btree_head *node, uint64_t addr);

/* Makes an empty node without fences: version, level, flags and right. */
void btree_node_init(const struct btree_geo *geo, struct btree_head *node, uint64_t version,
		     unsigned level);
void btree_entry_set(const struct btree_geo *geo, struct btree_entry *entry,
		     uint64_t version, const void *key, const void *value, size_t value_size);

/* True if all places are of the head's version. */
int btree_whole(const struct btree_geo *geo, const struct btree_head *node);
/* The first of the geo->near places that the key may have; whether all of them are whole. */
unsigned btree_home(const struct btree_geo *geo, const void *key);
int btree_near_whole(const struct btree_geo *geo, const struct btree_head *node,
		     uint64_t version, unsigned home);
/* The place of a key whose entry is valid; -ENOENT; -EAGAIN: it has the key, and is not. */
int btree_find_key(const struct btree_geo *geo, const struct btree_head *node,
		   const void *key);
/*
 * A free place that the key may have, -ENOSPC; taken[place]: it is not free. NULL: as the
 * node says.
 */
int btree_find_room(const struct btree_geo *geo, const struct btree_head *node,
		    const void *key, const uint8_t *taken);
/*
 * Finds the entry of a whole node with the greatest key that is at most `key`, or, if
 * strict, below it; NULL.
 */
struct btree_entry *btree_find_below(const struct btree_geo *geo,
				     const struct btree_head *node, const void *key,
				     int strict);
/* Places in use, in the order of their keys; how many. */
unsigned btree_sorted(const struct btree_geo *geo, const struct btree_head *node,
		      uint8_t *place);
/*
 * Gives all entries that are valid under `before` or `after` and lie within the fences
 * the version `after`, and makes all others free. DEAD: all of them.
 */
void btree_recast(const struct btree_geo *geo, struct btree_head *node, uint64_t before,
		  uint64_t after);

#endif
