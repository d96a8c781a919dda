/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What others see of a tree who know no tree: its blocks, for those who collect memory of
 * dead clients, and what is wrong with it, for those who check.
 */
#include "type.h"

#include <inttypes.h>
#include <stdio.h>

#include "view.h"

struct walk {
	struct far_walk *walk;
	const char *name;
};

static int walk_block(void *arg, const struct art_item *item)
{
	struct walk *walk = arg;

	return walk->walk->block(walk->walk, item->addr, item->len);
}

static void walk_problem(void *arg, uint64_t addr, const char *what)
{
	struct walk *walk = arg;
	char text[192];

	snprintf(text, sizeof(text), "radix tree \"%.31s\", block %#" PRIx64 ": %s",
		 walk->name, addr, what);
	walk->walk->problem(walk->walk, text);
}

static int art_walk(struct far_task *task, const struct far_dir_entry *entry,
		    struct far_walk *far_walk)
{
	struct walk walk = { .walk = far_walk, .name = entry->name };
	struct art_view view = {
		.walk = { .task = task, .entry = entry },
		.block = walk_block, .arg = &walk,
		.problem = far_walk->problem ? walk_problem : NULL,
	};
	int ret = form_walk_enter(&view.walk);

	if (!ret)
		ret = art_open_root(task, entry->root, &view.art);
	if (!ret)
		ret = art_view(&view);
	far_art_close(view.art);
	return form_walk_leave(&view.walk, ret);
}

const struct far_type far_art_type = {
	.type = FAR_TYPE_ART,
	.version = ART_VERSION,
	.name = "art",
	.walk = art_walk,
};
