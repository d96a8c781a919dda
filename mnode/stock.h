/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages that are set aside for stores to receive into: each instance of a chain
 * of page exchange holds one (docs/chains.md).  They never are in the free ring,
 * so that arming a chain takes none from those that run.
 *
 *	target = in the stock + out in armed chains + short
 *
 * Short is what chains did not give back: a page that a broken one has left in
 * a table.  reclaim.c refills it from what comes back, and from the ring.
 */
#ifndef MNODE_STOCK_H
#define MNODE_STOCK_H

#include "hello.h"
#include "pool.h"

#define STOCK_CHAINS	2	/* of a queue: both stores */

/**
 * struct stock - pages for registers
 * @at, @nr:	addresses of those that are here
 * @in:		a bit for each page of the pool: it is here
 * @target:	pages set aside
 * @out:	pages in chains that are armed, one for each instance
 * @claimed:	pages that sessions may have out at a time; at most @target
 */
struct stock {
	struct pool *pool;
	uint64_t *at;
	uint64_t *in;
	uint64_t nr, target, out, claimed;
};

/* By the pool's size, and never more than could be armed. */
uint64_t stock_default_target(uint64_t pages, uint64_t most);

/* Out of the ring's head; before any chain runs. */
int stock_init(struct stock *st, struct pool *pool, uint64_t target);
void stock_fini(struct stock *st);

/*
 * What a newcomer may have out at a time: its queues and requests are cut until
 * that is at most half of what is left, if so much is left.  -ENOSPC: not even
 * one queue fits.
 */
int stock_claim(struct stock *st, struct hello *hello, uint64_t *ret_claim);
void stock_unclaim(struct stock *st, uint64_t claim);

/* For one chain.  -ENOMEM: not as many are here. */
int stock_take(struct stock *st, uint64_t nr, __u64 *ret_pages);
/* A chain with so many instances does not run any more. */
void stock_disarm(struct stock *st, uint64_t nr);
/* The chain has not come to be: all is as it was before stock_take(). */
void stock_untake(struct stock *st, uint64_t nr, const __u64 *pages);
uint64_t stock_short(const struct stock *st);
/*
 * A page that is in nobody else's hands.  -ENOSPC: it is not needed here;
 * -EINVAL: it is not a page; -EEXIST: it is here already.
 */
int stock_give(struct stock *st, uint64_t addr);

#endif /* MNODE_STOCK_H */
