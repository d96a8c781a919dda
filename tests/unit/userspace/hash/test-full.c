/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Full spaces: ../ordered/full.h. And tables in the place of others. */
#include "../ordered/full.h"
#include "kind.h"

#define SPACE	(UINT64_C(6) << 20)

/* Values of every size from a few bytes to that of a chunk. */
static const size_t sizes[] = {
	8, 400, 1000, 2000, 8000, 16000, 17000, 60000, 300000, 1 << 20,
};
#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static void by_one(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < SIZES; i++)
		full_in_turn(&hash_kind, 1, sizes[i]);
}

static void by_several(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i < SIZES; i += 2)
		full_in_turn(&hash_kind, 3, sizes[i]);
}

/* A table is made where another one was, without a wait of the caller's. */
static void tables(void **state)
{
	const struct rig_conf conf = { .nodes = 1, .size = SPACE };
	const struct far_hash_attr attr = { .expected = 30000 };
	struct far_task *task;
	struct far_hash *hash;
	struct rig rig;
	unsigned i;

	(void)state;
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	for (i = 0; i < 40; i++) {
		assert_int_equal(far_hash_create(task, "t", &attr, &hash), 0);
		far_hash_close(hash);
		assert_int_equal(far_hash_destroy(task, "t"), 0);
	}
	far_leave(task);
	assert_int_equal(rig_space_problems(&rig, 0), 0);
	rig_close(&rig);
}

static void nothing_left(void **state)
{
	(void)state;
	full_deletes(&hash_kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(by_one),
		cmocka_unit_test(by_several),
		cmocka_unit_test(nothing_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
