/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two neighbours of one node above become one. Both are held. The right one's separator
 * goes first: it is reached through its neighbour from then on, as after a split. Then the
 * left one gets its entries, beyond its own fence, where nobody looks for them; then the
 * right one dies: its entries first, acknowledged, then its head; then the left one gets
 * the fence. While the right one is dead and the left one is not wider, its keys are
 * nowhere: who wants them waits, and ends the merge if its client has died.
 */
#include "btree_priv.h"

#include "../core/alloc.h"
#include "../core/epoch.h"
#include "../core/task.h"

#define MERGE_NS	1500u	/* processor time, for the model */

static unsigned used(const struct btree_hold *hold)
{
	uint8_t place[BTREE_MAX_SPAN];

	return btree_sorted(hold->geo, hold->node, place);
}

/* True if left_take() would find a place for each. */
static bool left_has_room(const struct btree_hold *left, const struct btree_hold *right)
{
	uint8_t place[BTREE_MAX_SPAN], taken[BTREE_MAX_SPAN] = { 0 };
	const struct btree_geo *geo = left->geo;
	unsigned nr, i;
	int room;

	nr = btree_sorted(geo, left->node, place);
	for (i = 0; i < nr; i++)
		taken[place[i]] = 1;
	nr = btree_sorted(geo, right->node, place);
	for (i = 0; i < nr; i++) {
		room = btree_find_room(geo, left->node,
				       btree_entry_at(geo, right->node, place[i])->data, taken);
		if (room < 0)
			return false;
		taken[room] = 1;
	}
	return true;
}

/* Copies the right one's entries to free places of the left one, as coming. */
static void left_take(struct btree_hold *left, const struct btree_hold *right)
{
	const struct btree_geo *geo = left->geo;
	uint8_t place[BTREE_MAX_SPAN];
	unsigned nr = btree_sorted(geo, right->node, place), i;
	const struct btree_entry *from;
	struct btree_entry *entry;

	for (i = 0; i < nr; i++) {
		from = btree_entry_at(geo, right->node, place[i]);
		entry = btree_entry_at(geo, left->node,
				       btree_find_room(geo, left->node, from->data, NULL));
		memcpy(entry->data, from->data, geo->entry - BTREE_ENTRY);
		entry->sum = btree_entry_sum(geo, entry, btree_coming(left->node->version));
	}
}

static struct btree_head *left_head(struct btree_hold *left, const struct btree_hold *right)
{
	struct btree_head *head = btree_new_head(left);

	if (!head)
		return NULL;
	head->right = right->node->right;
	head->flags = right->node->flags & BTREE_LAST;
	memcpy(btree_high(left->geo, head), btree_high(right->geo, right->node),
	       left->geo->key_len);
	btree_sum_set(left->geo, head, left->addr);
	return head;
}

/* It dies, and is released. */
static int right_die(struct btree_hold *right)
{
	struct btree_head *head = btree_new_head(right);
	int err = head ? 0 : -ENOMEM;

	if (!err) {
		head->flags |= BTREE_DEAD;
		btree_sum_set(right->geo, head, right->addr);
		err = btree_hold_entries(right, head, BTREE_REDO_HEAD, FAR_NIL);
	}
	return err ? btree_abandon(right, err) : btree_release(right);
}

/* Writes the entries that the left one has got, under a record of the whole merge. */
static int left_prepare(struct btree_hold *left, const struct btree_hold *right,
			const struct btree_head *head)
{
	const struct btree_geo *geo = left->geo;

	left->redo->kind = BTREE_REDO_MERGE;
	left->redo->before = left->node->version;
	left->redo->right = right->addr;
	memcpy(left->redo->data, &head->sum, geo->head - offsetof(struct btree_head, sum));
	left->lock.redo = left->redo;
	left->lock.redo_addr = left->addr + geo->len;
	left->lock.redo_len = BTREE_REDO + geo->head - offsetof(struct btree_head, sum);
	left->lock.from = geo->head - offsetof(struct btree_head, sum);
	left->lock.to = geo->len - offsetof(struct btree_head, sum);
	return btree_hold_put(left);
}

/* Both are held, and released. 0: it has happened. */
static int merge_run(struct btree_hold *left, struct btree_hold *right, unsigned level,
		     const void *low)
{
	struct btree_op *op = left->op;
	struct btree_head *head = left_head(left, right);
	int err = head ? btree_unlink(op, low, right->addr, level) : -ENOMEM;

	if (err) {
		btree_release(right);
		btree_release(left);
		return err;
	}
	left_take(left, right);
	err = left_prepare(left, right, head);
	if (err) {
		btree_release(right);
		return btree_abandon(left, err);
	}
	err = right_die(right);
	if (!err)
		err = btree_hold_entries(left, head, BTREE_REDO_MERGE, right->addr);
	err = err ? btree_abandon(left, err) : btree_release(left);
	if (!err)
		err = far_retire(op->task, right->addr, right->geo->size);
	if (err)
		far_alloc_lost(op->task);
	return err;
}

/*
 * It leaves room for some inserts; but what is nothing, or as little as an inner node can
 * have, goes to any neighbour: else it would stay for ever beside a full one.
 */
static bool merge_fits(const struct btree_hold *left, const struct btree_hold *right,
		       const void *low, unsigned level)
{
	unsigned a = used(left), b = used(right), least = level ? 1 : 0;

	return left->node->right == right->addr &&
	       !btree_cmp(left->geo, btree_high(left->geo, left->node), low) &&
	       ((a + b) * 4 <= left->geo->span * 3 || a <= least || b <= least) &&
	       left_has_room(left, right);
}

/* Two neighbours as the node above names them. */
struct couple {
	struct btree_way left, right;
	uint8_t low[BTREE_MAX_SIZE];	/* of the right one */
};

/* The nodes that entries place[0] and place[1] of op->inner lead to. */
static void couple_init(struct couple *couple, const struct btree_op *op,
			const uint8_t *place)
{
	const struct btree_geo *geo = &op->tree->geo[1];
	const struct btree_entry *left = btree_entry_at(geo, op->inner, place[0]);
	const struct btree_entry *right = btree_entry_at(geo, op->inner, place[1]);

	couple->left = (struct btree_way) { .addr = btree_child(geo, left), .sure = true };
	couple->right = (struct btree_way) { .addr = btree_child(geo, right), .sure = true };
	memcpy(couple->low, right->data, geo->key_size);
}

/*
 * The node that has the key with its left neighbour, and with its right one, as far as the
 * same node leads to them: how many. -ENOENT: there is none above.
 */
static int couples(struct btree_op *op, const void *key, unsigned level,
		   struct couple couple[2])
{
	const struct btree_geo *geo = &op->tree->geo[1];
	uint8_t place[BTREE_MAX_SPAN];
	unsigned nr, me = 0;
	struct btree_way above;
	int err, count = 0;

	err = btree_descend(op, key, 0, level + 1, true, &above);
	if (!err)
		err = btree_node_read(op, &above, level + 1, BTREE_WHOLE, op->inner);
	if (err)
		return err == -ESHUTDOWN ? -EAGAIN : err;
	if (btree_side(geo, op->inner, key, 0))
		return -EAGAIN;
	nr = btree_sorted(geo, op->inner, place);
	while (me + 1 < nr &&
	       btree_cmp(geo, btree_entry_at(geo, op->inner, place[me + 1])->data, key) <= 0)
		me++;
	if (me)
		couple_init(&couple[count++], op, &place[me - 1]);
	if (me + 1 < nr)
		couple_init(&couple[count++], op, &place[me]);
	return count;
}

/* Locks both, and merges them. -EAGAIN: not as they are now. */
static int merge_both(struct btree_op *op, const struct couple *couple, unsigned level)
{
	struct btree_hold left, right;
	int err = btree_hold(op, &couple->left, level, &left);

	if (err)
		return err;
	if (left.node->right != couple->right.addr) {
		err = btree_release(&left);
		return err ? err : -EAGAIN;
	}
	err = btree_hold(op, &couple->right, level, &right);
	if (!err && merge_fits(&left, &right, couple->low, level))
		return merge_run(&left, &right, level, couple->low);
	if (!err)
		btree_release(&right);
	btree_release(&left);
	return err ? err : -EAGAIN;
}

/* 0: two nodes have become one. -ENOENT: this one has no neighbour under its parent. */
static int merge_level(struct btree_op *op, const void *key, unsigned level)
{
	size_t mark = far_buf_mark(op->task);
	struct couple couple[2];
	int nr, err = -ENOENT, i;

	far_spend(op->task, MERGE_NS);
	nr = couples(op, key, level, couple);
	for (i = 0; i < nr && (!i || err == -EAGAIN); i++) {
		err = merge_both(op, &couple[i], level);
		far_buf_release(op->task, mark);
	}
	return nr < 0 ? nr : err;
}

bool btree_merge(struct btree_op *op, const void *key, unsigned level)
{
	int err = merge_level(op, key, level);
	bool alone = err == -ENOENT, above = false;

	/* the level above has less then; or it makes neighbours of what had none */
	if ((!err || alone) && level + 1 < btree_top_level(atomic_load(&op->tree->top)))
		above = btree_merge(op, key, level + 1);
	if (alone && above)
		err = merge_level(op, key, level);
	return !err;
}

/* The left one, which is held, has not got the fence yet, and nobody is about to do that. */
static int left_widen(struct btree_hold *left, uint64_t dead, unsigned level)
{
	const struct btree_way way = { .addr = dead, .sure = true };
	struct btree_hold right = { .geo = left->geo };
	struct btree_head *head;
	int err;

	right.node = far_buf(left->op->task, left->geo->len);
	if (!right.node)
		return -ENOMEM;
	err = btree_node_read(left->op, &way, level, BTREE_WHOLE, right.node);
	if (err != -ESHUTDOWN)
		return err ? err : -EAGAIN;
	head = left_head(left, &right);
	if (!head)
		return -ENOMEM;
	far_alloc_lost(left->op->task);	/* the dead one: nobody is left to retire it */
	err = btree_hold_entries(left, head, BTREE_REDO_HEAD, FAR_NIL);
	return err ? err : btree_hold_put(left);
}

int btree_merge_end(struct btree_op *op, const void *low, uint64_t dead, unsigned level)
{
	size_t mark = far_buf_mark(op->task);
	struct btree_hold left;
	int err = btree_hold_key(op, low, 1, level, &left);

	/* the lock has ended it, but for one that moved nothing */
	if (!err) {
		if (left.node->right == dead)
			err = left_widen(&left, dead, level);
		err = err && err != -EAGAIN ? btree_abandon(&left, err) :
					      btree_release(&left);
	}
	far_buf_release(op->task, mark);
	return err;
}
