/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trees as wholes: made, opened by name, closed, deleted. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "../core/alloc.h"
#include "../core/core.h"
#include "../core/dir.h"
#include "../core/epoch.h"
#include "../form/run.h"

static const struct art_variant_ops art_ours;

#define COMBINE_KEYS	65536u	/* words of 8 bytes; many times as many as are under way */

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
	unsigned without = art->far->without;
	int err = 0;

	if (!(without & FAR_WITHOUT_COMBINE))
		err = far_combine_new(COMBINE_KEYS, &art->combine);
	if (!err && !(without & FAR_WITHOUT_CACHE))
		err = art_cache_new(art->far->cache_bytes, &art->cache);
	return err;
}

/* A root that is not one while the entry is there is damage. */
static int open_by_name(struct far_task *task, const char *name,
			struct far_dir_entry *entry, struct far_art **ret_art)
{
	int err;

	do {
		err = far_dir_open(task, name, FAR_TYPE_ART, ART_VERSION, entry);
		if (err)
			return err;
		err = art_open_root(task, entry->root, ret_art);
	} while (err == -EBADMSG && form_entry_is_gone(task, entry));
	return err;
}

int far_art_open(struct far_task *task, const char *name, struct far_art **ret_art)
{
	struct far_dir_entry entry;
	struct far_art *art;
	int err;

	err = open_by_name(task, name, &entry, &art);
	if (err)
		return err;
	err = art_equip(art);
	if (err) {
		far_art_close(art);
		return err;
	}
	*ret_art = art;
	return 0;
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

static int create_in_epoch(struct far_task *task, const char *name)
{
	struct far_dir_entry entry = { .type = FAR_TYPE_ART, .version = ART_VERSION };
	size_t len = strnlen(name, FAR_NAME_LEN);
	int err;

	if (len >= FAR_NAME_LEN)
		return -EINVAL;
	memcpy(entry.name, name, len);
	err = far_alloc(task, 0, ART_ROOT_LEN, &entry.root);
	if (err)
		return err;
	err = create_write(task, entry.root);
	if (err) {
		far_free(task, entry.root, ART_ROOT_LEN);
		return err;
	}
	err = far_dir_add(task, &entry);
	if (err && !far_dir_is_unsure(err))
		far_free(task, entry.root, ART_ROOT_LEN);
	else if (err)
		far_alloc_lost(task);	/* perhaps the name is there */
	return err;
}

struct creation {
	struct form_run run;
	const char *name;
};

static int run_once(struct form_run *run)
{
	int err = far_epoch_enter(run->task);

	if (err)
		return err;
	run->unsure = true;	/* perhaps the name is there */
	err = create_in_epoch(run->task, ((const struct creation *)run)->name);
	far_epoch_exit(run->task);
	return err;
}

int far_art_create(struct far_task *task, const char *name, struct far_art **ret_art)
{
	struct far_dir_entry entry;
	int err;

	err = far_dir_find(task, name, &entry);
	if (!err)
		return -EEXIST;
	if (err != -ENOENT)
		return err;
	err = form_run(&(struct creation){ { task, run_once, false }, name }.run);
	return err ? err : far_art_open(task, name, ret_art);
}

static int destroy_block(void *arg, const struct art_item *item)
{
	return form_destroy_block(arg, item->addr, item->len);
}

/* -EAGAIN: the name has become another tree's. */
static int destroy_once(struct far_task *task, const char *name)
{
	struct form_destroy destroy = { .task = task };
	struct art_view view = {
		.walk = { .task = task, .one_epoch = true },
		.block = destroy_block, .arg = &destroy,
	};
	struct far_dir_entry entry;
	int err;

	err = open_by_name(task, name, &entry, &view.art);
	if (err)
		return err;
	err = far_epoch_enter(task);
	if (err)
		goto close;
	err = far_dir_remove(task, &entry);
	if (!err && art_view(&view))
		far_alloc_lost(task);	/* a sweep finds the rest */
	far_epoch_exit(task);
close:
	far_art_close(view.art);
	return err;
}

int far_art_destroy(struct far_task *task, const char *name)
{
	int err;

	do
		err = destroy_once(task, name);
	while (err == -EAGAIN);
	return err;
}
