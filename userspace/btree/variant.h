/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tree without some of its ideas, for comparisons. For benchmarks; not installed.
 */
#ifndef FAR_BTREE_VARIANT_H
#define FAR_BTREE_VARIANT_H

#include <far/btree.h>

enum btree_variant {
	BTREE_OURS,
	/* Each get READs a whole leaf, as Sherman's: places of entries are not remembered. */
	BTREE_WHOLE_LEAF,
};

/* Before the first operation of this handle. */
void btree_set_variant(struct far_btree *tree, enum btree_variant variant);

#endif
