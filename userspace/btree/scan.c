/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scans: leaf by leaf, each READ once. What a leaf gives lies between its fences, and the
 * next one begins where it ended: so a key that is there all the time is given once, and
 * all are in order, whatever is split or merged meanwhile.
 */
#include "priv.h"

#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/task.h"

#define SCAN_NS		300u	/* processor time of a scan, and of each leaf, for the model */
#define SCAN_TRIES	4u	/* connections that may break under one leaf */

struct scan {
	struct far_task *task;
	struct far_btree *tree;
	const struct far_range *range;
	int (*each)(void *arg, const void *key, size_t key_len, const void *value,
		    size_t value_len);
	void *arg;
	bool down;
	uint64_t left;			/* keys that may be given still */
	uint8_t at[BTREE_MAX_SIZE];	/* up: the least key to come; down: all are below */
	bool below;			/* down: `at` itself has been given, or is to be not */
	bool last;			/* nothing is left */
	struct btree_head *leaf;
};

static bool in_range(const struct scan *scan, const void *key)
{
	const struct btree_geo *geo = &scan->tree->geo[0];
	const struct far_range *range = scan->range;
	int side = btree_cmp(geo, key, scan->at);

	if (scan->down)
		return (scan->below ? side < 0 : side <= 0) &&
		       (!range->from || btree_cmp(geo, key, range->from) >= 0);
	return side >= 0 && (!range->to || btree_cmp(geo, key, range->to) <= 0);
}

static int give(struct scan *scan, const struct btree_entry *entry)
{
	const struct btree_geo *geo = &scan->tree->geo[0];

	/* beyond its fence lies what a merge is about to bring */
	if (!scan->left || !in_range(scan, entry->data) ||
	    btree_is_right(geo, scan->leaf, entry->data))
		return 0;
	scan->left--;
	return scan->each(scan->arg, entry->data, scan->tree->key_size,
			  btree_value(geo, entry), scan->tree->value_size);
}

/* Gives what is in the leaf, and goes to its end. */
static int scan_leaf(struct scan *scan)
{
	const struct btree_geo *geo = &scan->tree->geo[0];
	const struct btree_head *leaf = scan->leaf;
	const struct far_range *range = scan->range;
	uint8_t place[BTREE_MAX_SPAN];
	unsigned nr = btree_sorted(geo, leaf, place), i;
	const uint8_t *edge = scan->down ? btree_low(leaf) : btree_high(geo, leaf);
	int err = 0;

	far_spend(scan->task, SCAN_NS);
	for (i = 0; i < nr && !err; i++)
		err = give(scan, btree_entry_at(geo, leaf,
						place[scan->down ? nr - 1 - i : i]));
	if (err)
		return err;
	if (scan->down) {
		static const uint8_t least[BTREE_MAX_SIZE];

		scan->last = !btree_cmp(geo, edge, least) ||
			     (range->from && btree_cmp(geo, edge, range->from) <= 0);
		scan->below = true;
	} else {
		scan->last = leaf->flags & BTREE_LAST ||
			     (range->to && btree_cmp(geo, edge, range->to) > 0);
	}
	scan->last |= !scan->left;
	if (!scan->last)
		memcpy(scan->at, edge, geo->key_size);
	return 0;
}

/* READs the leaf that comes next into scan->leaf. */
static int leaf_read(struct scan *scan)
{
	struct btree_op op = { .task = scan->task, .tree = scan->tree };
	struct btree_way way;
	unsigned try;
	int err = -EIO;

	far_op_renew(scan->task);
	for (try = 0; try < SCAN_TRIES && err == -EIO; try++) {
		size_t mark = far_buf_mark(scan->task);

		err = far_epoch_enter(scan->task);
		if (err)
			return err;
		err = btree_op_init(&op, scan->task, scan->tree);
		if (!err)
			err = btree_find(&op, scan->at, scan->down && scan->below, 0,
					 scan->leaf, &way);
		far_epoch_exit(scan->task);
		far_buf_release(scan->task, mark);
	}
	return err;
}

static void scan_start(struct scan *scan)
{
	const struct far_range *range = scan->range;
	const void *first = scan->down ? range->to : range->from;
	unsigned size = scan->tree->key_size;

	scan->left = range->max ? range->max : UINT64_MAX;
	if (first)
		memcpy(scan->at, first, size);
	else
		memset(scan->at, scan->down ? 0xff : 0, size);
}

int far_btree_scan(struct far_task *task, struct far_btree *tree,
		   const struct far_range *range,
		   int (*each)(void *arg, const void *key, size_t key_len,
			       const void *value, size_t value_len),
		   void *arg)
{
	struct scan scan = {
		.task = task, .tree = tree, .range = range, .each = each, .arg = arg,
		.down = range->flags & FAR_RANGE_DOWN,
	};
	size_t mark;
	int err = 0;

	if ((range->from && range->from_len != tree->key_size) ||
	    (range->to && range->to_len != tree->key_size))
		return -EINVAL;
	err = far_op_begin(task);
	if (err)
		return err;
	far_spend(task, SCAN_NS);
	mark = far_buf_mark(task);
	scan.leaf = far_buf(task, tree->geo[0].len);
	if (!scan.leaf)
		err = -ENOMEM;
	scan_start(&scan);
	while (!err && !scan.last) {
		err = leaf_read(&scan);
		if (!err)
			err = scan_leaf(&scan);
	}
	far_buf_release(task, mark);
	far_op_end(task);
	return err;
}
