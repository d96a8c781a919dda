// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A client that dies at its N-th verb, for all N: in virtual time, while another one
 * works on the same structure. Whatever it was doing, the others fence it, adopt its
 * chunks, collect what it has lost, and a third client's check finds each block in one
 * place.
 *
 * All N without an adversary, with requests and completions that come late, and with
 * words in any order: one seed of these by day, 16 with ODRP_NIGHTLY=1. And all N of a client
 * that makes the directory longer.
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

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/dir.h"
#include "../../../../userspace/core/epoch.h"
#include "../../../../userspace/core/space.h"
#include "../../../../userspace/nic/sim/sim.h"

const struct far_type *const far_type_all[] = { &bag_type, NULL };

/* What a process that was killed had allocated is never freed. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

#define SLOTS	16u
#define CNS	3u	/* the victim, who lives on, who checks */

static const char *const nodes[] = { "0", "1" };

struct world {
	struct far_sim *sim;
	void (*work)(struct far_task *task);	/* of the victim */
	unsigned names;				/* beside the first, before the victim begins */
	struct far *victim;	/* never closed when it dies */
	struct far *other;
	int victim_done;
	int errors;
};

static struct far *world_open(struct world *world, unsigned cn)
{
	const struct far_conf conf = {
		.space = "s", .nodes = nodes, .nr_nodes = 2, .seed = 1 + cn,
	};
	struct far *far;
	char why[200];

	if (far_open_nic(far_sim_nic(world->sim, cn), &conf, why, sizeof(why), &far)) {
		print_message("%s\n", why);
		return NULL;
	}
	return far;
}

/* Every way in which memory moves. */
static void victim_task(struct far_task *task)
{
	static const uint64_t size[] = { 64, 1000, 70000, 64, 1100000, 64, 30000 };
	struct bag bag, own;

	if (bag_open(task, "b", &bag))
		return;
	for (unsigned i = 0; i < 7; i++)
		bag_put(task, &bag, i, size[i], i);
	bag_create(task, "own", 4, &own);
	bag_put(task, &own, 1, 64, 1);
	for (unsigned i = 0; i < 7; i++)
		bag_put(task, &bag, i, i & 1 ? 0 : size[6 - i], i);
	far_reclaim(task);
	bag_destroy(task, "own");
	bag_put(task, &bag, 9, 128, 1);
}

/* The directory's first part is full. */
static void namer_task(struct far_task *task)
{
	struct bag bag;

	for (unsigned i = 0; i < 2; i++) {
		bag_create(task, "own", 1, &bag);
		bag_put(task, &bag, 0, 64, 1);
		bag_destroy(task, "own");
	}
}

static void victim_run(void *arg)
{
	struct world *world = arg;
	struct far_task *task;

	world->victim = world_open(world, 0);
	if (!world->victim || far_enter(world->victim, &task))
		return;
	world->work(task);
	far_leave(task);
	far_close(world->victim);
	world->victim_done = 1;
}

static void other_run(struct far_task *task, void *arg)
{
	struct world *world = arg;
	struct bag bag;
	int err = bag_open(task, "b", &bag);

	for (unsigned i = 0; i < 200 && !err; i++) {
		err = bag_put(task, &bag, i % SLOTS, i % 5 ? 64 + i * 9 : 0, i);
		if (err == -ENOSPC)
			err = 0;
		if (!err)
			err = bag_get(task, &bag, (i * 3) % SLOTS, i % 4 ? 0 : 3000);
		if (err == -ENOENT)
			err = 0;
		far_sleep(task, 100000);
	}
	if (err) {
		print_error("the other client: %s: %s\n", strerror(-err),
			    far_strerror_last(task));
		world->errors++;
	}
}

static void world_prepare(struct world *world)
{
	struct far_task *task;
	struct bag bag;
	char name[16];

	world->other = world_open(world, 1);
	assert_non_null(world->other);
	assert_int_equal(far_enter(world->other, &task), 0);
	assert_int_equal(bag_create(task, "b", SLOTS, &bag), 0);
	for (unsigned i = 0; i < world->names; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(bag_create(task, name, 1, &bag), 0);
	}
	far_leave(task);
}

static void report(void *arg, const char *problem)
{
	(void)arg;
	print_error("%s\n", problem);
}

static void world_check(struct world *world, uint64_t n)
{
	struct far_space_check check = { .problems = 0 };
	struct far *far = world_open(world, 2);
	char text[300];

	assert_non_null(far);
	assert_int_equal(far_space_check(far, report, NULL, &check), 0);
	far_close(far);
	if (check.problems || world->errors) {
		far_sim_describe(world->sim, text, sizeof(text));
		fail_msg("verb %lu: %s", (unsigned long)n, text);
	}
}

/* One world in which the victim dies at verb n. 1: it came to its end before. */
static int die_at(const struct world *plan, uint64_t n, unsigned adversary, uint64_t seed)
{
	const struct far_sim_attr attr = {
		.profile = "cx6-200", .cns = CNS, .mns = 2, .seed = seed + n,
		.max_space = UINT64_C(16) << 20, .adversary = adversary, .scale = 1,
	};
	const struct far_space_attr space = {
		.size = UINT64_C(8) << 20, .nodes = nodes, .nr_nodes = 2, .max_clients = 8,
	};
	static struct world world;
	struct far_nic_thread *victim;
	struct far_thread *other;
	struct far_nic *nic;
	char why[200];
	int done;

	world = *plan;
	if (far_sim_new(&attr, why, sizeof(why), &world.sim) ||
	    far_space_create_on(far_sim_nic(world.sim, 1), "s", &space, why, sizeof(why)))
		fail_msg("%s", why);
	world_prepare(&world);
	nic = far_sim_nic(world.sim, 0);
	far_sim_kill_cn_at(world.sim, 0, n);
	assert_int_equal(nic->ops->thread_start(nic, victim_run, &world, &victim), 0);
	assert_int_equal(far_thread_start(world.other, 1, other_run, &world, &other), 0);
	far_thread_join(other);
	nic->ops->thread_join(nic, victim);
	world_check(&world, n);
	far_close(world.other);
	world_check(&world, n);
	done = world.victim_done;
	far_sim_free(world.sim);
	return done;
}

static uint64_t every_verb(const struct world *plan, unsigned adversary, uint64_t seed)
{
	uint64_t n = 1;

	while (!die_at(plan, n, adversary, seed))
		n++;
	return n;
}

static const struct world all_memory = { .work = victim_task };

static void every_verb_of_all(unsigned adversary, uint64_t seed)
{
	/* it does some hundred verbs, so that this has tried that many deaths */
	assert_true(every_verb(&all_memory, adversary, seed) > 100);
}

static void in_order(void **state)
{
	(void)state;
	every_verb_of_all(0, 0);
}

static void late(void **state)
{
	(void)state;
	every_verb_of_all(FAR_SIM_DELAY, 0);
}

static void torn(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= (nightly() ? 16 : 1); seed++)
		every_verb_of_all(FAR_SIM_TEAR | FAR_SIM_DELAY, seed * 1000);
}

static void names(void **state)
{
	const struct world plan = { .work = namer_task, .names = FAR_NR_NAMES - 1 };

	(void)state;
	assert_true(every_verb(&plan, 0, 0) > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(late),
		cmocka_unit_test(torn),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
