// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What "far bench index" calls of each index: see indexes.h.
 */
#include "indexes.h"

#include <errno.h>
#include <string.h>

#include <far/hash.h>

#include "../hash/image.h"
#include "../hash/variant.h"

static enum hash_variant hash_variant;

static int hash_open(struct far_task *task, const char *name, void **ret_index)
{
	struct far_hash *hash;
	int err = far_hash_open(task, name, &hash);

	if (err)
		return err;
	hash_set_variant(hash, hash_variant);
	*ret_index = hash;
	return 0;
}

static void hash_close(void *index)
{
	far_hash_close(index);
}

static int hash_get(struct far_task *task, void *index, const void *key,
		    size_t key_len, void *value, size_t value_size, size_t *ret_len)
{
	return far_hash_get(task, index, key, key_len, value, value_size, ret_len);
}

/* YCSB's updates are of keys that are there: a put, which others may overwrite. */
static int hash_update(struct far_task *task, void *index, const void *key,
		       size_t key_len, const void *value, size_t value_len)
{
	return far_hash_put(task, index, key, key_len, value, value_len);
}

static int hash_insert(struct far_task *task, void *index, const void *key,
		       size_t key_len, const void *value, size_t value_len)
{
	return far_hash_insert(task, index, key, key_len, value, value_len);
}

static int hash_modify(struct far_task *task, void *index, const void *key,
		       size_t key_len, far_modify_fn *modify, void *arg)
{
	return far_hash_modify(task, index, key, key_len, modify, arg);
}

static int hash_create(struct far_task *task, const char *name, uint64_t keys,
		       const struct ycsb_data *data)
{
	struct far_hash_attr attr = { .expected = keys };
	struct far_hash *hash;
	int err = far_hash_create(task, name, &attr, &hash);

	(void)data;
	if (!err)
		far_hash_close(hash);
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

static int hash_image(struct far_task *task, void *const *base, const char *name,
		      uint64_t keys, const struct ycsb_data *data)
{
	struct far_hash_image image = {
		.nr_keys = keys,
		.key_len = data->key_size,
		.value_len = data->value_size,
		.base = base,
		.key = image_key,
		.value = image_value,
		.arg = (void *)data,
	};
	struct far_hash *hash;
	int err = far_hash_image(task, name, &image, &hash);

	if (!err)
		far_hash_close(hash);
	return err;
}

static int hash_select(const char *name)
{
	if (strcmp(name, "race"))
		return -EINVAL;
	hash_variant = HASH_RACE;
	return 0;
}

static const struct index_kind kinds[] = {
	{
		.index = {
			.name = "hash",
			.open = hash_open,
			.close = hash_close,
			.get = hash_get,
			.update = hash_update,
			.insert = hash_insert,
			.modify = hash_modify,
		},
		.variants = "race",
		.create = hash_create,
		.image = hash_image,
		.variant = hash_select,
	},
};

const struct index_kind *index_find(const char *name)
{
	unsigned i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].index.name, name))
			return &kinds[i];
	if (!strcmp(index_art.index.name, name))
		return &index_art;
	if (!strcmp(index_btree.index.name, name))
		return &index_btree;
	return NULL;
}
