/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Walks all nodes. See levels.h. */
#include "levels.h"

#include <stdlib.h>

/* Addresses that a level above leads to, and that its own neighbours lead to. */
struct set {
	uint64_t *addr;
	size_t nr, max;
};

struct pass {
	struct btree_levels *levels;
	struct btree_op op;
	struct set led;			/* by entries of the level above */
	struct set here;		/* nodes of this level */
	struct set next;		/* led to by this level */
	uint8_t edge[BTREE_MAX_SIZE];	/* high fence of the node before */
	uint8_t low[BTREE_MAX_SIZE];	/* and its low one: they never change, and grow */
};

static int set_add(struct set *set, uint64_t addr)
{
	if (set->nr == set->max) {
		size_t max = set->max ? 2 * set->max : 256;
		uint64_t *more = realloc(set->addr, max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		set->addr = more;
		set->max = max;
	}
	set->addr[set->nr++] = addr;
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void set_sort(struct set *set)
{
	if (set->nr)
		qsort(set->addr, set->nr, sizeof(*set->addr), by_addr);
}

static bool set_has(const struct set *set, uint64_t addr)
{
	return set->nr && bsearch(&addr, set->addr, set->nr, sizeof(addr), by_addr);
}

static void pass_problem(struct pass *pass, uint64_t addr, const char *what)
{
	if (pass->levels->problem)
		pass->levels->problem(pass->levels, addr, what);
}

/*
 * Fences join, keys lie between them, once each. What a dead client holds waits for who
 * changes it next: its sum is of before, and a merge that has not happened has left keys
 * beyond its fence.
 */
static void check_node(struct pass *pass, const struct btree_geo *geo,
		       const struct btree_head *node, uint64_t addr)
{
	uint8_t place[BTREE_MAX_SPAN];
	unsigned nr = btree_sorted(geo, node, place), i;
	bool held = !far_lock_is_free(node->word);
	const uint8_t *key, *last = NULL;

	if (btree_cmp(geo, btree_low(node), pass->edge))
		pass_problem(pass, addr, "its fence is not where its neighbour ends");
	if (!node->right != !!(node->flags & BTREE_LAST))
		pass_problem(pass, addr, "it has a neighbour and no fence, or a fence alone");
	if (!(node->flags & BTREE_LAST) &&
	    btree_cmp(geo, btree_low(node), btree_high(geo, node)) >= 0)
		pass_problem(pass, addr, "its fences are out of order");
	if (!held && far_lock_sum(node->word) != far_lock_checksum(&node->sum, geo->len - 8))
		pass_problem(pass, addr, "the lock's sum is another one");
	for (i = 0; i < nr; i++, last = key) {
		key = btree_entry_at(geo, node, place[i])->data;
		if (btree_is_left(geo, node, key) ||
		    (!held && btree_is_right(geo, node, key)))
			pass_problem(pass, addr, "a key lies outside of its fences");
		if (place[i] < btree_home(geo, key) ||
		    place[i] >= btree_home(geo, key) + geo->near)
			pass_problem(pass, addr, "a key lies outside of its neighbourhood");
		if (last && !btree_cmp(geo, last, key))
			pass_problem(pass, addr, "a key is there twice");
	}
}

static int next_add(struct pass *pass, const struct btree_head *node)
{
	const struct btree_geo *geo = &pass->levels->tree->geo[1];
	uint8_t place[BTREE_MAX_SPAN];
	unsigned nr = btree_sorted(geo, node, place), i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = set_add(&pass->next, btree_child(geo, btree_entry_at(geo, node,
									   place[i])));
	return err;
}

/* One node of the level, which is in op.node; dead: only its neighbour counts. */
static int pass_node(struct pass *pass, uint64_t addr, unsigned level, bool dead)
{
	const struct btree_geo *geo = btree_geo_of(pass->levels->tree, level);
	const struct btree_head *node = pass->op.node;
	int err;

	if (!dead && pass->levels->problem)
		check_node(pass, geo, node, addr);
	memcpy(pass->edge, btree_high(geo, node), geo->key_size);
	err = set_add(&pass->here, addr);
	if (!err && level && !dead)
		err = next_add(pass, node);
	return err ? err : pass->levels->node(pass->levels, node, addr, level);
}

/* What the level above leads to and no neighbour does: nothing, when nobody is at work. */
static int pass_rest(struct pass *pass, unsigned level)
{
	struct btree_way way = { .sure = true, .beside = true };
	size_t i;
	int err = 0;

	set_sort(&pass->here);
	for (i = 0; i < pass->led.nr && !err; i++) {
		way.addr = pass->led.addr[i];
		if (set_has(&pass->here, way.addr))
			continue;
		err = btree_node_read(&pass->op, &way, level, BTREE_WHOLE, pass->op.node);
		/* it may have come, or died, while others were changing the tree */
		if (err == -ESHUTDOWN)
			err = 0;
		if (!err)
			pass_problem(pass, way.addr, "no neighbour leads to it");
	}
	return err;
}

/* A level, from its first node. *ret_first: that of the level below. */
static int pass_level(struct pass *pass, uint64_t first, unsigned level, uint64_t *ret_first)
{
	const struct btree_geo *geo = btree_geo_of(pass->levels->tree, level);
	struct btree_way way = { .addr = first, .sure = true, .beside = true };
	uint64_t right;
	int err = 0;

	memset(pass->edge, 0, sizeof(pass->edge));
	pass->here.nr = pass->next.nr = 0;
	*ret_first = FAR_NIL;
	while (way.addr && !err) {
		bool dead;

		err = btree_node_read(&pass->op, &way, level, BTREE_WHOLE, pass->op.node);
		dead = err == -ESHUTDOWN;
		if (err && !dead)
			break;
		right = pass->op.node->right;
		if (way.addr != first &&
		    btree_cmp(geo, btree_low(pass->op.node), pass->low) <= 0)
			return -EBADMSG;
		memcpy(pass->low, btree_low(pass->op.node), geo->key_size);
		if (level && way.addr == first) {
			struct btree_entry *entry = btree_find_below(geo, pass->op.node,
								     btree_low(pass->op.node), 0);

			*ret_first = entry ? btree_child(geo, entry) : FAR_NIL;
		}
		err = pass_node(pass, way.addr, level, dead);
		way.addr = right;
	}
	return err ? err : pass_rest(pass, level);
}

int btree_levels(struct btree_levels *levels)
{
	struct pass pass = { .levels = levels };
	size_t mark = far_buf_mark(levels->task);
	uint64_t at = 0, below;
	unsigned level = 0;
	struct set swap;
	int err;

	pass.op.tree = levels->tree;
	err = btree_op_init(&pass.op, levels->task, levels->tree);
	if (!err)
		err = btree_top_read(&pass.op);
	if (!err) {
		at = far_addr_bare(atomic_load(&levels->tree->top));
		level = btree_top_level(atomic_load(&levels->tree->top));
	}
	while (!err) {
		err = pass_level(&pass, at, level, &below);
		if (err || !level)
			break;
		if (!below)
			err = -EBADMSG;
		at = below;
		level--;
		swap = pass.led;
		pass.led = pass.next;
		pass.next = swap;
	}
	free(pass.led.addr);
	free(pass.here.addr);
	free(pass.next.addr);
	far_buf_release(levels->task, mark);
	return err;
}
