// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A client that is cut off while tasks combine: each of its operations ends, with -ESTALE.
 * A batch whose change has an unknown fate leaves the gets in it to be done again; when
 * the next batch failed before it began, the unknown fate of the one before was taken for
 * its own, and the get was done again without end.
 */
#include <errno.h>
#include <unistd.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/bench/index_ops.h"
#include "rig.h"

#define TASKS	12u		/* the last of them cuts */
#define MOMENTS	100u
#define STEP_NS	UINT64_C(370)	/* between two of them; a round trip has some of these */
#define WARM_NS	UINT64_C(100000)
#define TOO_LONG_S	100

struct run {
	const struct index_ops *ops;
	struct rig rig;
	void *handle;
	uint64_t cut_at;	/* ns */
};

/* All want one key, so they combine. */
static void task_run(struct far_task *task, void *arg)
{
	struct run *run = arg;
	unsigned me = far_task_index(task);
	uint64_t key = 1, value, dice;
	struct far_rng rng;
	int err = 0;

	far_rng_init(&rng, run->rig.conf.seed, me);
	if (me == TASKS - 1) {
		far_sleep(task, run->cut_at - far_now(task));
		far_client_cut(run->rig.far[0]->client);
	}
	while (err != -ESTALE) {
		dice = far_rng_next(&rng);
		err = dice % 2 ? run->ops->put(task, run->handle, &key, 8, &dice, 8) :
				 run->ops->get(task, run->handle, &key, 8, &value, 8, NULL);
		if (dice % 3 == 0)
			far_sleep(task, dice % 4096);
	}
}

/* The memory node dies, too, so what is under way gets an unknown fate. */
static void cut_off(const struct index_ops *ops, unsigned moment)
{
	const struct rig_conf conf = { .sim = 1, .nodes = 1, .seed = moment };
	struct run run = { .ops = ops };
	const struct index_shape shape = { 0 };
	struct far_thread *thread;
	struct far_task *task;

	rig_open(&run.rig, &conf);
	task = rig_enter(&run.rig, 0);
	assert_int_equal(ops->create(task, ops->name, &shape, &run.handle), 0);
	run.cut_at = far_now(task) + WARM_NS + moment * STEP_NS;
	far_leave(task);
	far_sim_kill_mn_at(run.rig.sim, 0, run.cut_at);
	assert_int_equal(far_thread_start(run.rig.far[0], TASKS, task_run, &run, &thread), 0);
	far_thread_join(thread);
	ops->close(run.handle);
	rig_close(&run.rig);
}

static void cut_kind(void **state)
{
	unsigned moment;

	alarm(TOO_LONG_S);
	for (moment = 0; moment < MOMENTS; moment++)
		cut_off(*state, moment);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(cut_kind, (void *)&index_ops_hash),
		cmocka_unit_test_prestate(cut_kind, (void *)&index_ops_btree),
		cmocka_unit_test_prestate(cut_kind, (void *)&index_ops_art),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
