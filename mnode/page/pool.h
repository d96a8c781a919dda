/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that a memory node lends: its pages, registered once, and the owner of each
 * page.  A page belongs to its owner from pool_take() until the agent gives it back, be
 * it in the ring, the table or a chain: whatever the owner does with the page, it can be
 * found when the owner is gone.
 */
#ifndef MNODE_POOL_H
#define MNODE_POOL_H

#include <nic/node.h>
#include "free-map.h"
#include "keep.h"
#include "mem.h"
#include "ring.h"
#include "table.h"

#define POOL_NOBODY	0
#define POOL_SPACES	UINT16_MAX	/* owner number of spaces */
#define POOL_WITHHELD	(UINT16_MAX - 1) /* owner number of pages that nobody may have */

/**
 * struct pool - the pages
 * @pdn:	protection domain of everything that chains touch
 * @pages:	number of pages
 * @page_mem, @page_key: the pages; the NIC sees them from WRC_POOL_IOVA on
 * @free, @nr_free: the free pages, and how many they are
 * @owner:	the owner of each page, or POOL_NOBODY
 * @keep:	files that hold pages and owners; NULL: the pool has its own memory
 * @clean:	for each page: it holds nobody's data; false if that is unknown
 * @nr_withheld: pages of POOL_WITHHELD
 * @tables:	tables that arm chains again
 */
struct pool {
	struct nic *nic;
	uint32_t pdn;
	uint64_t pages;
	struct mem page_mem;
	uint32_t page_key;
	struct free_map free;
	uint64_t nr_free;
	uint16_t *owner;
	struct keep *keep;
	bool *clean;
	uint64_t nr_withheld;
	struct tables tables;
};

/* len: bytes, a multiple of the page size.  -ERANGE: it is not, or is 0 or more than
 * WRC_POOL_MAX. */
int pool_init(struct pool *pool, struct nic *nic, uint64_t len, bool populate);
/* Like pool_init(), with pages and owners of kept files. */
int pool_init_kept(struct pool *pool, struct nic *nic, struct keep *keep);
/* Call when all keys and queues in the pool's protection domain are gone. */
void pool_fini(struct pool *pool);

/*
 * Prepares the pages for pool_key(), which takes as long as registering them: before the
 * agent serves anybody, if compute nodes are to have keys.  May be called again.
 */
int pool_share(struct pool *pool);
/*
 * Makes a key to all pages for queue pairs of that domain; peers have no rights by it.
 * The pages are prepared first if they are not.  If the NIC refuses that or the key, the
 * pages are registered for the domain.
 */
int pool_key(struct pool *pool, uint32_t pdn, uint32_t *ret_key);

/* Gives nr pages to the owner and returns their addresses.  -ENOMEM: there are not
 * enough, and none is taken. */
int pool_take(struct pool *pool, uint16_t owner, uint64_t nr, __u64 *ret_addr);
/* Clears those of nr taken pages that are not clean.  Nobody but the caller may use the
 * pages yet.  Returns how many were cleared. */
uint64_t pool_scrub(struct pool *pool, uint64_t nr, const __u64 *addr);
/* Like pool_take(), for the last run of nr free pages; *ret_page: the first page. Searches
 * the whole pool: when the agent begins.  -ENOMEM. */
int pool_take_run(struct pool *pool, uint16_t owner, uint64_t nr, uint64_t *ret_page);
/* The same for the pages of a slab, without a search.  -ENOMEM. */
int pool_take_slab(struct pool *pool, uint16_t owner, uint64_t *ret_page);
/* Gives a run of pages back to the pool. */
void pool_give_run(struct pool *pool, uint64_t page, uint64_t nr);
/* Keeps a run of taken pages from everybody until the agent ends: a peer may reach them. */
void pool_withhold(struct pool *pool, uint64_t page, uint64_t nr);
/* The address of a page in the agent's memory. */
void *pool_va(const struct pool *pool, uint64_t page);
/* Takes a page back that neither its owner nor any NIC uses any more.  -EINVAL: addr is
 * not a page; -EPERM: it is not the owner's. */
int pool_give(struct pool *pool, uint16_t owner, uint64_t addr);
/* Is addr a page of this owner? */
bool pool_owns(const struct pool *pool, uint16_t owner, uint64_t addr);
/*
 * Takes all pages of the owner back, among the next nr pages from *cursor on.  The owner
 * must have nothing left that reaches them.  Returns how many; *cursor ends at
 * pool->pages.
 */
uint64_t pool_give_all(struct pool *pool, uint16_t owner, uint64_t nr,
		       uint64_t *cursor);

#endif /* MNODE_POOL_H */
