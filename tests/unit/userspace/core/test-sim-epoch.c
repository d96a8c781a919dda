// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Epochs in virtual time: clients that work, stand still in the middle of an operation,
 * have no thread for a while, leave and come back. Blocks are few and freed at once, so
 * that one that is used again too early is seen by a reader that still holds it: it
 * reads a block twice, with a pause of up to several epochs between.
 *
 * Each seed is one world. 12 seeds by day, 400 with ODRP_NIGHTLY=1.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../lib/nightly.h"
#include "bag.h"

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/space.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/nic/sim/sim.h"

const struct far_type *const far_type_all[] = { &bag_type, NULL };

#define CLIENTS	4u
#define SLOTS	6u
#define TASKS	3u
#define OPS	40u
#define LIVES	3u		/* of each client */
#define MS	UINT64_C(1000000)

static const char *const nodes[] = { "0", "1" };

struct world {
	struct far_sim *sim;
	struct {
		struct world *world;
		unsigned cn;
	} client[CLIENTS];
	int breaks;		/* queue pairs do: operations may fail */
	unsigned early;		/* blocks used again too early */
	unsigned errors;
	unsigned reads;		/* of blocks, twice */
};

static struct far *world_open(struct world *world, unsigned cn)
{
	const struct far_conf conf = {
		.space = "s", .nodes = nodes, .nr_nodes = 2, .seed = 1 + cn,
	};
	struct far *far;
	char why[200];

	for (unsigned tries = 0; tries < 10; tries++) {
		if (!far_open_nic(far_sim_nic(world->sim, cn), &conf, why, sizeof(why),
				  &far))
			return far;
		if (!world->breaks)
			break;
	}
	print_error("%s\n", why);
	world->errors++;
	return NULL;
}

/* Often short; now and then as long as some epochs. */
static uint64_t pause_of(struct far_rng *rng)
{
	switch (far_rng_below(rng, 5)) {
	case 0:
		return far_rng_below(rng, 12 * MS);
	case 1:
		return far_rng_below(rng, 2 * MS);
	default:
		return far_rng_below(rng, 20000);
	}
}

static void note(struct world *world, struct far_task *task, int err)
{
	if (err == -EBADMSG)
		world->early++;
	if (!err || err == -EBADMSG || err == -ENOENT || (world->breaks && err == -EIO))
		return;
	print_error("%s: %s\n", strerror(-err), far_strerror_last(task));
	world->errors++;
}

static void task_run(struct far_task *task, void *arg)
{
	struct world *world = arg;
	struct far_rng *rng = far_task_rng(task);
	struct bag bag;

	int err;

	do {
		err = bag_open(task, "b", &bag);
		note(world, task, err);
	} while (err && !world->errors);
	for (unsigned i = 0; i < OPS && !world->errors; i++) {
		unsigned slot = far_rng_below(rng, SLOTS);
		uint64_t id = far_rng_next(rng);

		if (far_rng_below(rng, 3)) {
			note(world, task, bag_put(task, &bag, slot, 64, id));
		} else {
			note(world, task, bag_get(task, &bag, slot, pause_of(rng)));
			world->reads++;
		}
		if (!far_rng_below(rng, 4))
			far_sleep(task, pause_of(rng));
	}
}

/* Some lives of one client, each with some threads one after the other. */
static void client_run(void *arg)
{
	const typeof(((struct world *)0)->client[0]) *me = arg;
	struct world *world = me->world;
	struct far_thread *thread;
	struct far *far;

	for (unsigned life = 0; life < LIVES; life++) {
		far = world_open(world, me->cn);
		for (unsigned t = 0; far && t < 2; t++) {
			if (far_thread_start(far, TASKS, task_run, world, &thread))
				world->errors++;
			else
				far_thread_join(thread);
		}
		if (far)
			far_close(far);
	}
}

static void report(void *arg, const char *problem)
{
	(void)arg;
	print_error("%s\n", problem);
}

static void world_make(struct world *world, uint64_t seed)
{
	const struct far_sim_attr attr = {
		.profile = "cx6-200", .cns = CLIENTS + 1, .mns = 2, .seed = seed,
		.max_space = UINT64_C(16) << 20, .scale = 1,
		.adversary = FAR_SIM_DELAY | (world->breaks ? FAR_SIM_BREAK : 0),
	};
	const struct far_space_attr space = {
		.size = UINT64_C(8) << 20, .nodes = nodes, .nr_nodes = 2, .max_clients = 8,
	};
	struct far_task *task;
	struct bag bag;
	struct far *far;
	char why[200];
	int err;

	if (far_sim_new(&attr, why, sizeof(why), &world->sim) ||
	    far_space_create_on(far_sim_nic(world->sim, 0), "s", &space, why, sizeof(why)))
		fail_msg("%s", why);
	far = world_open(world, CLIENTS);
	assert_non_null(far);
	assert_int_equal(far_enter(far, &task), 0);
	do
		err = bag_create(task, "b", SLOTS, &bag);
	while (err == -EIO && world->breaks);
	/* of an earlier one, nobody knew whether it was done */
	if (err != -EEXIST || !world->breaks)
		assert_int_equal(err, 0);
	far_leave(task);
	far_close(far);
}

static void world_check(struct world *world, uint64_t seed)
{
	struct far_space_check check = { .problems = 0 };
	struct far *far = world_open(world, CLIENTS);
	char text[300];
	int err;

	assert_non_null(far);
	do
		err = far_space_check(far, report, NULL, &check);
	while (err == -EIO && world->breaks);
	assert_int_equal(err, 0);
	far_close(far);
	if (check.problems || world->errors || world->early) {
		far_sim_describe(world->sim, text, sizeof(text));
		fail_msg("seed %lu: %u of %u blocks used again too early: %s",
			 (unsigned long)seed, world->early, world->reads, text);
	}
}

static void one_world(uint64_t seed, int breaks)
{
	struct world world = { .breaks = breaks };
	struct far_nic_thread *thread[CLIENTS];

	world_make(&world, seed);
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct far_nic *nic = far_sim_nic(world.sim, i);

		world.client[i].world = &world;
		world.client[i].cn = i;
		assert_int_equal(nic->ops->thread_start(nic, client_run, &world.client[i],
							&thread[i]), 0);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct far_nic *nic = far_sim_nic(world.sim, i);

		nic->ops->thread_join(nic, thread[i]);
	}
	assert_true(world.reads > CLIENTS * LIVES * TASKS * OPS / 4);
	world_check(&world, seed);
	far_sim_free(world.sim);
}

static void many_worlds(void **state)
{
	unsigned nr = nightly() ? 400 : 12;

	(void)state;
	for (unsigned seed = 1; seed <= nr; seed++)
		one_world(seed, 0);
}

/*
 * Queue pairs break. Of a verb that failed nobody knows whether it was executed; still
 * no block is used twice, and none is lost.
 */
static void broken_queue_pairs(void **state)
{
	unsigned nr = nightly() ? 400 : 12;

	(void)state;
	for (unsigned seed = 1; seed <= nr; seed++)
		one_world(seed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_worlds),
		cmocka_unit_test(broken_queue_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
