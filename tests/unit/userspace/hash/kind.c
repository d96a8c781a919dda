/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hash table as the programs of ../ordered see it. */
#include "kind.h"

#include <far/hash.h>

static int create(struct far_task *task, const char *name, size_t key_size, size_t value_size,
		  void **ret_index)
{
	const struct far_hash_attr attr = { .expected = 1 };
	struct far_hash *hash;
	int err = far_hash_create(task, name, &attr, &hash);

	(void)key_size;
	(void)value_size;
	*ret_index = hash;
	return err;
}

static int open(struct far_task *task, const char *name, void **ret_index)
{
	struct far_hash *hash;
	int err = far_hash_open(task, name, &hash);

	*ret_index = hash;
	return err;
}

static void close(void *index)
{
	far_hash_close(index);
}

static int get(struct far_task *task, void *index, const void *key, size_t key_len,
	       void *value, size_t value_size, size_t *ret_len)
{
	return far_hash_get(task, index, key, key_len, value, value_size, ret_len);
}

static int put(struct far_task *task, void *index, const void *key, size_t key_len,
	       const void *value, size_t value_len)
{
	return far_hash_put(task, index, key, key_len, value, value_len);
}

static int insert(struct far_task *task, void *index, const void *key, size_t key_len,
		  const void *value, size_t value_len)
{
	return far_hash_insert(task, index, key, key_len, value, value_len);
}

static int update(struct far_task *task, void *index, const void *key, size_t key_len,
		  const void *value, size_t value_len)
{
	return far_hash_update(task, index, key, key_len, value, value_len);
}

static int delete(struct far_task *task, void *index, const void *key, size_t key_len)
{
	return far_hash_delete(task, index, key, key_len);
}

const struct ordered_kind hash_kind = {
	.create = create, .open = open, .close = close, .get = get,
	.store = {
		[HISTORY_PUT] = put, [HISTORY_INSERT] = insert, [HISTORY_UPDATE] = update,
	},
	.remove = delete,
};
