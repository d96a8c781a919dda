/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection that breaks at each operation of an insert or a delete, beside another
 * client that does the same: a split or a merge happens or not, what it has begun is put
 * in order, and nobody waits for a lock that nobody has.
 */
#include <errno.h>
#include <string.h>

#include "../../../lib/nic/fault.h"
#include "../../../lib/nightly.h"
#include "../hash/rig.h"
#include "../ordered/broken.h"
#include "kind.h"

/* Room in a leaf, and a split; a deletion, and a merge. */
static void breaks(void **state)
{
	static const unsigned prefill[] = { 2, 4, 5 };
	unsigned i, unknown = 0;

	(void)state;
	for (i = 0; i < sizeof(prefill) / sizeof(prefill[0]); i++) {
		unknown += broken_everywhere(&btree_kind, prefill[i], 8, 0, nightly() ? 80 : 12);
		unknown += broken_everywhere(&btree_kind, prefill[i], 8, 1, nightly() ? 80 : 12);
	}
	print_message("%u of unknown fate\n", unknown);
}

#define HOT_TASKS	8u
#define HOT_OPS		1500u
#define HOT_LEN		32u

/* A key that many want at the same time, so that one operation leads the others. */
struct hot {
	struct far_btree *tree;
	unsigned task;			/* the next one's number */
	unsigned fine, broken;		/* operations */
};

static bool is_one_byte(const uint8_t *value, uint8_t not)
{
	for (unsigned i = 1; i < HOT_LEN; i++) {
		if (value[i] != value[0])
			return false;
	}
	return value[0] != not;
}

static void hot_work(struct far_task *task, void *arg)
{
	struct hot *hot = arg;
	unsigned mine = hot->task++;
	uint8_t value[HOT_LEN];
	uint64_t key = 7;
	size_t len;

	for (unsigned i = 0; i < HOT_OPS; i++) {
		bool get = (i + mine) % 4;
		int err;

		memset(value, get ? 0xee : 1 + (i + mine) % 200, sizeof(value));
		err = get ? far_btree_get(task, hot->tree, &key, 8, value, HOT_LEN, &len) :
			    far_btree_put(task, hot->tree, &key, 8, value, HOT_LEN);
		if (err && err != -EIO)
			fail_msg("%s: %s", get ? "get" : "put", far_strerror(err));
		assert_true(err || is_one_byte(value, 0xee));
		hot->fine += !err;
		hot->broken += err == -EIO;
	}
}

/* The operation that leads breaks, and tries again alone: with the memory of its caller. */
static void leader_breaks(void **state)
{
	const struct rig_conf conf = { .sim = 1, .clients = 2, .nodes = 1, .seed = 5 };
	static const struct far_btree_attr attr = { .key_size = 8, .value_size = HOT_LEN };
	struct hot hot = { .task = 0 };
	struct far_thread *thread;
	uint8_t value[HOT_LEN];
	uint64_t key = 7;
	struct far_task *task;
	struct rig rig;

	(void)state;
	rig_open(&rig, &conf);
	rig_leave(&rig, 0);
	assert_int_equal(far_fault_new(rig.nic[0], 3, 0, &rig.nic[0]), 0);
	rig_join(&rig, 0);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_btree_create(task, "t", &attr, &hot.tree), 0);
	memset(value, 1, sizeof(value));
	assert_int_equal(far_btree_put(task, hot.tree, &key, 8, value, HOT_LEN), 0);
	far_leave(task);
	far_fault_always(rig.nic[0], FAR_FAULT_BREAK);
	assert_int_equal(far_thread_start(rig.far[0], HOT_TASKS, hot_work, &hot, &thread), 0);
	far_thread_join(thread);
	far_fault_always(rig.nic[0], 0);
	far_btree_close(hot.tree);
	print_message("%u fine, %u of unknown fate\n", hot.fine, hot.broken);
	assert_true(hot.fine > HOT_TASKS * HOT_OPS / 2);
	rig_leave(&rig, 0);
	assert_int_equal(rig_space_problems(&rig, 1), 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaks),
		cmocka_unit_test(leader_breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
