/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A full node becomes two. The memory for that is taken first, while nothing is locked:
 * who has none has changed nothing, and nobody waits for the lock of one who waits for
 * memory. Then the right one is written, which nobody can reach; then the left
 * one's entries, acknowledged, so that no remembered place of what has moved is believed
 * any more; then the left one's head, which is the split; then the right one is born.
 * Last comes its separator, without which it is reached through its neighbour.
 */
#include "btree_priv.h"

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
	btree_sum_set(geo, right->node, right->addr);
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
	btree_sum_set(left->geo, head, left->addr);
	return head;
}

static int right_born(struct btree_hold *right)
{
	struct btree_head *head = btree_new_head(right);
	int err = head ? 0 : -ENOMEM;

	if (!err) {
		head->version = right->node->version;
		head->flags &= ~BTREE_UNBORN;
		btree_sum_set(right->geo, head, right->addr);
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

/*
 * The split's own memory, and that of the level above if its separator finds no room there.
 * Levels above that one do without: a separator may come later.
 */
static bool spare_ready(const struct btree_op *op, unsigned level)
{
	return op->spare[1] && (level || op->spare[0]);
}

int btree_spare_take(struct btree_op *op, unsigned level)
{
	unsigned i;
	int err = 0;

	for (i = level ? 1 : 0; i < 2 && !err; i++) {
		if (op->spare[i])
			continue;
		err = op->poor ? -ENOSPC : far_block_alloc(op->task, FAR_ANY_NODE,
						     op->tree->geo[i].size, &op->spare[i]);
	}
	return err;
}

void btree_spare_drop(struct btree_op *op)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (op->spare[i])
			far_block_free(op->task, op->spare[i], op->tree->geo[i].size);
		op->spare[i] = FAR_NIL;
	}
}

static int right_init(struct btree_hold *left, const void *key, unsigned level,
		      struct btree_hold *right)
{
	struct btree_op *op = left->op;

	*right = *left;
	right->node = far_buf(op->task, left->geo->len);
	right->redo = far_buf(op->task, left->geo->redo);
	if (!right->node || !right->redo)
		return -ENOMEM;
	right->addr = op->spare[!!level];
	op->spare[!!level] = FAR_NIL;
	right->lock = (struct far_lock) {
		.len = left->lock.len, .kind = left->lock.kind, .ops = left->lock.ops,
		.image = &right->node->sum, .addr = right->addr,
		.data = right->addr + offsetof(struct btree_head, sum),
	};
	right_fill(right, left, key, level);
	return 0;
}

/* There is spare memory. The node is released. */
static int split(struct btree_hold *left, const void *key, unsigned level)
{
	struct btree_op *op = left->op;
	uint64_t addr = left->addr;
	struct btree_hold right;
	int err;

	far_spend(op->task, SPLIT_NS);
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
	err = btree_link(op, addr, right.addr, level);
	return err == -ENOSPC ? 0 : err;
}

int btree_make_room(struct btree_hold *hold, const void *key, unsigned level)
{
	struct btree_op *op = hold->op;
	int err;

	if (spare_ready(op, level))
		return split(hold, key, level);
	err = btree_release(hold);
	return err ? err : btree_spare_take(op, level);
}
