// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The stock of pages for registers, and who may have how many of them.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "stock.h"

#define FEW_PAGES	2048	/* 16 queues of 64 instances */
#define FEW_INSTANCES	16	/* fewer queues rather than shorter ones */

uint64_t stock_default_target(uint64_t pages, uint64_t most)
{
	uint64_t few = pages / 8 < FEW_PAGES ? pages / 8 : FEW_PAGES;
	uint64_t target = pages / 32 > few ? pages / 32 : few;

	return target < most ? target : most;
}

static void pop_ring(struct stock *st)
{
	struct pool *pool = st->pool;
	uint64_t addr;

	addr = be64toh(pool->ring[ring_index(pool->log_len, *pool->head)]);
	pool->ring[ring_index(pool->log_len, *pool->head)] = 0;
	*pool->head = ring_advance(pool->log_len, *pool->head, 1);
	stock_give(st, addr);
}

int stock_init(struct stock *st, struct pool *pool, uint64_t target)
{
	*st = (struct stock){ .pool = pool, .target = target };
	st->at = calloc(target + 1, sizeof(*st->at));
	st->in = calloc((pool->pages + 63) / 64, sizeof(*st->in));
	if (!st->at || !st->in) {
		stock_fini(st);
		return -ENOMEM;
	}
	while (stock_short(st))
		pop_ring(st);
	return 0;
}

void stock_fini(struct stock *st)
{
	free(st->at);
	free(st->in);
}

static uint64_t needs(uint64_t queues, uint64_t instances)
{
	return queues * STOCK_CHAINS * instances;
}

int stock_claim(struct stock *st, struct hello *hello, uint64_t *ret_claim)
{
	uint64_t left = st->target - st->claimed, most = left / 2;
	uint16_t k = hello_instances(hello->depth);

	if (most < needs(1, HELLO_MIN_DEPTH))
		most = left;
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

static bool here(const struct stock *st, uint64_t page)
{
	return st->in[page / 64] >> (page % 64) & 1;
}

static void toggle(struct stock *st, uint64_t page)
{
	st->in[page / 64] ^= 1ull << (page % 64);
}

int stock_take(struct stock *st, uint64_t nr, __u64 *ret_pages)
{
	uint64_t i, page;

	if (nr > st->nr)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		ret_pages[i] = st->at[--st->nr];
		if (page_index(ret_pages[i], st->pool->pages, &page))
			toggle(st, page);
	}
	st->out += nr;
	return 0;
}

void stock_disarm(struct stock *st, uint64_t nr)
{
	st->out -= nr;
}

void stock_untake(struct stock *st, uint64_t nr, const __u64 *pages)
{
	stock_disarm(st, nr);
	while (nr--)
		stock_give(st, pages[nr]);
}

uint64_t stock_short(const struct stock *st)
{
	return st->target - st->out - st->nr;
}

int stock_give(struct stock *st, uint64_t addr)
{
	uint64_t page;

	if (!page_index(addr, st->pool->pages, &page))
		return -EINVAL;
	if (here(st, page))
		return -EEXIST;
	if (!stock_short(st))
		return -ENOSPC;
	toggle(st, page);
	st->at[st->nr++] = addr;
	return 0;
}
