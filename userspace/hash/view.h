/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Views: all slots of a subtable at once, for those who walk tables.
 *
 * No key left the subtable by a split while the view was read: it has each key with
 * these bits that was there all the time, and other subtables have none of them.
 * What else happened meanwhile it may show or not. Use it within the epoch in which it
 * was read.
 */
#ifndef FAR_HASH_VIEW_H
#define FAR_HASH_VIEW_H

#include "../form/walk.h"
#include "hash_priv.h"

struct hash_view {
	unsigned shard;
	uint64_t sub;
	unsigned depth;			/* siblings below it are published */
	int moved;			/* frozen words are of keys that siblings have */
	int still;			/* no split is under way: no word can be frozen */
	struct hash_sub head;
	uint64_t noted;			/* head.copy, as the READ before that had it */
	struct hash_bucket bucket[];	/* three for each group */
};

/*
 * Walks go through the space of first hashes, lowest bit first: a subtable of depth d
 * covers a piece of 2^-d of it, whatever was split before or will be later. x, below
 * HASH_WALK_END, is a place in it.
 */
#define HASH_WALK_END	(UINT64_C(1) << 32)

static inline uint64_t hash_walk_step(unsigned depth)
{
	return HASH_WALK_END >> depth;
}

/* The bits of the first hash at that place: those of x in the other order. */
static inline uint32_t hash_walk_bits(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(x);
}

/* A key of a view. block->data has the key, and the value if that was asked for. */
struct hash_seen {
	unsigned slot;			/* its number in the view */
	uint64_t word;
	struct hash_block *block;
	int damaged;			/* the head's lengths are not those of the word */
};

static inline unsigned hash_view_slots(const struct far_hash *hash)
{
	return hash->groups * HASH_GROUP_SLOTS;
}

/*
 * Calls each() with the block of every slot in use; what it returns but 0 ends that
 * and is returned. whole: blocks are READ to their ends, but for damaged ones; else
 * only their heads.
 */
int hash_view_each(struct far_task *task, const struct far_hash *hash,
		   const struct hash_view *view, int whole,
		   int (*each)(void *arg, const struct hash_view *view,
			       const struct hash_seen *seen),
		   void *arg);

/* The same of the slots from that one on. */
int hash_view_each_from(struct far_task *task, const struct far_hash *hash,
			const struct hash_view *view, unsigned slot, int whole,
			int (*each)(void *arg, const struct hash_view *view,
				    const struct hash_seen *seen),
			void *arg);

/* Calls each() with the view that has place x of that shard, in an epoch of its own. */
int hash_view_at(struct far_task *task, struct far_hash *hash, unsigned shard, uint32_t x,
		 int (*each)(void *arg, const struct hash_view *view), void *arg);

/*
 * Calls each() with a view of every subtable, in an epoch of its own, or within that
 * of the caller. A key that is there all the time is in exactly one view; one that is
 * not, at most in one.
 */
int hash_each_view(struct far_task *task, struct far_hash *hash,
		   int (*each)(void *arg, const struct hash_view *view), void *arg);
/* The same in the epochs of a walk, one for each view. The walk is inside of none. */
int hash_walk_views(struct form_walk *walk, struct far_hash *hash,
		    int (*each)(void *arg, const struct hash_view *view), void *arg);

#endif
