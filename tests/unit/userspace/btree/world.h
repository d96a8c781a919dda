/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One tree in a space of one memory node, and the first client's task. */
#ifndef TEST_FAR_BTREE_WORLD_H
#define TEST_FAR_BTREE_WORLD_H

#include "kind.h"

struct world {
	struct rig rig;
	struct far_task *task;		/* of client 0 */
	struct far_btree *tree;		/* its handle of "t" */
};

void world_open(struct world *world, const struct rig_conf *conf,
		const struct far_btree_attr *attr);
/* Nothing is wrong in the space, and no block is lost. */
void world_close(struct world *world);
struct far_btree_stats world_stat(struct world *world);

#endif
