/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Nodes under their lock: taking, changing, and repairing what a holder has left that
 * died. Each change has its record in front of it, on the same queue pair.
 */
#include "btree_priv.h"

#include "../core/alloc.h"
#include "../core/core.h"
#include "../core/owner.h"
#include "../core/task.h"

#define TRIES		16u		/* connections that may break under one WRITE */
#define HOLD_TRIES	10000u		/* to lock a node, while others change the tree */
#define TRY_NS		UINT64_C(500)	/* before the first of them; doubles */
#define MEND_DEPTH	8u		/* merges of neighbours that have all been left half way */

static struct btree_hold *hold_of(const struct far_lock *lock)
{
	return (struct btree_hold *)((char *)lock - offsetof(struct btree_hold, lock));
}

static bool whole(const struct far_lock *lock)
{
	const struct btree_hold *hold = hold_of(lock);

	return btree_sum_ok(hold->geo, hold->node, hold->addr) &&
	       btree_whole(hold->geo, hold->node);
}

static int is_unknown(int err)
{
	return err == -EIO || err == -EHOSTDOWN || err == -ETIMEDOUT;
}

uint64_t btree_new_version(struct btree_op *op)
{
	return far_rng_mix(far_rng_next(far_task_rng(op->task)) ^
			   far_owner_self(op->task));
}

/* The part of an image that starts behind its word. */
static void *contents(struct btree_head *node)
{
	return &node->sum;
}

static uint32_t head_len(const struct btree_geo *geo)
{
	return geo->head - offsetof(struct btree_head, sum);
}

/* True if the node that was merged into this one is dead; repairs that one first. */
static int right_is_dead(struct btree_hold *hold, unsigned level)
{
	const struct btree_way way = { .addr = hold->redo->right, .sure = true };
	struct btree_op *op = hold->op;
	struct btree_head *buf = far_buf(op->task, btree_geo_of(op->tree, level)->len);
	const struct btree_hold *at;
	unsigned depth = 0;
	int err;

	if (!buf)
		return -ENOMEM;
	/* its repair may want this again: records that are damaged must not lead back */
	hold->outer = op->mending;
	for (at = hold; at; at = at->outer)
		if (at->addr == way.addr || depth++ == MEND_DEPTH)
			return -EBADMSG;
	op->mending = hold;
	err = btree_node_read(op, &way, level, BTREE_WHOLE, buf);
	op->mending = hold->outer;
	return err == -ESHUTDOWN ? 1 : err;
}

/* The record says that the head was to change: does that. */
static int repair_head(struct btree_hold *hold, uint64_t kind)
{
	struct btree_redo *redo = hold->redo;
	struct btree_head *node = hold->node;
	const struct btree_geo *geo = hold->geo;
	struct btree_head *head = far_buf(hold->op->task, geo->head);
	int err = head ? 1 : -ENOMEM;

	if (err < 0)
		return err;
	memcpy(contents(head), redo->data, head_len(geo));
	if (kind == BTREE_REDO_MERGE)
		err = right_is_dead(hold, head->level);
	if (err < 0)
		return err;
	if (err)
		memcpy(contents(node), contents(head), head_len(geo));
	if (err && kind == BTREE_REDO_MERGE)
		far_alloc_lost(hold->op->task);	/* the right one: nobody is left to retire it */
	btree_recast(geo, node, redo->before, node->version);
	/* entries first, as if nobody had died */
	far_write(hold->op->task, hold->addr + geo->head, (uint8_t *)node + geo->head,
		  geo->len - geo->head);
	return far_sync(hold->op->task);
}

static int repair(struct far_task *task, struct far_lock *lock)
{
	struct btree_hold *hold = hold_of(lock);
	const struct btree_geo *geo = hold->geo;
	uint64_t kind;
	unsigned place;
	int err;

	far_read(task, hold->addr + geo->len, hold->redo, geo->redo);
	err = far_sync(task);
	if (err)
		return err;
	kind = hold->redo->kind & 0xff;
	place = hold->redo->kind >> 8;
	if (kind == BTREE_REDO_ENTRY && place < geo->span)
		memcpy(btree_entry_at(geo, hold->node, place), hold->redo->data, geo->entry);
	else if (kind == BTREE_REDO_HEAD || kind == BTREE_REDO_MERGE)
		err = repair_head(hold, kind);
	if (err)
		return err;
	return whole(lock) ? 0 : -EBADMSG;
}

static const struct far_lock_ops hold_ops = { .repair = repair, .whole = whole };

static int hold_init(struct btree_op *op, const struct btree_geo *geo, uint64_t addr,
		     struct btree_hold *hold)
{
	uint8_t *buf = far_buf(op->task, geo->len);

	memset(hold, 0, sizeof(*hold));
	hold->op = op;
	hold->geo = geo;
	hold->addr = addr;
	hold->node = (struct btree_head *)buf;
	hold->redo = far_buf(op->task, geo->redo);
	if (!buf || !hold->redo)
		return -ENOMEM;
	hold->lock = (struct far_lock) {
		.addr = addr,
		.data = addr + offsetof(struct btree_head, sum),
		.len = geo->len - offsetof(struct btree_head, sum),
		.image = contents(hold->node),
		.kind = FAR_LOCK_SUMMED,
		.ops = &hold_ops,
	};
	return 0;
}

/*
 * What has been locked is what was meant; the unborn are born by who comes from beside. 1:
 * that has been written but for its head, which the release writes.
 */
static int hold_check(struct btree_hold *hold, const struct btree_way *way, unsigned level)
{
	struct btree_head *node = hold->node, *head;
	int err;

	if (node->level != level || node->flags & BTREE_DEAD)
		return -EAGAIN;
	if (!(node->flags & BTREE_UNBORN))
		return 0;
	if (!way->beside)
		return -EAGAIN;
	head = btree_new_head(hold);
	if (!head)
		return -ENOMEM;
	head->version = node->version;
	head->flags &= ~BTREE_UNBORN;
	btree_sum_set(hold->geo, head, hold->addr);
	err = btree_hold_entries(hold, head, BTREE_REDO_HEAD, FAR_NIL);
	return err ? err : 1;
}

/* The word of that node's lock as it was seen last, if that is worth anything. */
static int word_seen(const struct btree_op *op, const struct btree_way *way, uint64_t *ret_word)
{
	*ret_word = way->word;
	if (way->word || op->tree->variant.no_word)
		return way->word != 0;
	return btree_cache_word(op->tree->cache, way->addr, form_age_now(op->task), ret_word);
}

int btree_hold(struct btree_op *op, const struct btree_way *way, unsigned level,
	       struct btree_hold *hold)
{
	uint64_t word;
	int err, seen;

	seen = word_seen(op, way, &word);
	/* a CAS goes only to what cannot have become another block meanwhile */
	if (!seen && !way->sure)
		return -EAGAIN;
	err = hold_init(op, btree_geo_of(op->tree, level), way->addr, hold);
	if (err)
		return err;
	hold->lock.seen = word;
	err = far_lock_take(op->task, &hold->lock);
	if (err)
		return err;
	if (hold->lock.handed && op->tree->variant.handed)
		err = op->tree->variant.handed(hold);
	err = err ? err : hold_check(hold, way, level);
	if (err == 1) {
		/* one record per word: the next one may be torn while contents do not match */
		err = btree_release(hold);
		return err ? err : btree_hold(op, way, level, hold);
	}
	if (err == -EAGAIN) {
		hold->lock.from = hold->lock.to = 0;
		far_lock_release(op->task, &hold->lock);
	} else if (err) {
		btree_release(hold);
	}
	return err;
}

/* The first node on the way; locked, or READ first if it is only remembered. */
static int hold_first(struct btree_op *op, const void *key, int strict, unsigned level,
		      bool fresh, struct btree_hold *hold)
{
	struct btree_way way;
	int err = btree_descend(op, key, strict, level, fresh, &way);

	if (!err)
		err = btree_hold(op, &way, level, hold);
	if (err != -EAGAIN)
		return err;
	err = btree_find_head(op, key, strict, level, &way);
	if (err)
		return err;
	way.sure = true;
	return btree_hold(op, &way, level, hold);
}

int btree_hold_key(struct btree_op *op, const void *key, int strict, unsigned level,
		   struct btree_hold *hold)
{
	struct btree_way way = { .sure = true, .beside = true };
	size_t mark = far_buf_mark(op->task);
	bool fresh = false;
	unsigned try, steps;
	int err, side;

	op->passed = FAR_NIL;
	for (try = 0;; try++) {
		far_buf_release(op->task, mark);
		err = hold_first(op, key, strict, level, fresh, hold);
		side = err ? 0 : btree_side(hold->geo, hold->node, key, strict);
		for (steps = 0; !err && side > 0;) {
			way.addr = hold->node->right;
			btree_passed(op, hold->addr, level);
			err = btree_release(hold);
			far_buf_release(op->task, mark);
			if (!err)
				err = btree_stepped(fresh, &steps);
			if (!err)
				err = btree_hold(op, &way, level, hold);
			/* a merge that moved nothing: the lock's repair has not ended it */
			if (err == -EAGAIN && hold->node->flags & BTREE_DEAD)
				err = btree_dead_met(op, &way, level, hold->node);
			side = err ? 0 : btree_side(hold->geo, hold->node, key, strict);
		}
		if (!err && side < 0) {
			err = btree_release(hold);
			err = err ? err : -EAGAIN;
		}
		if (err != -EAGAIN)
			return err;
		if (try == HOLD_TRIES)
			return -EBADMSG;
		if (fresh)
			far_backoff(op->task);
		fresh = true;
	}
}

/* The record of what is about to happen goes in front of it. */
static void redo_set(struct btree_hold *hold, uint64_t kind, uint64_t before, uint64_t right,
		     const void *data, uint32_t len)
{
	hold->redo->kind = kind;
	hold->redo->before = before;
	hold->redo->right = right;
	memcpy(hold->redo->data, data, len);
	if ((kind & 0xff) == BTREE_REDO_ENTRY && hold->op->tree->variant.no_redo)
		return;
	hold->lock.redo = hold->redo;
	hold->lock.redo_addr = hold->addr + hold->geo->len;
	hold->lock.redo_len = BTREE_REDO + len;
}

void btree_hold_entry(struct btree_hold *hold, unsigned place)
{
	uint32_t from = btree_entry_off(hold->geo, place) - offsetof(struct btree_head, sum);

	/* a head that is on its way goes with it */
	if (hold->lock.from < hold->lock.to)
		hold->lock.from = 0;
	else
		hold->lock.from = from;
	hold->lock.to = from + hold->geo->entry;
	redo_set(hold, BTREE_REDO_ENTRY | (uint64_t)place << 8, hold->node->version, FAR_NIL,
		 btree_entry_at(hold->geo, hold->node, place), hold->geo->entry);
}

struct btree_head *btree_new_head(struct btree_hold *hold)
{
	struct btree_head *head = far_buf(hold->op->task, hold->geo->head);

	if (!head)
		return NULL;
	memcpy(head, hold->node, hold->geo->head);
	head->version = btree_new_version(hold->op);
	return head;
}

/* Until it is known to be done. The word is this task's as long as it is not fenced. */
static int range_put(struct btree_hold *hold, uint32_t from, uint32_t to)
{
	struct far_task *task = hold->op->task;
	unsigned i;
	int err = -EIO;

	for (i = 0; i < TRIES && is_unknown(err); i++) {
		if (i)
			far_sleep(task, TRY_NS << i);
		far_write(task, hold->lock.redo_addr, hold->redo, hold->lock.redo_len);
		far_write(task, hold->addr + from, (uint8_t *)hold->node + from, to - from);
		err = far_sync(task);
	}
	return err;
}

static void hold_head(struct btree_hold *hold)
{
	hold->lock.from = 0;
	hold->lock.to = head_len(hold->geo);
}

int btree_hold_entries(struct btree_hold *hold, const struct btree_head *head,
		       enum btree_redo_kind kind, uint64_t right)
{
	uint64_t before = hold->node->version;
	const struct btree_geo *geo = hold->geo;
	int err;

	redo_set(hold, kind, before, right, &head->sum, head_len(geo));
	memcpy(contents(hold->node), &head->sum, head_len(geo));
	btree_recast(geo, hold->node, before, head->version);
	err = range_put(hold, geo->head, geo->len);
	hold_head(hold);
	return err;
}

int btree_hold_put(struct btree_hold *hold)
{
	const uint32_t skip = offsetof(struct btree_head, sum);

	return range_put(hold, skip + hold->lock.from, skip + hold->lock.to);
}

int btree_release(struct btree_hold *hold)
{
	struct form_age age = form_age_now(hold->op->task);
	int err = far_lock_release(hold->op->task, &hold->lock);

	if (!err)
		btree_cache_put_leaf(hold->op->tree->cache, hold->addr, age,
				     hold->lock.word, hold->node->version);
	return err;
}

int btree_abandon(struct btree_hold *hold, int err)
{
	/* not from beside: perhaps nobody leads to it, and then it must not be born */
	const struct btree_way way = { .addr = hold->addr, .sure = true };
	unsigned level = hold->node->level;
	struct btree_op *op = hold->op;

	far_lock_abandon(op->task, &hold->lock);
	if (!btree_hold(op, &way, level, hold))
		btree_release(hold);
	return err;
}
