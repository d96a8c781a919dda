// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Free rings: their memory, and what the agent does to a ring without the NIC. */
#include <endian.h>
#include <errno.h>
#include "ring.h"

/* head and tail have cache lines of their own, behind the ring */
#define HEAD_OFF	0
#define TAIL_OFF	128

static uint64_t slots_len(const struct ring *ring)
{
	return 1ull << ring->log_len;
}

uint64_t ring_head_iova(const struct ring *ring)
{
	return RING_IOVA + slots_len(ring) + HEAD_OFF;
}

uint64_t ring_tail_iova(const struct ring *ring)
{
	return RING_IOVA + slots_len(ring) + TAIL_OFF;
}

int ring_init(struct ring *ring, struct nic *nic, uint32_t pdn,
	      uint64_t pages)
{
	char *end;
	int r;

	*ring = (struct ring){ .nic = nic, .log_len = ring_log_len(pages) };
	r = mem_map(ring_len(pages), 0, &ring->mem);
	if (r)
		return r;
	end = (char *)ring->mem.va + slots_len(ring);
	ring->slot = ring->mem.va;
	ring->head = (uint64_t *)(end + HEAD_OFF);
	ring->tail = (uint64_t *)(end + TAIL_OFF);
	*ring->head = *ring->tail = RING_IOVA;
	r = nic->ops->mr_reg(nic, pdn, ring->mem.va,
			     ring_len(pages), RING_IOVA,
			     NIC_ALL, &ring->key);
	if (r)
		mem_unmap(&ring->mem);
	return r;
}

void ring_fini(struct ring *ring)
{
	ring->nic->ops->mr_dereg(ring->nic, ring->key);
	mem_unmap(&ring->mem);
}

uint64_t ring_pages(const struct ring *ring)
{
	return ring_distance(ring->log_len, *ring->head, *ring->tail);
}

uint64_t ring_take_slot(struct ring *ring, uint64_t slot)
{
	volatile __be64 *p = &ring->slot[ring_index(ring->log_len, slot)];

	return be64toh(__atomic_exchange_n(p, 0, __ATOMIC_ACQ_REL));
}

/* ---- rings without running chains -------------------------------------------- */

void ring_push(struct ring *ring, uint64_t addr)
{
	ring->slot[ring_index(ring->log_len, *ring->tail)] = htobe64(addr);
	*ring->tail = ring_advance(ring->log_len, *ring->tail, 1);
}

uint64_t ring_pop(struct ring *ring)
{
	uint64_t addr;

	if (*ring->head == *ring->tail)
		return 0;
	addr = ring_take_slot(ring, *ring->head);
	*ring->head = ring_advance(ring->log_len, *ring->head, 1);
	return addr;
}

/* A counter outside the ring is due to its compute node or a broken NIC: begin anywhere. */
void ring_compact_begin(struct ring *ring)
{
	uint64_t from = ring_valid(ring->log_len, *ring->head) ?
			ring_index(ring->log_len, *ring->head) : 0;

	*ring->head = RING_IOVA + from * RING_SLOT;
	*ring->tail = *ring->head;
	ring->unsorted = ring_slots(ring->log_len);
}

/* The tail never passes the position that is examined. */
bool ring_compact_some(struct ring *ring, uint64_t nr)
{
	uint64_t at, addr;

	for (; nr && ring->unsorted; nr--, ring->unsorted--) {
		at = ring_advance(ring->log_len, *ring->head,
				  ring_slots(ring->log_len) - ring->unsorted);
		/* Do not write to memory that was never used: that would allocate it. */
		if (!ring->slot[ring_index(ring->log_len, at)])
			continue;
		addr = ring_take_slot(ring, at);
		ring_push(ring, addr);
	}
	return !ring->unsorted;
}
