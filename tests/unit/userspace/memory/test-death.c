// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Clients that die, at each operation that they post, and connections that break, while
 * blocks are got and freed and tables are linked: what was answered holds, what was not
 * happened once or not at all, and nothing is lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <far/memory.h>

#include "../../../lib/nightly.h"
#include "../hash/rig.h"

#define CLIENTS	2u
#define STEPS	12u	/* of each client */
#define FULL	498u	/* blocks that are there: a table has room for a few more */

/* The memory of a client that died in the middle is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

/* A block as a client was told of it, or has asked for it. */
enum fate { NOT, ALLOC, HAVE, FREE, GONE };

struct one {
	uint64_t addr;
	enum fate fate;
	unsigned seen;
};

struct world {
	struct rig rig;
	struct far_memory *memory[CLIENTS];
	struct one one[CLIENTS][STEPS];
	struct one full[FULL];
	unsigned nr_full;
	unsigned strange;	/* blocks that nobody has been told of */
};

struct worker {
	struct world *world;
	unsigned client;
};

static void one_alloc(struct far_task *task, struct far_memory *memory, struct one *one,
		      uint64_t size)
{
	int err;

	one->fate = ALLOC;
	err = far_alloc(task, memory, FAR_MEMORY_ANY, size, &one->addr);
	if (!err)
		one->fate = HAVE;
	else
		assert_int_equal(err, -EIO);
}

static void one_free(struct far_task *task, struct far_memory *memory, struct one *one)
{
	int err;

	one->fate = FREE;
	err = far_free(task, memory, one->addr);
	if (!err)
		one->fate = GONE;
	else
		assert_int_equal(err, -EIO);
}

static void work(struct far_task *task, void *arg)
{
	struct worker *worker = arg;
	struct far_memory *memory = worker->world->memory[worker->client];
	struct one *one = worker->world->one[worker->client];

	for (unsigned i = 0; i < STEPS; i++) {
		one_alloc(task, memory, &one[i], 8 + 40 * i);
		if (i % 3 == 2 && one[i - 1].fate == HAVE)
			one_free(task, memory, &one[i - 1]);
	}
}

static int look_at(struct one *one, unsigned nr, uint64_t addr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (one[i].addr != addr || one[i].fate == NOT || one[i].fate == GONE)
			continue;
		one[i].seen++;
		return 1;
	}
	return 0;
}

static int look(void *arg, uint64_t addr, uint64_t size)
{
	struct world *world = arg;

	if (!look_at(world->full, world->nr_full, addr) && !look_at(world->one[0], STEPS, addr) &&
	    !look_at(world->one[1], STEPS, addr))
		world->strange++;
	return 0;
}

/* How many calls were not answered, or not known. */
static unsigned judge(struct one *one, unsigned nr)
{
	unsigned unknown = 0;

	for (unsigned i = 0; i < nr; i++) {
		assert_true(one[i].seen <= 1);
		if (one[i].fate == HAVE)
			assert_int_equal(one[i].seen, 1);
		unknown += one[i].fate == ALLOC;
	}
	return unknown;
}

static void world_open(struct world *world, const struct rig_conf *conf, unsigned nr_full)
{
	struct far_task *task;

	memset(world, 0, sizeof(*world));
	world->nr_full = nr_full;
	rig_open(&world->rig, conf);
	for (unsigned i = 0; i < CLIENTS; i++) {
		int err;

		task = rig_enter(&world->rig, i);
		do
			err = i ? far_memory_open(task, "m", &world->memory[i]) :
				  far_memory_create(task, "m", &world->memory[i]);
		while (err == -EIO);
		if (err == -EEXIST)
			err = far_memory_open(task, "m", &world->memory[i]);
		assert_int_equal(err, 0);
		for (unsigned k = 0; !i && k < nr_full; k++)
			one_alloc(task, world->memory[i], &world->full[k], 8);
		far_leave(task);
	}
}

/* A run, in which client 0 dies at its kill_at-th operation. How many it has posted. */
static uint64_t run(const struct rig_conf *conf, unsigned nr_full, uint64_t kill_at)
{
	struct far_thread *thread[CLIENTS];
	struct worker worker[CLIENTS];
	struct far_sim_cn_stats before, after;
	struct world *world = malloc(sizeof(*world));
	struct far_task *task;
	int err;

	world_open(world, conf, nr_full);
	far_sim_stats(world->rig.sim, 0, &before);
	for (unsigned i = 0; i < CLIENTS; i++) {
		worker[i] = (struct worker){ world, i };
		assert_int_equal(far_thread_start(world->rig.far[i], 1, work, &worker[i],
						  &thread[i]), 0);
	}
	far_sim_kill_cn_at(world->rig.sim, 0, kill_at);
	for (unsigned i = 0; i < CLIENTS; i++)
		far_thread_join(thread[i]);
	far_sim_kill_cn_at(world->rig.sim, 0, 0);
	far_sim_stats(world->rig.sim, 0, &after);
	rig_leave(&world->rig, 0);

	assert_int_equal(rig_space_problems(&world->rig, 1), 0);
	task = rig_enter(&world->rig, 1);
	do {
		world->strange = 0;
		for (unsigned k = 0; k < world->nr_full; k++)
			world->full[k].seen = 0;
		for (unsigned k = 0; k < STEPS; k++)
			world->one[0][k].seen = world->one[1][k].seen = 0;
		err = far_memory_each(task, world->memory[1], look, world);
	} while (err == -EIO);
	assert_int_equal(err, 0);
	assert_true(world->strange <= judge(world->full, world->nr_full) +
		    judge(world->one[0], STEPS) + judge(world->one[1], STEPS));
	do
		err = far_memory_destroy(task, "m");
	while (err == -EIO);
	assert_true(!err || err == -ENOENT);
	far_leave(task);
	assert_int_equal(rig_space_problems(&world->rig, 1), 0);
	far_memory_close(world->memory[0]);
	far_memory_close(world->memory[1]);
	rig_close(&world->rig);
	free(world);
	return after.ops - before.ops;
}

static void deaths(void **state)
{
	const struct rig_conf conf = {
		.sim = 1, .clients = CLIENTS, .seed = 3,
		.adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
	};
	uint64_t last = run(&conf, FULL, 0);

	(void)state;
	assert_true(last > 60);
	for (uint64_t at = 1; at <= last; at += nightly() ? 1 : 9)
		run(&conf, FULL, at);
}

static void breaks(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= (nightly() ? 200 : 12); seed++) {
		const struct rig_conf conf = {
			.sim = 1, .clients = CLIENTS, .seed = seed, .break_one_in = 200,
			.adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK,
		};

		run(&conf, 4, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deaths),
		cmocka_unit_test(breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
