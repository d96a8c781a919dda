// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Claims on pages for page registers. */
#include <errno.h>
#include "stock.h"

#define FEW_PAGES	2048	/* 16 queues of 64 instances */
#define FEW_INSTANCES	16	/* rather fewer queues than shorter ones */

uint64_t stock_default_target(uint64_t pages, uint64_t most)
{
	uint64_t few = pages / 8 < FEW_PAGES ? pages / 8 : FEW_PAGES;
	uint64_t target = pages / 32 > few ? pages / 32 : few;

	return target < most ? target : most;
}

static uint64_t needs(uint64_t queues, uint64_t instances)
{
	return queues * STOCK_CHAINS * instances;
}

/* The largest claim of one more session of a name: has: pages that the name has claimed;
 * kept: pages that stay for other names. */
static uint64_t most_for(const struct stock *st, uint64_t has, uint64_t kept)
{
	uint64_t left = st->target - st->claimed, all, most;

	if (kept > left / 2)
		kept = left / 2;
	all = left - kept + has;
	if (all / 2 > has && all / 2 - has >= STOCK_LEAST)
		return all / 2 - has;
	/* The name has its half: small sessions get more, up to three quarters. */
	most = all - all / 4 > has ? all - all / 4 - has : 0;
	if (most > STOCK_LEAST)
		most = STOCK_LEAST;
	return has || most >= needs(1, HELLO_MIN_DEPTH) ? most : all;
}

int stock_claim(struct stock *st, struct hello *hello, uint64_t has, uint64_t kept,
		uint64_t *ret_claim)
{
	uint64_t most = most_for(st, has, kept);
	uint16_t k = hello_instances(hello->depth);

	if (most < needs(1, HELLO_MIN_DEPTH))
		return -ENOSPC;
	while (k > FEW_INSTANCES && needs(hello->queue, k) > most)
		k /= 2;
	while (hello->queue > 1 && needs(hello->queue, k) > most)
		hello->queue /= 2;
	while (needs(1, k) > most)
		k /= 2;
	if (hello->depth > k - 1)
		hello->depth = k - 1;
	*ret_claim = needs(hello->queue, k);
	st->claimed += *ret_claim;
	return 0;
}

void stock_unclaim(struct stock *st, uint64_t claim)
{
	st->claimed -= claim;
}
