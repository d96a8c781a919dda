// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What "far bench index" calls of the radix tree: see indexes.h.
 */
#include "indexes.h"

#include <errno.h>
#include <string.h>

#include "../art/image.h"
#include "../paper/art.h"

static enum art_variant art_variant;
static uint64_t art_locks[FAR_MAX_NODES];	/* of the variant: this process has all clients */

static void art_prepare(void *index)
{
	art_set_variant(index, art_variant);
	art_set_locks(index, art_locks);
}

static int art_beside(struct far_task *task)
{
	if (art_variant != ART_SMART_HOCL && art_variant != ART_ROWEX)
		return 0;
	return art_make_locks(task, "art-locks", art_locks);
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
	.ops = &index_ops_art,
	.variants = "lock-free, smart-art, smart-art-e-hocl, smart-art-hocl, "
		    "smart-art-out-of-place or art-rowex",
	.ordered = 1,
	.image = far_art_image,
	.warm = far_art_image_warm,
	.memory = art_memory,
	.beside = art_beside,
	.variant = art_select,
	.prepare = art_prepare,
};
