/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scans: leaf by leaf, each READ once. What a leaf gives lies between its fences, and the
 * next one begins where it ended: so a key that is there all the time is given once, and
 * all are in order, whatever is split or merged meanwhile. A long scan ends where the keys of
 * its range ended at one time of it: however fast others insert behind that, it ends.
 */
#include "btree_priv.h"

#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/task.h"

#define SCAN_NS		300u	/* processor time of a scan, and of each leaf, for the model */
#define SCAN_TRIES	4u	/* connections that may break under one leaf */
#define SCAN_SHORT	64u	/* leaves, after which a scan finds out where it ends */

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
	bool has_end;
	uint8_t end[BTREE_MAX_SIZE];	/* up: no key above it is given; down: none below */
	unsigned leaves;
	struct btree_head *leaf;
};

static bool in_range(const struct scan *scan, const void *key)
{
	const struct btree_geo *geo = &scan->tree->geo[0];
	int side = btree_cmp(geo, key, scan->at);

	if (scan->down)
		return (scan->below ? side < 0 : side <= 0) &&
		       (!scan->has_end || btree_cmp(geo, key, scan->end) >= 0);
	return side >= 0 && (!scan->has_end || btree_cmp(geo, key, scan->end) <= 0);
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
			     (scan->has_end && btree_cmp(geo, edge, scan->end) <= 0);
		scan->below = true;
	} else {
		scan->last = leaf->flags & BTREE_LAST ||
			     (scan->has_end && btree_cmp(geo, edge, scan->end) > 0);
	}
	scan->last |= !scan->left;
	if (!scan->last)
		memcpy(scan->at, edge, geo->key_size);
	return 0;
}

/* READs the leaf that has the key into scan->leaf; strict: that has the keys below it. */
static int leaf_read(struct scan *scan, const void *key, int strict)
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
			err = btree_find(&op, key, strict, 0, scan->leaf, &way);
		far_epoch_exit(scan->task);
		far_buf_release(scan->task, mark);
	}
	return err;
}

/*
 * The last key of the range becomes its end: those behind it come later. When the leaf where
 * the range ends has none of it, no key lies behind the leaf's nearer fence.
 */
static int scan_end(struct scan *scan)
{
	const struct btree_geo *geo = &scan->tree->geo[0];
	const struct btree_head *leaf = scan->leaf;
	uint8_t place[BTREE_MAX_SPAN];
	const uint8_t *key, *last;
	unsigned nr, i;
	int err;

	if (!scan->has_end)
		memset(scan->end, scan->down ? 0 : 0xff, geo->key_size);
	err = leaf_read(scan, scan->end, 0);
	if (err)
		return err;
	last = !scan->down ? btree_low(leaf) :
	       leaf->flags & BTREE_LAST ? scan->end : btree_high(geo, leaf);
	nr = btree_sorted(geo, leaf, place);
	for (i = 0; i < nr; i++) {
		key = btree_entry_at(geo, leaf, place[scan->down ? nr - 1 - i : i])->data;
		if (!btree_is_right(geo, leaf, key) && in_range(scan, key))
			last = key;
	}
	memmove(scan->end, last, geo->key_size);
	scan->has_end = true;
	return 0;
}

/* Gives what the next leaf has. */
static int scan_next(struct scan *scan)
{
	int err = scan->leaves++ == SCAN_SHORT ? scan_end(scan) : 0;

	if (!err)
		err = leaf_read(scan, scan->at, scan->down && scan->below);
	return err ? err : scan_leaf(scan);
}

static void scan_start(struct scan *scan)
{
	const struct far_range *range = scan->range;
	const void *first = scan->down ? range->to : range->from;
	const void *end = scan->down ? range->from : range->to;
	unsigned size = scan->tree->key_size;

	scan->left = range->max ? range->max : UINT64_MAX;
	if (first)
		memcpy(scan->at, first, size);
	else
		memset(scan->at, scan->down ? 0xff : 0, size);
	scan->has_end = end;
	if (end)
		memcpy(scan->end, end, size);
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
	while (!err && !scan.last)
		err = scan_next(&scan);
	far_buf_release(task, mark);
	far_op_end(task);
	return err;
}
