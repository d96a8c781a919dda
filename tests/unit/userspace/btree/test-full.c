/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A space that a tree fills: an insert that answers so has changed nothing; gets and
 * deletes go on; what is deleted makes room for as many keys again.
 */
#include "kind.h"

#include <string.h>

#define SIZE	(UINT64_C(4) << 20)
#define ROUNDS	2u

struct world {
	struct rig rig;
	struct far_task *task;
	struct far_btree *tree;
	size_t value_size;
};

static void world_open(struct world *world, size_t value_size, unsigned span)
{
	const struct rig_conf conf = { .nodes = 1, .size = SIZE };
	const struct far_btree_attr attr = { .value_size = value_size, .span = span };

	rig_open(&world->rig, &conf);
	world->value_size = value_size;
	world->task = rig_enter(&world->rig, 0);
	assert_int_equal(far_btree_create(world->task, "t", &attr, &world->tree), 0);
}

static void world_close(struct world *world)
{
	rig_check(&world->rig, world->task, NULL);
	far_btree_close(world->tree);
	far_leave(world->task);
	assert_int_equal(rig_space_problems(&world->rig, 0), 0);
	rig_close(&world->rig);
}

/* Keys come in no order: an odd number has an inverse, so each comes once. */
static uint64_t key_of(uint64_t i)
{
	return i * UINT64_C(0x9e3779b97f4a7c15);
}

static int insert(struct world *world, uint64_t i)
{
	uint8_t value[FAR_BTREE_MAX_SIZE];
	uint64_t key = key_of(i);

	memset(value, (int)(i % 251), sizeof(value));
	return far_btree_insert(world->task, world->tree, &key, 8, value, world->value_size);
}

static int get(struct world *world, uint64_t i)
{
	uint8_t value[FAR_BTREE_MAX_SIZE];
	uint64_t key = key_of(i);
	int err = far_btree_get(world->task, world->tree, &key, 8, value, sizeof(value), NULL);

	if (!err)
		assert_int_equal(value[world->value_size - 1], i % 251);
	return err;
}

/* Until there is no room; how many keys. */
static uint64_t fill(struct world *world)
{
	uint64_t nr = 0, i;
	int err;

	while (!(err = insert(world, nr)))
		nr++;
	assert_int_equal(err, -ENOSPC);
	for (i = 0; i < nr; i++)
		assert_int_equal(get(world, i), 0);
	assert_int_equal(get(world, nr), -ENOENT);
	return nr;
}

static void empty(struct world *world, uint64_t nr)
{
	uint64_t i, key;

	for (i = 0; i < nr; i++) {
		key = key_of(i);
		assert_int_equal(far_btree_delete(world->task, world->tree, &key, 8), 0);
		assert_int_equal(get(world, i), -ENOENT);
	}
}

static void again(size_t value_size, unsigned span)
{
	uint64_t first = 0, nr;
	struct world world;
	unsigned i;

	world_open(&world, value_size, span);
	for (i = 0; i < ROUNDS; i++) {
		nr = fill(&world);
		if (!i)
			first = nr;
		assert_in_range(nr, first * 9 / 10, first * 11 / 10);
		empty(&world, nr);
	}
	print_message("values of %zu bytes, %u entries: %llu keys\n", value_size, span,
		      (unsigned long long)first);
	world_close(&world);
}

static void fill_and_empty(void **state)
{
	static const size_t size[] = { 8, 24, 256 };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		again(size[i], 0);
		again(size[i], 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill_and_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
