/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Places in direct slabs (ODRP_WIRE_F_DIRECT): which slabs the device holds, and which of
 * their pages hold a slot.
 *
 * A place is the number of a slab and the index of a page in it.  The place of a slot is in
 * entry[] of slot.h.  A store to a slot without a place takes a free one of a slab that is as
 * full as any with a free place, so that the others come to be empty, and can be given back.
 * A slot keeps its place as long as any request names the slot, resent ones included, and while the
 * fate of a store is unknown: so a slab without a taken place is named by no request.
 *
 * Any number of tasks take and put places at once.  One task at a time, with the mutex of
 * slabs.c, takes slabs and gives them back.
 *
 * Pure logic without locks: also compiled in user space (tests/unit/kmod).
 */
#ifndef _ODRP_PLACE_H
#define _ODRP_PLACE_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <odrp/wire.h>

#define ODRP_PLACE_NONE		(~0u)
#define ODRP_PLACE_SHIFT	(ODRP_WIRE_LOG_SLAB - ODRP_WIRE_PAGE_SHIFT)
#define ODRP_SLAB_AWAY		(-1)
/* Slabs with a free place are listed by how full they are, in so many levels. */
#define ODRP_SLAB_LEVELS	8

/*
 * struct odrp_slab - a slab of the memory node
 * @addr, @rkey: of its first page
 * @generation:	see struct odrp_wire_slab
 * @closing:	comes to be empty: a store takes no place in it if another slab has one
 * @used:	places that are taken; ODRP_SLAB_AWAY: the device does not hold the slab
 */
struct odrp_slab {
	u64	addr;
	u32	rkey;
	u16	generation;
	bool	closing;
	int	used;
};

/*
 * struct odrp_places - all slabs of a device
 * @max:	most slabs; 0: the session has no slabs
 * @slab:	by number
 * @taken:	one bit for each place
 * @room:	for each level one bit for each slab: the slab has a free place and that level
 * @filling:	number of the slab that stores take places of, until it has none
 * @nr_held:	slabs that the device holds
 * @nr_closing:	those of them that are closing
 * @granted:	pages of the last accept or grant
 * @back:	slabs that are to be given back
 * @spare:	slabs that are not needed: they come to be empty, too, and are then given back
 */
struct odrp_places {
	u32			max;
	struct odrp_slab	*slab;
	unsigned long		*taken;
	unsigned long		*room[ODRP_SLAB_LEVELS];
	u32			filling;
	u32			nr_held;
	u32			nr_closing;
	u64			granted;
	u32			back;
	u32			spare;
};

u32 odrp_place_take(struct odrp_places *p);
u32 odrp_place_take_open(struct odrp_places *p);
void odrp_place_put(struct odrp_places *p, u32 place);
int odrp_slab_see(struct odrp_places *p, u32 nr, const struct odrp_wire_slab *w);
void odrp_slabs_give(struct odrp_places *p);
u32 odrp_slabs_in_use(const struct odrp_places *p);
void odrp_slabs_bitmap(const struct odrp_places *p, u8 *bitmap);

static inline u64 odrp_place_addr(const struct odrp_places *p, u32 place)
{
	return p->slab[place >> ODRP_PLACE_SHIFT].addr +
	       ((u64)(place % ODRP_WIRE_SLAB_PAGES) << ODRP_WIRE_PAGE_SHIFT);
}

static inline u32 odrp_place_rkey(const struct odrp_places *p, u32 place)
{
	return p->slab[place >> ODRP_PLACE_SHIFT].rkey;
}

/* Is the slab of a place to come to be empty? */
static inline bool odrp_place_closes(const struct odrp_places *p, u32 place)
{
	return READ_ONCE(p->slab[place >> ODRP_PLACE_SHIFT].closing);
}

/* How many pages stores may take: no more than granted, and in slabs that are held. */
static inline u64 odrp_places_limit(const struct odrp_places *p)
{
	u64 held = (u64)p->nr_held * ODRP_WIRE_SLAB_PAGES;

	return p->granted < held ? p->granted : held;
}

/* How many of the held slabs are beyond the last accept or grant: those are to be given back. */
static inline u32 odrp_places_over(const struct odrp_places *p)
{
	u32 most = p->granted >> ODRP_PLACE_SHIFT;

	return p->nr_held > most ? p->nr_held - most : 0;
}

#endif /* _ODRP_PLACE_H */
