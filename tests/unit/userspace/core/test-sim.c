// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Core in virtual time: equal runs, limits of what is outstanding, credits while C_max
 * changes, conflict avoidance, fairness, queue pairs that break.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/core/thread.h"
#include "../../../../userspace/nic/sim/sim.h"

#define SPACE		(1u << 20)
#define MAX_THREADS	16u
#define MAX_TASKS	16u

static const char *const node_names[] = { "0", "1" };

/* A load on two memory nodes, from one compute node. */
struct load {
	unsigned threads, tasks, adversary, without;
	uint64_t seed;
	double scale;
	uint64_t ns;			/* how long it goes on */
	void (*run)(struct far_task *task, void *arg);

	struct far_sim *sim;
	struct far *far;
	uint64_t end;
	uint64_t ops[MAX_THREADS][MAX_TASKS];
	uint64_t errors;
	uint64_t c_max_seen;		/* bits: 1 << C_max */

	struct far_stats stats;
	struct far_sim_cn_stats cn;
	uint64_t trace;
};

static void spaces_make(struct far_nic *nic)
{
	struct far_host_map map;
	unsigned i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(nic->ops->host->create(nic, node_names[i], "s", SPACE,
							0600, &map), 0);
		assert_int_equal(nic->ops->host->publish(nic, &map), 0);
		nic->ops->host->unmap(nic, &map);
	}
}

static void load_open(struct load *load)
{
	struct far_sim_attr attr = {
		.profile = "cx6-200",
		.cns = 1,
		.mns = 2,
		.seed = load->seed,
		.max_space = 2 * SPACE,
		.adversary = load->adversary,
	};
	struct far_conf conf = {
		.space = "s",
		.nodes = node_names,
		.nr_nodes = 2,
		.without = load->without,
		.seed = load->seed,
	};
	char why[200];

	if (far_sim_new(&attr, why, sizeof(why), &load->sim))
		fail_msg("%s", why);
	spaces_make(far_sim_nic(load->sim, 0));
	if (far_open_bare(far_sim_nic(load->sim, 0), &conf, why, sizeof(why),
			  &load->far))
		fail_msg("%s", why);
	if (load->scale)
		far_scale_epochs(load->far, load->scale);
	load->end = far_sim_now(load->sim) + load->ns;
}

/* Runs the load, and closes it. */
static void load_run(struct load *load)
{
	struct far_thread *thread[MAX_THREADS];
	unsigned i;

	load_open(load);
	far_sim_stats_reset(load->sim, 0);
	for (i = 0; i < load->threads; i++)
		assert_int_equal(far_thread_start(load->far, load->tasks, load->run,
						  load, &thread[i]), 0);
	for (i = 0; i < load->threads; i++)
		far_thread_join(thread[i]);
	far_stats_get(load->far, &load->stats);
	far_sim_stats(load->sim, 0, &load->cn);
	far_close(load->far);
	load->trace = far_sim_trace(load->sim);
	far_sim_free(load->sim);
}

static int load_goes_on(struct load *load, struct far_task *task)
{
	return far_now(task) < load->end;
}

static uint64_t *load_ops(struct load *load, struct far_task *task)
{
	return &load->ops[far_task_thread(task)][far_task_index(task)];
}

static uint64_t random_addr(struct far_task *task)
{
	uint64_t off = 64 + 8 * far_rng_below(far_task_rng(task), SPACE / 8 - 100);

	return far_addr(far_rng_below(far_task_rng(task), 2), off);
}

/* Lists of 1 to 20 operations, and credits that add up whenever one looks. */
static void run_lists(struct far_task *task, void *arg)
{
	struct load *load = arg;
	struct far_thread *thread = task->thread;
	uint64_t *buf = far_buf(task, 8 * 20);
	unsigned nr, i;

	while (load_goes_on(load, task)) {
		nr = 1 + far_rng_below(far_task_rng(task), 20);
		for (i = 0; i < nr; i++)
			far_read(task, random_addr(task), &buf[i], 8);
		far_post(task);
		if (!load->without)
			assert_int_equal(thread->credit.credit + thread->outstanding,
					 thread->credit.c_max);
		if (thread->credit.c_max < 64)
			load->c_max_seen |= UINT64_C(1) << thread->credit.c_max;
		else
			load->c_max_seen |= 1;
		assert_int_equal(far_sync(task), 0);
		++*load_ops(load, task);
	}
}

/* While the first candidate is tried, 4 per thread are outstanding, and no more. */
static void test_outstanding(void **state)
{
	struct load load = { .threads = 8, .tasks = 8, .seed = 1, .ns = 200000,
			     .run = run_lists };
	struct load all = { .threads = 8, .tasks = 8, .seed = 1, .ns = 200000,
			    .without = FAR_WITHOUT_CREDIT, .run = run_lists };

	load_run(&load);
	assert_int_equal(load.c_max_seen, 1 << 4);
	assert_int_equal(load.cn.outstanding_max, 8 * 4);
	load_run(&all);
	assert_true(all.cn.outstanding_max > 8 * 8);
}

/* Through several epochs, each candidate's turn comes. */
static void test_conserved(void **state)
{
	struct load load = { .threads = 4, .tasks = 4, .seed = 2, .ns = 2500000,
			     .scale = 0.003, .run = run_lists };

	load_run(&load);
	assert_int_equal(load.c_max_seen, 1 | 1 << 4 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 12);
}

static void test_equal_runs(void **state)
{
	struct load a = { .threads = 4, .tasks = 8, .seed = 3, .ns = 300000,
			  .scale = 0.001, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
			  .run = run_lists };
	struct load b = a, c = a;

	c.seed = 4;
	load_run(&a);
	load_run(&b);
	load_run(&c);
	assert_true(a.trace == b.trace);
	assert_int_equal(a.stats.reads, b.stats.reads);
	assert_true(a.trace != c.trace);
}

/* Each task gets its share: tasks of a thread, and threads. */
static void test_fair(void **state)
{
	struct load load = { .threads = 8, .tasks = 16, .seed = 5, .ns = 1000000,
			     .scale = 0.003, .run = run_lists };
	uint64_t least = UINT64_MAX, sum = 0;
	unsigned i, j;

	load_run(&load);
	for (i = 0; i < load.threads; i++) {
		for (j = 0; j < load.tasks; j++) {
			sum += load.ops[i][j];
			if (load.ops[i][j] < least)
				least = load.ops[i][j];
		}
	}
	assert_true(least * load.threads * load.tasks >= sum * 8 / 10);
}

/* Task 0 needs all credits at once; the others one each, all the time. */
static void run_long_and_short(struct far_task *task, void *arg)
{
	struct load *load = arg;
	unsigned nr = far_task_index(task) ? 1 : 4, i;
	uint64_t *buf = far_buf(task, 64);

	while (load_goes_on(load, task)) {
		for (i = 0; i < nr; i++)
			far_read(task, far_addr(0, 64 + 8 * i), &buf[i], 8);
		assert_int_equal(far_sync(task), 0);
		++*load_ops(load, task);
	}
}

static void test_long_lists(void **state)
{
	struct load load = { .threads = 1, .tasks = 16, .seed = 7, .ns = 1000000,
			     .adversary = FAR_SIM_DELAY, .run = run_long_and_short };

	uint64_t most = 0;
	unsigned i;

	load_run(&load);
	for (i = 0; i < load.tasks; i++)
		if (load.ops[0][i] > most)
			most = load.ops[0][i];
	assert_true(load.ops[0][0] * 2 > most);
}

/* Threads draw different numbers, or all of them would wait alike. */
static void run_draw(struct far_task *task, void *arg)
{
	struct load *load = arg;

	*load_ops(load, task) = far_rng_next(far_task_rng(task));
}

static void test_draws(void **state)
{
	struct load load = { .threads = 3, .tasks = 1, .seed = 8, .run = run_draw };

	load_run(&load);
	assert_true(load.ops[0][0] != load.ops[1][0]);
	assert_true(load.ops[0][0] != load.ops[2][0]);
	assert_true(load.ops[1][0] != load.ops[2][0]);
}

/* READ, compute, CAS of one word that all share. */
static void run_updates(struct far_task *task, void *arg)
{
	struct load *load = arg;
	uint64_t *seen = far_buf(task, 8), found;

	while (load_goes_on(load, task)) {
		assert_int_equal(far_op_begin(task), 0);
		do {
			far_read(task, far_addr(0, 64), seen, 8);
			assert_int_equal(far_sync(task), 0);
			assert_int_equal(far_backoff_cas(task, far_addr(0, 64), *seen,
							 *seen + 1, &found), 0);
		} while (found != *seen);
		far_op_end(task);
		++*load_ops(load, task);
	}
}

/* CAS posted per update. */
static double attempts(unsigned without, uint64_t *ret_ops)
{
	struct load load = { .threads = 16, .tasks = 8, .seed = 6, .ns = 20000000,
			     .without = without, .run = run_updates };
	uint64_t ops = 0;
	unsigned i, j;

	load_run(&load);
	for (i = 0; i < load.threads; i++)
		for (j = 0; j < load.tasks; j++)
			ops += load.ops[i][j];
	assert_int_equal(load.stats.ops, ops);
	assert_int_equal(load.stats.cas, ops + load.stats.retries);
	*ret_ops = ops;
	return (double)load.stats.cas / ops;
}

static void test_conflicts(void **state)
{
	uint64_t with, limit, none;

	assert_true(attempts(0, &with) < 8);
	assert_true(attempts(FAR_WITHOUT_TASKS | FAR_WITHOUT_LIMIT, &limit) < 8);
	assert_true(attempts(FAR_WITHOUT_TASKS | FAR_WITHOUT_LIMIT | FAR_WITHOUT_BACKOFF,
			     &none) > 20);
	assert_true(with > 2 * none);
}

/* Queue pairs break; each task goes on. */
static void run_broken(struct far_task *task, void *arg)
{
	struct load *load = arg;
	uint64_t *buf = far_buf(task, 64);
	unsigned i;
	int err;

	while (load_goes_on(load, task)) {
		for (i = 0; i < 8; i++)
			far_read(task, random_addr(task), &buf[i], 8);
		err = far_sync(task);
		assert_true(!err || err == -EIO || err == -ETIMEDOUT);
		load->errors += !!err;
		++*load_ops(load, task);
	}
}

static void test_broken(void **state)
{
	struct load load = { .threads = 4, .tasks = 8, .ns = 3000000,
			     .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK,
			     .run = run_broken };
	uint64_t reconnects = 0;

	for (load.seed = 1; load.seed <= 10; load.seed++) {
		load_run(&load);
		assert_true(load.stats.reconnects <= load.errors);
		reconnects += load.stats.reconnects;
	}
	assert_true(reconnects > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outstanding),
		cmocka_unit_test(test_conserved),
		cmocka_unit_test(test_equal_runs),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_draws),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
