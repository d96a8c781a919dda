/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The indexes that "far bench index" knows.
 */
#ifndef FAR_BENCH_INDEXES_H
#define FAR_BENCH_INDEXES_H

#include <far/far.h>

#include "run.h"

/* What an index takes in far memory. */
struct index_memory {
	uint64_t keys;
	uint64_t leaf_bytes, leaf_room;	/* of what has keys and values; and of its blocks */
	uint64_t node_bytes, node_room;	/* of what leads there */
	/*
	 * Of a cache that has all inner nodes (smart-art, Figure 17): with ART's four types and
	 * each node's key beside it, with our types and keys, and as it is: without keys.
	 */
	uint64_t cache_classic, cache_keyed, cache_all;
};

struct index_kind {
	struct run_index index;
	const char *variants;		/* their names, for messages */
	int ordered;			/* it has scan(), and its integers are big-endian */
	int has_span;			/* who creates it may say how many a node has */
	uint32_t least_value, most_value;	/* bytes of a value; 0: any */
	/* Makes an empty one for so many keys. */
	int (*create)(struct far_task *task, const char *name, uint64_t keys,
		      const struct ycsb_data *data);
	/*
	 * Makes one with keys [0, keys) by writing the memory of its nodes: base[i] is
	 * offset 0 of node i's space.
	 */
	int (*image)(struct far_task *task, void *const *base, const char *name,
		     uint64_t keys, const struct ycsb_data *data);
	/* Fills a client's cache; base as of image(). NULL: it cannot. */
	int (*warm)(struct far_task *task, void *index, void *const *base);
	/* Walks it while nobody changes it. NULL: it cannot tell. */
	int (*memory)(struct far_task *task, const char *name,
		      struct index_memory *ret_memory);
	/* Selects a variant for all that are opened from now on. -EINVAL. */
	int (*variant)(const char *name);
};

extern const struct index_kind index_art;
extern const struct index_kind index_btree;

/* By name; NULL. */
const struct index_kind *index_find(const char *name);

#endif
