/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tree without some of its ideas, for comparisons. For benchmarks; not installed.
 */
#ifndef FAR_PAPER_BTREE_H
#define FAR_PAPER_BTREE_H

#include <far/btree.h>

/* What a handle goes without. */
#define BTREE_NO_SPOT		1u	/* places of entries are not remembered */
#define BTREE_NO_WORD		2u	/* nor lock words: a READ before each CAS */
#define BTREE_NO_REDO		4u	/* no record: who dies half way damages the leaf */
#define BTREE_NO_IMAGE		8u	/* a hand-over passes the lock on, not the image */
#define BTREE_NO_COMBINE	16u	/* each operation is for itself */
#define BTREE_NO_NEAR		32u	/* of a leaf all is READ, not a neighbourhood */

/*
 * Sherman as published: a leaf is READ whole; the lock, the leaf, then the entry and the
 * unlock in one list; hand-over of the lock. Checksums stay, since its versions lie.
 */
#define BTREE_SHERMAN_RDWC \
	(BTREE_NO_SPOT | BTREE_NO_NEAR | BTREE_NO_WORD | BTREE_NO_REDO | BTREE_NO_IMAGE)
#define BTREE_SHERMAN	(BTREE_SHERMAN_RDWC | BTREE_NO_COMBINE)
/* SMART-BT: that, with speculative lookup. */
#define BTREE_SMART_BT	(BTREE_SHERMAN & ~BTREE_NO_SPOT)

/* Before the first operation of this handle. */
void btree_set_variant(struct far_btree *tree, unsigned without);

#endif
