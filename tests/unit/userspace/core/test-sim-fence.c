// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A client that was fenced while it lives: everything says -ESTALE, and nothing waits
 * for ever. The test plays the arbiter's part by writing the fenced incarnation.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bag.h"
#include "sim-world.h"

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/owner.h"
#include "../../../../userspace/core/space.h"
#include "../../../../userspace/nic/sim/sim.h"
#include "../../../../userspace/space/geometry.h"

const struct far_type *const far_type_all[] = { &bag_type, NULL };

#define MS	UINT64_C(1000000)

/* What the arbiter does once all nodes have confirmed. */
static void fence(uint64_t owner)
{
	uint64_t size;
	char *memory = far_sim_memory(sim_world, 0, &size);
	const struct far_sb *sb = (void *)memory;
	struct far_client_entry *entry =
		(void *)(memory + far_client_entry_off(sb, far_owner_number(owner)));
	struct far_epoch_line *line = (void *)(memory + FAR_SB_EPOCH);

	entry->fenced = far_owner_incarnation(owner);
	line->deaths++;
}

static void no_report(void *arg, const char *problem)
{
	(void)arg;
	print_error("%s\n", problem);
}

static void check(struct far *far)
{
	struct far_space_check sum;

	assert_int_equal(far_space_check(far, no_report, NULL, &sum), 0);
	assert_int_equal(sum.problems, 0);
}

/* All calls, after the client has had time to notice. */
static void everything_is_stale(void **state)
{
	struct far *far = sim_world_client(0), *other = sim_world_client(1), *again;
	struct far_space_check sum;
	struct far_task *task, *task2;
	struct bag bag;
	uint64_t owner;

	(void)state;
	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(bag_create(task, "b", 16, &bag), 0);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(bag_put(task, &bag, i % 16, 100, i), 0);
	owner = far_owner_self(task);
	assert_int_equal(far_epoch_enter(task), 0);
	fence(owner);
	far_sleep(task, 3 * MS);
	assert_int_equal(far_post(task), -ESTALE);
	assert_int_equal(far_sync(task), -ESTALE);
	assert_non_null(far_strerror_last(task));
	far_epoch_exit(task);
	assert_int_equal(far_epoch_enter(task), -ESTALE);
	assert_int_equal(far_reclaim(task), -ESTALE);
	assert_int_equal(bag_put(task, &bag, 0, 100, 1), -ESTALE);
	assert_int_equal(bag_get(task, &bag, 0, 0), -ESTALE);
	assert_int_equal(bag_open(task, "b", &bag), -ESTALE);
	assert_int_equal(bag_destroy(task, "b"), -ESTALE);
	assert_int_equal(far_space_check(far, NULL, NULL, &sum), -ESTALE);

	/* Others see that it is dead, and have swept after it. */
	assert_int_equal(far_enter(other, &task2), 0);
	assert_int_equal(far_owner_dead(task2, owner), 1);
	far_leave(task2);
	check(other);

	far_leave(task);
	far_close(far);
	again = sim_world_client(0);
	assert_int_equal(far_enter(again, &task), 0);
	assert_true(far_owner_self(task) != owner);
	assert_int_equal(bag_get(task, &bag, 1, 0), 0);
	far_leave(task);
	far_close(again);
	far_close(other);
}

static void run_until_stale(struct far_task *task, void *arg)
{
	struct bag *bag = arg;
	int err;

	do
		err = bag_put(task, bag, far_task_index(task), 64, 1);
	while (!err);
	if (err == -ESTALE)
		bag->nr_slots++;
}

/* Tasks in the middle of their work come to an end. */
static void tasks_end(void **state)
{
	struct far *far = sim_world_client(0), *other = sim_world_client(1);
	struct far_thread *thread;
	struct far_task *task;
	struct bag bag, count;
	uint64_t owner;

	(void)state;
	assert_int_equal(far_enter(far, &task), 0);
	owner = far_owner_self(task);
	assert_int_equal(bag_create(task, "b", 16, &bag), 0);
	count = (struct bag){ bag.root, 0 };
	assert_int_equal(far_thread_start(far, 8, run_until_stale, &count, &thread), 0);
	far_sleep(task, 2 * MS);
	fence(owner);
	far_thread_join(thread);
	assert_int_equal(count.nr_slots, 8);
	far_leave(task);
	far_close(far);
	check(other);
	far_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SIM_WORLD_TEST(everything_is_stale),
		SIM_WORLD_TEST(tasks_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
