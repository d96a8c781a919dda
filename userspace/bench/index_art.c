// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What "far bench index" calls of the radix tree: see indexes.h.
 */
#include "indexes.h"

#include <errno.h>
#include <string.h>

#include <far/art.h>

#include "../art/image.h"
#include "../art/variant.h"

static enum art_variant art_variant;

static int art_open(struct far_task *task, const char *name, void **ret_index)
{
	struct far_art *art;
	int err = far_art_open(task, name, &art);

	if (err)
		return err;
	art_set_variant(art, art_variant);
	*ret_index = art;
	return 0;
}

static void art_close(void *index)
{
	far_art_close(index);
}

static int art_get(struct far_task *task, void *index, const void *key, size_t key_len,
		   void *value, size_t value_size, size_t *ret_len)
{
	return far_art_get(task, index, key, key_len, value, value_size, ret_len);
}

/* YCSB's updates are of keys that are there: a put, which others may overwrite. */
static int art_update(struct far_task *task, void *index, const void *key, size_t key_len,
		      const void *value, size_t value_len)
{
	return far_art_put(task, index, key, key_len, value, value_len);
}

static int art_insert(struct far_task *task, void *index, const void *key, size_t key_len,
		      const void *value, size_t value_len)
{
	return far_art_insert(task, index, key, key_len, value, value_len);
}

static int art_scan(struct far_task *task, void *index, const struct far_range *range,
		    int (*each)(void *arg, const void *key, size_t key_len,
				const void *value, size_t value_len),
		    void *arg)
{
	return far_art_scan(task, index, range, each, arg);
}

static int art_create(struct far_task *task, const char *name, uint64_t keys,
		      const struct ycsb_data *data)
{
	struct far_art *art;
	int err = far_art_create(task, name, &art);

	(void)keys;
	(void)data;
	if (!err)
		far_art_close(art);
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

static int art_image(struct far_task *task, void *const *base, const char *name,
		     uint64_t keys, const struct ycsb_data *data)
{
	struct far_art_image image = {
		.nr_keys = keys,
		.key_len = data->key_size,
		.value_len = data->value_size,
		.base = base,
		.key = image_key,
		.value = image_value,
		.arg = (void *)data,
	};
	struct far_art *art;
	int err = far_art_image(task, name, &image, &art);

	if (!err)
		far_art_close(art);
	return err;
}

static int art_select(const char *name)
{
	if (strcmp(name, "lock-free"))
		return -EINVAL;
	art_variant = ART_LOCK_FREE;
	return 0;
}

const struct index_kind index_art = {
	.index = {
		.name = "art",
		.open = art_open,
		.close = art_close,
		.get = art_get,
		.update = art_update,
		.insert = art_insert,
		.scan = art_scan,
	},
	.variants = "lock-free",
	.ordered = 1,
	.create = art_create,
	.image = art_image,
	.variant = art_select,
};
