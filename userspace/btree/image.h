/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trees made at once: see form/image.h. */
#ifndef FAR_BTREE_IMAGE_H
#define FAR_BTREE_IMAGE_H

#include "../form/image.h"

/*
 * Fills an empty tree, a struct far_btree; its nodes are seven tenths full, as after random
 * inserts.
 */
int far_btree_image(struct far_task *task, void *tree, const struct form_image *image);

#endif
