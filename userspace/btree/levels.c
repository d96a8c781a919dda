/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Walks all nodes. See levels.h. */
#include "levels.h"

#include <stdlib.h>

#define END_STEPS	(1u << 16)	/* more than splits are half done at a time */

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
	bool begun;			/* a node of this level was there: */
	uint8_t edge[BTREE_MAX_SIZE];	/* its high fence */
	uint8_t low[BTREE_MAX_SIZE];	/* and its low one: they never change, and grow */
	uint8_t key[BTREE_MAX_SIZE];	/* of rest_look() */
	bool ends;			/* behind the nodes with this low fence, or a lower one: */
	uint8_t end[BTREE_MAX_SIZE];
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
	bool checks = pass->levels->problem;
	int err = 0;

	if (!dead && checks)
		check_node(pass, geo, node, addr);
	memcpy(pass->edge, btree_high(geo, node), geo->key_size);
	if (checks)
		err = set_add(&pass->here, addr);
	if (!err && level && !dead && checks)
		err = next_add(pass, node);
	return err ? err : pass->levels->node(pass->levels, node, addr, level);
}

/*
 * The next epoch: *way leads to what is behind the last node. Whatever has that one's keys
 * by now has a low fence that is not greater.
 */
static int level_again(struct pass *pass, unsigned level, struct btree_way *way)
{
	const struct btree_geo *geo = btree_geo_of(pass->levels->tree, level);
	int err = form_walk_next(&pass->levels->walk);

	/* the first node of a level is never merged away: its address is no hint */
	if (err || !pass->begun)
		return err;
	err = btree_find(&pass->op, pass->low, 0, level, pass->op.node, way);
	if (err)
		return err == -ENOENT ? -EBADMSG : err;
	memcpy(pass->edge, btree_high(geo, pass->op.node), geo->key_size);
	*way = (struct btree_way) {
		.addr = pass->op.node->right, .sure = true, .beside = true,
	};
	return 0;
}

/* READs a node of the level into op.node. Low fences grow. */
static int level_read(struct pass *pass, const struct btree_way *way, unsigned level,
		      bool *ret_dead)
{
	const struct btree_geo *geo = btree_geo_of(pass->levels->tree, level);
	const struct btree_head *node = pass->op.node;
	int err = btree_node_read(&pass->op, way, level, BTREE_WHOLE, pass->op.node);

	*ret_dead = err == -ESHUTDOWN;
	if (err && !*ret_dead)
		return err;
	if (pass->begun && btree_cmp(geo, btree_low(node), pass->low) <= 0)
		return -EBADMSG;
	pass->begun = true;
	memcpy(pass->low, btree_low(node), geo->key_size);
	return 0;
}

/*
 * READs a level from *addr to its right end: pass->end is the low fence of the last node. Its
 * last child is *addr then, or FAR_NIL. Splits without a separator are passed, and whatever
 * else is half done stays as it is: a check changes nothing.
 */
static int end_read(struct pass *pass, unsigned level, uint64_t *addr)
{
	struct btree_way way = { .addr = *addr, .sure = true, .beside = true };
	const struct btree_geo *geo = btree_geo_of(pass->levels->tree, level);
	const struct btree_head *node = pass->op.node;
	uint8_t place[BTREE_MAX_SPAN];
	unsigned steps, nr;
	int err;

	*addr = FAR_NIL;
	for (steps = 0; way.addr && steps < END_STEPS; steps++, way.addr = node->right) {
		form_walk_due(&pass->levels->walk);
		err = btree_node_read(&pass->op, &way, level, BTREE_WHOLE, pass->op.node);
		if (err && err != -ESHUTDOWN)
			return err;
		if (steps && btree_cmp(geo, btree_low(node), pass->end) <= 0)
			return -EBADMSG;
		memcpy(pass->end, btree_low(node), geo->key_size);
		nr = level && !err ? btree_sorted(geo, node, place) : 0;
		if (nr)
			*addr = btree_child(geo, btree_entry_at(geo, node, place[nr - 1]));
	}
	return 0;
}

/*
 * Finds where the level ends now. Nodes with a greater low fence come later, and need not be met:
 * without end, where keys ascend faster than the walk goes on. In a tree that is damaged, or
 * whose last node above is being merged, there may be no way to the end.
 */
static int level_end(struct pass *pass, unsigned level)
{
	uint64_t top, addr;
	unsigned at;
	int err;

	pass->ends = false;
	/* A destruction frees later nodes, too: nothing leads to them any more. */
	if (pass->levels->walk.one_epoch)
		return 0;
	err = btree_top_read(&pass->op);
	top = atomic_load(&pass->levels->tree->top);
	addr = far_addr_bare(top);
	at = btree_top_level(top);
	for (; !err && addr && at > level; at--)
		err = end_read(pass, at, &addr);
	if (!err && addr && at == level) {
		err = end_read(pass, level, &addr);
		pass->ends = !err;
	}
	return err == -EBADMSG ? 0 : err;
}

static bool level_is_over(const struct pass *pass, unsigned level)
{
	const struct btree_geo *geo = btree_geo_of(pass->levels->tree, level);

	return pass->ends && btree_cmp(geo, pass->low, pass->end) > 0;
}

/* Calls each() for the nodes of a level, from its first one. */
static int level_each(struct pass *pass, uint64_t first, unsigned level,
		      int (*each)(struct pass *pass, uint64_t addr, unsigned level, bool dead))
{
	struct btree_way way = { .addr = first, .sure = true, .beside = true };
	uint64_t right;
	bool dead;
	int err = level_end(pass, level);

	pass->begun = false;
	memset(pass->edge, 0, sizeof(pass->edge));
	while (way.addr && !err) {
		if (form_walk_due(&pass->levels->walk))
			err = level_again(pass, level, &way);
		if (err || !way.addr)
			break;
		err = level_read(pass, &way, level, &dead);
		if (err || level_is_over(pass, level))
			break;
		right = pass->op.node->right;
		err = each(pass, way.addr, level, dead);
		way.addr = right;
	}
	return err;
}

/*
 * What the node above still leads to, with all of it READ in this epoch: the node on its
 * left leads to it, or it has died. It was born before the level above led to it.
 */
static int rest_look(struct pass *pass, uint64_t addr, unsigned level)
{
	static const uint8_t least[BTREE_MAX_SIZE];
	const struct btree_way way = { .addr = addr, .sure = true, .beside = true };
	const struct btree_geo *geo = btree_geo_of(pass->levels->tree, level);
	struct btree_op *op = &pass->op;
	struct btree_way left;
	int err = btree_node_read(op, &way, level, BTREE_WHOLE, op->node);

	if (err)
		return err == -ESHUTDOWN ? 0 : err;
	memcpy(pass->key, btree_low(op->node), geo->key_size);
	if (btree_cmp(geo, pass->key, least)) {
		err = btree_find(op, pass->key, 1, level, op->node, &left);
		if (err || op->node->right == addr)
			return err;
		err = btree_node_read(op, &way, level, BTREE_WHOLE, op->node);
		if (err)
			return err == -ESHUTDOWN ? 0 : err;
	}
	pass_problem(pass, addr, "no neighbour leads to it");
	return 0;
}

/* Looks in a node of the level above, in op.node, for what the walk below has not met. */
static int rest_node(struct pass *pass, uint64_t addr, unsigned level, bool dead)
{
	const struct btree_geo *geo = &pass->levels->tree->geo[1];
	const struct btree_head *node = pass->op.node;
	uint64_t child[BTREE_MAX_SPAN];
	uint8_t place[BTREE_MAX_SPAN];
	unsigned nr = btree_sorted(geo, node, place), i;
	int err = 0;

	(void)addr;
	for (i = 0; i < nr; i++)
		child[i] = btree_child(geo, btree_entry_at(geo, node, place[i]));
	for (i = 0; i < nr && !dead && !err; i++)
		if (set_has(&pass->led, child[i]))
			err = rest_look(pass, child[i], level - 1);
	return err;
}

/*
 * What the level above led to and no neighbour does: nothing, when nobody is at work. Else
 * it has died since, or came after the walk. These addresses are of many epochs, and only
 * tell that the level above wants a second look.
 */
static int pass_rest(struct pass *pass, uint64_t above, unsigned level)
{
	struct set *led = &pass->led;
	size_t nr = 0, i;

	set_sort(&pass->here);
	for (i = 0; i < led->nr; i++)
		if (!set_has(&pass->here, led->addr[i]))
			led->addr[nr++] = led->addr[i];
	led->nr = nr;
	set_sort(led);
	return nr ? level_each(pass, above, level + 1, rest_node) : 0;
}

/* The first node of the level below, as this one's first node says. */
static int first_below(struct pass *pass, uint64_t first, unsigned level, uint64_t *ret_below)
{
	const struct btree_way way = { .addr = first, .sure = true, .beside = true };
	const struct btree_geo *geo = btree_geo_of(pass->levels->tree, level);
	const struct btree_head *node = pass->op.node;
	const struct btree_entry *entry;
	int err = btree_node_read(&pass->op, &way, level, BTREE_WHOLE, pass->op.node);

	if (err)
		return err == -ESHUTDOWN ? -EBADMSG : err;
	entry = btree_find_below(geo, node, btree_low(node), 0);
	*ret_below = entry ? btree_child(geo, entry) : FAR_NIL;
	return *ret_below ? 0 : -EBADMSG;
}

/* From that level down, whose first node is at `first`. */
static int pass_levels(struct pass *pass, uint64_t first, unsigned level)
{
	uint64_t above = FAR_NIL;
	struct set swap;
	int err;

	for (;; level--) {
		pass->here.nr = pass->next.nr = 0;
		err = level_each(pass, first, level, pass_node);
		if (!err && pass->led.nr)
			err = pass_rest(pass, above, level);
		if (err || !level)
			return err;
		above = first;
		err = first_below(pass, first, level, &first);
		if (err)
			return err;
		swap = pass->led;
		pass->led = pass->next;
		pass->next = swap;
	}
}

int btree_levels(struct btree_levels *levels)
{
	struct far_task *task = levels->walk.task;
	struct pass pass = { .levels = levels };
	size_t mark = far_buf_mark(task);
	uint64_t top;
	int err;

	err = btree_op_init(&pass.op, task, levels->tree);
	if (!err)
		err = btree_top_read(&pass.op);
	if (!err) {
		top = atomic_load(&levels->tree->top);
		err = pass_levels(&pass, far_addr_bare(top), btree_top_level(top));
	}
	free(pass.led.addr);
	free(pass.here.addr);
	free(pass.next.addr);
	far_buf_release(task, mark);
	return err;
}
