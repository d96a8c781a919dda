// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slot states and their transitions.  Each function is one compare-and-swap
 * loop on one byte, so it may be called in any context, with any lock held.
 *
 * On the data path: issue.c begins a request with odrp_slot_begin_*(), done.c ends it
 * with odrp_slot_end().
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include "slot.h"

#define STATE(v)	((v) & ODRP_SLOT_STATE_MASK)
#define UNKNOWN_FREED	(ODRP_SLOT_UNKNOWN | ODRP_SLOT_F_FREED)

static bool owned(u8 v)
{
	switch (STATE(v)) {
	case ODRP_SLOT_LOADING:
	case ODRP_SLOT_STORING:
	case ODRP_SLOT_STORING_NEW:
	case ODRP_SLOT_FREEING:
		return true;
	default:
		return false;
	}
}

/* Of flags an idle slot carries those of its state alone: old is the whole byte. */
static bool slot_take(struct odrp_slots *s, u64 slot, u8 old, u8 new)
{
	return cmpxchg(&s->st[slot], old, new) == old;
}

/*
 * odrp_slot_begin_load() - may the slot be loaded, and how
 *
 * A slot whose free is pending has no contents any more: it reads as zeros
 * from the moment it was freed, whenever the worker gets to it.
 */
enum odrp_slot_act odrp_slot_begin_load(struct odrp_slots *s, u64 slot)
{
	for (;;) {
		u8 v = READ_ONCE(s->st[slot]);

		switch (v) {
		case ODRP_SLOT_EMPTY:
		case ODRP_SLOT_FREE_PENDING:
		case UNKNOWN_FREED:
			return ODRP_SLOT_DO_ZERO;
		case ODRP_SLOT_UNKNOWN:
		case ODRP_SLOT_VOID:
		case ODRP_SLOT_GONE:
			return ODRP_SLOT_DO_FAIL;
		case ODRP_SLOT_MAPPED:
			if (slot_take(s, slot, v, ODRP_SLOT_LOADING))
				return ODRP_SLOT_DO_LOAD;
			break;
		default:
			return ODRP_SLOT_DO_WAIT;
		}
	}
}

/*
 * odrp_slot_begin_store() - may the slot be stored to, and by which chain
 */
enum odrp_slot_act odrp_slot_begin_store(struct odrp_slots *s, u64 slot)
{
	for (;;) {
		u8 v = READ_ONCE(s->st[slot]);

		switch (v) {
		case ODRP_SLOT_EMPTY:
			if (slot_take(s, slot, v, ODRP_SLOT_STORING_NEW))
				return ODRP_SLOT_DO_UNMAPPED;
			break;
		case ODRP_SLOT_MAPPED:
			if (slot_take(s, slot, v, ODRP_SLOT_STORING))
				return ODRP_SLOT_DO_MAPPED;
			break;
		case ODRP_SLOT_FREE_PENDING:
			if (slot_take(s, slot, v,
				      ODRP_SLOT_STORING | ODRP_SLOT_F_BLANK))
				return ODRP_SLOT_DO_CANCELLED;
			break;
		case ODRP_SLOT_VOID:
			if (slot_take(s, slot, v,
				      ODRP_SLOT_STORING | ODRP_SLOT_F_VOID))
				return ODRP_SLOT_DO_MAPPED;
			break;
		case ODRP_SLOT_GONE:
			if (slot_take(s, slot, v,
				      ODRP_SLOT_STORING_NEW | ODRP_SLOT_F_VOID))
				return ODRP_SLOT_DO_UNMAPPED;
			break;
		case ODRP_SLOT_UNKNOWN:
		case UNKNOWN_FREED:
			return ODRP_SLOT_DO_FAIL;
		default:
			return ODRP_SLOT_DO_WAIT;
		}
	}
}

/*
 * odrp_slot_begin_local() - take a slot for a load or store elsewhere
 *
 * Return: as the others, where ODRP_SLOT_DO_CANCELLED is a store as well, and
 * ODRP_SLOT_DO_FAIL never comes.
 */
enum odrp_slot_act odrp_slot_begin_local(struct odrp_slots *s, u64 slot,
					 bool store)
{
	u8 new = store ? ODRP_SLOT_STORING : ODRP_SLOT_LOADING;

	for (;;) {
		u8 v = READ_ONCE(s->st[slot]);

		if (owned(v))
			return ODRP_SLOT_DO_WAIT;
		if (!store && (v == ODRP_SLOT_EMPTY || v == UNKNOWN_FREED ||
			       v == ODRP_SLOT_FREE_PENDING))
			return ODRP_SLOT_DO_ZERO;
		if (slot_take(s, slot, v, new))
			return v == ODRP_SLOT_FREE_PENDING ?
				ODRP_SLOT_DO_CANCELLED : ODRP_SLOT_DO_LOCAL;
	}
}

/*
 * odrp_slot_begin_free() - take a slot to send its invalidate
 *
 * Return: false when there is nothing to free (any more): the free was
 * cancelled, or the slot was queued twice.
 */
bool odrp_slot_begin_free(struct odrp_slots *s, u64 slot)
{
	return slot_take(s, slot, ODRP_SLOT_FREE_PENDING, ODRP_SLOT_FREEING);
}

/*
 * odrp_slot_reuse() - store to the page of another slot, which has been freed
 * @slot: the caller's, STORING_NEW; becomes STORING
 * @freed: becomes EMPTY
 * @ret_todo: ODRP_SLOT_END_* bits for @freed
 *
 * Return: false, and nothing has changed, when @freed has nothing to give (any
 * more).
 */
bool odrp_slot_reuse(struct odrp_slots *s, u64 slot, u64 freed,
		     unsigned int *ret_todo)
{
	u32 entry = s->entry[slot];
	u8 v;

	if (!odrp_slot_begin_free(s, freed))
		return false;
	s->entry[slot] = s->entry[freed];
	s->entry[freed] = entry;
	do {
		v = READ_ONCE(s->st[slot]);
	} while (!slot_take(s, slot, v, (v & ~ODRP_SLOT_STATE_MASK) |
					ODRP_SLOT_STORING | ODRP_SLOT_F_BLANK));
	*ret_todo = odrp_slot_end(s, freed, ODRP_SLOT_OK);
	return true;
}

static u8 after(u8 v, enum odrp_slot_result res)
{
	u8 st = STATE(v);

	if (res == ODRP_SLOT_FAILED && st != ODRP_SLOT_LOADING)
		return st == ODRP_SLOT_FREEING || (v & ODRP_SLOT_F_FREED) ?
		       UNKNOWN_FREED : ODRP_SLOT_UNKNOWN;
	if (st == ODRP_SLOT_FREEING)
		return res == ODRP_SLOT_OK ? ODRP_SLOT_EMPTY :
					     ODRP_SLOT_FREE_PENDING;
	if (res != ODRP_SLOT_ABORTED)
		return ODRP_SLOT_MAPPED;
	if (st == ODRP_SLOT_STORING_NEW)
		return (v & ODRP_SLOT_F_VOID) && !(v & ODRP_SLOT_F_FREED) ?
		       ODRP_SLOT_GONE : ODRP_SLOT_EMPTY;
	/* Also to a page that was reused: BLANK, but the slot reads as before. */
	if (v & ODRP_SLOT_F_VOID)
		return ODRP_SLOT_VOID;
	return v & ODRP_SLOT_F_BLANK ? ODRP_SLOT_FREE_PENDING : ODRP_SLOT_MAPPED;
}

/*
 * odrp_slot_end() - give up ownership of a slot
 *
 * Return: ODRP_SLOT_END_* bits.
 */
unsigned int odrp_slot_end(struct odrp_slots *s, u64 slot,
			   enum odrp_slot_result res)
{
	unsigned int todo = 0;
	u8 v, new;

	do {
		v = READ_ONCE(s->st[slot]);
		new = after(v, res);
		if (STATE(new) == ODRP_SLOT_MAPPED && (v & ODRP_SLOT_F_FREED))
			new = ODRP_SLOT_FREE_PENDING;
	} while (!slot_take(s, slot, v, new));

	if (new == ODRP_SLOT_FREE_PENDING)
		todo |= ODRP_SLOT_END_QUEUE;
	if (v & ODRP_SLOT_F_WAITED)
		todo |= ODRP_SLOT_END_WAKE;
	return todo;
}

/*
 * odrp_slot_end_local() - give up ownership: what the memory node holds is not
 * the contents any more
 *
 * Of what was freed, or was being freed, there are none.
 *
 * Return: ODRP_SLOT_END_WAKE or 0.
 */
unsigned int odrp_slot_end_local(struct odrp_slots *s, u64 slot)
{
	u8 v, new;

	do {
		v = READ_ONCE(s->st[slot]);
		new = ODRP_SLOT_UNKNOWN;
		if (STATE(v) == ODRP_SLOT_FREEING || (v & ODRP_SLOT_F_FREED))
			new = ODRP_SLOT_EMPTY;
	} while (!slot_take(s, slot, v, new));
	return v & ODRP_SLOT_F_WAITED ? ODRP_SLOT_END_WAKE : 0;
}

/*
 * odrp_slot_begin_look() - take a slot that is UNKNOWN, to read its entry
 *
 * Return: false when it is not.
 */
bool odrp_slot_begin_look(struct odrp_slots *s, u64 slot)
{
	/* Of a whole device few are: none is written to for that. */
	if (STATE(READ_ONCE(s->st[slot])) != ODRP_SLOT_UNKNOWN)
		return false;
	return slot_take(s, slot, ODRP_SLOT_UNKNOWN, ODRP_SLOT_LOADING) ||
	       slot_take(s, slot, UNKNOWN_FREED,
			 ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED);
}

/* Give up a slot that was taken to be looked up: idle states for kept and freed ones. */
static unsigned int end_look(struct odrp_slots *s, u64 slot, u8 kept, u8 freed)
{
	unsigned int todo = 0;
	u8 v, new;

	do {
		v = READ_ONCE(s->st[slot]);
		new = v & ODRP_SLOT_F_FREED ? freed : kept;
	} while (!slot_take(s, slot, v, new));
	if (new == ODRP_SLOT_FREE_PENDING)
		todo |= ODRP_SLOT_END_QUEUE;
	if (v & ODRP_SLOT_F_WAITED)
		todo |= ODRP_SLOT_END_WAKE;
	return todo;
}

/*
 * odrp_slot_end_look() - its entry says whether it has a page
 *
 * Return: ODRP_SLOT_END_* bits.
 */
unsigned int odrp_slot_end_look(struct odrp_slots *s, u64 slot, bool mapped)
{
	if (!mapped)
		return end_look(s, slot, ODRP_SLOT_GONE, ODRP_SLOT_EMPTY);
	return end_look(s, slot, ODRP_SLOT_VOID, ODRP_SLOT_FREE_PENDING);
}

/* odrp_slot_abort_look() - its entry could not be read; as odrp_slot_end_look() */
unsigned int odrp_slot_abort_look(struct odrp_slots *s, u64 slot)
{
	return end_look(s, slot, ODRP_SLOT_UNKNOWN, UNKNOWN_FREED);
}

/*
 * odrp_slot_forget() - as odrp_slot_freed(), for a slot that is UNKNOWN
 *
 * Return: false when it is not.
 */
bool odrp_slot_forget(struct odrp_slots *s, u64 slot)
{
	return slot_take(s, slot, ODRP_SLOT_UNKNOWN, ODRP_SLOT_EMPTY) ||
	       slot_take(s, slot, UNKNOWN_FREED, ODRP_SLOT_EMPTY);
}

/*
 * odrp_slot_freed() - the contents of a slot are not needed any more
 *
 * Return: true when the slot has become FREE_PENDING and its free has to be
 * queued by the caller.  False when there is nothing to free, when it is
 * queued already, or when the owner of the slot will do it.
 */
bool odrp_slot_freed(struct odrp_slots *s, u64 slot)
{
	for (;;) {
		u8 v = READ_ONCE(s->st[slot]);

		switch (STATE(v)) {
		case ODRP_SLOT_MAPPED:
			if (slot_take(s, slot, v, ODRP_SLOT_FREE_PENDING))
				return true;
			break;
		case ODRP_SLOT_LOADING:
		case ODRP_SLOT_STORING:
		case ODRP_SLOT_STORING_NEW:
			if (slot_take(s, slot, v, v | ODRP_SLOT_F_FREED))
				return false;
			break;
		case ODRP_SLOT_EMPTY:
			if (v == ODRP_SLOT_EMPTY ||
			    slot_take(s, slot, v, ODRP_SLOT_EMPTY))
				return false;
			break;
		case ODRP_SLOT_UNKNOWN:	/* whoever looks it up frees it */
			if (slot_take(s, slot, v, UNKNOWN_FREED))
				return false;
			break;
		default:
			return false;
		}
	}
}

/*
 * odrp_slot_holds() - does anybody need its contents?
 *
 * A glance: it may have changed already.
 */
bool odrp_slot_holds(const struct odrp_slots *s, u64 slot)
{
	u8 v = READ_ONCE(s->st[slot]);

	switch (STATE(v)) {
	case ODRP_SLOT_EMPTY:
		return v == ODRP_SLOT_GONE;
	case ODRP_SLOT_FREE_PENDING:
	case ODRP_SLOT_FREEING:
		return false;
	default:
		return !(v & ODRP_SLOT_F_FREED);
	}
}

/*
 * odrp_slot_wait() - ask the owner of a slot for ODRP_SLOT_END_WAKE
 *
 * The caller holds the lock under which the waker looks for waiters, and puts
 * itself among them before dropping it.
 *
 * Return: false when the slot has no owner any more: do not wait, try again.
 */
bool odrp_slot_wait(struct odrp_slots *s, u64 slot)
{
	for (;;) {
		u8 v = READ_ONCE(s->st[slot]);

		if (!owned(v))
			return false;
		if (slot_take(s, slot, v, v | ODRP_SLOT_F_WAITED))
			return true;
	}
}
