/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The B+ tree beside a sorted array: one task, keys and values of several sizes, growing,
 * shrinking and growing again; and names, sizes, errors, and that memory comes back.
 */
#include "kind.h"

#include <errno.h>
#include <string.h>

static void beside(struct rig_conf rig_conf, size_t key_size, size_t value_size,
		   unsigned ops)
{
	const struct program_conf conf = {
		.kind = &btree_kind, .rig = rig_conf, .ops = ops,
		.key_size = key_size, .value_size = value_size,
	};
	struct rig rig;

	rig_open(&rig, &rig_conf);
	program_beside_array(&conf, &rig);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

static void mem_small(void **state)
{
	(void)state;
	beside((struct rig_conf) { .seed = 1 }, 8, 8, 1500);
}

static void mem_sizes(void **state)
{
	static const size_t size[][2] = { { 9, 13 }, { 32, 64 }, { 256, 256 }, { 17, 8 } };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++)
		beside((struct rig_conf) { .seed = 10 + i }, size[i][0], size[i][1], 500);
}

/* The software NIC, and real packets. */
static void soft_small(void **state)
{
	(void)state;
	beside((struct rig_conf) { .soft = 1, .seed = 1 }, 16, 24, 150);
}

static void sim_torn(void **state)
{
	unsigned seed;

	(void)state;
	for (seed = 1; seed < 6; seed++)
		beside((struct rig_conf) {
			.sim = 1, .seed = seed, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
		}, 8, 8, 400);
}

static void sim_without(void **state)
{
	(void)state;
	beside((struct rig_conf) {
		.sim = 1, .seed = 1, .without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
	}, 16, 40, 400);
}

/* Blocks of all structures, and their bytes. */
static uint64_t blocks(struct rig *rig, struct far_task *task)
{
	return rig_check(rig, task, NULL);
}

static void memory_comes_back(void **state)
{
	const struct rig_conf conf = { .seed = 1 };
	const struct far_btree_attr attr = { .span = 4 };
	struct far_btree_stats stats;
	struct far_btree *tree;
	struct far_task *task;
	struct rig rig;
	uint64_t i, key, full;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_btree_create(task, "t", &attr, &tree), 0);
	for (i = 0; i < 1000; i++) {
		key = __builtin_bswap64(i);
		assert_int_equal(far_btree_insert(task, tree, &key, 8, &i, 8), 0);
	}
	full = blocks(&rig, task);
	assert_true(full > 250);
	assert_int_equal(far_btree_stat(task, tree, &stats), 0);
	assert_int_equal(stats.keys, 1000);
	assert_true(stats.levels >= 4);
	for (i = 0; i < 1000; i++) {
		key = __builtin_bswap64(i);
		assert_int_equal(far_btree_delete(task, tree, &key, 8), 0);
	}
	print_message("%llu blocks with 1,000 keys, %llu without\n",
		      (unsigned long long)full, (unsigned long long)blocks(&rig, task));
	assert_true(blocks(&rig, task) < full / 8);
	assert_int_equal(far_btree_stat(task, tree, &stats), 0);
	assert_int_equal(stats.keys, 0);
	far_btree_close(tree);
	assert_int_equal(far_btree_destroy(task, "t"), 0);
	assert_int_equal(blocks(&rig, task), 0);
	assert_int_equal(far_btree_open(task, "t", &tree), -ENOENT);
	far_leave(task);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

static void errors(void **state)
{
	const struct rig_conf conf = { .seed = 1 };
	const struct far_btree_attr bad[] = {
		{ .key_size = 7 }, { .key_size = 257 }, { .value_size = 4 },
		{ .value_size = 300 }, { .span = 3 }, { .span = 129 },
	};
	const struct far_range range = { .from = "short", .from_len = 5 };
	struct far_btree *tree, *other;
	struct far_task *task;
	uint8_t value[16];
	struct rig rig;
	unsigned i;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(far_btree_create(task, "t", &bad[i], &tree), -EINVAL);
	assert_int_equal(far_btree_open(task, "t", &tree), -ENOENT);
	assert_int_equal(far_btree_create(task, "t", NULL, &tree), 0);
	assert_int_equal(far_btree_create(task, "t", NULL, &other), -EEXIST);
	assert_int_equal(far_btree_put(task, tree, "1234567", 7, "12345678", 8), -EINVAL);
	assert_int_equal(far_btree_put(task, tree, "12345678", 8, "1234567", 7), -EINVAL);
	assert_int_equal(far_btree_get(task, tree, "12345678", 8, value, 7, NULL),
			 -EMSGSIZE);
	assert_int_equal(far_btree_get(task, tree, "12345678", 8, value, 16, NULL),
			 -ENOENT);
	assert_int_equal(far_btree_update(task, tree, "12345678", 8, value, 8), -ENOENT);
	assert_int_equal(far_btree_delete(task, tree, "12345678", 8), -ENOENT);
	assert_int_equal(far_btree_insert(task, tree, "12345678", 8, "abcdefgh", 8), 0);
	assert_int_equal(far_btree_insert(task, tree, "12345678", 8, value, 8), -EEXIST);
	assert_int_equal(far_btree_get(task, tree, "12345678", 8, value, 16, NULL), 0);
	assert_memory_equal(value, "abcdefgh", 8);
	assert_int_equal(far_btree_scan(task, tree, &range, NULL, NULL), -EINVAL);
	far_btree_close(tree);
	far_leave(task);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors),
		cmocka_unit_test(mem_small),
		cmocka_unit_test(mem_sizes),
		cmocka_unit_test(soft_small),
		cmocka_unit_test(sim_torn),
		cmocka_unit_test(sim_without),
		cmocka_unit_test(memory_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
