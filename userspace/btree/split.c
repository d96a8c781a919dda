/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A full node becomes two: the right one first, which nobody can reach; then the left
 * one's entries, acknowledged, so that no remembered place of what has moved is believed
 * any more; then the left one's head, which is the split; then the right one is born.
 * Last comes its separator, without which it is reached through its neighbour.
 */
#include "priv.h"

#include "../core/alloc.h"
#include "../core/core.h"
#include "../core/task.h"

#define SPLIT_NS	1500u	/* processor time, for the model */

/*
 * The number of entries that stay, of nr, and the separator. A half; but a load in order
 * comes to the end of a level, and goes on behind the key that finds no room: there all
 * that lies below it stays. An inner node has a child for each of its keys, and so never
 * becomes empty.
 */
static unsigned left_keeps(const struct btree_hold *left, const uint8_t *place, unsigned nr,
			   const void *key, unsigned level, const void **ret_separator)
{
	const struct btree_geo *geo = left->geo;
	unsigned below = 0, keeps = nr / 2;

	while (below < nr &&
	       btree_cmp(geo, btree_entry_at(geo, left->node, place[below])->data, key) < 0)
		below++;
	if (left->node->flags & BTREE_LAST && below * 4 >= nr * 3)
		keeps = level && below == nr ? nr - 1 : below;
	*ret_separator = keeps == nr ? key :
				       btree_entry_at(geo, left->node, place[keeps])->data;
	return keeps;
}

/* The upper part of the entries. */
static void right_fill(struct btree_hold *right, const struct btree_hold *left,
		       const void *key, unsigned level)
{
	const struct btree_geo *geo = left->geo;
	uint64_t version = btree_new_version(left->op);
	uint8_t place[BTREE_MAX_SPAN];
	unsigned nr = btree_sorted(geo, left->node, place), i;
	struct btree_entry *entry;
	const void *separator;

	btree_node_init(geo, right->node, version, level);
	/* at the places that they had: each is within its neighbourhood */
	for (i = left_keeps(left, place, nr, key, level, &separator); i < nr; i++) {
		entry = btree_entry_at(geo, right->node, place[i]);
		memcpy(entry, btree_entry_at(geo, left->node, place[i]), geo->entry);
		entry->sum = btree_entry_sum(geo, entry, version);
	}
	memcpy(btree_low(right->node), separator, geo->key_size);
	memcpy(btree_high(geo, right->node), btree_high(geo, left->node), geo->key_len);
	right->node->right = left->node->right;
	right->node->flags = (left->node->flags & BTREE_LAST) | BTREE_UNBORN;
	btree_seal(geo, right->node, right->addr);
}

/* Writes the right node, locked. The lock is held then, also with an error. */
static int right_write(struct btree_hold *right)
{
	struct far_task *task = right->op->task;
	unsigned i;
	int err = -EIO;

	far_lock_make(task, &right->lock);
	right->node->word = right->lock.word;
	/* nobody knows of it: it may be written again */
	for (i = 0; i < 16 && err == -EIO; i++) {
		far_write(task, right->addr, right->node, right->geo->len);
		err = far_sync(task);
	}
	return err;
}

/* The left node's new head: up to the separator. */
static struct btree_head *left_head(struct btree_hold *left, const struct btree_hold *right)
{
	struct btree_head *head = btree_new_head(left);

	if (!head)
		return NULL;
	head->right = right->addr;
	head->flags &= ~BTREE_LAST;
	memcpy(btree_high(left->geo, head), btree_low(right->node), left->geo->key_len);
	btree_seal(left->geo, head, left->addr);
	return head;
}

static int right_born(struct btree_hold *right)
{
	struct btree_head *head = btree_new_head(right);
	int err = head ? 0 : -ENOMEM;

	if (!err) {
		head->version = right->node->version;
		head->flags &= ~BTREE_UNBORN;
		btree_seal(right->geo, head, right->addr);
		err = btree_hold_entries(right, head, BTREE_REDO_HEAD, FAR_NIL);
	}
	return err;
}

/* Both are held. Releases them. */
static int split_run(struct btree_hold *left, struct btree_hold *right)
{
	struct btree_head *head = left_head(left, right);
	int err = head ? right_write(right) : -ENOMEM;

	if (err) {
		/* nobody knows what is there, and nobody leads to it */
		if (head)
			far_lock_leave(left->op->tree->far->locks, &right->lock);
		btree_release(left);
		return err;
	}
	err = btree_hold_entries(left, head, BTREE_REDO_HEAD, FAR_NIL);
	if (err)
		btree_abandon(left, err);
	else
		err = btree_release(left);
	if (!err)
		err = right_born(right);
	return err ? btree_abandon(right, err) : btree_release(right);
}

static int right_init(struct btree_hold *left, const void *key, unsigned level,
		      struct btree_hold *right)
{
	const struct btree_geo *geo = left->geo;
	int err = far_alloc(left->op->task, FAR_ANY_NODE, geo->size, &right->addr);

	if (err)
		return err;
	right->lock.addr = right->addr;
	right->lock.data = right->addr + offsetof(struct btree_head, sum);
	right_fill(right, left, key, level);
	return 0;
}

int btree_split(struct btree_hold *left, const void *key, unsigned level)
{
	struct btree_op *op = left->op;
	uint64_t addr = left->addr;
	struct btree_hold right = *left;
	int err = 0;

	far_spend(op->task, SPLIT_NS);
	right.node = far_buf(op->task, left->geo->len);
	right.redo = far_buf(op->task, left->geo->redo);
	if (!right.node || !right.redo)
		err = -ENOMEM;
	right.lock = (struct far_lock) {
		.len = left->lock.len, .kind = left->lock.kind, .ops = left->lock.ops,
		.image = right.node ? &right.node->sum : NULL,
	};
	if (!err)
		err = right_init(left, key, level, &right);
	if (err) {
		btree_release(left);
		return err;
	}
	err = split_run(left, &right);
	if (err) {
		far_alloc_lost(op->task);	/* perhaps it has happened */
		return err;
	}
	return btree_link(op, addr, level);
}
