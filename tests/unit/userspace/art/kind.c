/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The radix tree as the programs of ../ordered/program.h see it. */
#include "kind.h"

#include <far/art.h>

static int kind_create(struct far_task *task, const char *name, size_t key_size,
		       size_t value_size, void **ret_index)
{
	struct far_art *art;
	int err = far_art_create(task, name, &art);

	(void)key_size;
	(void)value_size;
	if (!err)
		*ret_index = art;
	return err;
}

static int kind_open(struct far_task *task, const char *name, void **ret_index)
{
	struct far_art *art;
	int err = far_art_open(task, name, &art);

	if (!err)
		*ret_index = art;
	return err;
}

static void kind_close(void *index)
{
	far_art_close(index);
}

static int kind_get(struct far_task *task, void *index, const void *key, size_t key_len,
		    void *value, size_t value_size, size_t *ret_len)
{
	return far_art_get(task, index, key, key_len, value, value_size, ret_len);
}

static int kind_put(struct far_task *task, void *index, const void *key, size_t key_len,
		    const void *value, size_t value_len)
{
	return far_art_put(task, index, key, key_len, value, value_len);
}

static int kind_insert(struct far_task *task, void *index, const void *key, size_t key_len,
		       const void *value, size_t value_len)
{
	return far_art_insert(task, index, key, key_len, value, value_len);
}

static int kind_update(struct far_task *task, void *index, const void *key, size_t key_len,
		       const void *value, size_t value_len)
{
	return far_art_update(task, index, key, key_len, value, value_len);
}

static int kind_remove(struct far_task *task, void *index, const void *key, size_t key_len)
{
	return far_art_delete(task, index, key, key_len);
}

static int kind_scan(struct far_task *task, void *index, const struct far_range *range,
		     int (*each)(void *arg, const void *key, size_t key_len,
				 const void *value, size_t value_len),
		     void *arg)
{
	return far_art_scan(task, index, range, each, arg);
}

const struct ordered_kind art_kind = {
	.create = kind_create,
	.open = kind_open,
	.close = kind_close,
	.get = kind_get,
	.store = {
		[HISTORY_PUT] = kind_put,
		[HISTORY_INSERT] = kind_insert,
		[HISTORY_UPDATE] = kind_update,
	},
	.remove = kind_remove,
	.scan = kind_scan,
};
