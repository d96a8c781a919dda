// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operations on mem: what they move, in which order, from tasks and from a thread that
 * has entered, how many tasks there may be, and what they cost in counters.
 */
#include "rig.h"

#include <errno.h>
#include <string.h>

static void test_entered(void **state)
{
	struct rig rig;
	struct far *far;
	struct far_task *task;
	uint64_t *buf, found;
	unsigned node;

	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_enter(far, &task), 0);
	buf = far_buf(task, 64);
	for (node = 0; node < RIG_NODES; node++) {
		uint64_t addr = far_addr(node, 4096), value = 100 + node;

		far_write(task, addr, &value, 8);
		value = 0;
		assert_int_equal(far_sync(task), 0);
		assert_int_equal(*(uint64_t *)rig_at(&rig, node, 4096), 100 + node);
		far_read(task, addr, &buf[0], 8);
		far_faa(task, addr, 5, &buf[1]);
		far_cas(task, addr, 105 + node, 7, &buf[2]);
		far_cas(task, addr, 105 + node, 8, &buf[3]);
		far_faa(task, addr, 1, NULL);
		assert_int_equal(far_sync(task), 0);
		assert_int_equal(buf[0], 100 + node);
		assert_int_equal(buf[1], 100 + node);
		assert_int_equal(buf[2], 105 + node);
		assert_int_equal(buf[3], 7);
		assert_int_equal(far_backoff_cas(task, addr, 8, 9, &found), 0);
		assert_int_equal(found, 8);
		assert_int_equal(far_backoff_cas(task, addr, 8, 9, &found), 0);
		assert_int_equal(found, 9);
	}
	far_leave(task);
	far_close(far);
	rig_close(&rig);
}

/* Each task adds to its own word and to one that all share. */
struct adder {
	unsigned rounds;
	unsigned nr_ended;
};

static void add(struct far_task *task, void *arg)
{
	struct adder *adder = arg;
	uint64_t own = far_addr(1, 64 + 8 * far_task_index(task));
	uint64_t *old = far_buf(task, 8);
	unsigned i;

	for (i = 0; i < adder->rounds; i++) {
		far_faa(task, own, 1, old);
		far_faa(task, far_addr(0, 64), 1, NULL);
		assert_int_equal(far_sync(task), 0);
		assert_int_equal(*old, i);
	}
	adder->nr_ended++;
}

static void run_tasks(unsigned nr)
{
	struct adder adder = { .rounds = 10 };
	struct far_thread *thread;
	struct rig rig;
	struct far *far;
	unsigned i;

	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_thread_start(far, nr, add, &adder, &thread), 0);
	far_thread_join(thread);
	assert_int_equal(adder.nr_ended, nr);
	assert_int_equal(*(uint64_t *)rig_at(&rig, 0, 64), 10 * nr);
	for (i = 0; i < nr; i++)
		assert_int_equal(*(uint64_t *)rig_at(&rig, 1, 64 + 8 * i), 10);
	far_close(far);
	rig_close(&rig);
}

static void test_tasks(void **state)
{
	static const unsigned nr[] = { 1, 2, 7, 64, 1024 };
	struct far_thread *thread;
	struct rig rig;
	struct far *far;
	unsigned i;

	for (i = 0; i < sizeof(nr) / sizeof(nr[0]); i++)
		run_tasks(nr[i]);
	rig_open(&rig);
	far = rig_client(rig.nic, 0);
	assert_int_equal(far_thread_start(far, 0, add, NULL, &thread), -EINVAL);
	assert_int_equal(far_thread_start(far, 1025, add, NULL, &thread), -EINVAL);
	far_close(far);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entered),
		cmocka_unit_test(test_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
