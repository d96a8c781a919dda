/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A tree made at once, by writing into the memory of the memory nodes: for benchmarks
 * that begin with many keys. Nobody else uses the space meanwhile. Not installed.
 */
#ifndef FAR_ART_IMAGE_H
#define FAR_ART_IMAGE_H

#include <far/art.h>

struct far_art_image {
	uint64_t nr_keys;
	size_t key_len, value_len;	/* at most 256 and 4,096 bytes */
	void *const *base;		/* offset 0 of each node's space */
	/* The number'th key, and its value; all keys differ. */
	void (*key)(void *arg, uint64_t number, void *key);
	void (*value)(void *arg, uint64_t number, void *value);
	void *arg;
};

/*
 * Fills the handle's cache with the nodes of the tree, as far as they go in; base as
 * above. Nobody changes the tree meanwhile.
 */
int far_art_image_warm(struct far_task *task, struct far_art *art, void *const *base);

int far_art_image(struct far_task *task, const char *name,
		  const struct far_art_image *image, struct far_art **ret_art);

/* Bytes of a cache that has all nodes of the tree; see struct index_memory of the bench. */
struct far_art_cached {
	uint64_t classic, keyed, all;
};

int far_art_image_cached(struct far_task *task, struct far_art *art,
			 struct far_art_cached *ret_cached);

#endif
