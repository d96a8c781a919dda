/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All nodes of a tree, level by level from the top, each level from the left: for checks,
 * collections, statistics.
 */
#ifndef FAR_BTREE_LEVELS_H
#define FAR_BTREE_LEVELS_H

#include "priv.h"

struct btree_levels {
	struct far_task *task;
	struct far_btree *tree;
	/* A node; other than 0 ends the walk. */
	int (*node)(struct btree_levels *levels, const struct btree_head *node,
		    uint64_t addr, unsigned level);
	/* What does not belong together; NULL: nobody asks. */
	void (*problem)(struct btree_levels *levels, uint64_t addr, const char *what);
	void *arg;
};

/* Inside of an epoch. 0, what node() returned, or an error. */
int btree_levels(struct btree_levels *levels);

#endif
