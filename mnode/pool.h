/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that a memory node lends: its pages, registered once, and whose
 * each of them is.  A page is its owner's from the moment it is handed out, in
 * his ring, his table or a chain of his, until the agent has it back in its
 * hands: so whatever he does with it, it is found when he is gone.
 */
#ifndef MNODE_POOL_H
#define MNODE_POOL_H

#include <nic/node.h>
#include "keep.h"
#include "mem.h"
#include "ring.h"
#include "table.h"

#define POOL_NOBODY	0
#define POOL_SPACES	UINT16_MAX	/* no session's */

/**
 * struct pool - the pages
 * @pdn:	protection domain of everything that chains touch
 * @pages:	how many there are
 * @page_mem, @page_key: the pages; the NIC sees them from WRC_POOL_IOVA on
 * @free, @nr_free: numbers of those that are nobody's
 * @owner:	of each page
 * @keep:	where pages and owners are; NULL: memory of the pool's own
 * @clean:	of each page: nothing of anybody's is in it; false if nobody knows
 * @tables:	what the chains read
 */
struct pool {
	struct nic *nic;
	uint32_t pdn;
	uint64_t pages;
	struct mem page_mem;
	uint32_t page_key;
	uint32_t *free;
	uint64_t nr_free;
	uint16_t *owner;
	struct keep *keep;
	bool *clean;
	struct tables tables;
};

/* len: bytes, a multiple of the page size.  -ERANGE: more than
 * WRC_POOL_MAX. */
int pool_init(struct pool *pool, struct nic *nic, uint64_t len, bool populate);
/* The same of memory that others keep, and with the owners that are there. */
int pool_init_kept(struct pool *pool, struct nic *nic, struct keep *keep);
/* After all keys and queues in its protection domain are gone. */
void pool_fini(struct pool *pool);

/* Addresses of that many pages, which are the owner's from now on.  -ENOMEM:
 * there are not as many, and none is taken. */
int pool_take(struct pool *pool, uint16_t owner, uint64_t nr, __u64 *ret_addr);
/* Of pages that were taken, and are in nobody's hands but the caller's: zeros to those
 * that are not clean.  Returns how many these were. */
uint64_t pool_scrub(struct pool *pool, uint64_t nr, const __u64 *addr);
/* The same as pool_take() of pages in a row, the last ones of the pool that there are: *ret_page is
 * the first. */
int pool_take_run(struct pool *pool, uint16_t owner, uint64_t nr, uint64_t *ret_page);
/* Takes such a run back. */
void pool_give_run(struct pool *pool, uint64_t page, uint64_t nr);
/* A page as memory. */
void *pool_va(const struct pool *pool, uint64_t page);
/* A page that is in its owner's hands no more, and no NIC reads or writes.
 * -EINVAL: it is not a page; -EPERM: it is not his. */
int pool_give(struct pool *pool, uint16_t owner, uint64_t addr);
/* Is it a page, and his? */
bool pool_owns(const struct pool *pool, uint16_t owner, uint64_t addr);
/*
 * All that is his, of the next nr pages from *cursor on: he has nothing any more
 * to use them with.  Returns how many; *cursor ends at pool->pages.
 */
uint64_t pool_give_all(struct pool *pool, uint16_t owner, uint64_t nr,
		       uint64_t *cursor);

#endif /* MNODE_POOL_H */
