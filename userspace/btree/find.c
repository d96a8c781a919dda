/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way to a node: from the top down, by remembered or READ inner nodes, and then to
 * the right as far as the fences say.
 */
#include "btree_priv.h"

#include "../core/deadline.h"
#include "../core/owner.h"
#include "../core/task.h"

#define LOOKS	4u	/* at a node that is not whole, before its lock's owner is asked for */
#define FREE_LOOKS	64u	/* at one that nobody is changing */
#define HINTS	2u	/* at one that is only remembered */
#define TRIES	10000u	/* to find a node, while others change the tree */
#define RIGHT_STEPS	4u	/* to the right, before what is above is READ again */
#define RIGHT_MAX	(1u << 20)	/* steps that no tree of ours wants */
#define SEARCH_NS	60u	/* processor time of a search in a node, for the model */

int btree_top_read(struct btree_op *op)
{
	int err;

	far_read(op->task, op->tree->root + offsetof(struct btree_root, top), op->word,
		 sizeof(*op->word));
	err = far_sync(op->task);
	if (!err)
		atomic_store(&op->tree->top, *op->word);
	return err;
}

int btree_side(const struct btree_geo *geo, const struct btree_head *node, const void *key,
	       int strict)
{
	/* strict: between the first key above low, and high itself */
	if (btree_cmp(geo, key, btree_low(node)) < strict)
		return -1;
	if (node->flags & BTREE_LAST)
		return 0;
	return btree_cmp(geo, key, btree_high(geo, node)) >= strict ? 1 : 0;
}

/* Takes and gives back the lock of a node whose holder has died: that repairs it. */
static int node_mend(struct btree_op *op, const struct btree_way *way, unsigned level)
{
	size_t mark = far_buf_mark(op->task);
	struct btree_hold hold;
	int err = btree_hold(op, way, level, &hold);

	if (!err)
		err = btree_release(&hold);
	far_buf_release(op->task, mark);
	return err == -EAGAIN ? 0 : err;
}

/* The node is not as it should be: waits, and sees to it if nobody else will. */
static int node_wait(struct btree_op *op, const struct btree_way *way, unsigned level,
		     uint64_t word, unsigned look)
{
	int err;

	if (far_op_is_late(op->task))
		return -ETIME;
	far_backoff(op->task);
	if (look % LOOKS != LOOKS - 1 || far_lock_is_free(word))
		return 0;
	/* what a broken connection has left behind; or it waits for the task that is at it */
	if ((word & FAR_OWNER_MASK) == far_owner_self(op->task))
		return node_mend(op, way, level);
	err = far_owner_dead(op->task, word);
	return err > 0 ? node_mend(op, way, level) : err;
}

static void part_append(struct btree_op *op, uint64_t addr, const struct btree_geo *geo,
			enum btree_part part, unsigned home, struct btree_head *buf)
{
	far_read(op->task, addr, buf, part == BTREE_WHOLE ? geo->len : geo->head);
	if (part == BTREE_NEARBY)
		far_read(op->task, addr + btree_entry_off(geo, home),
			 btree_entry_at(geo, buf, home), geo->near * geo->entry);
}

static int part_is_whole(const struct btree_geo *geo, uint64_t addr, unsigned level,
			 enum btree_part part, unsigned home, const struct btree_head *buf)
{
	if (!btree_sum_ok(geo, buf, addr) || buf->level != level)
		return 0;
	if (part == BTREE_NEARBY)
		return btree_near_whole(geo, buf, buf->version, home);
	return part == BTREE_HEAD_ONLY || btree_whole(geo, buf);
}

int btree_node_read(struct btree_op *op, const struct btree_way *way, unsigned level,
		    enum btree_part part, struct btree_head *buf)
{
	const struct btree_geo *geo = btree_geo_of(op->tree, level);
	unsigned home = part == BTREE_NEARBY ? btree_home(geo, op->key) : 0;
	unsigned look, free = 0;
	int err;

	for (look = 0;; look++) {
		part_append(op, way->addr, geo, part, home, buf);
		err = far_sync(op->task);
		if (err == -EFAULT)	/* no caller names an address: it was read */
			return way->sure ? -EBADMSG : -EAGAIN;
		if (err)
			return err;
		far_spend(op->task, SEARCH_NS);
		if (part_is_whole(geo, way->addr, level, part, home, buf))
			break;
		if (!way->sure && look == HINTS)
			return -EAGAIN;
		free += far_lock_is_free(buf->word);
		if (free == FREE_LOOKS)
			return -EBADMSG;
		err = node_wait(op, way, level, buf->word, look);
		if (err)
			return err;
	}
	if (buf->flags & BTREE_DEAD)
		return -ESHUTDOWN;
	return buf->flags & BTREE_UNBORN && !way->beside ? -EAGAIN : 0;
}

/* An inner node on the way: remembered, or READ and then remembered. */
static int inner_read(struct btree_op *op, struct btree_way *way, unsigned level, bool fresh)
{
	struct far_btree *tree = op->tree;
	int err;

	if (!fresh && btree_cache_node(tree->cache, way->addr, op->inner)) {
		way->sure = false;
		far_spend(op->task, SEARCH_NS);
		return op->inner->level == level ? 0 : -EAGAIN;
	}
	err = btree_node_read(op, way, level, BTREE_WHOLE, op->inner);
	if (err)
		return err;
	way->sure = true;
	if (!(op->inner->flags & BTREE_UNBORN))
		btree_cache_put_node(tree->cache, way->addr, op->inner);
	return 0;
}

int btree_dead_met(struct btree_op *op, const struct btree_way *way, unsigned level,
		   const struct btree_head *node)
{
	size_t mark = far_buf_mark(op->task);
	const struct btree_geo *geo = btree_geo_of(op->tree, level);
	uint8_t *low = far_buf(op->task, geo->key_len);
	int err = low ? 0 : -ENOMEM;

	if (!err && way->sure) {
		memcpy(low, btree_low(node), geo->key_len);
		far_backoff(op->task);
		err = btree_merge_end(op, low, way->addr, level);
	}
	far_buf_release(op->task, mark);
	return err ? err : -EAGAIN;
}

/*
 * After a step to the right. What is remembered, the top as well, may be as old as this
 * handle: then the way down begins anew. Neighbours in a circle are damage.
 */
int btree_stepped(bool fresh, unsigned *steps)
{
	++*steps;
	if (!fresh && *steps == RIGHT_STEPS)
		return -EAGAIN;
	return *steps == RIGHT_MAX ? -EBADMSG : 0;
}

/* From an inner node to the next one. */
static int step(struct btree_op *op, const void *key, int strict, struct btree_way *way,
		unsigned *level)
{
	const struct btree_geo *geo = &op->tree->geo[1];
	const struct btree_entry *entry;
	int side = btree_side(geo, op->inner, key, strict);

	if (side > 0) {
		if (way->sure)
			btree_passed(op, way->addr, *level);
		way->addr = op->inner->right;
		/* a remembered one may lead to what is another's unborn by now */
		way->beside = way->sure;
		return 0;
	}
	entry = side ? NULL : btree_find_below(geo, op->inner, key, strict);
	if (!entry)
		return -EAGAIN;
	way->parent = way->addr;
	way->addr = btree_child(geo, entry);
	way->beside = false;
	--*level;
	return 0;
}

int btree_descend(struct btree_op *op, const void *key, int strict, unsigned level,
		  bool fresh, struct btree_way *ret_way)
{
	uint64_t top = atomic_load(&op->tree->top);
	struct btree_way way = { .sure = true };
	unsigned at, steps = 0;
	int err = 0;

	if (fresh || btree_top_level(top) < level) {
		err = btree_top_read(op);
		top = atomic_load(&op->tree->top);
	}
	at = btree_top_level(top);
	if (!err && at < level)
		err = -ENOENT;
	/* the first node of a level is never merged away: its address is no hint */
	way.addr = far_addr_bare(top);
	while (!err && at > level) {
		unsigned here = at;

		err = inner_read(op, &way, at, fresh);
		if (err == -ESHUTDOWN)
			err = btree_dead_met(op, &way, here, op->inner);
		else if (!err)
			err = step(op, key, strict, &way, &at);
		if (!err && at == here)
			err = btree_stepped(fresh, &steps);
		if (err == -EAGAIN)
			btree_cache_drop_node(op->tree->cache, way.addr);
	}
	*ret_way = way;
	return err;
}

/* One attempt. */
static int find_once(struct btree_op *op, const void *key, int strict, unsigned level,
		     bool fresh, enum btree_part part, struct btree_head *buf,
		     struct btree_way *way)
{
	const struct btree_geo *geo = btree_geo_of(op->tree, level);
	unsigned steps = 0;
	struct form_age age;
	int side = 1, err;

	err = btree_descend(op, key, strict, level, fresh, way);
	while (!err && side > 0) {
		if (op->batch)
			far_combine_again(op->batch);
		/* before the READ: what dies behind it has a tag of this epoch or later */
		age = form_age_now(op->task);
		err = btree_node_read(op, way, level, part, buf);
		if (err == -ESHUTDOWN)
			err = btree_dead_met(op, way, level, buf);
		if (err)
			break;
		btree_cache_put_leaf(op->tree->cache, way->addr, age, buf->word,
				     buf->version);
		way->word = buf->word;
		side = btree_side(geo, buf, key, strict);
		if (side < 0)
			return -EAGAIN;
		if (side > 0) {
			btree_cache_drop_node(op->tree->cache, way->parent);
			btree_passed(op, way->addr, level);
			way->addr = buf->right;
			way->sure = way->beside = true;
			err = btree_stepped(fresh, &steps);
		}
	}
	return err;
}

static int find_part(struct btree_op *op, const void *key, int strict, unsigned level,
		     enum btree_part part, struct btree_head *buf, struct btree_way *ret_way)
{
	bool fresh = false;
	unsigned try;
	int err;

	op->passed = FAR_NIL;
	for (try = 0;; try++) {
		err = find_once(op, key, strict, level, fresh, part, buf, ret_way);
		if (err != -EAGAIN)
			return err;
		if (try == TRIES)
			return -EBADMSG;
		btree_cache_drop_node(op->tree->cache, ret_way->parent);
		if (fresh)
			far_backoff(op->task);
		fresh = true;
	}
}

int btree_find(struct btree_op *op, const void *key, int strict, unsigned level,
	       struct btree_head *buf, struct btree_way *ret_way)
{
	return find_part(op, key, strict, level, BTREE_WHOLE, buf, ret_way);
}

int btree_find_near(struct btree_op *op, struct btree_way *ret_way)
{
	enum btree_part part = op->tree->variant.no_near ? BTREE_WHOLE : BTREE_NEARBY;

	return find_part(op, op->key, 0, 0, part, op->node, ret_way);
}

int btree_find_head(struct btree_op *op, const void *key, int strict, unsigned level,
		    struct btree_way *ret_way)
{
	return find_part(op, key, strict, level, BTREE_HEAD_ONLY, op->node, ret_way);
}
