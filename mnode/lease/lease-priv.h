/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to lease.c and lease-plan.c. */
#ifndef MNODE_LEASE_PRIV_H
#define MNODE_LEASE_PRIV_H

#include "lease.h"

static inline uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a - b, or 0 if b is larger */
static inline uint64_t over(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#define MIN_HEADROOM	64

/* Fairness does not cut the lease below this. */
static inline uint64_t lease_floor(const struct lease *l)
{
	return min(l->cap, l->used + max(MIN_HEADROOM, l->used / 16));
}

/*
 * Pages of the budget that no lease has and that are not kept for another share; NULL: not
 * kept for any. *ret_lack, or NULL: pages that are kept for shares, but that others have.
 */
uint64_t lease_free(const struct lease *const *all, size_t nr, uint64_t budget,
		    const struct lease_share *share, uint64_t *ret_lack);

#endif /* MNODE_LEASE_PRIV_H */
