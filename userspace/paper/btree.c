// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tree as others published it: see btree.h.
 */
#include "btree.h"

#include "../btree/btree_priv.h"

/* The contents, where the predecessor hands on the lock only. */
static int image_again(struct btree_hold *hold)
{
	far_read(hold->op->task, hold->lock.data, hold->lock.image, hold->lock.len);
	return far_sync(hold->op->task);
}

void btree_set_variant(struct far_btree *tree, unsigned without)
{
	tree->variant = (struct btree_variant_ops) {
		.no_spot = without & BTREE_NO_SPOT,
		.no_near = without & BTREE_NO_NEAR,
		.no_word = without & BTREE_NO_WORD,
		.no_redo = without & BTREE_NO_REDO,
		.handed = without & BTREE_NO_IMAGE ? image_again : NULL,
	};
	if (without & BTREE_NO_COMBINE) {
		far_combine_free(tree->combine);
		tree->combine = NULL;
	}
}
