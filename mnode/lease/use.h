/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How well memory is used: pages by time, of one session and of all.
 *
 * A page is *used* while its contents can still be asked for. It is *held* while nobody else
 * can have it: it is used, or it is in a ring, in a register of a store, set aside for those,
 * slack, or in a slab. The quotient of their page-seconds is the utilization, time-averaged.
 */
#ifndef MNODE_USE_H
#define MNODE_USE_H

#include <stdint.h>

/**
 * struct page_seconds - a sum of pages by time
 * @sum:	pages times seconds
 * @rest:	pages times milliseconds that are no whole page-second yet, below 1000
 */
struct page_seconds {
	uint64_t sum;
	uint32_t rest;
};

/**
 * struct use - use of memory since the agent began; all zero: none yet
 * @used, @held: pages, at the last look
 * @used_s, @held_s: until then
 * @peak_used, @peak_held: at the look at which most pages were used, and of these at which
 *		most were held
 */
struct use {
	uint64_t used, held;
	struct page_seconds used_s, held_s;
	uint64_t peak_used, peak_held;
};

/* Counts pages that were used and held for that long. More used ones than held ones
 * count as held ones: a compute node may say anything. */
void use_count(struct use *u, uint64_t used, uint64_t held, uint32_t ms);

/* Used of held, in hundredths of a percent, time-averaged; 0 if nothing was held. */
static inline uint32_t use_share(const struct use *u)
{
	return u->held_s.sum ?
	       (uint32_t)((__uint128_t)u->used_s.sum * 10000 / u->held_s.sum) : 0;
}

#endif /* MNODE_USE_H */
