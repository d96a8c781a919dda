/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys, and what is written of them: symbols and prefixes, leaves and nodes. Works on
 * local memory alone.
 */
#ifndef FAR_ART_KEY_H
#define FAR_ART_KEY_H

#include "../base/rng.h"
#include "layout.h"

struct art_key {
	const uint8_t *data;
	size_t len;		/* 1 to ART_MAX_KEY */
	uint64_t hash;
};

void art_key_init(struct art_key *key, const void *data, size_t len);

/* The key's symbol at depth, which is at most its length. */
static inline unsigned art_symbol(const uint8_t *key, size_t len, unsigned depth)
{
	return depth == len ? ART_END : key[depth];
}

/* Where two keys differ first: there their symbols do. */
unsigned art_differ(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len);

/* The prefix of a node at depth on the key's way. */
uint64_t art_prefix(const uint8_t *key, unsigned depth);

/*
 * Where, from depth `from` on, the key leaves the way to a node: less than the node's
 * depth, or that depth if it does not. -1: the node's prefix does not reach back to
 * `from`.
 */
int art_leaves(uint64_t header, const struct art_key *key, unsigned from);

/* What the sums of a tree's block are seeded with, so that no other tree's block passes. */
static inline uint64_t art_seed(uint64_t root, uint64_t addr)
{
	return addr ^ far_rng_mix(root);
}

/* Builds a node without slots; room for art_node_len(type). */
void art_node_init(struct art_node *node, uint64_t seed, uint64_t prefix, unsigned type,
		   unsigned depth, uint32_t birth);
/* True if it is one, of that tree and at that place. */
bool art_node_sane(const struct art_node *node, uint64_t seed);
/* The slot that has the symbol, or the empty one where it belongs; ART_FULL: neither. */
#define ART_FULL	(~0u)
unsigned art_node_find(const struct art_node *node, unsigned symbol);
/* Puts a slot where it belongs; there is room. */
void art_node_add(struct art_node *node, uint64_t slot);
/* Slots that lead somewhere. */
unsigned art_node_live(const struct art_node *node);
/* The least type for so many slots, and one more. */
unsigned art_type_for(unsigned live);

/* Builds a leaf; room for art_leaf_len() of both lengths. */
void art_leaf_fill(struct art_leaf *leaf, uint64_t seed, const struct art_key *key,
		   const void *value, size_t value_len, uint32_t birth);
/* The same; a value of 8 bytes is never overwritten. */
void art_leaf_fill_closed(struct art_leaf *leaf, uint64_t seed, const struct art_key *key,
			  const void *value, size_t value_len, uint32_t birth);

/* A leaf that was read, of which `len` bytes are here. */
struct art_seen {
	const uint8_t *key;
	size_t key_len;
	const uint8_t *value;
	size_t value_len;
	uint64_t len;		/* of the leaf */
};

/*
 * What a live or dead leaf says, size by its slot. 0; -EBADMSG: it is none. -EAGAIN: it
 * is long, and only ret_seen->len is known yet.
 */
int art_leaf_look(const struct art_leaf *leaf, uint64_t seed, unsigned size, uint64_t len,
		  struct art_seen *ret_seen);

uint64_t art_root_sum(const struct art_root *root, uint64_t addr);

#endif
