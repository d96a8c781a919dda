/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that a memory node lends: its pages, registered once, and the
 * ring of the free ones.  Chains take from the ring's head and give to its
 * tail; the agent looks on.
 */
#ifndef MNODE_POOL_H
#define MNODE_POOL_H

#include "mem.h"
#include "nic.h"
#include "ring.h"
#include "table.h"

/**
 * struct pool - pages and free ring
 * @pdn:	protection domain of everything that chains touch
 * @pages:	how many there are
 * @page_mem, @page_key: the pages; the NIC sees them from WRC_POOL_IOVA on
 * @ring_mem, @ring_key: ring, then head, then tail, from RING_IOVA on
 * @tables:	recycle=node: what the chains read
 * @ring, @head, @tail:	the same as pointers; the NIC writes there
 */
struct pool {
	struct nic *nic;
	uint32_t pdn;
	uint64_t pages;
	struct mem page_mem, ring_mem;
	uint32_t page_key, ring_key;
	uint8_t log_len;
	volatile __be64 *ring;
	volatile uint64_t *head, *tail;
	struct tables tables;
};

/* len: bytes, a multiple of the page size.  -ERANGE: more than
 * WRC_POOL_MAX. */
int pool_init(struct pool *pool, struct nic *nic, uint64_t len, bool populate);
/* After all keys and queues in its protection domain are gone. */
void pool_fini(struct pool *pool);

uint64_t pool_head_iova(const struct pool *pool);
uint64_t pool_tail_iova(const struct pool *pool);
/* Free pages, as head and tail say at this moment. */
uint64_t pool_free_pages(const struct pool *pool);

#endif /* MNODE_POOL_H */
