/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Full spaces: ../ordered/full.h. And spaces that have no more memory for some nodes. */
#include "../ordered/full.h"
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../userspace/btree/btree_priv.h"
#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/epoch.h"

#define FIRST	60u		/* keys, and more that come when there is */
#define MORE	300u		/* no memory for an inner node */
#define EATEN	8192u		/* blocks that a test takes away */

struct bed {
	struct world world;
	size_t value_size;
};

static void bed_open(struct bed *bed, size_t value_size, unsigned span)
{
	const struct rig_conf conf = { .seed = 3, .size = 4 << 20 };
	const struct far_btree_attr attr = { .value_size = value_size, .span = span };

	*bed = (struct bed){ .value_size = value_size };
	world_open(&bed->world, &conf, &attr);
}

static void bed_close(struct bed *bed)
{
	world_close(&bed->world);
}

/* Keys come in no order: an odd number has an inverse, so each comes once. */
static uint64_t key_of(uint64_t i)
{
	return i * UINT64_C(0x9e3779b97f4a7c15);
}

static int insert(struct bed *bed, struct far_task *task, struct far_btree *tree, uint64_t i)
{
	uint8_t value[FAR_BTREE_MAX_SIZE];
	uint64_t key = key_of(i);

	memset(value, (int)(i % 251), sizeof(value));
	return far_btree_insert(task, tree, &key, 8, value, bed->value_size);
}

static int get(struct bed *bed, struct far_task *task, struct far_btree *tree, uint64_t i)
{
	uint8_t value[FAR_BTREE_MAX_SIZE];
	uint64_t key = key_of(i);
	int err = far_btree_get(task, tree, &key, 8, value, sizeof(value), NULL);

	if (!err)
		assert_int_equal(value[bed->value_size - 1], i % 251);
	return err;
}

static int delete(struct far_task *task, struct far_btree *tree, uint64_t i)
{
	uint64_t key = key_of(i);

	return far_btree_delete(task, tree, &key, 8);
}

/* Leaves of 256 bytes to several pages, with inner nodes of other sizes and of the same. */
static const struct {
	size_t value_size;
	unsigned span;
} sizes[] = {
	{ 8, 0 }, { 8, 4 }, { 24, 5 }, { 64, 8 }, { 256, 0 }, { 256, 4 }, { 256, 128 },
};
#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static void in_turn(unsigned clients, size_t value_size, unsigned span)
{
	struct ordered_kind kind = btree_kind;

	kind.span = span;
	full_in_turn(&kind, clients, value_size);
}

static void by_one(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < SIZES; i++)
		in_turn(1, sizes[i].value_size, sizes[i].span);
}

static void by_several(void **state)
{
	unsigned i;

	(void)state;
	for (i = 2; i < SIZES; i += 2)
		in_turn(3, sizes[i].value_size, sizes[i].span);
}

static void nothing_left(void **state)
{
	(void)state;
	full_deletes(&btree_kind);
}

/* Blocks that are in use, and that no structure has. */
struct eaten {
	uint64_t addr[EATEN], size[EATEN];
	unsigned nr;
};

/* Takes all memory that blocks of this size may have. */
static void eat(struct far_task *task, struct eaten *eaten, uint64_t size)
{
	int err;

	assert_int_equal(far_epoch_enter(task), 0);
	while (!(err = far_block_alloc(task, 0, size, &eaten->addr[eaten->nr]))) {
		eaten->size[eaten->nr++] = size;
		assert_true(eaten->nr < EATEN);
	}
	far_epoch_exit(task);
	assert_int_equal(err, -ENOSPC);
}

static void give_back(struct far_task *task, struct eaten *eaten)
{
	assert_int_equal(far_epoch_enter(task), 0);
	while (eaten->nr--)
		assert_int_equal(far_block_free(task, eaten->addr[eaten->nr],
					  eaten->size[eaten->nr]), 0);
	far_epoch_exit(task);
	eaten->nr = 0;
}

/*
 * There is memory for leaves, and none for an inner node. An insert that needs one of these
 * changes no leaf either; the others go on.
 */
static void no_inner_nodes(void **state)
{
	struct far_btree_stats before, after;
	static struct eaten eaten;
	unsigned i, refused = 0, split = 0;
	struct bed bed;
	int err[MORE];

	(void)state;
	bed_open(&bed, 24, 4);
	for (i = 0; i < FIRST; i++)
		assert_int_equal(insert(&bed, bed.world.task, bed.world.tree, i), 0);
	eat(bed.world.task, &eaten, UINT64_C(64) << 10);
	eat(bed.world.task, &eaten, bed.world.tree->geo[1].size);
	for (i = 0; i < MORE; i++) {
		before = world_stat(&bed.world);
		err[i] = insert(&bed, bed.world.task, bed.world.tree, FIRST + i);
		after = world_stat(&bed.world);
		split += after.leaves > before.leaves;
		if (!err[i])
			continue;
		assert_int_equal(err[i], -ENOSPC);
		assert_memory_equal(&before, &after, sizeof(before));
		assert_int_equal(get(&bed, bed.world.task, bed.world.tree, FIRST + i),
				 -ENOENT);
		refused++;
	}
	print_message("%u of %u inserts refused, %u leaves split\n", refused, MORE, split);
	assert_in_range(refused, 1, MORE - 1);
	for (i = 0; i < FIRST; i += 2)
		assert_int_equal(delete(bed.world.task, bed.world.tree, i), 0);
	give_back(bed.world.task, &eaten);
	for (i = 0; i < MORE; i++)
		if (err[i])
			assert_int_equal(insert(&bed, bed.world.task, bed.world.tree,
						FIRST + i), 0);
	for (i = 0; i < FIRST + MORE; i++)
		assert_int_equal(get(&bed, bed.world.task, bed.world.tree, i),
				 i < FIRST && i % 2 == 0 ? -ENOENT : 0);
	bed_close(&bed);
}

/* All that a new tree could have is what another one has just left. */
static void created_in_what_was_left(void **state)
{
	const struct far_btree_attr attr = { .value_size = 24, .span = 4 };
	static struct eaten eaten;
	struct far_btree *other;
	struct bed bed;

	(void)state;
	bed_open(&bed, 24, 4);
	assert_int_equal(far_btree_create(bed.world.task, "other", &attr, &other), 0);
	far_btree_close(other);
	eat(bed.world.task, &eaten, UINT64_C(64) << 10);
	eat(bed.world.task, &eaten, bed.world.tree->geo[0].size);
	assert_int_equal(far_btree_create(bed.world.task, "third", &attr, &other), -ENOSPC);
	assert_int_equal(far_btree_destroy(bed.world.task, "other"), 0);
	assert_int_equal(far_btree_create(bed.world.task, "third", &attr, &other), 0);
	far_btree_close(other);
	give_back(bed.world.task, &eaten);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_one),
		cmocka_unit_test(by_several),
		cmocka_unit_test(nothing_left),
		cmocka_unit_test(no_inner_nodes),
		cmocka_unit_test(created_in_what_was_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
