/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All nodes of a tree, level by level from the top, each level from the left: for checks,
 * collections, statistics. A walk of many epochs: see form/walk.h.
 *
 * The place of a node is its level and its low fence, which never change. A node that dies
 * gives its keys to the node on its left, which keeps its own low fence, so that nothing
 * behind a place comes to lie before it. A level ends with the node that was its last one when
 * the walk came to the level.
 */
#ifndef FAR_BTREE_LEVELS_H
#define FAR_BTREE_LEVELS_H

#include "../form/walk.h"
#include "btree_priv.h"

struct btree_levels {
	struct form_walk walk;		/* whose epochs these are */
	struct far_btree *tree;
	/* A node; other than 0 ends the walk. */
	int (*node)(struct btree_levels *levels, const struct btree_head *node,
		    uint64_t addr, unsigned level);
	/* What does not belong together; NULL: nobody asks. */
	void (*problem)(struct btree_levels *levels, uint64_t addr, const char *what);
	void *arg;
};

/* After form_walk_enter(). 0, what node() returned, or an error. */
int btree_levels(struct btree_levels *levels);

#endif
