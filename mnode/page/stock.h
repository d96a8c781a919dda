/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides the stock: the pages that stores receive into, as each instance of a chain of
 * page exchange holds one (docs/chains.md).  These pages are set aside and not leased, so
 * that arming a chain takes no page from running sessions.  Pure: numbers in, numbers
 * out.
 */
#ifndef MNODE_STOCK_H
#define MNODE_STOCK_H

#include "../peer/hello.h"

#define STOCK_CHAINS	2	/* chains of a queue with page exchange: both stores */
#define STOCK_LEAST	32	/* pages of one queue of 16 instances: each name can have these */

/**
 * struct stock - pages for page registers
 * @target:	pages set aside
 * @claimed:	pages of @target that sessions may have at a time
 */
struct stock {
	uint64_t target, claimed;
};

/* A share of the pool's pages; at most @most, the pages that could be armed. */
uint64_t stock_default_target(uint64_t pages, uint64_t most);

/*
 * Claims pages for a new session.  Cuts its queues and depth in hello until the name has
 * at most half of what it could have.  Beyond that a name gets small sessions, up to
 * three quarters.
 * has: claims of other sessions of that name; kept: pages that stay for other names.
 * -ENOSPC: not even one queue fits.
 */
int stock_claim(struct stock *st, struct hello *hello, uint64_t has, uint64_t kept,
		uint64_t *ret_claim);
void stock_unclaim(struct stock *st, uint64_t claim);

#endif /* MNODE_STOCK_H */
