/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What others see of a tree who know none: its blocks, for those who collect memory of dead
 * clients, what is wrong with it, for those who check, and its statistics.
 */
#include "type.h"

#include <inttypes.h>
#include <stdio.h>

#include "levels.h"

struct walk {
	struct far_walk *walk;
	const char *name;
};

static void walk_problem(struct btree_levels *levels, uint64_t addr, const char *what)
{
	struct walk *walk = levels->arg;
	char text[192];

	snprintf(text, sizeof(text), "B+ tree \"%.31s\", node %#" PRIx64 ": %s", walk->name,
		 addr, what);
	walk->walk->problem(walk->walk, text);
}

static int walk_node(struct btree_levels *levels, const struct btree_head *node,
		     uint64_t addr, unsigned level)
{
	struct walk *walk = levels->arg;

	(void)node;
	return walk->walk->block(walk->walk, addr, btree_geo_of(levels->tree, level)->size);
}

static int btree_walk(struct far_task *task, const struct far_dir_entry *entry,
		      struct far_walk *far_walk)
{
	struct walk walk = { far_walk, entry->name };
	struct btree_levels levels = {
		.walk = { .task = task, .entry = entry },
		.node = walk_node, .arg = &walk,
		.problem = far_walk->problem ? walk_problem : NULL,
	};
	int ret = form_walk_enter(&levels.walk);

	if (!ret)
		ret = btree_open_root(task, entry->root, &levels.tree);
	if (!ret)
		ret = far_walk->block(far_walk, entry->root, sizeof(struct btree_root));
	if (!ret)
		ret = btree_levels(&levels);
	far_btree_close(levels.tree);
	return form_walk_leave(&levels.walk, ret);
}

const struct far_type far_btree_type = {
	.type = FAR_TYPE_BTREE,
	.version = BTREE_VERSION,
	.name = "btree",
	.walk = btree_walk,
};

static int stat_node(struct btree_levels *levels, const struct btree_head *node,
		     uint64_t addr, unsigned level)
{
	const struct btree_geo *geo = btree_geo_of(levels->tree, level);
	struct far_btree_stats *stats = levels->arg;
	uint8_t place[BTREE_MAX_SPAN];

	(void)addr;
	if (stats->levels < level + 1)
		stats->levels = level + 1;
	if (level) {
		stats->inner++;
		stats->inner_bytes += geo->size;
		return 0;
	}
	stats->leaves++;
	stats->leaf_bytes += geo->size;
	stats->places += geo->span;
	stats->keys += node->flags & BTREE_DEAD ? 0 : btree_sorted(geo, node, place);
	return 0;
}

int far_btree_stat(struct far_task *task, struct far_btree *tree,
		   struct far_btree_stats *ret_stats)
{
	struct far_btree_stats stats = { 0 };
	struct btree_levels levels = {
		.walk = { .task = task }, .tree = tree, .node = stat_node, .arg = &stats,
	};
	int err = form_walk_enter(&levels.walk);

	if (!err)
		err = btree_levels(&levels);
	err = form_walk_leave(&levels.walk, err);
	if (!err)
		*ret_stats = stats;
	return err;
}
