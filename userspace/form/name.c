// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Structures by name.
 */
#include "name.h"

#include <string.h>

#include "../core/alloc.h"
#include "../core/epoch.h"

/* A root without its structure is damage while the entry is there; else it was destroyed. */
int form_open(struct far_task *task, const char *name, const struct form_name_ops *ops,
	      struct far_dir_entry *ret_entry, void **ret_handle)
{
	int err;

	do {
		err = far_dir_open(task, name, ops->type->type, ops->type->version, ret_entry);
		if (err)
			return err;
		err = ops->open(task, ret_entry->root, ret_handle);
	} while (err == -EBADMSG && form_entry_is_gone(task, ret_entry));
	return err;
}

/* -EAGAIN: the name has become another structure's. */
static int destroy_once(struct far_task *task, const char *name,
			const struct form_name_ops *ops)
{
	struct form_destroy destroy = { .task = task };
	struct far_dir_entry entry;
	void *handle;
	int err;

	err = form_open(task, name, ops, &entry, &handle);
	if (err)
		return err;
	err = far_epoch_enter(task);
	if (err)
		goto close;
	err = far_dir_remove(task, &entry);
	if (!err && ops->retire(&destroy, handle))
		far_alloc_lost(task);	/* a sweep finds the rest */
	far_epoch_exit(task);
close:
	ops->close(handle);
	return err;
}

int form_destroy(struct far_task *task, const char *name, const struct form_name_ops *ops)
{
	int err;

	do
		err = destroy_once(task, name, ops);
	while (err == -EAGAIN);
	return err;
}

static int create_in_epoch(struct form_create *create)
{
	int err = create->build(create);

	if (!err) {
		err = far_dir_add(create->run.task, &create->entry);
		create->run.unsure = err && far_dir_is_unsure(err);
	}
	if (create->run.unsure)
		far_alloc_lost(create->run.task);	/* perhaps the name is there */
	else if (err)
		create->undo(create);
	return err;
}

static int create_once(struct form_run *run)
{
	struct form_create *create = (struct form_create *)run;
	size_t mark = far_buf_mark(run->task);
	int err = far_epoch_enter(run->task);

	run->unsure = false;
	if (err)
		return err;
	err = create_in_epoch(create);
	far_epoch_exit(run->task);
	far_buf_release(run->task, mark);
	return err;
}

int form_create(struct form_create *create, const char *name)
{
	struct far_dir_entry entry;
	int err = far_dir_find(create->run.task, name, &entry);

	if (!err)
		return -EEXIST;
	if (err != -ENOENT)
		return err;
	memcpy(create->entry.name, name, strlen(name));
	create->run.once = create_once;
	return form_run(&create->run);
}
