/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A session's ring of free pages: stores take from the head, invalidates put at the tail.
 * Also the arithmetic of ring positions and page addresses.
 *
 * The ring has a power of two of 8-byte slots and is aligned to its size, so that the
 * masked atomic add of the NIC wraps around.  A slot that is in use holds a page address,
 * big endian.  Head and tail hold addresses of slots, in host byte order; they are equal
 * when the ring is empty.
 */
#ifndef MNODE_RING_H
#define MNODE_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <odrp/wire.h>
#include <wrc.h>
#include <nic/node.h>
#include "mem.h"

/* address of the ring for the NIC: any address that is aligned and not 0 */
#define RING_IOVA		(1ull << 40)
#define RING_SLOT		8u
#define RING_MIN_LOG_LEN	12
#define RING_COUNTERS_LEN	4096u

/*
 * log2 of the bytes of a ring for that many pages.  At least half of the slots stay
 * unused, so that a head that has overtaken the tail differs from a full ring.
 */
static inline uint8_t ring_log_len(uint64_t pages)
{
	uint8_t log = RING_MIN_LOG_LEN;

	while ((1ull << log) / RING_SLOT < 2 * pages)
		log++;
	return log;
}

/* Bytes of a ring for so many pages, with its counters. */
static inline uint64_t ring_len(uint64_t pages)
{
	return (1ull << ring_log_len(pages)) + RING_COUNTERS_LEN;
}

static inline uint64_t ring_slots(uint8_t log_len)
{
	return (1ull << log_len) / RING_SLOT;
}

/* The address of the slot n places after the slot at addr. */
static inline uint64_t ring_advance(uint8_t log_len, uint64_t addr, uint64_t n)
{
	uint64_t mask = (1ull << log_len) - 1;

	return (addr & ~mask) | ((addr + n * RING_SLOT) & mask);
}

/* The number of slots from the one at @from up to the one at @to, without the latter. */
static inline uint64_t ring_distance(uint8_t log_len, uint64_t from,
				     uint64_t to)
{
	return ((to - from) & ((1ull << log_len) - 1)) / RING_SLOT;
}

static inline bool ring_valid(uint8_t log_len, uint64_t addr)
{
	return addr >> log_len == RING_IOVA >> log_len && !(addr % RING_SLOT);
}

static inline uint64_t ring_index(uint8_t log_len, uint64_t addr)
{
	return (addr & ((1ull << log_len) - 1)) / RING_SLOT;
}

static inline uint64_t page_addr(uint64_t page)
{
	return WRC_POOL_IOVA + (page << ODRP_WIRE_PAGE_SHIFT);
}

/* False unless addr is the address of one of that many pages. */
static inline bool page_index(uint64_t addr, uint64_t pages, uint64_t *ret_page)
{
	uint64_t off = addr - WRC_POOL_IOVA;

	if (addr < WRC_POOL_IOVA || off % ODRP_WIRE_PAGE_SIZE ||
	    off >> ODRP_WIRE_PAGE_SHIFT >= pages)
		return false;
	*ret_page = off >> ODRP_WIRE_PAGE_SHIFT;
	return true;
}

/**
 * struct ring - free ring of a session
 * @key:	under this key the NIC sees slots, head and tail, from RING_IOVA on
 * @log_len:	log2 of the bytes of the slots
 * @slot, @head, @tail: the NIC writes to them while chains run
 * @unsorted:	slots that ring_compact_some() has not looked at yet: the last ones before
 *		the head, going around
 */
struct ring {
	struct nic *nic;
	struct mem mem;
	uint32_t key;
	uint8_t log_len;
	volatile __be64 *slot;
	volatile uint64_t *head, *tail;
	uint64_t unsorted;
};

/* Makes an empty ring with room for that many pages. */
int ring_init(struct ring *ring, struct nic *nic, uint32_t pdn,
	      uint64_t pages);
void ring_fini(struct ring *ring);

uint64_t ring_head_iova(const struct ring *ring);
uint64_t ring_tail_iova(const struct ring *ring);
/* Slots from head to tail, a snapshot.  If it is more than half of the slots, the head
 * has overtaken the tail. */
uint64_t ring_pages(const struct ring *ring);

/*
 * Empties a slot and returns the page address that it held, or 0.  One atomic exchange:
 * with a read and a write, a page that the NIC puts there in between would be lost.
 */
uint64_t ring_take_slot(struct ring *ring, uint64_t slot);

/* ---- rings without running chains -------------------------------------------- */

/* Adds a page at the tail. */
void ring_push(struct ring *ring, uint64_t addr);
/* Takes a page from the head; 0: the ring is empty. */
uint64_t ring_pop(struct ring *ring);
/*
 * Moves all pages up to the head, in their order.  Chains that were stopped, or a compute
 * node that took more than it had, leave empty slots, and pages that the head has passed.
 * Nothing else may use the ring until this is done: meanwhile the tail is at the end of
 * the sorted pages, and there are pages behind the tail.
 */
void ring_compact_begin(struct ring *ring);
/* Looks at no more than nr slots.  True: all are sorted. */
bool ring_compact_some(struct ring *ring, uint64_t nr);

#endif /* MNODE_RING_H */
