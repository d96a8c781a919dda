/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many nodes a tree has: what is loaded in order fills them, and what is deleted
 * leaves none behind, in whatever order it came and goes.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define KEYS	8000u
#define QUEUE	200u	/* keys that a queue has at a time */

enum order { UP, DOWN, MIXED };

static void world_make(struct world *world, unsigned span)
{
	const struct rig_conf conf = { .cache = 1 << 20 };
	const struct far_btree_attr attr = { .span = span };

	world_open(world, &conf, &attr);
}

static void insert(struct world *world, uint64_t number)
{
	uint64_t key = __builtin_bswap64(number);

	assert_int_equal(far_btree_insert(world->task, world->tree, &key, 8, &number, 8), 0);
}

static void delete(struct world *world, uint64_t number)
{
	uint64_t key = __builtin_bswap64(number);

	assert_int_equal(far_btree_delete(world->task, world->tree, &key, 8), 0);
}

/* The i'th of KEYS numbers: each of them comes once. */
static uint64_t number_of(enum order order, uint64_t i)
{
	switch (order) {
	case UP:
		return i;
	case DOWN:
		return KEYS - 1 - i;
	default:
		return i * 7919 % KEYS;		/* prime, and no divisor */
	}
}

static int none(void *arg, const void *key, size_t key_len, const void *value,
		size_t value_len)
{
	(void)arg;
	(void)key;
	(void)key_len;
	(void)value;
	(void)value_len;
	return -EEXIST;
}

/* A node of each level is left, and a scan that finds nothing READs only these. */
static void expect_nothing_left(struct world *world)
{
	struct far_btree_stats stats = world_stat(world);
	const struct far_range all = { 0 };

	assert_int_equal(stats.keys, 0);
	assert_int_equal(stats.leaves, 1);
	assert_int_equal(stats.inner, stats.levels - 1);
	rig_counted(&world->rig, 0);
	assert_int_equal(far_btree_scan(world->task, world->tree, &all, none, NULL), 0);
	assert_in_range(rig_counted(&world->rig, 0).reads, 0, 2 * stats.levels);
}

static void come_and_go(enum order come, enum order go, unsigned span)
{
	struct world world;
	uint64_t i;

	world_make(&world, span);
	for (i = 0; i < KEYS; i++)
		insert(&world, number_of(come, i));
	for (i = 0; i < KEYS; i++)
		delete(&world, number_of(go, i));
	expect_nothing_left(&world);
	world_close(&world);
}

static void empty_leaves_go(void **state)
{
	enum order come, go;

	(void)state;
	for (come = UP; come <= MIXED; come += 2)
		for (go = UP; go <= MIXED; go++) {
			come_and_go(come, go, 0);
			come_and_go(come, go, 4);
		}
}

/* The oldest goes when a new one comes: the nodes that it leaves do not add up. */
static void queue(void **state)
{
	struct world world;
	uint64_t i;

	(void)state;
	world_make(&world, 0);
	for (i = 0; i < KEYS; i++) {
		insert(&world, i);
		if (i >= QUEUE)
			delete(&world, i - QUEUE);
	}
	assert_in_range(world_stat(&world).leaves, QUEUE / 16, QUEUE / 4);
	for (i = KEYS - QUEUE; i < KEYS; i++)
		delete(&world, i);
	expect_nothing_left(&world);
	world_close(&world);
}

/* Nine tenths of what is loaded in order is in use, of inner nodes nearly all. */
static void in_order(void **state)
{
	struct far_btree_stats stats;
	struct world world;
	uint64_t i;

	(void)state;
	world_make(&world, 0);
	for (i = 0; i < KEYS; i++)
		insert(&world, i);
	stats = world_stat(&world);
	assert_int_equal(stats.keys, KEYS);
	assert_true(stats.keys * 10 >= stats.places * 9);
	assert_in_range(stats.inner, 1, stats.leaves / 30);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_leaves_go),
		cmocka_unit_test(queue),
		cmocka_unit_test(in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
