// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slot states and their transitions.  Each function changes the byte of a slot by
 * compare-and-swap, so it may be called in any context, with any lock held.
 *
 * On the data path: issue.c begins a request with odrp_slot_begin_*(), done.c ends it
 * with odrp_slot_end().
 */
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

/*
 * odrp_slot_begin_load_any() - odrp_slot_begin_load() for a slot in any state
 *
 * A slot whose free is pending has no contents any more: it reads as zeros from the
 * moment it was freed, whenever the worker sends the invalidate.
 */
enum odrp_slot_act odrp_slot_begin_load_any(struct odrp_slots *s, u64 slot)
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
			if (odrp_slot_swap(s, slot, v, ODRP_SLOT_LOADING))
				return ODRP_SLOT_DO_LOAD;
			break;
		default:
			return ODRP_SLOT_DO_WAIT;
		}
	}
}

/* odrp_slot_begin_store_any() - odrp_slot_begin_store() for a slot in any state */
enum odrp_slot_act odrp_slot_begin_store_any(struct odrp_slots *s, u64 slot)
{
	for (;;) {
		u8 v = READ_ONCE(s->st[slot]);

		switch (v) {
		case ODRP_SLOT_EMPTY:
			if (odrp_slot_swap(s, slot, v, ODRP_SLOT_STORING_NEW))
				return ODRP_SLOT_DO_UNMAPPED;
			break;
		case ODRP_SLOT_MAPPED:
			if (odrp_slot_swap(s, slot, v, ODRP_SLOT_STORING))
				return ODRP_SLOT_DO_MAPPED;
			break;
		case ODRP_SLOT_FREE_PENDING:
			if (odrp_slot_swap(s, slot, v,
				      ODRP_SLOT_STORING | ODRP_SLOT_F_BLANK))
				return ODRP_SLOT_DO_CANCELLED;
			break;
		case ODRP_SLOT_VOID:
			if (odrp_slot_swap(s, slot, v,
				      ODRP_SLOT_STORING | ODRP_SLOT_F_VOID))
				return ODRP_SLOT_DO_MAPPED;
			break;
		case ODRP_SLOT_GONE:
			if (odrp_slot_swap(s, slot, v,
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
 * odrp_slot_begin_local() - take a slot for a load or store on the backing device alone
 *
 * Return: ODRP_SLOT_DO_LOCAL, or _CANCELLED for a store that cancels a pending free; else
 * _ZERO or _WAIT, never _FAIL.
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
		if (odrp_slot_swap(s, slot, v, new))
			return v == ODRP_SLOT_FREE_PENDING ?
				ODRP_SLOT_DO_CANCELLED : ODRP_SLOT_DO_LOCAL;
	}
}

/*
 * odrp_slot_begin_free() - take a slot to send its invalidate
 *
 * Return: false when there is nothing to free: a store has cancelled the free, or the
 * slot was queued twice.
 */
bool odrp_slot_begin_free(struct odrp_slots *s, u64 slot)
{
	return odrp_slot_swap(s, slot, ODRP_SLOT_FREE_PENDING, ODRP_SLOT_FREEING);
}

/* A slot that is STORING_NEW has a page now, whose contents are nobody's. */
static void store_to_blank(struct odrp_slots *s, u64 slot)
{
	u8 v;

	do {
		v = READ_ONCE(s->st[slot]);
	} while (!odrp_slot_swap(s, slot, v, (v & ~ODRP_SLOT_STATE_MASK) |
					ODRP_SLOT_STORING | ODRP_SLOT_F_BLANK));
}

/*
 * odrp_slot_place() - give a slot without a page a free place in a slab
 * @slot: owned by the caller, STORING_NEW; becomes STORING
 */
void odrp_slot_place(struct odrp_slots *s, u64 slot, u32 place)
{
	s->entry[slot] = place;
	store_to_blank(s, slot);
}

/*
 * odrp_slot_reuse() - let a slot take the page of another slot, which has been freed
 * @slot: owned by the caller, STORING_NEW; becomes STORING
 * @freed: FREE_PENDING; becomes EMPTY
 * @ret_todo: ODRP_SLOT_END_* bits for @freed
 *
 * Return: false, and nothing has changed, when @freed is not FREE_PENDING (any more).
 */
bool odrp_slot_reuse(struct odrp_slots *s, u64 slot, u64 freed,
		     unsigned int *ret_todo)
{
	u32 entry = s->entry[slot];

	if (!odrp_slot_begin_free(s, freed))
		return false;
	s->entry[slot] = s->entry[freed];
	s->entry[freed] = entry;
	store_to_blank(s, slot);
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
	/* Also if the store took a reused page (BLANK): loads of the slot fail as before. */
	if (v & ODRP_SLOT_F_VOID)
		return ODRP_SLOT_VOID;
	return v & ODRP_SLOT_F_BLANK ? ODRP_SLOT_FREE_PENDING : ODRP_SLOT_MAPPED;
}

/* odrp_slot_end_any() - odrp_slot_end() for a slot in any state, and any result */
unsigned int odrp_slot_end_any(struct odrp_slots *s, u64 slot,
			       enum odrp_slot_result res)
{
	unsigned int todo = 0;
	u8 v, new;

	do {
		v = READ_ONCE(s->st[slot]);
		new = after(v, res);
		if (STATE(new) == ODRP_SLOT_MAPPED && (v & ODRP_SLOT_F_FREED))
			new = ODRP_SLOT_FREE_PENDING;
	} while (!odrp_slot_swap(s, slot, v, new));

	if (new == ODRP_SLOT_FREE_PENDING)
		todo |= ODRP_SLOT_END_QUEUE;
	if (v & ODRP_SLOT_F_WAITED)
		todo |= ODRP_SLOT_END_WAKE;
	return todo;
}

/*
 * odrp_slot_end_local() - give up ownership; the memory node's page is not valid any more
 *
 * A slot that was freed, or was being freed, becomes EMPTY; every other one UNKNOWN.
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
	} while (!odrp_slot_swap(s, slot, v, new));
	return v & ODRP_SLOT_F_WAITED ? ODRP_SLOT_END_WAKE : 0;
}

/*
 * odrp_slot_begin_look() - take a slot that is UNKNOWN, to read its table entry
 *
 * Return: false when the slot is not UNKNOWN.
 */
bool odrp_slot_begin_look(struct odrp_slots *s, u64 slot)
{
	/* Few slots of a device are UNKNOWN: do not write to the bytes of the others. */
	if (STATE(READ_ONCE(s->st[slot])) != ODRP_SLOT_UNKNOWN)
		return false;
	return odrp_slot_swap(s, slot, ODRP_SLOT_UNKNOWN, ODRP_SLOT_LOADING) ||
	       odrp_slot_swap(s, slot, UNKNOWN_FREED,
			 ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED);
}

/*
 * Gives up a slot that odrp_slot_begin_look() took.
 * @kept: its new state if its contents are needed
 * @freed: its new state if it has been freed
 */
static unsigned int end_look(struct odrp_slots *s, u64 slot, u8 kept, u8 freed)
{
	unsigned int todo = 0;
	u8 v, new;

	do {
		v = READ_ONCE(s->st[slot]);
		new = v & ODRP_SLOT_F_FREED ? freed : kept;
	} while (!odrp_slot_swap(s, slot, v, new));
	if (new == ODRP_SLOT_FREE_PENDING)
		todo |= ODRP_SLOT_END_QUEUE;
	if (v & ODRP_SLOT_F_WAITED)
		todo |= ODRP_SLOT_END_WAKE;
	return todo;
}

/*
 * odrp_slot_end_look() - give up a slot after its table entry has been read
 * @mapped: the entry has a page
 *
 * Return: ODRP_SLOT_END_* bits.
 */
unsigned int odrp_slot_end_look(struct odrp_slots *s, u64 slot, bool mapped)
{
	if (!mapped)
		return end_look(s, slot, ODRP_SLOT_GONE, ODRP_SLOT_EMPTY);
	return end_look(s, slot, ODRP_SLOT_VOID, ODRP_SLOT_FREE_PENDING);
}

/*
 * odrp_slot_abort_look() - give up a slot whose table entry could not be read
 *
 * Return: ODRP_SLOT_END_WAKE or 0.
 */
unsigned int odrp_slot_abort_look(struct odrp_slots *s, u64 slot)
{
	return end_look(s, slot, ODRP_SLOT_UNKNOWN, UNKNOWN_FREED);
}

/*
 * odrp_slot_forget() - make a slot that is UNKNOWN EMPTY: its contents are not needed
 *
 * Return: false when the slot is not UNKNOWN.
 */
bool odrp_slot_forget(struct odrp_slots *s, u64 slot)
{
	return odrp_slot_swap(s, slot, ODRP_SLOT_UNKNOWN, ODRP_SLOT_EMPTY) ||
	       odrp_slot_swap(s, slot, UNKNOWN_FREED, ODRP_SLOT_EMPTY);
}

/*
 * odrp_slot_freed() - the contents of a slot are not needed any more
 *
 * Return: true when the slot has become FREE_PENDING: the caller queues its free.  False
 * when there is nothing to free, when the free is queued already, or when the owner of
 * the slot will queue it.
 */
bool odrp_slot_freed(struct odrp_slots *s, u64 slot)
{
	for (;;) {
		u8 v = READ_ONCE(s->st[slot]);

		switch (STATE(v)) {
		case ODRP_SLOT_MAPPED:
			if (odrp_slot_swap(s, slot, v, ODRP_SLOT_FREE_PENDING))
				return true;
			break;
		case ODRP_SLOT_LOADING:
		case ODRP_SLOT_STORING:
		case ODRP_SLOT_STORING_NEW:
			if (odrp_slot_swap(s, slot, v, v | ODRP_SLOT_F_FREED))
				return false;
			break;
		case ODRP_SLOT_EMPTY:
			if (v == ODRP_SLOT_EMPTY ||
			    odrp_slot_swap(s, slot, v, ODRP_SLOT_EMPTY))
				return false;
			break;
		case ODRP_SLOT_UNKNOWN:	/* odrp_slot_end_look() frees it */
			if (odrp_slot_swap(s, slot, v, UNKNOWN_FREED))
				return false;
			break;
		default:
			return false;
		}
	}
}

/*
 * odrp_slot_holds() - does anybody need the contents of a slot?
 *
 * The slot may have changed when this returns, unless the caller owns it.
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
 * The caller holds the lock under which the owner looks for waiters, and adds itself to
 * the waiters before it drops the lock.
 *
 * Return: false when the slot has no owner any more: do not wait, try again.
 */
bool odrp_slot_wait(struct odrp_slots *s, u64 slot)
{
	for (;;) {
		u8 v = READ_ONCE(s->st[slot]);

		if (!owned(v))
			return false;
		if (odrp_slot_swap(s, slot, v, v | ODRP_SLOT_F_WAITED))
			return true;
	}
}
