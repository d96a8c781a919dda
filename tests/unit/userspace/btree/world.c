/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* See world.h. */
#include "world.h"

void world_open(struct world *world, const struct rig_conf *conf,
		const struct far_btree_attr *attr)
{
	struct rig_conf one = *conf;

	one.nodes = 1;
	rig_open(&world->rig, &one);
	world->task = rig_enter(&world->rig, 0);
	assert_int_equal(far_btree_create(world->task, "t", attr, &world->tree), 0);
}

void world_close(struct world *world)
{
	rig_check(&world->rig, world->task, NULL);
	far_btree_close(world->tree);
	far_leave(world->task);
	assert_int_equal(rig_space_problems(&world->rig, 0), 0);
	rig_close(&world->rig);
}

struct far_btree_stats world_stat(struct world *world)
{
	struct far_btree_stats stats;

	assert_int_equal(far_btree_stat(world->task, world->tree, &stats), 0);
	return stats;
}
