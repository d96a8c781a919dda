/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The indexes that "far bench index" knows.
 */
#ifndef FAR_BENCH_INDEXES_H
#define FAR_BENCH_INDEXES_H

#include <far/far.h>

#include "../form/image.h"
#include "run.h"

/* What an index takes in far memory. */
struct index_memory {
	uint64_t keys;
	uint64_t leaf_bytes, leaf_room;	/* of what has keys and values; and of its blocks */
	uint64_t node_bytes, node_room;	/* of what leads there */
	/*
	 * Bytes of a cache that has all inner nodes (smart-art, Figure 17): with ART's four
	 * types and each node's key beside it, with our types and keys, and as it is: without
	 * keys.
	 */
	uint64_t cache_classic, cache_keyed, cache_all;
};

struct index_kind {
	const struct index_ops *ops;
	const char *variants;		/* their names, for messages */
	int ordered;			/* it has scan(), and its integers are big-endian */
	int has_span;			/* who creates it may say how many a node has */
	uint32_t least_value, most_value;	/* bytes of a value; 0: any */
	/* Fills an empty one by writing the memory of its nodes. */
	int (*image)(struct far_task *task, void *index, const struct form_image *image);
	/* Prepares what the variant has beside the structure. NULL: it has nothing. */
	int (*beside)(struct far_task *task);
	/* Fills a client's cache; base as in struct form_image. NULL: it cannot. */
	int (*warm)(struct far_task *task, void *index, void *const *base);
	/* Walks it while nobody changes it. NULL: it cannot tell. */
	int (*memory)(struct far_task *task, const char *name,
		      struct index_memory *ret_memory);
	/* Selects a variant for all that are prepared from now on. -EINVAL. */
	int (*variant)(const char *name);
	/* Makes an index that was opened one of that variant. */
	void (*prepare)(void *index);
};

extern const struct index_kind index_art;
extern const struct index_kind index_btree;
extern const struct index_kind index_hash;

/*
 * Makes one for so many keys, with what its variant has beside it. base NULL: it is empty;
 * else it has keys [0, keys), by image().
 */
int index_create(const struct index_kind *kind, struct far_task *task, const char *name,
		 uint64_t keys, const struct ycsb_data *data, void *const *base);

/* By name; NULL. */
const struct index_kind *index_find(const char *name);

#endif
