/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ring of freed slots, without locks: one producer (a CPU with interrupts off) and any
 * number of consumers (the worker of flush.c, and stores that reuse a page).  A push to a
 * full ring fails, and the producer uses the overflow bitmap (free.c).
 */
#ifndef _ODRP_FRING_H
#define _ODRP_FRING_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <linux/compiler.h>

#define ODRP_FRING_SIZE	2048u		/* a power of two */

struct odrp_fring {
	u32	head;			/* written by the producer */
	u32	tail;			/* advanced by consumers */
	u32	slot[ODRP_FRING_SIZE];
};

static inline bool odrp_fring_push(struct odrp_fring *r, u32 slot)
{
	u32 head = READ_ONCE(r->head);

	/* Pairs with the cmpxchg in pop: the consumer has read the entry. */
	if (head - smp_load_acquire(&r->tail) == ODRP_FRING_SIZE)
		return false;
	WRITE_ONCE(r->slot[head & (ODRP_FRING_SIZE - 1)], slot);
	/* Pairs with the acquire in pop: the entry is complete. */
	smp_store_release(&r->head, head + 1);
	return true;
}

static inline bool odrp_fring_pop(struct odrp_fring *r, u32 *ret_slot)
{
	u32 tail = READ_ONCE(r->tail), now;

	for (;;) {
		/* Pairs with the release in push. */
		if (smp_load_acquire(&r->head) == tail)
			return false;
		*ret_slot = READ_ONCE(r->slot[tail & (ODRP_FRING_SIZE - 1)]);
		/*
		 * Fully ordered: a producer that sees the new tail may overwrite
		 * the entry, so the entry is read before.  When another consumer
		 * has moved the tail, the entry may already be overwritten: this
		 * consumer drops what it has read, and tries the next entry.
		 */
		now = cmpxchg(&r->tail, tail, tail + 1);
		if (now == tail)
			return true;
		tail = now;
	}
}

#endif /* _ODRP_FRING_H */
