/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spaces that become full: what is there can be read and deleted, a change that does not
 * fit changes nothing, and what was emptied takes as much again. Values of every size
 * from a few bytes to that of a chunk.
 */
#include "../../../lib/nightly.h"
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPACE	(UINT64_C(6) << 20)
#define LONGEST	(UINT32_C(1) << 20)

struct full {
	struct rig rig;
	struct far_task *task;
	struct far_hash *hash;
	uint8_t *value, *got;
	size_t len;
};

/* The i'th key's value is all of one byte. */
static int full_put(struct full *full, uint64_t i, uint8_t byte)
{
	memset(full->value, byte, full->len);
	return far_hash_put(full->task, full->hash, &i, sizeof(i), full->value, full->len);
}

/* Inserts until there is no room, and no room for a longer while either. */
static uint64_t full_fill(struct full *full)
{
	uint64_t i = 0;
	int err;

	while (!(err = full_put(full, i, i)))
		i++;
	assert_int_equal(err, -ENOSPC);
	return i;
}

static void expect_all(struct full *full, uint64_t nr)
{
	uint64_t i;
	size_t len;
	int err;

	for (i = 0; i < nr; i++) {
		assert_int_equal(far_hash_get(full->task, full->hash, &i, sizeof(i), full->got,
					      LONGEST, &len), 0);
		assert_int_equal(len, full->len);
		memset(full->value, (uint8_t)i, full->len);
		assert_memory_equal(full->got, full->value, len);
	}
	/* an update needs a block, and does not lose the old one without */
	err = full_put(full, 0, 0);
	assert_true(!err || err == -ENOSPC);
	/* and so does a key that is not there */
	assert_int_equal(far_hash_get(full->task, full->hash, &nr, sizeof(nr), full->got,
				      LONGEST, &len), -ENOENT);
}

static void full_empty(struct full *full, uint64_t nr)
{
	uint64_t i;

	for (i = 0; i < nr; i++)
		assert_int_equal(far_hash_delete(full->task, full->hash, &i, sizeof(i)), 0);
}

static void one_length(size_t value_len)
{
	const struct rig_conf conf = { .nodes = 1, .size = SPACE };
	struct full full = { .len = value_len };
	uint64_t first, second;
	int round;

	full.value = malloc(LONGEST);
	full.got = malloc(LONGEST);
	rig_open(&full.rig, &conf);
	full.task = rig_enter(&full.rig, 0);
	assert_int_equal(far_hash_create(full.task, "t", NULL, &full.hash), 0);
	first = full_fill(&full);
	for (round = 0; round < (nightly() ? 4 : 1); round++) {
		expect_all(&full, first);
		full_empty(&full, first);
		second = full_fill(&full);
		print_message("%zu bytes: %llu, then %llu keys\n", value_len,
			      (unsigned long long)first, (unsigned long long)second);
		assert_true(second >= first - first / 16);
		first = second;
	}
	rig_check(&full.rig, full.task, NULL);
	far_hash_close(full.hash);
	far_leave(full.task);
	assert_int_equal(rig_space_problems(&full.rig, 0), 0);
	rig_close(&full.rig);
	free(full.value);
	free(full.got);
}

static void lengths(void **state)
{
	static const size_t len[] = { 8, 400, 1000, 2000, 8000, 16000, 17000, 60000,
				      300000, LONGEST };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++)
		one_length(len[i]);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
