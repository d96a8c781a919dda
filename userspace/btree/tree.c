/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trees as wholes: made, opened by name, closed, deleted. */
#include "btree_priv.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../core/alloc.h"
#include "../core/core.h"
#include "../core/task.h"
#include "../form/name.h"
#include "levels.h"
#include "type.h"

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

/* An empty leaf that has all keys. */
static int create_leaf(struct far_task *task, const struct btree_geo *geo, uint64_t addr)
{
	struct btree_op op = { .task = task };
	struct btree_head *leaf = far_buf(task, geo->len);

	if (!leaf)
		return -ENOMEM;
	btree_node_init(geo, leaf, btree_new_version(&op), 0);
	leaf->flags = BTREE_LAST;
	btree_sum_set(geo, leaf, addr);
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

struct create {
	struct form_create form;
	const struct btree_root *shape;
	struct btree_geo geo;		/* of the first leaf */
	uint64_t leaf;
};

static int create_build(struct form_create *form)
{
	struct create *create = (struct create *)form;
	struct far_task *task = form->run.task;
	int err = far_block_alloc(task, 0, create->geo.size, &create->leaf);

	if (!err)
		err = far_block_alloc(task, 0, sizeof(*create->shape), &form->entry.root);
	return err ? err : create_write(task, create->shape, form->entry.root, create->leaf);
}

static void create_undo(struct form_create *form)
{
	struct create *create = (struct create *)form;

	if (form->entry.root)
		far_block_free(form->run.task, form->entry.root, sizeof(*create->shape));
	if (create->leaf)
		far_block_free(form->run.task, create->leaf, create->geo.size);
	form->entry.root = create->leaf = FAR_NIL;
}

int far_btree_create(struct far_task *task, const char *name,
		     const struct far_btree_attr *attr, struct far_btree **ret_tree)
{
	struct btree_root shape;
	struct create create = {
		.form = {
			.run = { .task = task },
			.entry = { .type = FAR_TYPE_BTREE, .version = BTREE_VERSION },
			.build = create_build, .undo = create_undo,
		},
		.shape = &shape,
	};
	uint64_t *param = create.form.entry.param;
	int err = shape_of(attr, &shape);

	if (err)
		return err;
	param[BTREE_PARAM_KEY] = shape.key_size;
	param[BTREE_PARAM_VALUE] = shape.value_size;
	param[BTREE_PARAM_LEAF_SPAN] = shape.leaf_span;
	param[BTREE_PARAM_INNER_SPAN] = shape.inner_span;
	btree_geo_init(&create.geo, shape.key_size, shape.value_size, shape.leaf_span,
		       BTREE_NEAR);
	err = form_create(&create.form, name);
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

static int name_open(struct far_task *task, uint64_t root, void **ret_handle)
{
	struct far_btree *tree;
	int err = btree_open_root(task, root, &tree);

	if (!err)
		*ret_handle = tree;
	return err;
}

static void name_close(void *handle)
{
	far_btree_close(handle);
}

static int retire_node(struct btree_levels *levels, const struct btree_head *node,
		       uint64_t addr, unsigned level)
{
	(void)node;
	return form_destroy_block(levels->arg, addr, btree_geo_of(levels->tree, level)->size);
}

static int name_retire(struct form_destroy *destroy, void *handle)
{
	struct btree_levels levels = {
		.walk = { .task = destroy->task, .one_epoch = true },
		.tree = handle, .node = retire_node, .arg = destroy,
	};
	int err = btree_levels(&levels);

	return err ? err : form_destroy_block(destroy, levels.tree->root,
					      sizeof(struct btree_root));
}

static const struct form_name_ops name_ops = {
	.type = &far_btree_type,
	.open = name_open, .close = name_close, .retire = name_retire,
};

/* Sets up what each operation of an open tree may use. */
static int tree_help(struct far_btree *tree)
{
	int err = form_combine_new(tree->far, &tree->combine);

	if (!err && !(tree->far->without & FAR_WITHOUT_CACHE))
		err = btree_cache_new(tree->far->cache_bytes, tree->geo[1].len, &tree->cache);
	return err;
}

static bool entry_fits(const struct far_dir_entry *entry, const struct far_btree *tree)
{
	return entry->param[BTREE_PARAM_KEY] == tree->key_size &&
	       entry->param[BTREE_PARAM_VALUE] == tree->value_size &&
	       entry->param[BTREE_PARAM_LEAF_SPAN] == tree->geo[0].span &&
	       entry->param[BTREE_PARAM_INNER_SPAN] == tree->geo[1].span;
}

int far_btree_open(struct far_task *task, const char *name, struct far_btree **ret_tree)
{
	struct far_dir_entry entry;
	void *tree;
	int err = form_open(task, name, &name_ops, &entry, &tree);

	if (err)
		return err;
	err = entry_fits(&entry, tree) ? tree_help(tree) : -EBADMSG;
	if (err)
		far_btree_close(tree);
	else
		*ret_tree = tree;
	return err;
}

int far_btree_destroy(struct far_task *task, const char *name)
{
	return form_destroy(task, name, &name_ops);
}
