/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of lease.c and lease-plan.c alone. */
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

/* a - b, not below 0 */
static inline uint64_t over(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#define MIN_HEADROOM	64

/* Below this it is not cut. */
static inline uint64_t lease_floor(const struct lease *l)
{
	return min(l->cap, l->used + max(MIN_HEADROOM, l->used / 16));
}

/*
 * Pages that nobody has and that are kept for nobody but that share; NULL: for nobody
 * at all.  ret_lack, or NULL: pages that are kept and are not there.
 */
uint64_t lease_free(const struct lease *const *all, size_t nr, uint64_t budget,
		    const struct lease_share *share, uint64_t *ret_lack);

#endif /* MNODE_LEASE_PRIV_H */
