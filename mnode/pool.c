// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Page memory and free ring: made once, at the start.
 */
#include <errno.h>
#include <endian.h>
#include "pool.h"

/* head and tail in cache lines of their own, behind the ring */
#define HEAD_OFF	0
#define TAIL_OFF	128
#define COUNTERS_LEN	4096

static uint64_t ring_len(const struct pool *pool)
{
	return 1ull << pool->log_len;
}

uint64_t pool_head_iova(const struct pool *pool)
{
	return RING_IOVA + ring_len(pool) + HEAD_OFF;
}

uint64_t pool_tail_iova(const struct pool *pool)
{
	return RING_IOVA + ring_len(pool) + TAIL_OFF;
}

uint64_t pool_free_pages(const struct pool *pool)
{
	uint64_t n = ring_distance(pool->log_len, *pool->head, *pool->tail);

	return n <= pool->pages ? n : 0;	/* head has overtaken tail */
}

static void fill_ring(struct pool *pool)
{
	char *end = (char *)pool->ring_mem.va + ring_len(pool);
	uint64_t i;

	pool->ring = pool->ring_mem.va;
	pool->head = (uint64_t *)(end + HEAD_OFF);
	pool->tail = (uint64_t *)(end + TAIL_OFF);
	for (i = 0; i < pool->pages; i++)
		pool->ring[i] = htobe64(page_addr(i));
	*pool->head = RING_IOVA;
	*pool->tail = ring_advance(pool->log_len, RING_IOVA, pool->pages);
}

int pool_init(struct pool *pool, struct nic *nic, uint64_t len, bool populate)
{
	unsigned int flags = MEM_HUGE | (populate ? MEM_POPULATE : 0);
	int r;

	*pool = (struct pool){ .nic = nic };
	if (!len || len % ODRP_WIRE_PAGE_SIZE || len > WRC_POOL_MAX)
		return -ERANGE;
	pool->pages = len / ODRP_WIRE_PAGE_SIZE;
	pool->log_len = ring_log_len(pool->pages);
	r = nic->ops->pd_alloc(nic, &pool->pdn);
	if (r)
		return r;
	r = mem_map(len, flags, &pool->page_mem);
	if (r)
		goto free_pd;
	r = mem_map(ring_len(pool) + COUNTERS_LEN, MEM_POPULATE,
		    &pool->ring_mem);
	if (r)
		goto unmap_pages;
	fill_ring(pool);
	r = nic->ops->mr_reg(nic, pool->pdn, pool->page_mem.va, len,
			     WRC_POOL_IOVA, NIC_ALL, &pool->page_key);
	if (r)
		goto unmap_ring;
	r = nic->ops->mr_reg(nic, pool->pdn, pool->ring_mem.va,
			     ring_len(pool) + COUNTERS_LEN, RING_IOVA, NIC_ALL,
			     &pool->ring_key);
	if (r)
		goto dereg_pages;
	return 0;

dereg_pages:
	nic->ops->mr_dereg(nic, pool->page_key);
unmap_ring:
	mem_unmap(&pool->ring_mem);
unmap_pages:
	mem_unmap(&pool->page_mem);
free_pd:
	nic->ops->pd_free(nic, pool->pdn);
	return r;
}

void pool_fini(struct pool *pool)
{
	struct nic *nic = pool->nic;

	tables_free(&pool->tables, nic);
	nic->ops->mr_dereg(nic, pool->ring_key);
	nic->ops->mr_dereg(nic, pool->page_key);
	mem_unmap(&pool->ring_mem);
	mem_unmap(&pool->page_mem);
	nic->ops->pd_free(nic, pool->pdn);
}
