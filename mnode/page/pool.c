// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory of pages, made once at the start, and the owner of each page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pool.h"

_Static_assert(FREE_BLOCK == ODRP_WIRE_SLAB_PAGES, "a slab is a block");

static void free_lists(struct pool *pool)
{
	free(pool->free.bit);
	free(pool->free.block);
	if (!pool->keep)
		free(pool->owner);
	free(pool->clean);
}

static int make_lists(struct pool *pool)
{
	uint64_t page;

	free_map_init(&pool->free, pool->pages,
		      calloc(free_map_words(pool->pages), sizeof(*pool->free.bit)),
		      calloc(free_map_blocks(pool->pages), sizeof(*pool->free.block)));
	pool->owner = pool->keep ? pool->keep->owner :
				   calloc(pool->pages, sizeof(*pool->owner));
	pool->clean = calloc(pool->pages, sizeof(*pool->clean));
	if (!pool->free.bit || !pool->free.block || !pool->owner || !pool->clean) {
		free_lists(pool);
		return -ENOMEM;
	}
	/* New memory is zeroed by the kernel; the contents of adopted pages are unknown. */
	memset(pool->clean, !pool->keep || !pool->keep->adopted,
	       pool->pages * sizeof(*pool->clean));
	for (page = pool->pages; page--; ) {
		if (pool->owner[page] != POOL_NOBODY)
			continue;
		free_map_put(&pool->free, page);
		pool->nr_free++;
	}
	return 0;
}

/* Registers the pages, which are mapped already. */
static int pool_open(struct pool *pool)
{
	struct nic *nic = pool->nic;
	int r;

	r = make_lists(pool);
	if (r)
		return r;
	r = nic->ops->pd_alloc(nic, &pool->pdn);
	if (r)
		goto free_lists;
	r = nic->ops->mr_reg(nic, pool->pdn, pool->page_mem.va,
			     pool->pages * ODRP_WIRE_PAGE_SIZE, WRC_POOL_IOVA, NIC_ALL,
			     &pool->page_key);
	if (r)
		goto free_pd;
	return 0;

free_pd:
	nic->ops->pd_free(nic, pool->pdn);
free_lists:
	free_lists(pool);
	return r;
}

int pool_init(struct pool *pool, struct nic *nic, uint64_t len, bool populate)
{
	unsigned int flags = MEM_HUGE | (populate ? MEM_POPULATE : 0);
	int r;

	*pool = (struct pool){ .nic = nic };
	if (!len || len % ODRP_WIRE_PAGE_SIZE || len > WRC_POOL_MAX)
		return -ERANGE;
	pool->pages = len / ODRP_WIRE_PAGE_SIZE;
	r = mem_map(len, flags, &pool->page_mem);
	if (r)
		return r;
	r = pool_open(pool);
	if (r)
		mem_unmap(&pool->page_mem);
	return r;
}

int pool_init_kept(struct pool *pool, struct nic *nic, struct keep *keep)
{
	*pool = (struct pool){
		.nic = nic, .keep = keep, .pages = keep->head->nr_pages,
		.page_mem = keep->pages,
	};
	if (pool->pages > WRC_POOL_MAX / ODRP_WIRE_PAGE_SIZE)
		return -ERANGE;
	return pool_open(pool);
}

int pool_share(struct pool *pool)
{
	const struct nic_node_ops *ops = pool->nic->node->ops;

	return ops->mr_share ? ops->mr_share(pool->nic, pool->page_key) : 0;
}

int pool_key(struct pool *pool, uint32_t pdn, uint32_t *ret_key)
{
	struct nic *nic = pool->nic;
	const struct nic_node_ops *ops = nic->node->ops;
	int r = ops->mr_again ? pool_share(pool) : -EOPNOTSUPP;

	if (!r)
		r = ops->mr_again(nic, pool->page_key, pdn, ret_key);
	if (!r)
		return 0;
	return nic->ops->mr_reg(nic, pdn, pool->page_mem.va,
				pool->pages * ODRP_WIRE_PAGE_SIZE, WRC_POOL_IOVA,
				NIC_LOCAL_WRITE, ret_key);
}

void pool_fini(struct pool *pool)
{
	struct nic *nic = pool->nic;

	tables_free(&pool->tables, nic);
	nic->ops->mr_dereg(nic, pool->page_key);
	if (!pool->keep)
		mem_unmap(&pool->page_mem);
	nic->ops->pd_free(nic, pool->pdn);
	free_lists(pool);
}

/* With kept files, the owner is recorded there before anybody uses the page. */
static void page_own(struct pool *pool, uint64_t page, uint16_t owner)
{
	if (pool->keep)
		keep_own(pool->keep, page, owner);
	else
		pool->owner[page] = owner;
}

int pool_take(struct pool *pool, uint16_t owner, uint64_t nr, __u64 *ret_addr)
{
	uint64_t i, page;

	if (nr > pool->nr_free)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		page = free_map_take_any(&pool->free);
		page_own(pool, page, owner);
		ret_addr[i] = page_addr(page);
	}
	pool->nr_free -= nr;
	return 0;
}

uint64_t pool_scrub(struct pool *pool, uint64_t nr, const __u64 *addr)
{
	uint64_t i, page, n = 0;

	for (i = 0; i < nr; i++) {
		if (!page_index(addr[i], pool->pages, &page) ||
		    pool->clean[page])
			continue;
		memset(pool_va(pool, page), 0, ODRP_WIRE_PAGE_SIZE);
		pool->clean[page] = true;
		n++;
	}
	return n;
}

/* Finds the last run of nr free pages.  pool->pages: there is none. */
static uint64_t find_run(const struct pool *pool, uint64_t nr)
{
	uint64_t page, have = 0;

	for (page = pool->pages; page--; ) {
		have = pool->owner[page] == POOL_NOBODY ? have + 1 : 0;
		if (have == nr)
			return page;
	}
	return pool->pages;
}

int pool_take_run(struct pool *pool, uint16_t owner, uint64_t nr, uint64_t *ret_page)
{
	uint64_t first = nr ? find_run(pool, nr) : pool->pages, i;

	if (first == pool->pages)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		page_own(pool, first + i, owner);
		free_map_take(&pool->free, first + i);
	}
	pool->nr_free -= nr;
	*ret_page = first;
	return 0;
}

int pool_take_slab(struct pool *pool, uint16_t owner, uint64_t *ret_page)
{
	uint64_t first = free_map_take_block(&pool->free), i;

	if (first == FREE_NONE)
		return -ENOMEM;
	for (i = 0; i < ODRP_WIRE_SLAB_PAGES; i++)
		page_own(pool, first + i, owner);
	pool->nr_free -= ODRP_WIRE_SLAB_PAGES;
	*ret_page = first;
	return 0;
}

void *pool_va(const struct pool *pool, uint64_t page)
{
	return (char *)pool->page_mem.va + page * ODRP_WIRE_PAGE_SIZE;
}

static void put_free(struct pool *pool, uint64_t page)
{
	page_own(pool, page, POOL_NOBODY);
	pool->clean[page] = false;
	free_map_put(&pool->free, page);
	pool->nr_free++;
}

void pool_give_run(struct pool *pool, uint64_t page, uint64_t nr)
{
	while (nr--)
		put_free(pool, page + nr);
}

void pool_withhold(struct pool *pool, uint64_t page, uint64_t nr)
{
	pool->nr_withheld += nr;
	while (nr--)
		page_own(pool, page + nr, POOL_WITHHELD);
}

bool pool_owns(const struct pool *pool, uint16_t owner, uint64_t addr)
{
	uint64_t page;

	return page_index(addr, pool->pages, &page) &&
	       pool->owner[page] == owner;
}

int pool_give(struct pool *pool, uint16_t owner, uint64_t addr)
{
	uint64_t page;

	if (!page_index(addr, pool->pages, &page))
		return -EINVAL;
	if (pool->owner[page] != owner)
		return -EPERM;
	put_free(pool, page);
	return 0;
}

uint64_t pool_give_all(struct pool *pool, uint16_t owner, uint64_t nr,
		       uint64_t *cursor)
{
	uint64_t n = 0;

	for (; nr && *cursor < pool->pages; nr--, ++*cursor) {
		if (pool->owner[*cursor] != owner)
			continue;
		put_free(pool, *cursor);
		n++;
	}
	return n;
}
