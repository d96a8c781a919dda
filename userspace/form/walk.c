// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walks in steps, each in an epoch of its own.
 */
#include "walk.h"

#include <errno.h>

#include "../core/client.h"
#include "../core/epoch.h"

/* 1: the name has got another entry, or none, since this one was found. */
static int entry_look(struct far_task *task, const struct far_dir_entry *entry)
{
	struct far_dir_entry now;
	int err = far_dir_find(task, entry->name, &now);

	if (err)
		return err == -ENOENT ? 1 : err;
	return now.state != entry->state;
}

bool form_entry_is_gone(struct far_task *task, const struct far_dir_entry *entry)
{
	return entry_look(task, entry) == 1;
}

int form_walk_enter(struct form_walk *walk)
{
	int err = far_epoch_enter(walk->task);

	if (err)
		return err;
	walk->inside = true;
	walk->trips = 0;
	err = walk->entry ? entry_look(walk->task, walk->entry) : 0;
	walk->gone = err == 1;
	return walk->gone ? -ECANCELED : err;
}

int form_walk_leave(struct form_walk *walk, int err)
{
	if (walk->inside)
		far_epoch_exit(walk->task);
	walk->inside = false;
	return walk->gone ? 0 : err;
}

int form_walk_next(struct form_walk *walk)
{
	form_walk_leave(walk, 0);
	far_sweep_pause(walk->task);
	return form_walk_enter(walk);
}

int form_destroy_block(struct form_destroy *destroy, uint64_t addr, uint64_t size)
{
	if (destroy->blocks == FORM_DESTROY_BLOCKS)
		return -EFBIG;
	destroy->blocks++;
	return far_retire(destroy->task, addr, size);
}
