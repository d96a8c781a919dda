/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trees made at once: see form/image.h. */
#ifndef FAR_ART_IMAGE_H
#define FAR_ART_IMAGE_H

#include <far/art.h>

#include "../form/image.h"

/* Fills an empty tree, a struct far_art. -EINVAL: a length. */
int far_art_image(struct far_task *task, void *art, const struct form_image *image);

/*
 * Fills the handle's cache with the nodes of the tree, as far as they go in; base as in
 * struct form_image. Nobody changes the tree meanwhile.
 */
int far_art_image_warm(struct far_task *task, void *art, void *const *base);

/* Bytes of a cache that has all nodes of the tree; see struct index_memory of the bench. */
struct far_art_cached {
	uint64_t classic, keyed, all;
};

int far_art_image_cached(struct far_task *task, struct far_art *art,
			 struct far_art_cached *ret_cached);

#endif
