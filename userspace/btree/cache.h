/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client keeps of a tree: lossy, of fixed size, shared by all threads without
 * locks. Three tables in one budget of bytes:
 *
 *	inner	images of inner nodes, by address
 *	entry	where the entry of a key was, and of which version its node (speculation)
 *	leaf	the version of a leaf, and its lock word as it was last seen, with its age
 *
 * What it answers is a hint; the caller knows how to see that it is wrong: a node and an
 * entry prove by 64 bits that they are of this tree, and of that version. A word proves
 * nothing, so that its age decides.
 */
#ifndef FAR_BTREE_CACHE_H
#define FAR_BTREE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "../form/age.h"

struct btree_cache;

/*
 * bytes is a limit; below 8 KiB there is no cache: *ret_cache is NULL. node_len: of an
 * inner node. The functions below take NULL for a cache that knows nothing.
 */
int btree_cache_new(uint64_t bytes, uint32_t node_len, struct btree_cache **ret_cache);
void btree_cache_free(struct btree_cache *cache);

/* Copies the image of that node to buf: whether there was one. */
int btree_cache_node(struct btree_cache *cache, uint64_t addr, void *buf);
void btree_cache_put_node(struct btree_cache *cache, uint64_t addr, const void *buf);
void btree_cache_drop_node(struct btree_cache *cache, uint64_t addr);

struct btree_spot {
	uint64_t leaf;
	uint64_t version;
	unsigned place;
};

/* hash: of the key, all 64 bits. */
int btree_cache_spot(struct btree_cache *cache, uint64_t hash, struct btree_spot *ret_spot);
void btree_cache_put_spot(struct btree_cache *cache, uint64_t hash,
			  const struct btree_spot *spot);
void btree_cache_drop_spot(struct btree_cache *cache, uint64_t hash);

/* The version of that leaf when its head was READ last: whether it is known. */
int btree_cache_version(struct btree_cache *cache, uint64_t leaf, uint64_t *ret_version);
/* The word of that leaf, if it was READ in the epoch of now. */
int btree_cache_word(struct btree_cache *cache, uint64_t leaf, struct form_age now,
		     uint64_t *ret_word);
/* age: from before the READ, or the WRITE, of the word. */
void btree_cache_put_leaf(struct btree_cache *cache, uint64_t leaf, struct form_age age,
			  uint64_t word, uint64_t version);
void btree_cache_drop_leaf(struct btree_cache *cache, uint64_t leaf);

#endif
