/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lease: how many pages of the memory node this device may have mapped.
 *
 * A page counts as used from the moment an unmapped store takes it until the answer to its
 * invalidate.  The heartbeat tells the memory node two numbers, used and held.  held is
 * the greater of used and limit.
 *
 * A full barrier lies between setting a smaller limit and reading used (the heartbeat),
 * and between counting a page and reading the limit (a store).  So either the store sees
 * the smaller limit, or the heartbeat sees the page.  Hence the device does not use more
 * pages than the held that it has told, until the memory node grants more.
 *
 * Pure logic, also compiled in user space.
 */
#ifndef _ODRP_LEASE_H
#define _ODRP_LEASE_H

#include <linux/atomic.h>
#include <linux/types.h>

struct odrp_lease {
	atomic64_t	used;	/* pages */
	atomic64_t	limit;	/* pages that the last grant allows */
};

static inline u64 odrp_lease_used(const struct odrp_lease *l)
{
	return atomic64_read(&l->used);
}

/* Take one page.  Return: false when that would exceed the lease. */
static inline bool odrp_lease_take(struct odrp_lease *l)
{
	/* Fully ordered: pairs with odrp_lease_set(). */
	s64 used = atomic64_inc_return(&l->used);

	if (used <= atomic64_read(&l->limit))
		return true;
	atomic64_dec(&l->used);
	return false;
}

/* May change at once. */
static inline bool odrp_lease_has_room(const struct odrp_lease *l)
{
	return atomic64_read(&l->used) < atomic64_read(&l->limit);
}

static inline void odrp_lease_put(struct odrp_lease *l)
{
	atomic64_dec(&l->used);
}

/*
 * Set the limit.  Return: held, the number of pages that the device may use from now on;
 * *ret_used is the number that it uses.
 */
static inline u64 odrp_lease_set(struct odrp_lease *l, u64 limit,
				 u64 *ret_used)
{
	s64 used;

	/* Fully ordered: pairs with odrp_lease_take(). */
	atomic64_xchg(&l->limit, limit);
	used = atomic64_read(&l->used);
	*ret_used = used;
	return (u64)used > limit ? (u64)used : limit;
}

/*
 * How many pages the device asks for: those in use and a quarter more, but at least 4096
 * more.  At most one page for each slot, and never fewer than those in use.
 */
static inline u64 odrp_lease_want(u64 used, u64 nr_slots)
{
	u64 room = used / 4 > 4096 ? used / 4 : 4096;
	u64 want = used + room;

	if (want > nr_slots)
		want = nr_slots;
	return want > used ? want : used;
}

#endif /* _ODRP_LEASE_H */
