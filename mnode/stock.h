/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who may have how many pages for his stores to receive into: each instance of a
 * chain of page exchange holds one (docs/chains.md).  They are set aside, that
 * is, not leased, so that arming a chain takes none from those that run.  Pure:
 * numbers in, numbers out.
 */
#ifndef MNODE_STOCK_H
#define MNODE_STOCK_H

#include "hello.h"

#define STOCK_CHAINS	2	/* of a queue: both stores */
#define STOCK_LEAST	32	/* pages of one queue of 16 instances: each name can have it */

/**
 * struct stock - pages for registers
 * @target:	pages set aside
 * @claimed:	of these, what sessions may have out at a time
 */
struct stock {
	uint64_t target, claimed;
};

/* By the pool's size, and never more than could be armed. */
uint64_t stock_default_target(uint64_t pages, uint64_t most);

/*
 * What a newcomer may have out at a time: its queues and requests are cut until all that
 * its name has is at most half of what the name could have.  Beyond that a name gets
 * small sessions, up to three quarters.
 * has: by other sessions of that name; kept: pages that stay for other names.
 * -ENOSPC: not even one queue fits.
 */
int stock_claim(struct stock *st, struct hello *hello, uint64_t has, uint64_t kept,
		uint64_t *ret_claim);
void stock_unclaim(struct stock *st, uint64_t claim);

#endif /* MNODE_STOCK_H */
