/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trees as wholes: made, opened by name, closed, deleted. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/core.h"
#include "../form/name.h"
#include "type.h"

static const struct art_variant_ops art_ours;

void far_art_close(struct far_art *art)
{
	if (!art)
		return;
	art_cache_free(art->cache);
	far_combine_free(art->combine);
	free(art);
}

static int root_read(struct far_task *task, uint64_t addr)
{
	size_t mark = far_buf_mark(task);
	struct art_root *root = far_buf(task, sizeof(*root));
	int err;

	if (!root)
		return -ENOMEM;
	far_read(task, addr, root, sizeof(*root));
	err = far_sync(task);
	if (!err && (root->magic != ART_MAGIC || root->sum != art_root_sum(root, addr)))
		err = -EBADMSG;
	if (!err && root->version != ART_VERSION)
		err = -EPROTONOSUPPORT;
	far_buf_release(task, mark);
	return art_far_err(err);
}

int art_open_root(struct far_task *task, uint64_t addr, struct far_art **ret_art)
{
	struct far_art *art;
	int err;

	err = root_read(task, addr);
	if (err)
		return err;
	art = calloc(1, sizeof(*art));
	if (!art)
		return -ENOMEM;
	art->far = far_task_far(task);
	art->root = addr;
	art->nr_nodes = art->far->nr_nodes;
	art->variant = &art_ours;
	*ret_art = art;
	return 0;
}

/* For handles of programs: what a walk has no use of. */
static int art_equip(struct far_art *art)
{
	int err = form_combine_new(art->far, &art->combine);

	if (!err && !(art->far->without & FAR_WITHOUT_CACHE))
		err = art_cache_new(art->far->cache_bytes, &art->cache);
	return err;
}

static int name_open(struct far_task *task, uint64_t root, void **ret_handle)
{
	struct far_art *art;
	int err = art_open_root(task, root, &art);

	if (!err)
		*ret_handle = art;
	return err;
}

static void name_close(void *handle)
{
	far_art_close(handle);
}

static int retire_block(void *arg, const struct art_item *item)
{
	return form_destroy_block(arg, item->addr, item->len);
}

static int name_retire(struct form_destroy *destroy, void *handle)
{
	struct art_view view = {
		.walk = { .task = destroy->task, .one_epoch = true },
		.art = handle, .block = retire_block, .arg = destroy,
	};

	return art_view(&view);
}

static const struct form_name_ops name_ops = {
	.type = &far_art_type,
	.open = name_open, .close = name_close, .retire = name_retire,
};

int far_art_open(struct far_task *task, const char *name, struct far_art **ret_art)
{
	struct far_dir_entry entry;
	void *art;
	int err;

	err = form_open(task, name, &name_ops, &entry, &art);
	if (err)
		return err;
	err = art_equip(art);
	if (err)
		far_art_close(art);
	else
		*ret_art = art;
	return err;
}

static int create_write(struct far_task *task, uint64_t addr)
{
	size_t mark = far_buf_mark(task);
	struct art_root *root = far_buf(task, ART_ROOT_LEN);
	int err;

	if (!root)
		return -ENOMEM;
	*root = (struct art_root) { .magic = ART_MAGIC, .version = ART_VERSION };
	root->sum = art_root_sum(root, addr);
	art_node_init((void *)((uint8_t *)root + ART_ROOT_NODE),
		      art_seed(addr, addr + ART_ROOT_NODE), 0, ART_TYPES - 1, 0,
		      art_birth(task));
	far_write(task, addr, root, ART_ROOT_LEN);
	err = far_sync(task);
	far_buf_release(task, mark);
	return err;
}

static int create_build(struct form_create *create)
{
	int err = far_block_alloc(create->run.task, 0, ART_ROOT_LEN, &create->entry.root);

	return err ? err : create_write(create->run.task, create->entry.root);
}

static void create_undo(struct form_create *create)
{
	if (create->entry.root)
		far_block_free(create->run.task, create->entry.root, ART_ROOT_LEN);
	create->entry.root = FAR_NIL;
}

int far_art_create(struct far_task *task, const char *name, struct far_art **ret_art)
{
	struct form_create create = {
		.run = { .task = task },
		.entry = { .type = FAR_TYPE_ART, .version = ART_VERSION },
		.build = create_build, .undo = create_undo,
	};
	int err = form_create(&create, name);

	return err ? err : far_art_open(task, name, ret_art);
}

int far_art_destroy(struct far_task *task, const char *name)
{
	return form_destroy(task, name, &name_ops);
}
