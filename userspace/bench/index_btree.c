// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What "far bench index" calls of the B+ tree: see indexes.h.
 */
#include "indexes.h"

#include <errno.h>
#include <string.h>

#include <far/btree.h>

#include "../btree/image.h"
#include "../btree/variant.h"

static unsigned btree_without;

static int btree_open(struct far_task *task, const char *name, void **ret_index)
{
	struct far_btree *tree;
	int err = far_btree_open(task, name, &tree);

	if (err)
		return err;
	btree_set_variant(tree, btree_without);
	*ret_index = tree;
	return 0;
}

static void btree_close(void *index)
{
	far_btree_close(index);
}

static int btree_get(struct far_task *task, void *index, const void *key, size_t key_len,
		   void *value, size_t value_size, size_t *ret_len)
{
	return far_btree_get(task, index, key, key_len, value, value_size, ret_len);
}

/* YCSB's updates are of keys that are there: a put, which others may overwrite. */
static int btree_update(struct far_task *task, void *index, const void *key, size_t key_len,
		      const void *value, size_t value_len)
{
	return far_btree_put(task, index, key, key_len, value, value_len);
}

static int btree_modify(struct far_task *task, void *index, const void *key,
			size_t key_len, far_modify_fn *modify, void *arg)
{
	return far_btree_modify(task, index, key, key_len, modify, arg);
}

static int btree_insert(struct far_task *task, void *index, const void *key, size_t key_len,
		      const void *value, size_t value_len)
{
	return far_btree_insert(task, index, key, key_len, value, value_len);
}

static int btree_scan(struct far_task *task, void *index, const struct far_range *range,
		    int (*each)(void *arg, const void *key, size_t key_len,
				const void *value, size_t value_len),
		    void *arg)
{
	return far_btree_scan(task, index, range, each, arg);
}

static struct far_btree_attr attr_of(const struct ycsb_data *data)
{
	return (struct far_btree_attr) {
		.key_size = data->key_size, .value_size = data->value_size,
		.span = data->span,
	};
}

static int btree_create(struct far_task *task, const char *name, uint64_t keys,
			const struct ycsb_data *data)
{
	const struct far_btree_attr attr = attr_of(data);
	struct far_btree *tree;
	int err = far_btree_create(task, name, &attr, &tree);

	(void)keys;
	if (!err)
		far_btree_close(tree);
	return err;
}

static void image_key(void *arg, uint64_t number, void *key)
{
	ycsb_key(arg, number, key);
}

static void image_value(void *arg, uint64_t number, void *value)
{
	ycsb_value(arg, number, value);
}

static int btree_image(struct far_task *task, void *const *base, const char *name,
		     uint64_t keys, const struct ycsb_data *data)
{
	struct far_btree_image image = {
		.nr_keys = keys,
		.attr = attr_of(data),
		.base = base,
		.key = image_key,
		.value = image_value,
		.arg = (void *)data,
	};
	struct far_btree *tree;
	int err = far_btree_image(task, name, &image, &tree);

	if (!err)
		far_btree_close(tree);
	return err;
}

static int btree_select(const char *name)
{
	static const struct {
		const char *name;
		unsigned without;
	} variants[] = {
		{ "sherman", BTREE_SHERMAN },
		{ "sherman-rdwc", BTREE_SHERMAN_RDWC },
		{ "smart-bt", BTREE_SMART_BT },
		{ "whole-leaf", BTREE_NO_SPOT | BTREE_NO_NEAR },
		{ "speculation", BTREE_NO_NEAR },
		{ "neighbourhood", BTREE_NO_SPOT },
	};
	unsigned i;

	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		if (!strcmp(name, variants[i].name)) {
			btree_without = variants[i].without;
			return 0;
		}
	return -EINVAL;
}

const struct index_kind index_btree = {
	.index = {
		.name = "btree",
		.open = btree_open,
		.close = btree_close,
		.get = btree_get,
		.update = btree_update,
		.insert = btree_insert,
		.modify = btree_modify,
		.scan = btree_scan,
	},
	.variants = "sherman, sherman-rdwc, smart-bt, whole-leaf, speculation or "
		    "neighbourhood",
	.ordered = 1,
	.has_span = 1,
	.least_value = 8,
	.most_value = 256,
	.create = btree_create,
	.image = btree_image,
	.variant = btree_select,
};
