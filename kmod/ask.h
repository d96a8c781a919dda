/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many pages a device asks for (ODRP_WIRE_F_ASKS): those that it uses, and as many more as
 * stores are about to take.
 *
 * At @low unused pages the device asks at once, by heartbeats that follow each other quickly,
 * until there are more.  It asks for @high, and gives back what it has beyond twice as many.
 * Both follow the rate at which the number of used pages grows, so they fall with it.  When
 * the memory node has answered and given no more, or has not answered for seconds, the
 * device is denied: it does not hurry again before it has more, and stores fail at once.
 *
 * Any number of tasks read; one task at a time, that of the heartbeat, changes the rest.
 *
 * Pure logic, also compiled in user space.
 */
#ifndef _ODRP_ASK_H
#define _ODRP_ASK_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* Most quick heartbeats in a row, and ms between two: the memory node answers within 50 ms. */
#define ODRP_ASK_ROUNDS		1000
#define ODRP_ASK_QUICK_MS	10

/* Unused pages of a device that stores nothing; and ms for which stores have pages beyond. */
#define ODRP_ASK_LEAST		64
#define ODRP_ASK_LOW_MS		60
#define ODRP_ASK_HIGH_MS	150

/* Shortest time for which growth is measured, in ms. */
#define ODRP_ASK_SAMPLE_MS	50

/*
 * struct odrp_ask - what the device asks for
 * @rounds:	quick heartbeats that are still to come; 0: the device does not hurry
 * @first:	number of the first of them that was sent, its low bits
 * @denied:	the memory node has given no more when the device hurried last
 * @had:	the limit then, or when the hurry began; the smallest one since
 * @rate:	used pages grow by so many a second
 * @used, @at:	used pages when @rate was measured last, and when, in ms
 * @low, @high:	unused pages, see above
 */
struct odrp_ask {
	atomic_t	rounds;
	u32		first;
	bool		denied;
	u64		had;
	u32		rate;
	u64		used;
	u32		at;
	u32		low, high;
};

/* A rate that grows counts at once; one that falls, by half each second. */
static inline void odrp_ask_measure(struct odrp_ask *a, u64 used, u32 now)
{
	u32 ms = now - a->at, rate;

	if (ms < ODRP_ASK_SAMPLE_MS)
		return;
	rate = used > a->used ? (u32)(used - a->used) * 1000ull / ms : 0;
	if (rate < a->rate)
		rate = a->rate - (u32)((u64)(a->rate - rate) * (ms < 1000 ? ms : 1000) / 2000);
	a->rate = rate;
	a->used = used;
	a->at = now;
	WRITE_ONCE(a->low, ODRP_ASK_LEAST + (u64)rate * ODRP_ASK_LOW_MS / 1000);
	WRITE_ONCE(a->high, 2 * ODRP_ASK_LEAST + (u64)rate * ODRP_ASK_HIGH_MS / 1000);
}

/* Are so few pages unused that the device asks at once?  Not if each slot can have a page. */
static inline bool odrp_ask_is_low(const struct odrp_ask *a, u64 used, u64 limit,
				   u64 nr_slots)
{
	return used + READ_ONCE(a->low) > limit && limit < nr_slots;
}

/* Return: the pages that the device asks for. */
static inline u64 odrp_ask_want(const struct odrp_ask *a, u64 used, u64 limit, u64 nr_slots)
{
	u64 want = used + a->high;

	if (limit > used + a->high / 2 && limit <= used + 2 * a->high)
		want = limit;
	if (want > nr_slots)
		want = nr_slots;
	return want > used ? want : used;
}

/* Return: true for the one caller that has to see to quick heartbeats. */
static inline bool odrp_ask_begin(struct odrp_ask *a)
{
	int none = 0;

	return !atomic_read(&a->rounds) && !READ_ONCE(a->denied) &&
	       atomic_try_cmpxchg(&a->rounds, &none, ODRP_ASK_ROUNDS);
}

/* May a grant come soon? */
static inline bool odrp_ask_hopes(const struct odrp_ask *a)
{
	return atomic_read(&a->rounds) > 0;
}

/* Ends the hurry: it was denied more, or has enough. */
static inline void odrp_ask_end(struct odrp_ask *a, bool denied)
{
	/* In this order: nobody begins again in between. */
	WRITE_ONCE(a->denied, denied);
	atomic_set(&a->rounds, 0);
}

/*
 * A heartbeat has gone, after reading the grant.
 * @nr:		its number, the low bits
 * @granted:	the grant was a new one
 * @heard:	the number of the heartbeat that it answers, the low bits
 *
 * Return: true when those who wait for a page have to look again.
 */
static inline bool odrp_ask_round(struct odrp_ask *a, u64 used, u64 limit, u64 nr_slots,
				  u32 nr, bool granted, u32 heard)
{
	bool low = odrp_ask_is_low(a, used, limit, nr_slots), answered;
	int left = atomic_read(&a->rounds);

	if (!low || limit > a->had)
		WRITE_ONCE(a->denied, false);
	if (limit < a->had)
		a->had = limit;
	if (!left)
		return granted;
	answered = granted && left < ODRP_ASK_ROUNDS && (int)(heard - a->first) >= 0;
	if (low && answered && limit > a->had)
		left = ODRP_ASK_ROUNDS;		/* too few, but more than before: asks on */
	if (left == ODRP_ASK_ROUNDS) {
		a->first = nr;
		a->had = limit;
		answered = false;
	}
	if (low && !answered && left > 1) {
		atomic_set(&a->rounds, left - 1);
	} else {
		a->had = limit;
		odrp_ask_end(a, low);
	}
	return granted || !odrp_ask_hopes(a);
}

#endif /* _ODRP_ASK_H */
