// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Places in direct slabs; see place.h. */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#include "place.h"

#define PER_LEVEL	(ODRP_WIRE_SLAB_PAGES / ODRP_SLAB_LEVELS)

/* Return: the list on which a slab with so many taken places is; -1: on none. */
static int level_of(int used)
{
	return used < 0 || used >= ODRP_WIRE_SLAB_PAGES ? -1 : used / PER_LEVEL;
}

static int slab_level(const struct odrp_slab *slab)
{
	return READ_ONCE(slab->closing) ? -1 : level_of(READ_ONCE(slab->used));
}

/*
 * Put a slab on the list of its level.  Whoever changes the level calls this afterwards.
 * Several tasks may do so at once: each goes on until what it has written is still right, so
 * the last one leaves the slab on the right list alone.
 */
static void slab_list(struct odrp_places *p, u32 nr)
{
	int level, i;

	do {
		level = slab_level(&p->slab[nr]);
		for (i = 0; i < ODRP_SLAB_LEVELS; i++) {
			if (i == level)
				set_bit(nr, p->room[i]);
			else
				clear_bit(nr, p->room[i]);
		}
		smp_mb__after_atomic();
	} while (slab_level(&p->slab[nr]) != level);
}

/* Count one more place of a slab as taken.  Return: false when the slab has none. */
static bool slab_enter(struct odrp_places *p, u32 nr)
{
	struct odrp_slab *slab = &p->slab[nr];
	int used;

	do {
		used = READ_ONCE(slab->used);
		if (used < 0 || used >= ODRP_WIRE_SLAB_PAGES)
			return false;
	} while (cmpxchg(&slab->used, used, used + 1) != used);
	if (level_of(used) != level_of(used + 1))
		slab_list(p, nr);
	return true;
}

/* Return: a slab as full as any with a free place; p->max: there is none. */
static u32 slab_fullest(const struct odrp_places *p)
{
	u32 nr = p->max;
	int i;

	for (i = ODRP_SLAB_LEVELS; i-- && nr >= p->max; )
		nr = find_first_bit(p->room[i], p->max);
	return nr;
}

/*
 * Find a free place in a slab that has been entered.  There is one at any time: a place is
 * free before it is counted so, and is counted as taken before it is.
 */
static u32 slab_find(struct odrp_places *p, u32 nr)
{
	unsigned long *taken = p->taken + BIT_WORD((u64)nr * ODRP_WIRE_SLAB_PAGES);
	unsigned long bit;

	do {
		bit = find_first_zero_bit(taken, ODRP_WIRE_SLAB_PAGES);
	} while (bit >= ODRP_WIRE_SLAB_PAGES || test_and_set_bit(bit, taken));
	return nr << ODRP_PLACE_SHIFT | bit;
}

/*
 * odrp_place_take_open() - take a free place of a slab that does not close
 *
 * Any context.  A slab that is found and has no place any more leaves the lists when the task
 * that has filled it is so far: until then the search finds it again.
 *
 * Return: ODRP_PLACE_NONE when no such slab has one.
 */
u32 odrp_place_take_open(struct odrp_places *p)
{
	u32 nr = READ_ONCE(p->filling);

	while (READ_ONCE(p->slab[nr].closing) || !slab_enter(p, nr)) {
		nr = slab_fullest(p);
		if (nr >= p->max)
			return ODRP_PLACE_NONE;
		WRITE_ONCE(p->filling, nr);
		slab_list(p, nr);
	}
	return slab_find(p, nr);
}

/*
 * odrp_place_take() - odrp_place_take_open(); if all other slabs are full, of one that closes
 *
 * Return: ODRP_PLACE_NONE when no slab has a free place.
 */
u32 odrp_place_take(struct odrp_places *p)
{
	u32 place = odrp_place_take_open(p), nr;

	if (place != ODRP_PLACE_NONE || !READ_ONCE(p->nr_closing))
		return place;
	for (nr = 0; nr < p->max; nr++)
		if (READ_ONCE(p->slab[nr].closing) && slab_enter(p, nr))
			return slab_find(p, nr);
	return ODRP_PLACE_NONE;
}

/*
 * odrp_place_put() - give a place back that no request names any more
 *
 * Any context.
 */
void odrp_place_put(struct odrp_places *p, u32 place)
{
	u32 nr = place >> ODRP_PLACE_SHIFT;
	struct odrp_slab *slab = &p->slab[nr];
	u32 fullest;
	int used;

	smp_mb__before_atomic();
	clear_bit(place, p->taken);
	do {
		used = READ_ONCE(slab->used);
	} while (cmpxchg(&slab->used, used, used - 1) != used);
	if (level_of(used) == level_of(used - 1))
		return;
	slab_list(p, nr);
	fullest = slab_fullest(p);
	if (fullest < p->max)
		WRITE_ONCE(p->filling, fullest);
}

static void slab_hold(struct odrp_places *p, u32 nr, const struct odrp_wire_slab *w)
{
	struct odrp_slab *slab = &p->slab[nr];

	slab->generation = be16_to_cpu(w->generation);
	slab->closing = false;
	/* Address and key are written before anybody can take a place. */
	smp_wmb();
	WRITE_ONCE(slab->used, 0);
	slab_list(p, nr);
	p->nr_held++;
}

/*
 * odrp_slab_see() - the memory node's table names a slab
 *
 * The device takes the slab for its own, if it has been granted so many.  Of a slab that it
 * holds, address and key may be new; then no connection posts meanwhile.
 *
 * Return: 0; -EPROTO when a slab that the device holds is not there any more.
 */
int odrp_slab_see(struct odrp_places *p, u32 nr, const struct odrp_wire_slab *w)
{
	struct odrp_slab *slab = &p->slab[nr];
	bool there = w->kind == ODRP_WIRE_SLAB_DIRECT;
	bool held = READ_ONCE(slab->used) != ODRP_SLAB_AWAY;

	if (held && (!there || be16_to_cpu(w->generation) != slab->generation))
		return -EPROTO;
	if (!held && (!there || ((u64)p->nr_held + 1) * ODRP_WIRE_SLAB_PAGES > p->granted))
		return 0;
	slab->addr = be64_to_cpu(w->addr);
	slab->rkey = be32_to_cpu(w->rkey);
	if (!held)
		slab_hold(p, nr, w);
	return 0;
}

static void slab_set_closing(struct odrp_places *p, u32 nr, bool closing)
{
	if (p->slab[nr].closing == closing)
		return;
	WRITE_ONCE(p->nr_closing, p->nr_closing + (closing ? 1 : -1));
	WRITE_ONCE(p->slab[nr].closing, closing);
	smp_mb__before_atomic();	/* pairs with slab_list() of who changes the level */
	slab_list(p, nr);
}

/* Give a slab back, if no place of it is taken; nobody can take one afterwards. */
static bool slab_leave(struct odrp_places *p, u32 nr)
{
	if (cmpxchg(&p->slab[nr].used, 0, ODRP_SLAB_AWAY))
		return false;
	slab_set_closing(p, nr, false);
	slab_list(p, nr);
	p->nr_held--;
	p->back--;
	return true;
}

/* Close as many slabs as are too many, the emptiest first, and open the others. */
static void slabs_close(struct odrp_places *p)
{
	u32 left = p->back > p->spare ? p->back : p->spare, nr;
	int level, used;

	if (!left && !p->nr_closing)
		return;
	for (level = 0; level <= ODRP_SLAB_LEVELS; level++) {
		for (nr = p->max; nr--; ) {
			used = READ_ONCE(p->slab[nr].used);
			if (used == ODRP_SLAB_AWAY || used / PER_LEVEL != level)
				continue;
			slab_set_closing(p, nr, left);
			left -= !!left;
		}
	}
}

/*
 * odrp_slabs_give() - give back as many slabs as are to be given back
 *
 * Those without a taken place are given back now.  Of the others, the emptiest come to be
 * empty: stores take no more places there.
 */
void odrp_slabs_give(struct odrp_places *p)
{
	u32 nr;

	for (nr = p->max; nr-- && p->back; )
		slab_leave(p, nr);
	slabs_close(p);
}

/* odrp_slabs_in_use() - how many slabs have a taken place */
u32 odrp_slabs_in_use(const struct odrp_places *p)
{
	u32 nr, n = 0;

	for (nr = 0; nr < p->max; nr++)
		n += READ_ONCE(p->slab[nr].used) > 0;
	return n;
}

/* odrp_slabs_bitmap() - write which slabs the device holds, as the wire has it */
void odrp_slabs_bitmap(const struct odrp_places *p, u8 *bitmap)
{
	u32 nr;

	for (nr = 0; nr < p->max; nr++) {
		u8 bit = 1 << nr % 8;

		if (READ_ONCE(p->slab[nr].used) == ODRP_SLAB_AWAY)
			bitmap[nr / 8] &= ~bit;
		else
			bitmap[nr / 8] |= bit;
	}
}
