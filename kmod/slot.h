/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the memory node holds for each swap slot, and who is working on it.
 *
 * One byte per slot, and the number of its entry.  A slot is either idle
 * (EMPTY, MAPPED, FREE_PENDING, UNKNOWN, VOID, GONE) or owned by exactly one operation in
 * flight (LOADING, STORING, STORING_NEW, FREEING).  Everything that wants an
 * owned slot waits until its owner calls odrp_slot_end(); so no two requests for
 * one slot are ever on the wire together, and each store knows which of the two
 * store chains is right.
 *
 * Cancel on reuse: the kernel's free hook only turns MAPPED into FREE_PENDING.
 * The remote page is given back later, by a worker (-> FREEING -> EMPTY),
 * unless a store comes first and turns the slot back, which saves the
 * invalidate and makes the store a mapped one.
 *
 * Reuse: which entry of the memory node's table is a slot's is ours to say.  So
 * a store to an EMPTY slot may as well take the page of any slot that is
 * FREE_PENDING: the two exchange their entries, the other is EMPTY, and nothing
 * has to be sent but the page.  entry[] is a permutation of the slots at all
 * times, and only who owns a slot reads or changes which is its entry.
 *
 * A store or a free that was sent and not answered leaves the slot UNKNOWN: nobody
 * knows whether it has a page.  When the session is resumed its entry is read
 * (lookup.c).  One that has a page is VOID: what is in the page is nobody's, so a load
 * fails, and the next store is a mapped one.  One that has none is GONE: the same, but the
 * next store is an unmapped one.  It is not EMPTY, for that reads as zeros, and whether
 * there was anything to lose only the memory node has said.
 *
 * A memory node that is gone for good can be replaced by another copy
 * (backing.c).  Slots are then taken and given up by the *_local() functions; what
 * the memory node held is no matter any more, and never asked for again.
 *
 * Pure logic without locks: also compiled in user space (tests/unit/kmod).
 */
#ifndef _ODRP_SLOT_H
#define _ODRP_SLOT_H

#include <linux/types.h>

enum odrp_slot_state {
	ODRP_SLOT_EMPTY		= 0,	/* no remote page; reads as zeros */
	ODRP_SLOT_MAPPED	= 1,	/* a remote page holds the contents */
	ODRP_SLOT_FREE_PENDING	= 2,	/* remote page, contents given up */
	ODRP_SLOT_LOADING	= 3,	/* MAPPED, load in flight */
	ODRP_SLOT_STORING	= 4,	/* MAPPED, mapped store in flight */
	ODRP_SLOT_STORING_NEW	= 5,	/* EMPTY, unmapped store in flight */
	ODRP_SLOT_FREEING	= 6,	/* invalidate in flight */
	ODRP_SLOT_UNKNOWN	= 7,	/* a store or invalidate failed */
	ODRP_SLOT_STATE_MASK	= 0x07,
	/* MAPPED, contents lost; idle */
	ODRP_SLOT_VOID		= 0x40 | ODRP_SLOT_MAPPED,
	/* EMPTY, contents lost; idle */
	ODRP_SLOT_GONE		= 0x40 | ODRP_SLOT_EMPTY,
};

/*
 * Set beside an owned state by those who come while it is owned; and beside UNKNOWN: its
 * contents are given up.
 */
#define ODRP_SLOT_F_FREED	0x08u	/* the free hook was called */
#define ODRP_SLOT_F_WAITED	0x10u	/* somebody waits for the end */
/* STORING to a page whose contents had been given up: not to be read. */
#define ODRP_SLOT_F_BLANK	0x20u
/* STORING or STORING_NEW of a slot that was VOID or GONE. */
#define ODRP_SLOT_F_VOID	0x40u

struct odrp_slots {
	u8	*st;
	u32	*entry;	/* of the memory node's table: where the page is */
	u64	nr;
};

/* What the caller of odrp_slot_begin_*() has to do now. */
enum odrp_slot_act {
	ODRP_SLOT_DO_ZERO,	/* nothing stored: answer zeros; slot not owned */
	ODRP_SLOT_DO_LOAD,	/* owned: load */
	ODRP_SLOT_DO_MAPPED,	/* owned: mapped store */
	ODRP_SLOT_DO_UNMAPPED,	/* owned: unmapped store */
	ODRP_SLOT_DO_CANCELLED,	/* owned: mapped store; it saved an invalidate */
	ODRP_SLOT_DO_WAIT,	/* not owned: odrp_slot_wait(), then again */
	ODRP_SLOT_DO_FAIL,	/* not owned: contents unknown, fail */
	ODRP_SLOT_DO_LOCAL,	/* owned: by odrp_slot_begin_local() */
};

enum odrp_slot_result {
	ODRP_SLOT_OK,		/* the memory node answered */
	ODRP_SLOT_ABORTED,	/* never sent: nothing has changed remotely */
	ODRP_SLOT_FAILED,	/* sent, not answered: anything may have happened */
};

/* What the caller of odrp_slot_end() still has to do. */
#define ODRP_SLOT_END_QUEUE	1u	/* slot is FREE_PENDING: queue its free */
#define ODRP_SLOT_END_WAKE	2u	/* resume those who wait for the slot */

enum odrp_slot_act odrp_slot_begin_load(struct odrp_slots *s, u64 slot);
enum odrp_slot_act odrp_slot_begin_store(struct odrp_slots *s, u64 slot);
bool odrp_slot_begin_free(struct odrp_slots *s, u64 slot);
bool odrp_slot_reuse(struct odrp_slots *s, u64 slot, u64 freed,
		     unsigned int *ret_todo);
unsigned int odrp_slot_end(struct odrp_slots *s, u64 slot,
			   enum odrp_slot_result res);
enum odrp_slot_act odrp_slot_begin_local(struct odrp_slots *s, u64 slot,
					 bool store);
unsigned int odrp_slot_end_local(struct odrp_slots *s, u64 slot);
bool odrp_slot_begin_look(struct odrp_slots *s, u64 slot);
unsigned int odrp_slot_end_look(struct odrp_slots *s, u64 slot, bool mapped);
unsigned int odrp_slot_abort_look(struct odrp_slots *s, u64 slot);
bool odrp_slot_forget(struct odrp_slots *s, u64 slot);
bool odrp_slot_freed(struct odrp_slots *s, u64 slot);
bool odrp_slot_holds(const struct odrp_slots *s, u64 slot);
bool odrp_slot_wait(struct odrp_slots *s, u64 slot);

#endif /* _ODRP_SLOT_H */
