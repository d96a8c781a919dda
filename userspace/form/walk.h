/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks over all of a structure, in steps.
 *
 * Nobody's memory is reclaimed while a task stays in an epoch. So a walk leaves its epoch
 * after some round trips, enters a new one, and finds its place again from the root. The
 * place is what never changes of a block while it is reachable: the first bits of a
 * subtable, the low fence of a node, the bytes that all keys below a node have. It is
 * never an address: that may be another block's by then.
 *
 * Why a sweep may rely on a walk of many epochs: it frees only blocks that were in no
 * place when it began and that no walk has met. Blocks that are published later are none
 * of these. A block that stays reachable keeps its place, so the walk meets it when it
 * comes to that place, whatever leads there by then. And who unlinks a block retires it
 * in the same epoch, for which the sweep waits.
 *
 * The root of a structure is reachable while the directory of the space names it. Each
 * new epoch of a walk looks there first: what the structure's root leads to after that
 * stays until the epoch is left, also if somebody destroys the structure meanwhile.
 */
#ifndef FAR_FORM_WALK_H
#define FAR_FORM_WALK_H

#include <stdbool.h>

#include <far/far.h>

#include "../core/dir.h"

#define FORM_WALK_TRIPS		64u	/* round trips in one epoch, about */
#define FORM_DESTROY_BLOCKS	4096u	/* that a destroy retires, in its one epoch */

struct form_walk {
	struct far_task *task;
	/* The structure's; NULL: the caller's handle says that the structure is there. */
	const struct far_dir_entry *entry;
	bool one_epoch;		/* the caller's own, which never changes */
	bool inside;		/* of an epoch that form_walk_enter() has entered */
	bool gone;		/* the directory names the structure no more */
	unsigned trips;		/* in this epoch */
};

/* Enters an epoch. -ECANCELED: the structure is gone; errors of far_epoch_enter(). */
int form_walk_enter(struct form_walk *walk);
/* Leaves the epoch, if there is one. Returns err; or 0 if the structure is gone. */
int form_walk_leave(struct form_walk *walk, int err);
/* The next epoch. The caller finds its place again, whose address it has forgotten. */
int form_walk_next(struct form_walk *walk);

/* One round trip more: whether the epoch has had enough of them. */
static inline bool form_walk_due(struct form_walk *walk)
{
	return ++walk->trips > FORM_WALK_TRIPS && !walk->one_epoch;
}

/*
 * Giving back the blocks of a structure that no name leads to any more. That is done in the
 * epoch in which the name was removed: until that ends no sweep takes the blocks for lost,
 * and no sweep can tell afterwards which of them were retired. Hence it cannot be split,
 * and retires a limited number of blocks. A sweep frees the rest: nothing leads to it.
 */
struct form_destroy {
	struct far_task *task;
	unsigned blocks;
};

/* Retires one. -EFBIG: there were enough; the caller tells far_alloc_lost(). */
int form_destroy_block(struct form_destroy *destroy, uint64_t addr, uint64_t size);

/* Whether the name has got another entry, or none, since this one was found. */
bool form_entry_is_gone(struct far_task *task, const struct far_dir_entry *entry);

#endif
