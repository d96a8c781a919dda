/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process knows of the chunks that it owns: which pages they are cut into, and
 * which blocks are free in its hands. Plain memory, no verb.
 *
 * The caller holds the client's heap lock (struct far_client) but for far_heap_chunk().
 */
#ifndef FAR_CORE_HEAP_H
#define FAR_CORE_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../space/class.h"
#include "../space/geometry.h"

struct far_page {
	struct far_page *prev, *next;	/* in the class's list while blocks are free */
	uint64_t *free;			/* of a slab: a bit per block in the heap's hands */
	/* of a slab and the first page of a run: blocks that a sweep has not found yet */
	_Atomic(uint64_t) *suspect;
	uint32_t idx;			/* of the node's pages */
	uint32_t len;			/* pages, of the first of a run */
	uint16_t nr_free, nr_blocks;	/* of a slab */
	uint8_t state;			/* enum far_page_state */
	uint8_t class;
	bool busy;			/* somebody changes its word in far memory */
};

/* A chunk that this process owns, or a span of them, which has no pages. */
struct far_chunk {
	struct far_chunk *next;		/* of the node's */
	unsigned node;
	uint32_t idx;
	uint32_t span;			/* chunks of a span; 0: cut into pages */
	uint32_t nr_free_pages;
	uint64_t word;			/* as it is in the chunk table */
	uint32_t lap;			/* see far_collect_maps() */
	_Atomic(uint64_t) span_suspect;
	struct far_page page[];
};

struct far_heap_node {
	const struct far_sb *sb;
	_Atomic(struct far_chunk *) *chunk;	/* by index; NULL: not ours */
	struct far_chunk *chunks;		/* all of ours */
	uint32_t nr_chunks;
	struct far_page *partial[FAR_NR_CLASSES];	/* slabs with free blocks */
};

struct far_heap {
	unsigned nr_nodes;
	struct far_heap_node *node;
};

/* sb is an array of nr_nodes superblocks that outlives the heap. -ENOMEM. */
int far_heap_init(struct far_heap *heap, const struct far_sb *sb, unsigned nr_nodes);
void far_heap_fini(struct far_heap *heap);

/* The chunk in which addr lies, if it is ours: any thread, without the lock. */
struct far_chunk *far_heap_chunk(const struct far_heap *heap, uint64_t addr);
/* A chunk, all of whose pages are free, that no list has yet. span as there. */
struct far_chunk *far_chunk_new(const struct far_heap *heap, unsigned node,
				uint32_t idx, uint32_t span, uint64_t word);
void far_chunk_free(const struct far_heap *heap, struct far_chunk *chunk);
/* From now on it is ours; and no more. */
void far_heap_add(struct far_heap *heap, struct far_chunk *chunk);
void far_heap_del(struct far_heap *heap, struct far_chunk *chunk);

/* Words of a slab's bits. */
static inline unsigned far_page_words(const struct far_page *page)
{
	return (page->nr_blocks + 63u) / 64;
}

/* The page in a chunk of pages, and the number of the block in its page. */
struct far_page *far_chunk_page(const struct far_heap *heap, struct far_chunk *chunk,
				uint64_t addr);
unsigned far_page_block(const struct far_heap *heap, const struct far_page *page,
			unsigned node, uint64_t addr);

/* Up to max addresses of free blocks of a class on a node; the number of them. */
unsigned far_heap_take(struct far_heap *heap, unsigned node, unsigned class,
		       uint64_t *addr, unsigned max);
/*
 * Takes a block of a slab of ours back. -EINVAL: no block begins there, or it is free
 * already.
 */
int far_heap_put(struct far_heap *heap, uint64_t addr, unsigned class);

/*
 * len free pages in a row in a chunk of ours; they become busy, and
 * *ret_page is the first. -ENOSPC: there are none.
 */
int far_heap_pages(struct far_heap *heap, unsigned node, uint32_t len,
		   struct far_chunk **ret_chunk, struct far_page **ret_page);
/* They are a slab now, with no block free, or a run: not busy any more. -ENOMEM. */
int far_page_slab(const struct far_sb *sb, struct far_page *page, unsigned class);
void far_page_run(struct far_page *page, uint32_t len);
/* All blocks of a slab that are in bits[] and not free yet become free; returns how many. */
unsigned far_page_fill(struct far_heap *heap, struct far_chunk *chunk,
		       struct far_page *page, const uint64_t *bits);
/* A busy page (and the rest of its run) is free again. */
void far_page_clear(struct far_chunk *chunk, struct far_page *page, uint32_t len);
/* Takes a slab out of its class's list, so that nobody takes of it: it is busy. */
void far_page_hide(struct far_heap *heap, struct far_chunk *chunk,
		   struct far_page *page);

/* Says that a block is in somebody's hands, so that a sweep does not count it lost. */
void far_page_unsuspect(struct far_page *page, unsigned block);

#endif
