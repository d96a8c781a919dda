/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* See kind.h. */
#include "kind.h"

#include "../../../../userspace/btree/variant.h"

static int create(struct far_task *task, const char *name, size_t key_size,
		  size_t value_size, unsigned span, void **ret_index)
{
	const struct far_btree_attr attr = {
		.key_size = key_size, .value_size = value_size, .span = span,
	};
	struct far_btree *tree;
	int err = far_btree_create(task, name, &attr, &tree);

	if (!err)
		*ret_index = tree;
	return err;
}

static int kind_create(struct far_task *task, const char *name, size_t key_size,
		       size_t value_size, void **ret_index)
{
	return create(task, name, key_size, value_size, 4, ret_index);
}

static int wide_create(struct far_task *task, const char *name, size_t key_size,
		       size_t value_size, void **ret_index)
{
	return create(task, name, key_size, value_size, 10, ret_index);
}

static int kind_open(struct far_task *task, const char *name, void **ret_index)
{
	struct far_btree *tree;
	int err = far_btree_open(task, name, &tree);

	if (!err)
		*ret_index = tree;
	return err;
}

static void kind_close(void *index)
{
	far_btree_close(index);
}

static int kind_get(struct far_task *task, void *index, const void *key, size_t key_len,
		    void *value, size_t value_size, size_t *ret_len)
{
	return far_btree_get(task, index, key, key_len, value, value_size, ret_len);
}

static int kind_put(struct far_task *task, void *index, const void *key, size_t key_len,
		    const void *value, size_t value_len)
{
	return far_btree_put(task, index, key, key_len, value, value_len);
}

static int kind_insert(struct far_task *task, void *index, const void *key, size_t key_len,
		       const void *value, size_t value_len)
{
	return far_btree_insert(task, index, key, key_len, value, value_len);
}

static int kind_update(struct far_task *task, void *index, const void *key, size_t key_len,
		       const void *value, size_t value_len)
{
	return far_btree_update(task, index, key, key_len, value, value_len);
}

static int kind_remove(struct far_task *task, void *index, const void *key, size_t key_len)
{
	return far_btree_delete(task, index, key, key_len);
}

static int kind_scan(struct far_task *task, void *index, const struct far_range *range,
		     int (*each)(void *arg, const void *key, size_t key_len,
				 const void *value, size_t value_len),
		     void *arg)
{
	return far_btree_scan(task, index, range, each, arg);
}

static int kind_modify(struct far_task *task, void *index, const void *key, size_t key_len,
		       far_modify_fn *modify, void *arg)
{
	return far_btree_modify(task, index, key, key_len, modify, arg);
}

static void kind_variant(void *index, unsigned variant)
{
	btree_set_variant(index, variant);
}

#define KIND(make) { \
	.create = make, \
	.open = kind_open, \
	.close = kind_close, \
	.get = kind_get, \
	.store = { \
		[HISTORY_PUT] = kind_put, \
		[HISTORY_INSERT] = kind_insert, \
		[HISTORY_UPDATE] = kind_update, \
	}, \
	.remove = kind_remove, \
	.scan = kind_scan, \
	.modify = kind_modify, \
	.variant = kind_variant, \
	.fixed = 1, \
}

const struct ordered_kind btree_kind = KIND(kind_create);
const struct ordered_kind btree_wide_kind = KIND(wide_create);
