// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What "far bench index" calls of the radix tree: see indexes.h.
 */
#include "indexes.h"

#include <errno.h>
#include <string.h>

#include <far/art.h>

#include "../art/image.h"
#include "../paper/art.h"

static enum art_variant art_variant;
static uint64_t art_locks[FAR_MAX_NODES];	/* of the variant: this process has all clients */

static int art_open(struct far_task *task, const char *name, void **ret_index)
{
	struct far_art *art;
	int err = far_art_open(task, name, &art);

	if (err)
		return err;
	art_set_variant(art, art_variant);
	art_set_locks(art, art_locks);
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

/* What the variant has beside the tree. */
static int art_beside(struct far_task *task)
{
	if (art_variant != ART_SMART_HOCL && art_variant != ART_ROWEX)
		return 0;
	return art_make_locks(task, "art-locks", art_locks);
}

static int art_create(struct far_task *task, const char *name, uint64_t keys,
		      const struct ycsb_data *data)
{
	struct far_art *art;
	int err = far_art_create(task, name, &art);

	(void)keys;
	(void)data;
	if (err)
		return err;
	far_art_close(art);
	return art_beside(task);
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

	if (err)
		return err;
	far_art_close(art);
	return art_beside(task);
}

static int art_warm(struct far_task *task, void *index, void *const *base)
{
	return far_art_image_warm(task, index, base);
}

static int art_memory(struct far_task *task, const char *name,
		      struct index_memory *ret_memory)
{
	struct far_art_stats stats;
	struct far_art_cached cached;
	struct far_art *art;
	int err = far_art_open(task, name, &art);

	if (err)
		return err;
	err = far_art_stat(task, art, &stats);
	if (!err)
		err = far_art_image_cached(task, art, &cached);
	far_art_close(art);
	if (!err)
		*ret_memory = (struct index_memory){
			.keys = stats.keys,
			.leaf_bytes = stats.leaf_bytes, .leaf_room = stats.leaf_room,
			.node_bytes = stats.node_bytes, .node_room = stats.node_room,
			.cache_classic = cached.classic, .cache_keyed = cached.keyed,
			.cache_all = cached.all,
		};
	return err;
}

static int art_select(const char *name)
{
	static const struct {
		const char *name;
		enum art_variant variant;
	} variants[] = {
		{ "lock-free", ART_LOCK_FREE },
		{ "smart-art", ART_SMART },
		{ "smart-art-e-hocl", ART_SMART },
		{ "smart-art-hocl", ART_SMART_HOCL },
		{ "smart-art-out-of-place", ART_LOCK_FREE },
		{ "art-rowex", ART_ROWEX },
	};
	unsigned i;

	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		if (!strcmp(variants[i].name, name)) {
			art_variant = variants[i].variant;
			return 0;
		}
	return -EINVAL;
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
	.variants = "lock-free, smart-art, smart-art-e-hocl, smart-art-hocl, "
		    "smart-art-out-of-place or art-rowex",
	.ordered = 1,
	.create = art_create,
	.image = art_image,
	.warm = art_warm,
	.memory = art_memory,
	.variant = art_select,
};
