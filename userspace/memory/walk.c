// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walks over a memory: for those who collect memory of dead clients, for those who check,
 * and for far_memory_each().
 *
 * The place of a walk between two epochs is a table. It stays one while the name is there,
 * which each new epoch looks for, or the caller's handle says so.
 */
#include "memory_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "../core/deadline.h"
#include "../core/task.h"
#include "type.h"

/* Heads of all blocks of a table, and which slots have them. */
struct heads {
	struct memory_table *table;
	struct memory_head *head;	/* MEMORY_SLOTS */
	unsigned slot[MEMORY_SLOTS];
	unsigned nr;
};

static int heads_read(struct far_task *task, struct heads *heads)
{
	heads->nr = 0;
	for (unsigned i = 0; i < MEMORY_SLOTS; i++) {
		uint64_t word = heads->table->slot[i];

		if (!word)
			continue;
		heads->slot[heads->nr] = i;
		far_read(task, memory_word_head(word), &heads->head[heads->nr++],
			 sizeof(heads->head[0]));
	}
	return heads->nr ? far_sync(task) : 0;
}

static int view_blocks(struct memory_view *view, struct heads *heads)
{
	int err = heads_read(view->walk.task, heads);

	/* an address that cannot be */
	if (err == -EFAULT || err == -EINVAL)
		err = -EBADMSG;
	for (unsigned i = 0; i < heads->nr && !err; i++) {
		uint64_t word = heads->table->slot[heads->slot[i]];

		if (memory_head_is_good(&heads->head[i], view->memory->root, word))
			err = view->block(view, memory_word_head(word), &heads->head[i]);
		else if (view->problem)
			view->problem(view, memory_word_head(word));
		else
			err = -EBADMSG;
	}
	return err;
}

static int view_table(struct memory_view *view, uint64_t addr, uint64_t index,
		      struct heads *heads)
{
	int err;

	far_op_renew(view->walk.task);
	far_read(view->walk.task, addr, heads->table, sizeof(*heads->table));
	err = far_sync(view->walk.task);
	if (err == -EFAULT)
		err = -EBADMSG;
	if (!err && !memory_table_is_good(heads->table, view->memory->root, index))
		err = -EBADMSG;
	if (!err)
		err = view_blocks(view, heads);
	return !err && view->table ? view->table(view, addr) : err;
}

int memory_view(struct memory_view *view)
{
	struct far_task *task = view->walk.task;
	size_t mark = far_buf_mark(task);
	struct heads heads = {
		.table = far_buf(task, sizeof(*heads.table)),
		.head = far_buf(task, MEMORY_SLOTS * sizeof(*heads.head)),
	};
	uint64_t addr = memory_table_addr(view->memory, 0), index = 0;
	int err = heads.table && heads.head ? 0 : -ENOMEM;

	while (!err && addr != FAR_NIL) {
		err = view_table(view, addr, index++, &heads);
		addr = heads.table->next;
		if (!err && addr != FAR_NIL && !view->walk.one_epoch)
			err = form_walk_next(&view->walk);
		if (index > MEMORY_MAX_TABLES)
			err = -EBADMSG;
	}
	far_buf_release(task, mark);
	return err;
}

/* ---- for sweeps and checks ---- */

struct walk {
	struct memory_view view;
	struct far_walk *walk;
	const char *name;
};

static int walk_table(struct memory_view *view, uint64_t addr)
{
	struct far_walk *walk = ((struct walk *)view)->walk;

	return walk->block(walk, addr, sizeof(struct memory_table));
}

static int walk_block(struct memory_view *view, uint64_t addr, const struct memory_head *head)
{
	struct far_walk *walk = ((struct walk *)view)->walk;

	return walk->block(walk, addr, sizeof(*head) + head->size);
}

static void walk_problem(struct memory_view *view, uint64_t addr)
{
	struct walk *walk = (struct walk *)view;
	char text[192];

	snprintf(text, sizeof(text), "memory \"%.31s\", block %#" PRIx64 ": its head is damaged",
		 walk->name, addr);
	walk->walk->problem(walk->walk, text);
}

static int memory_walk(struct far_task *task, const struct far_dir_entry *entry,
		       struct far_walk *far_walk)
{
	struct walk walk = {
		.view = {
			.walk = { .task = task, .entry = entry },
			.table = walk_table, .block = walk_block,
			.problem = far_walk->problem ? walk_problem : NULL,
		},
		.walk = far_walk, .name = entry->name,
	};
	struct far_memory *memory = NULL;
	int ret = form_walk_enter(&walk.view.walk);

	if (!ret)
		ret = memory_open_root(task, entry->root, &memory);
	if (!ret)
		ret = far_walk->block(far_walk, entry->root, sizeof(struct memory_root));
	walk.view.memory = memory;
	if (!ret)
		ret = memory_view(&walk.view);
	far_memory_close(memory);
	return form_walk_leave(&walk.view.walk, ret);
}

const struct far_type far_memory_type = {
	.type = FAR_TYPE_MEMORY,
	.version = MEMORY_VERSION,
	.name = "memory",
	.walk = memory_walk,
};

/* ---- for programs ---- */

struct each {
	struct memory_view view;
	int (*each)(void *arg, uint64_t addr, uint64_t size);
	void *arg;
};

static int each_block(struct memory_view *view, uint64_t addr, const struct memory_head *head)
{
	struct each *each = (struct each *)view;
	int ret = each->each(each->arg, addr + sizeof(*head), head->size);

	far_op_renew(view->walk.task);
	return ret;
}

int far_memory_each(struct far_task *task, struct far_memory *memory,
		    int (*each)(void *arg, uint64_t addr, uint64_t size), void *arg)
{
	struct each mine = {
		.view = {
			.walk = { .task = task }, .memory = memory, .block = each_block,
		},
		.each = each, .arg = arg,
	};
	int ret = far_op_begin(task);

	if (ret)
		return ret;
	ret = form_walk_enter(&mine.view.walk);
	if (!ret)
		ret = memory_view(&mine.view);
	ret = form_walk_leave(&mine.view.walk, ret);
	far_op_end(task);
	return ret;
}
