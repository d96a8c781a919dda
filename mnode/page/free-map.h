/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The free pages of a pool, by blocks of 2 MB: the pages of a slab.
 *
 * A single page comes from a block that has few free pages left, so that other blocks stay
 * whole; a slab gets a whole block. Neither searches: blocks are in lists by how many free
 * pages they have. Low numbers are handed out first, as single pages, and high ones as slabs.
 */
#ifndef MNODE_FREE_MAP_H
#define MNODE_FREE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FREE_BLOCK	512	/* pages */
#define FREE_NONE	UINT64_MAX
/* Lists of blocks with 1 to 31 free pages, 32 to 63, and so on, and of whole ones. */
#define FREE_LISTS	17

/**
 * struct free_block - pages that have one number divided by FREE_BLOCK
 * @next, @prev: neighbours in the ring of its list, if a page is free
 * @nr:		free pages
 */
struct free_block {
	uint32_t next, prev;
	uint32_t nr;
};

/**
 * struct free_map - the free pages
 * @nr_pages:	pages of the pool
 * @bit:	one bit for each page: it is free
 * @block:	by number of the block
 * @first:	by list: a block, if the list has one
 * @lists:	one bit for each list: it has a block
 * @nr_whole:	blocks whose pages are all free
 * @nr_looks:	blocks, and words of @bit, that were looked at to find free pages
 */
struct free_map {
	uint64_t nr_pages;
	uint64_t *bit;
	struct free_block *block;
	uint32_t first[FREE_LISTS];
	uint32_t lists;
	uint32_t nr_whole;
	uint64_t nr_looks;
};

/* Lengths of @bit and @block of so many pages. */
static inline size_t free_map_words(uint64_t nr_pages)
{
	return (nr_pages + FREE_BLOCK - 1) / FREE_BLOCK * (FREE_BLOCK / 64);
}

static inline size_t free_map_blocks(uint64_t nr_pages)
{
	return (nr_pages + FREE_BLOCK - 1) / FREE_BLOCK;
}

/* No page is free. The caller's arrays are all zero, and stay the caller's. */
void free_map_init(struct free_map *m, uint64_t nr_pages, uint64_t *bit,
		   struct free_block *block);
/* Adds a page that is not free. */
void free_map_put(struct free_map *m, uint64_t page);
/* Takes a page that is free. */
void free_map_take(struct free_map *m, uint64_t page);
/* Takes any page. FREE_NONE: there is none. */
uint64_t free_map_take_any(struct free_map *m);
/* Takes a whole block, and returns its first page. FREE_NONE: no block is whole. */
uint64_t free_map_take_block(struct free_map *m);

static inline bool free_map_has(const struct free_map *m, uint64_t page)
{
	return m->bit[page / 64] >> page % 64 & 1;
}

#endif /* MNODE_FREE_MAP_H */
