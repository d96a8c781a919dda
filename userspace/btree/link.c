/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Separators in the level above. The separator of a node comes and goes only under the
 * lock of the node's left neighbour: so a node is not merged away while somebody is about
 * to lead others to it. Locks are taken from below upwards, and from left to right.
 */
#include "btree_priv.h"

#include "../core/alloc.h"
#include "../core/task.h"

/* The place of the entry that leads to child; -ENOENT. */
static int place_of(const struct btree_hold *above, uint64_t child)
{
	uint64_t none = btree_free_sum(above->node->version);
	const struct btree_entry *entry;
	unsigned i;

	for (i = 0; i < above->geo->span; i++) {
		entry = btree_entry_at(above->geo, above->node, i);
		if (entry->sum != none && btree_child(above->geo, entry) == child)
			return i;
	}
	return -ENOENT;
}

static void entry_make(const struct btree_geo *geo, struct btree_head *node, unsigned place,
		       const void *key, uint64_t child)
{
	btree_entry_set(geo, btree_entry_at(geo, node, place), node->version, key, &child,
			sizeof(child));
}

/* A level more: a node with the one that was at the top, and its neighbour. */
static int grow_write(struct btree_op *op, uint64_t top, uint64_t addr, uint64_t right,
		      const void *low)
{
	const struct btree_geo *geo = &op->tree->geo[1];
	struct btree_head *node = far_buf(op->task, geo->len);
	uint8_t *least = far_buf(op->task, geo->key_len);

	if (!node || !least)
		return -ENOMEM;
	memset(least, 0, geo->key_len);
	btree_node_init(geo, node, btree_new_version(op), btree_top_level(top) + 1);
	node->flags = BTREE_LAST;
	entry_make(geo, node, 0, least, far_addr_bare(top));
	entry_make(geo, node, 1, low, right);
	btree_sum_set(geo, node, addr);
	node->word = far_lock_word(0, 0, 0, far_lock_checksum(&node->sum, geo->len -
						offsetof(struct btree_head, sum)));
	far_write(op->task, addr, node, geo->len);
	return far_sync(op->task);
}

/* By the operation's spare node, which is there. */
static int grow(struct btree_op *op, uint64_t right, const void *low, unsigned level)
{
	uint64_t top, addr = op->spare[1];
	int err = btree_top_read(op);

	top = atomic_load(&op->tree->top);
	if (err || btree_top_level(top) > level)
		return err;
	if (level + 1 > BTREE_MAX_LEVEL)
		return -ENOSPC;
	err = grow_write(op, top, addr, right, low);
	if (err)
		return err;
	far_cas(op->task, op->tree->root + offsetof(struct btree_root, top), top,
		btree_top(addr, level + 1), op->word);
	err = far_sync(op->task);
	if (err)
		far_alloc_lost(op->task);
	if (err || *op->word == top)
		op->spare[1] = FAR_NIL;
	return err ? err : btree_top_read(op);
}

/*
 * Puts it into the node above that is held, and releases that one. 1: there is no room, and
 * it is held still.
 */
static int link_into(struct btree_hold *above, const void *low, uint64_t right)
{
	int place = btree_find_key(above->geo, above->node, low), err;

	if (place >= 0)
		return btree_release(above);
	place = btree_find_room(above->geo, above->node, low, NULL);
	if (place < 0)
		return 1;
	entry_make(above->geo, above->node, place, low, right);
	btree_hold_entry(above, place);
	btree_cache_drop_node(above->op->tree->cache, above->addr);
	err = btree_release(above);
	if (!err)
		btree_cache_put_node(above->op->tree->cache, above->addr, above->node);
	return err;
}

/* Releases the left one, whose lock nothing that takes time or memory needs. */
static int left_release(struct btree_hold *left, int err)
{
	int late = btree_release(left);

	return err ? err : late;
}

/*
 * What its left neighbour alone may lead to is born first: another client's, which is at
 * work or has died. It cannot die while the left one is held.
 */
static int right_check(struct btree_op *op, const struct btree_hold *left, unsigned level)
{
	const struct btree_way way = {
		.addr = left->node->right, .sure = true, .beside = true,
	};
	struct btree_hold right;
	int err = btree_hold(op, &way, level, &right);

	return err ? err : btree_release(&right);
}

/* The left neighbour is held, and released. 1: look again. */
static int link_held(struct btree_op *op, struct btree_hold *left, uint64_t born,
		     unsigned level)
{
	const void *low = btree_high(left->geo, left->node);
	uint64_t right = left->node->right;
	struct btree_hold above;
	int err = right == born ? 0 : right_check(op, left, level);

	if (!err)
		err = btree_hold_key(op, low, 0, level + 1, &above);
	if (err == -ENOENT && op->spare[1]) {
		err = left_release(left, grow(op, right, low, level));
	} else if (err == -ENOENT) {
		err = left_release(left, 0);
		err = err ? err : btree_spare_take(op, level + 1);
	} else if (err) {
		return left_release(left, err);
	} else {
		err = link_into(&above, low, right);
		if (err != 1)
			return left_release(left, err);
		err = left_release(left, 0);
		if (err)
			btree_release(&above);
		else
			err = btree_make_room(&above, low, level + 1);
	}
	return err ? err : 1;
}

int btree_link(struct btree_op *op, uint64_t addr, uint64_t born, unsigned level)
{
	const struct btree_way way = { .addr = addr, .sure = true, .beside = true };
	size_t mark = far_buf_mark(op->task);
	struct btree_hold left;
	int err;

	do {
		err = btree_hold(op, &way, level, &left);
		if (!err && left.node->flags & BTREE_LAST)
			err = btree_release(&left);
		else if (!err)
			err = link_held(op, &left, born, level);
		far_buf_release(op->task, mark);
	} while (err == 1);
	/* merged away meanwhile, and so its neighbour is somebody else's to link */
	return err == -EAGAIN ? 0 : err;
}

int btree_link_missing(struct btree_op *op, const void *key, uint64_t addr, unsigned level)
{
	struct btree_way now;
	int err = btree_descend(op, key, 0, level, true, &now);

	if (!err && now.addr == addr)
		err = btree_link(op, addr, FAR_NIL, level);
	return err == -EAGAIN ? 0 : err;
}

int btree_unlink(struct btree_op *op, const void *low, uint64_t child, unsigned level)
{
	struct btree_hold above;
	size_t mark = far_buf_mark(op->task);
	int err = btree_hold_key(op, low, 0, level + 1, &above), place, first;

	if (err)
		return err;
	place = place_of(&above, child);
	/* the first one stays: what it leads to has no left neighbour under this node */
	first = !btree_cmp(above.geo, low, btree_low(above.node));
	if (place >= 0 && !first) {
		btree_entry_at(above.geo, above.node, place)->sum =
			btree_free_sum(above.node->version);
		btree_hold_entry(&above, place);
		btree_cache_drop_node(op->tree->cache, above.addr);
	}
	err = btree_release(&above);
	far_buf_release(op->task, mark);
	return err || !first ? err : -ENOENT;
}
