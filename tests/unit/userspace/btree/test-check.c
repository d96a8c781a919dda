/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a check finds: a tree is broken by hand, with sums that are right, in each way in
 * which its parts can contradict each other; and blocks that are in no place.
 */
#include "kind.h"

#include <string.h>

#include "../../../../userspace/btree/levels.h"
#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/epoch.h"

#define SPAN	4u
#define KEYS	40u

struct world {
	struct rig rig;
	struct far_btree *tree;
	uint64_t first, second;		/* leaves, the second one right of the first */
	uint64_t above;			/* the node that leads to both */
};

static uint64_t key_of(uint64_t i)
{
	return __builtin_bswap64(10 * i + 10);
}

/* In its memory node. */
static struct btree_head *node_at(const struct world *world, uint64_t addr)
{
	return (void *)((char *)world->rig.map[0].addr + far_addr_off(addr));
}

static void way_to(struct world *world, struct far_task *task, const void *key,
		   struct btree_way *way)
{
	size_t mark = far_buf_mark(task);
	struct btree_op op = { 0 };

	assert_int_equal(far_epoch_enter(task), 0);
	assert_int_equal(btree_op_init(&op, task, world->tree), 0);
	assert_int_equal(btree_find(&op, key, 0, 0, op.node, way), 0);
	far_buf_release(task, mark);
	far_epoch_exit(task);
}

static void world_open(struct world *world)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1 };
	const struct far_btree_attr attr = { .span = SPAN };
	struct far_task *task;
	struct btree_way way;
	uint64_t i, key = 0;

	memset(world, 0, sizeof(*world));
	rig_open(&world->rig, &conf);
	task = rig_enter(&world->rig, 0);
	assert_int_equal(far_btree_create(task, "t", &attr, &world->tree), 0);
	for (i = 0; i < KEYS; i++) {
		key = key_of(i);
		assert_int_equal(far_btree_insert(task, world->tree, &key, 8, &i, 8), 0);
	}
	key = 0;
	way_to(world, task, &key, &way);
	world->first = way.addr;
	world->above = way.parent;
	world->second = node_at(world, way.addr)->right;
	assert_true(world->second);
	far_leave(task);
}

static void world_close(struct world *world)
{
	far_btree_close(world->tree);
	rig_close(&world->rig);
}

/* Sums of head and lock, after a change. */
static void sum_set(struct world *world, uint64_t addr)
{
	struct btree_head *node = node_at(world, addr);
	const struct btree_geo *geo = btree_geo_of(world->tree, node->level);

	btree_sum_set(geo, node, addr);
	node->word = far_lock_word(0, 0, 0, far_lock_checksum(&node->sum, geo->len - 8));
}

struct report {
	const char *want;
	unsigned wanted, all;
};

static void found(struct btree_levels *levels, uint64_t addr, const char *what)
{
	struct report *report = levels->arg;

	(void)addr;
	report->all++;
	report->wanted += report->want && !strcmp(what, report->want);
}

static int visit(struct btree_levels *levels, const struct btree_head *node, uint64_t addr,
		 unsigned level)
{
	(void)levels;
	(void)node;
	(void)addr;
	(void)level;
	return 0;
}

/* Walks all, and counts what is wrong, and what is wrong with these words. */
static int check(struct world *world, const char *want, struct report *report)
{
	struct far_task *task = rig_enter(&world->rig, 0);
	struct btree_levels levels = {
		.walk = { .task = task }, .tree = world->tree, .node = visit, .problem = found,
		.arg = report,
	};
	int err;

	*report = (struct report) { .want = want };
	assert_int_equal(form_walk_enter(&levels.walk), 0);
	err = form_walk_leave(&levels.walk, btree_levels(&levels));
	far_leave(task);
	return err;
}

/* Opens a tree of which nothing is wrong, breaks it, and expects that to be found. */
static void expect_found(void (*break_it)(struct world *world), const char *what)
{
	struct report report;
	struct world world;

	world_open(&world);
	assert_int_equal(check(&world, NULL, &report), 0);
	assert_int_equal(report.all, 0);
	break_it(&world);
	assert_int_equal(check(&world, what, &report), 0);
	assert_true(report.wanted > 0);
	world_close(&world);
}

/* The first leaf's first entry in use. */
static struct btree_entry *entry_of_first(struct world *world)
{
	const struct btree_geo *geo = &world->tree->geo[0];
	struct btree_head *leaf = node_at(world, world->first);
	uint8_t place[BTREE_MAX_SPAN];

	assert_true(btree_sorted(geo, leaf, place) >= 2);
	return btree_entry_at(geo, leaf, place[0]);
}

static void entry_gets(struct world *world, uint64_t key)
{
	const struct btree_geo *geo = &world->tree->geo[0];
	uint64_t value = 1;

	btree_entry_set(geo, entry_of_first(world), node_at(world, world->first)->version,
			&key, &value, sizeof(value));
	sum_set(world, world->first);
}

static void key_outside(struct world *world)
{
	entry_gets(world, key_of(KEYS));
}

static void key_twice(struct world *world)
{
	const struct btree_geo *geo = &world->tree->geo[0];
	struct btree_head *leaf = node_at(world, world->first);
	uint8_t place[BTREE_MAX_SPAN];
	uint64_t key;

	btree_sorted(geo, leaf, place);
	memcpy(&key, btree_entry_at(geo, leaf, place[1])->data, sizeof(key));
	entry_gets(world, key);
}

static void fence_apart(struct world *world)
{
	const struct btree_geo *geo = &world->tree->geo[0];
	struct btree_head *leaf = node_at(world, world->second);
	uint8_t place[BTREE_MAX_SPAN];

	/* it begins with its second key, and its neighbour ends before its first */
	btree_sorted(geo, leaf, place);
	memcpy(btree_low(leaf), btree_entry_at(geo, leaf, place[1])->data, 8);
	sum_set(world, world->second);
}

static void no_fence(struct world *world)
{
	node_at(world, world->first)->flags |= BTREE_LAST;
	sum_set(world, world->first);
}

static void fences_crossed(struct world *world)
{
	struct btree_head *leaf = node_at(world, world->first);

	memcpy(btree_high(&world->tree->geo[0], leaf), btree_low(leaf), 8);
	sum_set(world, world->first);
}

static void other_sum(struct world *world)
{
	node_at(world, world->first)->word ^= 1;
}

/* Its neighbour reaches over the second leaf, to which the level above leads still. */
static void passed_by(struct world *world)
{
	const struct btree_geo *geo = &world->tree->geo[0];
	struct btree_head *first = node_at(world, world->first);
	struct btree_head *second = node_at(world, world->second);

	first->right = second->right;
	memcpy(btree_high(geo, first), btree_high(geo, second), geo->key_len);
	sum_set(world, world->first);
}

static void contradictions(void **state)
{
	(void)state;
	expect_found(key_outside, "a key lies outside of its fences");
	expect_found(key_twice, "a key is there twice");
	expect_found(fence_apart, "its fence is not where its neighbour ends");
	expect_found(no_fence, "it has a neighbour and no fence, or a fence alone");
	expect_found(fences_crossed, "its fences are out of order");
	expect_found(other_sum, "the lock's sum is another one");
	expect_found(passed_by, "no neighbour leads to it");
}

/* A node of another level than that from which one comes to it. */
static void other_level(void **state)
{
	struct report report;
	struct world world;

	(void)state;
	world_open(&world);
	node_at(&world, world.above)->level++;
	btree_sum_set(&world.tree->geo[1], node_at(&world, world.above), world.above);
	assert_int_equal(check(&world, NULL, &report), -EBADMSG);
	world_close(&world);
}

/* A block that nobody has, and nothing leads to. */
static void lost_block(void **state)
{
	struct far_task *task;
	struct world world;
	uint64_t addr;

	(void)state;
	world_open(&world);
	assert_int_equal(rig_space_problems(&world.rig, 0), 0);
	task = rig_enter(&world.rig, 0);
	assert_int_equal(far_block_alloc(task, 0, world.tree->geo[0].size, &addr), 0);
	far_leave(task);
	assert_true(rig_space_problems(&world.rig, 0) > 0);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contradictions),
		cmocka_unit_test(other_level),
		cmocka_unit_test(lost_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
