/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trees as wholes: made, opened by name, closed, deleted. */
#include "priv.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../core/alloc.h"
#include "../core/core.h"
#include "../core/dir.h"
#include "../core/epoch.h"
#include "../form/run.h"
#include "../core/task.h"
#include "levels.h"

#define COMBINE_KEYS	65536u	/* words of 8 bytes; many times as many as are under way */

static uint64_t root_sum(const struct btree_root *root, uint64_t addr)
{
	return XXH3_64bits_withSeed(root, offsetof(struct btree_root, sum), addr);
}

void far_btree_close(struct far_btree *tree)
{
	if (!tree)
		return;
	btree_cache_free(tree->cache);
	far_combine_free(tree->combine);
	free(tree);
}

void btree_set_variant(struct far_btree *tree, unsigned without)
{
	tree->without = without;
	if (without & BTREE_NO_COMBINE) {
		far_combine_free(tree->combine);
		tree->combine = NULL;
	}
}

/* An empty leaf that has all keys. */
static int create_leaf(struct far_task *task, const struct btree_geo *geo, uint64_t addr)
{
	struct btree_op op = { .task = task };
	struct btree_head *leaf = far_buf(task, geo->len);

	if (!leaf)
		return -ENOMEM;
	btree_node_init(geo, leaf, btree_new_version(&op), 0);
	leaf->flags = BTREE_LAST;
	btree_seal(geo, leaf, addr);
	leaf->word = far_lock_word(0, 0, 0, far_lock_checksum(&leaf->sum, geo->len -
						offsetof(struct btree_head, sum)));
	far_write(task, addr, leaf, geo->len);
	return 0;
}

static int create_write(struct far_task *task, const struct btree_root *shape,
			uint64_t root_addr, uint64_t leaf)
{
	struct btree_root *root = far_buf(task, sizeof(*root));
	struct btree_geo geo;
	int err;

	if (!root)
		return -ENOMEM;
	btree_geo_init(&geo, shape->key_size, shape->value_size, shape->leaf_span, BTREE_NEAR);
	geo.tree = root_addr;
	err = create_leaf(task, &geo, leaf);
	if (err)
		return err;
	*root = *shape;
	root->sum = root_sum(root, root_addr);
	root->top = btree_top(leaf, 0);
	far_write(task, root_addr, root, sizeof(*root));
	return far_sync(task);
}

static void entry_fill(struct far_dir_entry *entry, const struct btree_root *shape)
{
	entry->type = FAR_TYPE_BTREE;
	entry->version = BTREE_VERSION;
	entry->param[BTREE_PARAM_KEY] = shape->key_size;
	entry->param[BTREE_PARAM_VALUE] = shape->value_size;
	entry->param[BTREE_PARAM_LEAF_SPAN] = shape->leaf_span;
	entry->param[BTREE_PARAM_INNER_SPAN] = shape->inner_span;
}

static int create_in_epoch(struct far_task *task, const char *name,
			   const struct btree_root *shape)
{
	struct far_dir_entry entry = { 0 };
	size_t len = strnlen(name, FAR_NAME_LEN);
	uint64_t leaf, root;
	struct btree_geo geo;
	int err;

	if (len == FAR_NAME_LEN)
		return -EINVAL;
	btree_geo_init(&geo, shape->key_size, shape->value_size, shape->leaf_span, BTREE_NEAR);
	err = far_alloc(task, 0, geo.size, &leaf);
	if (err)
		return err;
	err = far_alloc(task, 0, sizeof(*shape), &root);
	if (err)
		goto free_leaf;
	err = create_write(task, shape, root, leaf);
	if (err)
		goto free_root;
	memcpy(entry.name, name, len);
	entry_fill(&entry, shape);
	entry.root = root;
	err = far_dir_add(task, &entry);
	if (!err)
		return 0;
	if (far_dir_is_unsure(err)) {
		far_alloc_lost(task);	/* perhaps the name is there */
		return err;
	}
free_root:
	far_free(task, root, sizeof(*shape));
free_leaf:
	far_free(task, leaf, geo.size);
	return err;
}

static bool size_sane(unsigned size)
{
	return size >= BTREE_MIN_SIZE && size <= BTREE_MAX_SIZE;
}

static bool root_sane(const struct btree_root *root)
{
	return size_sane(root->key_size) && size_sane(root->value_size) &&
	       root->leaf_span >= BTREE_MIN_SPAN && root->leaf_span <= BTREE_MAX_SPAN &&
	       root->inner_span >= BTREE_MIN_SPAN && root->inner_span <= BTREE_MAX_SPAN;
}

static int shape_of(const struct far_btree_attr *attr, struct btree_root *ret_shape)
{
	unsigned key = attr && attr->key_size ? attr->key_size : 8;
	unsigned value = attr && attr->value_size ? attr->value_size : 8;
	unsigned span = attr ? attr->span : 0;

	if (!size_sane(key) || !size_sane(value) ||
	    (span && (span < BTREE_MIN_SPAN || span > BTREE_MAX_SPAN)))
		return -EINVAL;
	*ret_shape = (struct btree_root) {
		.magic = BTREE_MAGIC,
		.version = BTREE_VERSION,
		.key_size = key,
		.value_size = value,
		.leaf_span = span ? span : btree_default_span(key, value, BTREE_LEAF_BYTES),
		.inner_span = span ? span :
			      btree_default_span(key, sizeof(uint64_t), BTREE_INNER_BYTES),
	};
	return 0;
}

static int create_run(struct far_task *task, const char *name, const struct btree_root *shape)
{
	size_t mark = far_buf_mark(task);
	int err = far_epoch_enter(task);

	if (err)
		return err;
	err = create_in_epoch(task, name, shape);
	far_epoch_exit(task);
	far_buf_release(task, mark);
	return err;
}

struct creation {
	struct form_run run;
	const char *name;
	const struct btree_root *shape;
};

static int run_once(struct form_run *run)
{
	const struct creation *mine = (const struct creation *)run;

	run->unsure = true;	/* perhaps the name is there */
	return create_run(run->task, mine->name, mine->shape);
}

int far_btree_create(struct far_task *task, const char *name,
		     const struct far_btree_attr *attr, struct far_btree **ret_tree)
{
	struct far_dir_entry entry;
	struct btree_root shape;
	int err = shape_of(attr, &shape);

	if (!err)
		err = far_dir_find(task, name, &entry);
	if (!err)
		return -EEXIST;
	if (err != -ENOENT)
		return err;
	err = form_run(&(struct creation){ { task, run_once, false }, name, &shape }.run);
	return err ? err : far_btree_open(task, name, ret_tree);
}

static int root_read(struct far_task *task, uint64_t addr, struct btree_root *root)
{
	int err;

	far_read(task, addr, root, sizeof(*root));
	err = far_sync(task);
	if (err)
		return err;
	if (root->magic != BTREE_MAGIC || root->sum != root_sum(root, addr))
		return -EBADMSG;
	if (root->version != BTREE_VERSION)
		return -EPROTONOSUPPORT;
	return root_sane(root) ? 0 : -EBADMSG;
}

int btree_open_root(struct far_task *task, uint64_t addr, struct far_btree **ret_tree)
{
	size_t mark = far_buf_mark(task);
	struct btree_root *root = far_buf(task, sizeof(*root));
	struct far_btree *tree = calloc(1, sizeof(*tree));
	int err = root && tree ? root_read(task, addr, root) : -ENOMEM;

	if (!err) {
		tree->far = far_task_far(task);
		tree->root = addr;
		tree->key_size = root->key_size;
		tree->value_size = root->value_size;
		btree_geo_init(&tree->geo[0], root->key_size, root->value_size,
			       root->leaf_span, BTREE_NEAR);
		btree_geo_init(&tree->geo[1], root->key_size, sizeof(uint64_t),
			       root->inner_span, 0);
		tree->geo[0].tree = tree->geo[1].tree = addr;
		atomic_store(&tree->top, root->top);
		*ret_tree = tree;
	} else {
		free(tree);
	}
	far_buf_release(task, mark);
	return err;
}

/* A root that is not one while the entry is there is damage. */
static int open_by_name(struct far_task *task, const char *name, struct far_dir_entry *entry,
			struct far_btree **ret_tree)
{
	int err;

	do {
		err = far_dir_open(task, name, FAR_TYPE_BTREE, BTREE_VERSION, entry);
		if (err)
			return err;
		err = btree_open_root(task, entry->root, ret_tree);
	} while (err == -EBADMSG && form_entry_is_gone(task, entry));
	return err;
}

/* What each operation of an open tree may use. */
static int tree_help(struct far_btree *tree)
{
	unsigned without = tree->far->without;
	int err = 0;

	if (!(without & FAR_WITHOUT_CACHE))
		err = btree_cache_new(tree->far->cache_bytes, tree->geo[1].len, &tree->cache);
	if (!err && !(without & FAR_WITHOUT_COMBINE))
		err = far_combine_new(COMBINE_KEYS, &tree->combine);
	return err;
}

int far_btree_open(struct far_task *task, const char *name, struct far_btree **ret_tree)
{
	struct far_dir_entry entry;
	struct far_btree *tree;
	int err = open_by_name(task, name, &entry, &tree);

	if (err)
		return err;
	err = entry.param[BTREE_PARAM_KEY] == tree->key_size &&
	      entry.param[BTREE_PARAM_VALUE] == tree->value_size &&
	      entry.param[BTREE_PARAM_LEAF_SPAN] == tree->geo[0].span &&
	      entry.param[BTREE_PARAM_INNER_SPAN] == tree->geo[1].span ?
	      tree_help(tree) : -EBADMSG;
	if (err) {
		far_btree_close(tree);
		return err;
	}
	*ret_tree = tree;
	return 0;
}

static int destroy_node(struct btree_levels *levels, const struct btree_head *node,
			uint64_t addr, unsigned level)
{
	(void)node;
	return form_destroy_block(levels->arg, addr, btree_geo_of(levels->tree, level)->size);
}

/* Within the epoch of the caller. */
static int destroy_all(struct btree_levels *levels, uint64_t root)
{
	int err = btree_levels(levels);

	return err ? err : form_destroy_block(levels->arg, root, sizeof(struct btree_root));
}

/* -EAGAIN: the name has become another tree's. */
static int destroy_once(struct far_task *task, const char *name)
{
	struct form_destroy destroy = { .task = task };
	struct btree_levels levels = {
		.walk = { .task = task, .one_epoch = true },
		.node = destroy_node, .arg = &destroy,
	};
	struct far_dir_entry entry;
	int err;

	err = open_by_name(task, name, &entry, &levels.tree);
	if (err)
		return err;
	err = far_epoch_enter(task);
	if (err)
		goto close;
	err = far_dir_remove(task, &entry);
	if (!err && destroy_all(&levels, entry.root))
		far_alloc_lost(task);	/* a sweep finds the rest */
	far_epoch_exit(task);
close:
	far_btree_close(levels.tree);
	return err;
}

int far_btree_destroy(struct far_task *task, const char *name)
{
	int err;

	do
		err = destroy_once(task, name);
	while (err == -EAGAIN);
	return err;
}
