// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A memory node of three is away for ten minutes of virtual time, and clients die meanwhile,
 * each at another verb of what it does. What lies on the others is there for the client that
 * lives. No fence ends, and memory is not used again, before the node is back; then all that
 * the dead have had is free, and nothing is lost.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bag.h"

#include "../../../../userspace/core/alloc.h"
#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/space.h"
#include "../../../../userspace/nic/sim/sim.h"
#include "../../../../userspace/space/geometry.h"

const struct far_type *const far_type_all[] = { &bag_type, NULL };

/* A process that was killed never frees its memory: the checker of leaks is told. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

#define NODES		3u
#define AWAY		2u
#define DEAD		3u
#define LIVES		DEAD	/* the compute node of the client that lives */
#define CHECKS		(DEAD + 1)
#define SLOTS		32u
#define MS		UINT64_C(1000000)
#define STEPS		60u
#define STEP_NS		(10000 * MS)

static const char *const nodes[NODES] = { "0", "1", "2" };

static struct world {
	struct far_sim *sim;
	struct far *dead[DEAD], *lives;
	struct bag bag;
	unsigned begun;
} world;

static struct far *client(unsigned cn)
{
	const struct far_conf conf = {
		.space = "s", .nodes = nodes, .nr_nodes = NODES, .seed = 1 + cn,
	};
	struct far *far;
	char why[200];

	if (far_open_nic(far_sim_nic(world.sim, cn), &conf, why, sizeof(why), &far))
		fail_msg("%s", why);
	return far;
}

/* How blocks come and go. A slot may have one on the node that is away. */
static int changes(struct far_task *task, unsigned seed, unsigned nr)
{
	static const uint64_t size[] = { 64, 1000, 70000, 200, 0 };
	int err = 0;

	for (unsigned i = 0; i < nr; i++) {
		unsigned at = seed * 7 + i;

		err = bag_put(task, &world.bag, at % SLOTS, size[at % 5], at);
		if (err && err != -ENOSPC && err != -EHOSTDOWN && err != -ETIME)
			return err;
	}
	return 0;
}

static void victim_run(struct far_task *task, void *arg)
{
	unsigned *seed = arg;

	world.begun++;
	while (!changes(task, (*seed)++, 3))
		far_sleep(task, 100 * MS);
}

static void report(void *arg, const char *problem)
{
	(void)arg;
	print_error("%s\n", problem);
}

static struct far_space_check check(unsigned cn)
{
	struct far_space_check sum = { .problems = 0 };
	struct far *far = client(cn);

	assert_int_equal(far_space_check(far, report, NULL, &sum), 0);
	assert_int_equal(sum.problems, 0);
	far_close(far);
	return sum;
}

static const struct far_epoch_line *line(void)
{
	uint64_t size;

	return (void *)((char *)far_sim_memory(world.sim, 0, &size) + FAR_SB_EPOCH);
}

static void world_open(void)
{
	const struct far_sim_attr attr = {
		.profile = "cx6-200", .cns = DEAD + 2, .mns = NODES, .seed = 1,
		.max_space = UINT64_C(32) << 20, .scale = 1,
	};
	const struct far_space_attr space = {
		.size = UINT64_C(16) << 20, .nodes = nodes, .nr_nodes = NODES,
		.max_clients = 8,
	};
	char why[200];

	if (far_sim_new(&attr, why, sizeof(why), &world.sim) ||
	    far_space_create_on(far_sim_nic(world.sim, 0), "s", &space, why, sizeof(why)))
		fail_msg("%s", why);
	world.lives = client(LIVES);
	for (unsigned i = 0; i < DEAD; i++)
		world.dead[i] = client(i);
}

static void away_ten_minutes(void **state)
{
	struct far_thread *thread[DEAD];
	struct far_space_check before, after;
	unsigned seed[DEAD];
	struct far_task *task;

	(void)state;
	world_open();
	assert_int_equal(far_enter(world.lives, &task), 0);
	assert_int_equal(bag_create(task, "b", SLOTS, &world.bag), 0);
	assert_int_equal(bag_destroy(task, "b"), 0);
	assert_int_equal(far_reclaim(task), 0);
	before = check(CHECKS);
	assert_int_equal(bag_create(task, "b", SLOTS, &world.bag), 0);
	for (unsigned i = 0; i < DEAD; i++) {
		seed[i] = 100 * i;
		assert_int_equal(far_thread_start(world.dead[i], 1, victim_run, &seed[i],
						  &thread[i]), 0);
	}
	while (world.begun < DEAD)
		far_sleep(task, MS);
	far_sleep(task, 300 * MS);
	far_sim_kill_mn_at(world.sim, AWAY, 0);
	for (unsigned step = 0; step < STEPS; step++) {
		if (step % 8 == 4 && step / 8 < DEAD)
			far_sim_kill_cn_at(world.sim, step / 8, 1 + 7 * step);
		assert_int_equal(changes(task, 1000 + step, 5), 0);
		far_sleep(task, STEP_NS);
	}
	/* Nobody has died yet, as far as others know. */
	assert_int_equal(line()->deaths, 0);
	assert_int_equal(line()->clients, DEAD + 1);
	far_sim_revive_mn(world.sim, AWAY);
	while (line()->deaths < DEAD)
		far_sleep(task, 100 * MS);
	assert_int_equal(far_reclaim(task), 0);
	check(CHECKS);
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(bag_put(task, &world.bag, i, 64, i), 0);
	assert_int_equal(bag_destroy(task, "b"), 0);
	assert_int_equal(far_reclaim(task), 0);
	after = check(CHECKS);
	assert_int_equal(after.used, before.used);
	assert_int_equal(after.leaked, 0);
	for (unsigned i = 0; i < DEAD; i++)
		far_thread_join(thread[i]);
	far_leave(task);
	far_close(world.lives);
	far_sim_free(world.sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(away_ten_minutes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
