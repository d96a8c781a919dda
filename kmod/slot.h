/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of each swap slot: what the memory node holds for it, and which operation
 * owns the slot.
 *
 * There is one byte per slot, and the number of its entry.  A slot is either idle
 * (EMPTY, MAPPED, FREE_PENDING, UNKNOWN, VOID, GONE) or owned by exactly one operation
 * under way (LOADING, STORING, STORING_NEW, FREEING).  Everything else that wants an owned
 * slot waits until its owner calls odrp_slot_end().  So two requests for one slot are never
 * under way together, and each store knows which of the two store chains is right.
 *
 * A slot that moves to another place is LOADING (move.c).
 *
 * Cancel on reuse: the kernel's free hook only turns MAPPED into FREE_PENDING.  A worker
 * gives the remote page back later (FREEING, then EMPTY).  If a store comes first, it takes
 * the slot: that saves the invalidate, and the store is a mapped one.
 *
 * Reuse: the compute node decides which entry of the memory node's table belongs to a slot.
 * So a store to an EMPTY slot may take the page of any slot that is FREE_PENDING.  The two
 * slots exchange their entries, the freed slot becomes EMPTY, and nothing is sent but the
 * page.  entry[] is a permutation of the slots at all times.  Only the owner of a slot reads
 * or changes the number of its entry; the mover looks at others as a hint.
 *
 * Direct slabs: there is no table, and entry[] has the place of each slot that has a page,
 * none for an EMPTY one.  All stores are mapped ones: odrp_slot_place() gives an EMPTY slot a
 * place first.  A free is a place that is put back.  When the session is resumed, a slot that
 * is UNKNOWN still has its place, and becomes VOID without being looked up.
 *
 * A store or an invalidate that was sent and not answered leaves the slot UNKNOWN: nobody
 * knows whether the slot has a page.  When the session is resumed, lookup.c reads the entry
 * of the slot.  A slot that has a page becomes VOID: the contents of the page are not valid,
 * so a load fails, and the next store is a mapped one.  A slot that has no page becomes GONE:
 * a load fails as well, and the next store is an unmapped one.  A slot without a page does not
 * become EMPTY, which reads as zeros: only the memory node says that nothing was lost.
 *
 * A backing device can take the place of a memory node that is lost for good (backing.c).
 * Then the *_local() functions take slots and give them up.  What the memory node held does
 * not matter any more, and is never read again.
 *
 * Pure logic without locks: also compiled in user space (tests/unit/kmod).
 */
#ifndef _ODRP_SLOT_H
#define _ODRP_SLOT_H

#include <linux/atomic.h>
#include <linux/compiler.h>
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
 * Flags that others set while a slot is owned.  ODRP_SLOT_F_FREED may also stand beside
 * UNKNOWN: the contents of the slot are not needed.
 */
#define ODRP_SLOT_F_FREED	0x08u	/* the free hook was called */
#define ODRP_SLOT_F_WAITED	0x10u	/* a bio waits for odrp_slot_end() */
/* STORING to a page that was freed: its old contents must not be read. */
#define ODRP_SLOT_F_BLANK	0x20u
/* STORING or STORING_NEW of a slot that was VOID or GONE. */
#define ODRP_SLOT_F_VOID	0x40u

struct odrp_slots {
	u8	*st;
	/* The entry in the memory node's table; with slabs a place (place.h). */
	u32	*entry;
	u64	nr;
};

/* The next step of the caller of odrp_slot_begin_*(). */
enum odrp_slot_act {
	ODRP_SLOT_DO_ZERO,	/* nothing stored: answer zeros; slot not owned */
	ODRP_SLOT_DO_LOAD,	/* owned: load */
	ODRP_SLOT_DO_MAPPED,	/* owned: mapped store */
	ODRP_SLOT_DO_UNMAPPED,	/* owned: unmapped store */
	ODRP_SLOT_DO_CANCELLED,	/* owned: mapped store; it saved an invalidate */
	ODRP_SLOT_DO_PLACED,	/* owned: mapped store to a place that was free */
	ODRP_SLOT_DO_WAIT,	/* not owned: odrp_slot_wait(), then again */
	ODRP_SLOT_DO_FAIL,	/* not owned: contents unknown, fail */
	ODRP_SLOT_DO_LOCAL,	/* owned: load or store on the backing device */
	ODRP_SLOT_DO_MOVE,	/* owned by the mover, LOADING (move.c) */
};

enum odrp_slot_result {
	ODRP_SLOT_OK,		/* the memory node answered */
	ODRP_SLOT_ABORTED,	/* never sent: nothing has changed remotely */
	ODRP_SLOT_FAILED,	/* sent, not answered: anything may have happened */
};

/* Steps that the caller of odrp_slot_end() still has to take. */
#define ODRP_SLOT_END_QUEUE	1u	/* slot is FREE_PENDING: queue its free */
#define ODRP_SLOT_END_WAKE	2u	/* release the bios that wait for the slot */

enum odrp_slot_act odrp_slot_begin_load_any(struct odrp_slots *s, u64 slot);
enum odrp_slot_act odrp_slot_begin_store_any(struct odrp_slots *s, u64 slot);
bool odrp_slot_begin_free(struct odrp_slots *s, u64 slot);
bool odrp_slot_reuse(struct odrp_slots *s, u64 slot, u64 freed,
		     unsigned int *ret_todo);
void odrp_slot_place(struct odrp_slots *s, u64 slot, u32 place);
unsigned int odrp_slot_end_any(struct odrp_slots *s, u64 slot,
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

/*
 * The states that nearly every request meets are tried in line.  Each fast path is one
 * transition of the function that it falls back to, by the same compare-and-swap of the
 * whole byte.  The swap is fully ordered when it succeeds, so the new owner sees all that
 * the last owner has done, and the next owner all that this one has done; when the swap
 * fails, nothing has changed, and the function looks at the byte anew.
 */

/* @old is the whole byte: an idle slot has no flags but those that its state implies. */
static inline bool odrp_slot_swap(struct odrp_slots *s, u64 slot, u8 old, u8 new)
{
	return cmpxchg(&s->st[slot], old, new) == old;
}

/*
 * odrp_slot_begin_load() - take a slot for a load, if it can be loaded
 *
 * Return: ODRP_SLOT_DO_ZERO, _LOAD, _WAIT or _FAIL.
 */
static inline enum odrp_slot_act odrp_slot_begin_load(struct odrp_slots *s,
						      u64 slot)
{
	if (odrp_slot_swap(s, slot, ODRP_SLOT_MAPPED, ODRP_SLOT_LOADING))
		return ODRP_SLOT_DO_LOAD;
	return odrp_slot_begin_load_any(s, slot);
}

/*
 * odrp_slot_begin_store() - take a slot for a store, if it can be stored to
 *
 * Return: by which chain: ODRP_SLOT_DO_MAPPED, _UNMAPPED or _CANCELLED; else _WAIT or
 * _FAIL.
 */
static inline enum odrp_slot_act odrp_slot_begin_store(struct odrp_slots *s,
						       u64 slot)
{
	if (odrp_slot_swap(s, slot, ODRP_SLOT_EMPTY, ODRP_SLOT_STORING_NEW))
		return ODRP_SLOT_DO_UNMAPPED;
	return odrp_slot_begin_store_any(s, slot);
}

/*
 * odrp_slot_end() - give up ownership of a slot
 * @res: how the request for the slot has ended
 *
 * In line: a load or store that was answered, while nobody has set a flag; also a store to
 * a page that was free, which has ODRP_SLOT_F_BLANK from its beginning.
 *
 * Return: ODRP_SLOT_END_* bits.
 */
static inline unsigned int odrp_slot_end(struct odrp_slots *s, u64 slot,
					 enum odrp_slot_result res)
{
	u8 v = READ_ONCE(s->st[slot]), plain = v & ~ODRP_SLOT_F_BLANK;

	if (res == ODRP_SLOT_OK && plain >= ODRP_SLOT_LOADING &&
	    plain <= ODRP_SLOT_STORING_NEW &&
	    odrp_slot_swap(s, slot, v, ODRP_SLOT_MAPPED))
		return 0;
	return odrp_slot_end_any(s, slot, res);
}

#endif /* _ODRP_SLOT_H */
