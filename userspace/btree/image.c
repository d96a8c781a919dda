/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trees made by writing into the memory of the memory nodes. See image.h. */
#include "image.h"

#include <stdlib.h>

#include "../core/alloc.h"
#include "../core/epoch.h"
#include "btree_priv.h"

#define IMAGE_BATCH	1024u	/* nodes per epoch */

/* What becomes the entries of one level: keys in order, and where their values are. */
struct items {
	uint64_t nr;
	uint8_t *key;		/* of key_size bytes each */
	uint64_t *what;		/* number of the key, or a node's address */
};

struct build {
	struct far_task *task;
	const struct form_image *image;
	struct far_btree *tree;
	const struct btree_geo *geo;
	unsigned level;
	uint64_t first;		/* address of the level's first node; FAR_NIL: any */
};

static int items_new(uint64_t nr, unsigned key_size, struct items *items)
{
	items->nr = nr;
	items->key = malloc(nr * key_size);
	items->what = malloc(nr * sizeof(*items->what));
	return items->key && items->what ? 0 : -ENOMEM;
}

static void items_free(struct items *items)
{
	free(items->key);
	free(items->what);
}

static int by_key(const void *a, const void *b, void *arg)
{
	return memcmp(a, b, *(const unsigned *)arg);
}

/* All keys, in order; each with its number behind it while they are sorted. */
static int items_of_keys(const struct form_image *image, unsigned key_size,
			 struct items *items)
{
	size_t each = key_size + sizeof(uint64_t);
	uint8_t *all = malloc(image->nr_keys * each);
	int err = all ? items_new(image->nr_keys, key_size, items) : -ENOMEM;
	uint64_t i;

	for (i = 0; i < image->nr_keys && !err; i++) {
		image->key(image->arg, i, all + i * each);
		memcpy(all + i * each + key_size, &i, sizeof(i));
	}
	if (!err)
		qsort_r(all, image->nr_keys, each, by_key, &key_size);
	for (i = 0; i < image->nr_keys && !err; i++) {
		memcpy(items->key + i * key_size, all + i * each, key_size);
		memcpy(&items->what[i], all + i * each + key_size, sizeof(uint64_t));
	}
	free(all);
	return err;
}

static void entry_write(const struct build *build, struct btree_head *node,
			const uint8_t *key, uint64_t what)
{
	int place = btree_find_room(build->geo, node, key, NULL);
	uint8_t value[BTREE_MAX_SIZE] = { 0 };
	unsigned size = sizeof(what);

	if (build->level) {
		memcpy(value, &what, size);
	} else {
		size = build->tree->value_size;
		build->image->value(build->image->arg, what, value);
	}
	btree_entry_set(build->geo, btree_entry_at(build->geo, node, place), node->version,
			key, value, size);
}

/* Where a node ends that begins with entry `from`: seven tenths full, or as far as it goes. */
static uint64_t node_end(const struct build *build, const struct items *items, uint64_t from)
{
	uint64_t to, last = from + build->geo->span * 7 / 10;
	uint8_t taken[BTREE_MAX_SPAN] = { 0 };
	int place;

	for (to = from; to < items->nr && to < last; to++) {
		place = btree_find_room(build->geo, NULL,
					items->key + to * build->tree->key_size, taken);
		if (place < 0)
			break;
		taken[place] = 1;
	}
	return to;
}

/* Entries [from, to) as a node; right: the next one's address. */
static void node_write(const struct build *build, const struct items *items, uint64_t from,
		       uint64_t to, uint64_t addr, uint64_t right)
{
	struct btree_head *node = form_image_at(build->image->base, addr);
	unsigned key_size = build->tree->key_size;
	struct btree_op op = { .task = build->task };
	uint64_t i;

	btree_node_init(build->geo, node, btree_new_version(&op), build->level);
	for (i = from; i < to; i++)
		entry_write(build, node, items->key + i * key_size, items->what[i]);
	if (from)
		memcpy(btree_low(node), items->key + from * key_size, key_size);
	if (to < items->nr)
		memcpy(btree_high(build->geo, node), items->key + to * key_size, key_size);
	else
		node->flags = BTREE_LAST;
	node->right = right;
	btree_sum_set(build->geo, node, addr);
	node->word = far_lock_word(0, 0, 0, far_lock_checksum(&node->sum, build->geo->len -
						offsetof(struct btree_head, sum)));
}

static int node_alloc(const struct build *build, uint64_t nr, uint64_t *ret_addr)
{
	if (!nr && build->first) {
		*ret_addr = build->first;
		return 0;
	}
	if (nr % IMAGE_BATCH == IMAGE_BATCH - 1) {
		int err;

		far_epoch_exit(build->task);
		err = far_epoch_enter(build->task);
		if (err)
			return err;
	}
	return far_block_alloc(build->task, FAR_ANY_NODE, build->geo->size, ret_addr);
}

/* A level from its entries; what leads to its nodes is the level above's. */
static int level_write(const struct build *build, const struct items *items,
		       struct items *above)
{
	uint64_t nodes = 0, from, to, i, addr, next = FAR_NIL;
	unsigned size = build->tree->key_size;
	int err;

	for (from = 0; from < items->nr; from = node_end(build, items, from))
		nodes++;
	err = items_new(nodes, size, above);
	if (!err)
		err = node_alloc(build, 0, &addr);
	for (i = from = 0; i < nodes && !err; i++, from = to, addr = next) {
		to = node_end(build, items, from);
		next = FAR_NIL;
		if (i + 1 < nodes)
			err = node_alloc(build, i + 1, &next);
		if (err)
			break;
		node_write(build, items, from, to, addr, next);
		if (i)
			memcpy(above->key + i * size, items->key + from * size, size);
		else
			memset(above->key, 0, size);
		above->what[i] = addr;
	}
	return err;
}

static int image_levels(struct build *build, struct items *items)
{
	struct items above;
	int err;

	for (;; build->level++) {
		build->geo = btree_geo_of(build->tree, build->level);
		err = level_write(build, items, &above);
		items_free(items);
		*items = above;
		if (err || above.nr == 1)
			return err;
		build->first = FAR_NIL;
	}
}

int far_btree_image(struct far_task *task, void *index, const struct form_image *image)
{
	struct far_btree *tree = index;
	struct build build = {
		.task = task, .image = image, .tree = tree,
		.first = far_addr_bare(atomic_load(&tree->top)),
	};
	struct items items = { 0 };
	struct btree_root *root = form_image_at(image->base, tree->root);
	int err = items_of_keys(image, tree->key_size, &items);

	if (!err)
		err = far_epoch_enter(task);
	if (!err) {
		err = image_levels(&build, &items);
		if (!err)
			root->top = btree_top(items.what[0], build.level);
		atomic_store(&tree->top, root->top);
		far_epoch_exit(task);
	}
	items_free(&items);
	return err;
}
