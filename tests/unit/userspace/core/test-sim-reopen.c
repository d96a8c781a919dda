// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * far_reopen(): a client that was fenced while it lives goes on as another one, and so do
 * its threads and tasks, whatever they were doing. The test plays the arbiter's part by
 * writing the fenced incarnation.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bag.h"
#include "sim-world.h"

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/owner.h"
#include "../../../../userspace/core/space.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/nic/sim/sim.h"
#include "../../../../userspace/space/format.h"
#include "../../../../userspace/space/geometry.h"

const struct far_type *const far_type_all[] = { &bag_type, NULL };

#define MS	UINT64_C(1000000)
#define SLOTS	64u

static char *memory(void)
{
	uint64_t size;

	return far_sim_memory(sim_world, 0, &size);
}

static struct far_client_entry *entry_of(uint64_t owner)
{
	const struct far_sb *sb = (void *)memory();

	return (void *)(memory() + far_client_entry_off(sb, far_owner_number(owner)));
}

/* Does the arbiter's work once all nodes have confirmed. */
static void fence(uint64_t owner)
{
	struct far_epoch_line *line = (void *)(memory() + FAR_SB_EPOCH);

	entry_of(owner)->fenced = far_owner_incarnation(owner);
	line->deaths++;
}

static void report(void *arg, const char *problem)
{
	(void)arg;
	print_error("%s\n", problem);
}

static void check(struct far *far)
{
	struct far_space_check sum;

	assert_int_equal(far_space_check(far, report, NULL, &sum), 0);
	assert_int_equal(sum.problems, 0);
}

static void reopen(struct far_task *task)
{
	char why[200] = "";

	if (far_reopen(task, why, sizeof(why)))
		fail_msg("%s", why);
}

static void goes_on(void **state)
{
	struct far *far = sim_world_client(0), *other = sim_world_client(1);
	struct far_task *task;
	struct bag bag;
	uint64_t owner;

	(void)state;
	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(bag_create(task, "b", SLOTS, &bag), 0);
	/* Alive: nothing happens. */
	owner = far_owner_self(task);
	reopen(task);
	assert_true(far_owner_self(task) == owner);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 200; i++)
			assert_int_equal(bag_put(task, &bag, i % SLOTS, 100 + i, round), 0);
		owner = far_owner_self(task);
		fence(owner);
		far_sleep(task, 3 * MS);
		assert_int_equal(bag_put(task, &bag, 0, 100, 1), -ESTALE);
		reopen(task);
		assert_true(far_owner_self(task) != owner);
		for (unsigned i = 0; i < SLOTS; i++)
			assert_int_equal(bag_get(task, &bag, i, 0), 0);
	}
	far_leave(task);
	check(far);
	/* Others own by now what this client had of the space. */
	check(other);
	far_close(far);
	check(other);
	far_close(other);
}

/* In an operation it would wait for itself. */
static void not_inside(void **state)
{
	struct far *far = sim_world_client(0);
	struct far_task *task;
	char why[200];

	(void)state;
	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(far_op_begin(task), 0);
	assert_int_equal(far_reopen(task, why, sizeof(why)), -EBUSY);
	far_op_end(task);
	far_leave(task);
	far_close(far);
}

/* Changes the space's time of creation, as deleting and making it again would. */
static void space_renew(void)
{
	struct far_sb *sb = (void *)memory(), next;
	struct far_format format = {
		.name = "s", .size = sb->size, .chunk_size = sb->chunk_size,
		.max_clients = sb->max_clients, .nr_nodes = 1, .created = sb->created + 1,
	};
	char why[200];

	memcpy(format.set, sb->set, sizeof(format.set));
	assert_int_equal(far_format_plan(&format, why, sizeof(why), &next), 0);
	memcpy(sb, &next, sizeof(next));
}

static void made_anew(void **state)
{
	struct far *far = sim_world_client(0);
	struct far_task *task;
	char why[200] = "";

	(void)state;
	assert_int_equal(far_enter(far, &task), 0);
	assert_int_equal(far_epoch_enter(task), 0);
	far_epoch_exit(task);
	fence(far_owner_self(task));
	far_sleep(task, 3 * MS);
	space_renew();
	assert_int_equal(far_reopen(task, why, sizeof(why)), -ESTALE);
	assert_non_null(strstr(why, "was made anew"));
	assert_int_equal(far_reopen(task, why, sizeof(why)), -ESTALE);
	far_leave(task);
	far_close(far);
	far = sim_world_client(0);
	check(far);
	far_close(far);
}

/* ---- many tasks ------------------------------------------------------------------ */

#define THREADS		3u
#define TASKS		8u
#define FENCES		20u

struct crowd {
	struct far *far;
	struct bag bag;
	unsigned fences;	/* so far */
	unsigned reopened, stale, other;
	uint64_t done;
	bool end;
};

static void crowd_task(struct far_task *task, void *arg)
{
	struct crowd *crowd = arg;
	unsigned slot = (far_task_thread(task) * TASKS + far_task_index(task)) % SLOTS;
	char why[200] = "";
	int err;

	for (unsigned i = 1; !crowd->end; i++) {
		err = bag_put(task, &crowd->bag, slot, 64 + i % 500, i);
		if (!err) {
			crowd->done++;
			assert_int_equal(bag_get(task, &crowd->bag, slot, 0) % ESTALE, 0);
			continue;
		}
		if (err != -ESTALE) {
			crowd->other++;
			continue;
		}
		crowd->stale++;
		if (far_reopen(task, why, sizeof(why)))
			fail_msg("%s", why);
		crowd->reopened++;
	}
}

/* Fences the client of the others again and again. */
static void crowd_arbiter(struct far_task *task, void *arg)
{
	struct crowd *crowd = arg;
	uint64_t owner, done;

	for (unsigned i = 0; i < FENCES; i++) {
		done = crowd->done;
		while (crowd->done < done + 100)
			far_sleep(task, MS / 7);
		owner = far_owner_self(task);
		fence(owner);
		while (far_owner_self(task) == owner)
			far_sleep(task, MS);
	}
	crowd->end = true;
}

static void crowd_begin(struct far_task *task, void *arg)
{
	struct crowd *crowd = arg;

	assert_int_equal(bag_create(task, "b", SLOTS, &crowd->bag), 0);
}

static void many_tasks(void **state)
{
	struct crowd crowd = { .far = sim_world_client(0) };
	struct far *other = sim_world_client(1);
	struct far_thread *thread[THREADS + 1];

	(void)state;
	assert_int_equal(far_thread_start(crowd.far, 1, crowd_begin, &crowd, &thread[0]), 0);
	assert_int_equal(far_sim_run(sim_world, UINT64_MAX), 0);
	far_thread_join(thread[0]);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(far_thread_start(crowd.far, TASKS, crowd_task, &crowd,
						  &thread[i]), 0);
	assert_int_equal(far_thread_start(crowd.far, 1, crowd_arbiter, &crowd,
					  &thread[THREADS]), 0);
	assert_int_equal(far_sim_run(sim_world, UINT64_MAX), 0);
	for (unsigned i = 0; i <= THREADS; i++)
		far_thread_join(thread[i]);
	assert_true(crowd.stale >= FENCES);
	assert_int_equal(crowd.stale, crowd.reopened);
	assert_int_equal(crowd.other, 0);
	check(crowd.far);
	far_close(crowd.far);
	check(other);
	far_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SIM_WORLD_TEST(goes_on),
		SIM_WORLD_TEST(not_inside),
		SIM_WORLD_TEST(made_anew),
		SIM_WORLD_TEST(many_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
