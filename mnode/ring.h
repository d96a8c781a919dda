/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A CNode's ring of free pages: its stores take from the head, its invalidates
 * give to the tail.  And the arithmetic of rings and page addresses.
 *
 * The ring has a power of two of 8-byte slots and is aligned to its size, so
 * that the NIC's masked add walks around it by itself.  A live slot holds a
 * page address, big endian; head and tail hold addresses of slots, in host
 * byte order, and are equal when the ring is empty.
 */
#ifndef MNODE_RING_H
#define MNODE_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <odrp/wire.h>
#include <wrc.h>
#include <nic/node.h>
#include "mem.h"

/* Where the NIC sees the ring: any address that is aligned and not 0. */
#define RING_IOVA		(1ull << 40)
#define RING_SLOT		8u
#define RING_MIN_LOG_LEN	12

/*
 * log2 of a ring's bytes for that many pages.  At least half stays empty: a
 * head that has overtaken the tail can be told from a full ring.
 */
static inline uint8_t ring_log_len(uint64_t pages)
{
	uint8_t log = RING_MIN_LOG_LEN;

	while ((1ull << log) / RING_SLOT < 2 * pages)
		log++;
	return log;
}

static inline uint64_t ring_slots(uint8_t log_len)
{
	return (1ull << log_len) / RING_SLOT;
}

/* Slot n places after the slot at addr. */
static inline uint64_t ring_advance(uint8_t log_len, uint64_t addr, uint64_t n)
{
	uint64_t mask = (1ull << log_len) - 1;

	return (addr & ~mask) | ((addr + n * RING_SLOT) & mask);
}

/* Slots from the one at from up to, not with, the one at to. */
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

/* False for anything but the address of one of that many pages. */
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
 * struct ring - a CNode's
 * @key:	the NIC sees the slots, then head, then tail, from RING_IOVA on
 * @log_len:	log2 of the bytes of its slots
 * @slot, @head, @tail: the NIC writes there while chains run
 * @unsorted:	slots that ring_compact_some() has not looked at yet: the last ones
 *		before the head, as it goes around
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

/* Empty, with room for that many pages. */
int ring_init(struct ring *ring, struct nic *nic, uint32_t pdn,
	      uint64_t pages);
void ring_fini(struct ring *ring);

uint64_t ring_head_iova(const struct ring *ring);
uint64_t ring_tail_iova(const struct ring *ring);
/* Slots from head to tail, as they are at this moment.  More than half of them:
 * the head has overtaken the tail. */
uint64_t ring_pages(const struct ring *ring);

/*
 * What a slot holds, as a page address, or 0; it is empty then.  In one: with a
 * look and a 0, a page that comes into the slot between the two would be gone.
 */
uint64_t ring_take_slot(struct ring *ring, uint64_t slot);

/* ---- while no chain runs on it ----------------------------------------------- */

/* At the tail. */
void ring_push(struct ring *ring, uint64_t addr);
/* From the head; 0: it is empty. */
uint64_t ring_pop(struct ring *ring);
/*
 * Pages move up to the head, in their order: chains that were stopped, or a
 * CNode that took more than it had, have left empty slots, and pages that the
 * head has passed.  The ring is nobody's until it is done: from the beginning on
 * the tail is behind what has been sorted, and there are pages behind the tail.
 */
void ring_compact_begin(struct ring *ring);
/* At most that many slots.  True: it is done. */
bool ring_compact_some(struct ring *ring, uint64_t nr);

#endif /* MNODE_RING_H */
