// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memories as wholes: made, opened by name, closed, deleted. */
#include "memory_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/epoch.h"
#include "../form/name.h"
#include "type.h"

void far_memory_close(struct far_memory *memory)
{
	if (!memory)
		return;
	for (unsigned k = 0; k < MEMORY_RUNS; k++)
		free(atomic_load(&memory->run[k]));
	free(memory);
}

uint64_t far_memory_words(const struct far_memory *memory)
{
	return memory->root + offsetof(struct memory_root, words);
}

struct create {
	struct form_create form;
	uint64_t table;
};

static int create_write(struct far_task *task, uint64_t root_addr, uint64_t table_addr)
{
	struct memory_root *root = far_buf(task, sizeof(*root));
	struct memory_table *table = far_buf(task, sizeof(*table));

	if (!root || !table)
		return -ENOMEM;
	memset(table, 0, sizeof(*table));
	table->magic = MEMORY_TABLE_MAGIC;
	table->root = root_addr;
	*root = (struct memory_root) {
		.magic = MEMORY_MAGIC, .version = MEMORY_VERSION, .table = table_addr,
	};
	root->sum = memory_root_sum(root, root_addr);
	far_write(task, table_addr, table, sizeof(*table));
	far_write(task, root_addr, root, sizeof(*root));
	return far_sync(task);
}

static int create_build(struct form_create *form)
{
	struct create *create = (struct create *)form;
	struct far_task *task = form->run.task;
	int err = far_block_alloc(task, 0, sizeof(struct memory_table), &create->table);

	if (!err)
		err = far_block_alloc(task, 0, sizeof(struct memory_root), &form->entry.root);
	return err ? err : create_write(task, form->entry.root, create->table);
}

static void create_undo(struct form_create *form)
{
	struct create *create = (struct create *)form;

	if (form->entry.root)
		far_block_free(form->run.task, form->entry.root, sizeof(struct memory_root));
	if (create->table)
		far_block_free(form->run.task, create->table, sizeof(struct memory_table));
	form->entry.root = create->table = FAR_NIL;
}

int far_memory_create(struct far_task *task, const char *name, struct far_memory **ret_memory)
{
	struct create create = {
		.form = {
			.run = { .task = task },
			.entry = { .type = FAR_TYPE_MEMORY, .version = MEMORY_VERSION },
			.build = create_build, .undo = create_undo,
		},
	};
	int err = form_create(&create.form, name);

	return err ? err : far_memory_open(task, name, ret_memory);
}

static int root_read(struct far_task *task, uint64_t addr, uint64_t *ret_table)
{
	size_t mark = far_buf_mark(task);
	struct memory_root *root = far_buf(task, sizeof(*root));
	int err = root ? 0 : -ENOMEM;

	if (!err) {
		far_read(task, addr, root, sizeof(*root));
		err = far_sync(task);
	}
	if (!err && (root->magic != MEMORY_MAGIC || root->sum != memory_root_sum(root, addr)))
		err = -EBADMSG;
	if (!err && root->version != MEMORY_VERSION)
		err = -EPROTONOSUPPORT;
	if (!err)
		*ret_table = root->table;
	far_buf_release(task, mark);
	return err;
}

int memory_open_root(struct far_task *task, uint64_t root, struct far_memory **ret_memory)
{
	struct far_memory *memory;
	uint64_t table;
	int err = root_read(task, root, &table);

	if (err)
		return err;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	memory->root = root;
	err = memory_table_learn(memory, 0, table);
	if (err)
		far_memory_close(memory);
	else
		*ret_memory = memory;
	return err;
}

static int name_open(struct far_task *task, uint64_t root, void **ret_handle)
{
	struct far_memory *memory;
	int err = memory_open_root(task, root, &memory);

	if (!err)
		*ret_handle = memory;
	return err;
}

static void name_close(void *handle)
{
	far_memory_close(handle);
}

struct retire {
	struct memory_view view;
	struct form_destroy *destroy;
};

static int retire_table(struct memory_view *view, uint64_t addr)
{
	return form_destroy_block(((struct retire *)view)->destroy, addr,
				  sizeof(struct memory_table));
}

static int retire_block(struct memory_view *view, uint64_t addr, const struct memory_head *head)
{
	return form_destroy_block(((struct retire *)view)->destroy, addr,
				  sizeof(*head) + head->size);
}

static int name_retire(struct form_destroy *destroy, void *handle)
{
	struct far_memory *memory = handle;
	struct retire retire = {
		.view = {
			.walk = { .task = destroy->task, .one_epoch = true },
			.memory = memory, .table = retire_table, .block = retire_block,
		},
		.destroy = destroy,
	};
	int err = memory_view(&retire.view);

	return err ? err : form_destroy_block(destroy, memory->root,
					      sizeof(struct memory_root));
}

static const struct form_name_ops name_ops = {
	.type = &far_memory_type,
	.open = name_open, .close = name_close, .retire = name_retire,
};

int far_memory_open(struct far_task *task, const char *name, struct far_memory **ret_memory)
{
	struct far_dir_entry entry;
	void *memory;
	int err = form_open(task, name, &name_ops, &entry, &memory);

	if (!err)
		*ret_memory = memory;
	return err;
}

int far_memory_destroy(struct far_task *task, const char *name)
{
	return form_destroy(task, name, &name_ops);
}
