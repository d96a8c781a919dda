// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When a run has reached its steady state: runs of an index that does nothing but sleep
 * for as long as the test says, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/bench/cluster.h"
#include "../../../../userspace/bench/run.h"
#include "../../../../userspace/core/deadline.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/core/thread.h"

#define MS	UINT64_C(1000000)
#define TASKS	20u
#define STUCK	100u		/* gets before the one that waits for ever */

/* What the index does: an operation at this time since it was opened takes so long. */
static uint64_t (*op_ns)(uint64_t since);
static uint64_t opened;
static unsigned nr_gets;
static uint64_t stuck_until;
static int fails_with;		/* after so many gets */
static unsigned fails_after;

static int sleepy_open(struct far_task *task, const char *name, void **ret_index)
{
	(void)name;
	opened = far_now(task);
	nr_gets = 0;
	*ret_index = &opened;
	return 0;
}

static void sleepy_close(void *index)
{
	(void)index;
}

static int sleepy_get(struct far_task *task, void *index, const void *key, size_t key_len,
		      void *value, size_t value_size, size_t *ret_len)
{
	(void)index;
	(void)key;
	(void)key_len;
	(void)value;
	(void)value_size;
	*ret_len = 0;
	if (++nr_gets > fails_after && fails_with)
		return fails_with;
	far_sleep(task, op_ns(far_now(task) - opened));
	return 0;
}

static int stuck_thread;	/* all gets of the first thread do so, from 10 ms on */

static int is_stuck(const struct far_task *task)
{
	static const struct far_thread *first;

	if (!stuck_thread)
		return nr_gets == STUCK;
	if (!nr_gets)
		first = task->thread;
	return task->thread == first && far_now(task) - opened > 10 * MS;
}

/* A get that waits as long as its time allows, 3 s at most. */
static int stuck_get(struct far_task *task, void *index, const void *key, size_t key_len,
		     void *value, size_t value_size, size_t *ret_len)
{
	int err;

	if (!is_stuck(task))
		return sleepy_get(task, index, key, key_len, value, value_size, ret_len);
	nr_gets++;
	err = far_op_begin(task);
	assert_int_equal(err, 0);
	while (!err && far_now(task) - opened < 3000 * MS) {
		far_sleep(task, MS);
		err = far_op_is_late(task) ? -ETIME : 0;
	}
	far_op_end(task);
	stuck_until = far_now(task) - opened;
	return err;
}

static const struct index_ops sleepy = {
	.name = "sleepy", .open = sleepy_open, .close = sleepy_close, .get = sleepy_get,
};

static const struct index_ops stuck = {
	.name = "stuck", .open = sleepy_open, .close = sleepy_close, .get = stuck_get,
};

static void run(struct run_conf conf, struct run_result *result)
{
	struct cluster_conf cluster_conf = {
		.nic = "sim:cx6-200", .cns = 1, .mns = 1, .space_size = 4 << 20,
		.seed = 1, .scale = 1, .op_ms = FAR_NO_DEADLINE,
	};
	struct cluster cluster;
	struct run *run;
	char why[200];

	assert_int_equal(cluster_open(&cluster, &cluster_conf, why, sizeof(why)), 0);
	if (!conf.index)
		conf.index = &sleepy;
	conf.mix = ycsb_find("C");
	conf.data.key_size = 8;
	conf.keys = 100;
	conf.threads_min = conf.threads_max = 2;
	conf.tasks = TASKS / 2;
	conf.seed = 1;
	conf.theta = 0.99;
	assert_int_equal(run_open(cluster.far, 1, &conf, &run), 0);
	assert_int_equal(run_measure(run, result), 0);
	run_close(run);
	cluster_close(&cluster);
}

static uint64_t op_even(uint64_t since)
{
	(void)since;
	return 1000;
}

/* It becomes faster until 150 ms are over. */
static uint64_t op_settles(uint64_t since)
{
	return since < 150 * MS ? 5000 - since * 4000 / (150 * MS) : 1000;
}

/* Each 20 ms are half as fast as those before, or twice. */
static uint64_t op_restless(uint64_t since)
{
	return since / (20 * MS) % 2 ? 2000 : 1000;
}

/* One operation of all never returns while the others are measured. */
static uint64_t op_one_stuck(uint64_t since)
{
	(void)since;
	return nr_gets == TASKS + 1 ? 1000 * MS : 1000;
}

static struct run_result result;

static void test_steady_at_once(void **state)
{
	(void)state;
	op_ns = op_even;
	run((struct run_conf){ .warm_ns = MS, .run_ns = 40 * MS }, &result);
	assert_true(result.steady);
	assert_int_equal(result.nr_windows, 2);
	assert_true(result.last.ns >= 20 * MS && result.last.ns < 21 * MS);
	assert_true(result.last.ops >= TASKS * 19000 && result.last.ops <= TASKS * 21000);
	assert_int_equal(result.last.latency.count, result.last.ops);
	assert_true(result.little > 0.95 && result.little < 1.05);
	assert_true(result.fairness > 0.9 && result.fairness <= 1);
}

static void test_goes_on_until_steady(void **state)
{
	(void)state;
	op_ns = op_settles;
	run((struct run_conf){ .warm_ns = MS, .run_ns = 80 * MS }, &result);
	assert_true(result.steady);
	assert_true(result.nr_windows > 3 && result.nr_windows < 2 * RUN_MOST);
	/* what it prints is of the end */
	assert_in_range(far_hist_permille(&result.last.latency, 500), 1000, 1100);
	assert_true(result.before.p50_us < 1.1);
}

static void test_never_steady(void **state)
{
	(void)state;
	op_ns = op_restless;
	run((struct run_conf){ .warm_ns = 0, .run_ns = 40 * MS }, &result);
	assert_false(result.steady);
	assert_in_range(result.nr_windows, 2 * RUN_MOST - 1, 2 * RUN_MOST);
}

/* A cycle of throttling covers both halves of what is restless. */
static void test_window_has_a_cycle(void **state)
{
	(void)state;
	op_ns = op_restless;
	run((struct run_conf){ .warm_ns = 0, .run_ns = 40 * MS, .cycle_ns = 400 * MS },
	    &result);
	assert_true(result.steady);
	assert_int_equal(result.nr_windows, 2);
	assert_true(result.last.ns >= 400 * MS);
}

/* The time that is asked for has too few operations: the window goes on until there are enough. */
static void test_window_has_enough_operations(void **state)
{
	(void)state;
	op_ns = op_even;
	run((struct run_conf){ .warm_ns = 0, .run_ns = MS / 2 }, &result);
	assert_true(result.last.ops >= WINDOW_LEAST_OPS);
	assert_true(result.last.ns > MS / 4);
}

static void test_operations_end_it(void **state)
{
	(void)state;
	op_ns = op_even;
	run((struct run_conf){ .warm_ns = 0, .run_ns = 1000 * MS, .max_ops = 500 }, &result);
	assert_in_range(result.last.ops, 500, 500 + TASKS);
	assert_int_equal(result.nr_windows, 1);
	assert_false(result.steady);
}

/* The percentiles know nothing of it. */
static void test_who_waits_longest(void **state)
{
	(void)state;
	op_ns = op_one_stuck;
	run((struct run_conf){ .warm_ns = MS, .run_ns = 40 * MS }, &result);
	assert_true(result.last.latency.max < MS);
	assert_true(result.last.longest_wait_ns >= 40 * MS);
	assert_int_equal((uint64_t)(result.fairness * 1000), 0);
}

/* An operation that has no turn is not awaited once the run is over; it is no error. */
static void test_end_cuts_operations(void **state)
{
	(void)state;
	op_ns = op_even;
	run((struct run_conf){ .index = &stuck, .warm_ns = MS, .run_ns = 40 * MS, .cut = 1 },
	    &result);
	assert_true(result.steady);
	assert_in_range(stuck_until, 41 * MS, 45 * MS);
	assert_int_equal(result.errors, 0);
	assert_true(result.last.longest_wait_ns >= 40 * MS);
}

/* A thread whose tasks all starve keeps neither windows nor the run from their end. */
static void test_no_thread_is_waited_for(void **state)
{
	(void)state;
	op_ns = op_even;
	stuck_thread = 1;
	run((struct run_conf){ .index = &stuck, .warm_ns = MS, .run_ns = 40 * MS, .cut = 1 },
	    &result);
	stuck_thread = 0;
	assert_true(result.steady);
	assert_int_equal(result.nr_windows, 3);
	assert_in_range(stuck_until, 61 * MS, 65 * MS);
	assert_int_equal(result.errors, 0);
	assert_true(result.last.ops > TASKS / 2 * 19000 && result.last.ops < TASKS / 2 * 21000);
}

/* All tasks end by errors in the first window: what there is of it is the result. */
static void test_errors_end_it(void **state)
{
	(void)state;
	op_ns = op_even;
	fails_with = -ESTALE;
	fails_after = 5000;
	run((struct run_conf){ .warm_ns = 0, .run_ns = 1000 * MS }, &result);
	fails_with = 0;
	assert_int_equal(result.first_error, -ESTALE);
	assert_int_equal(result.errors, TASKS);
	assert_int_equal(result.nr_windows, 1);
	assert_in_range(result.last.ops, 5000 - TASKS, 5000);
	assert_false(result.steady);
}

static void test_what_agrees(void **state)
{
	struct window_brief a = { .mops = 10, .attempts = 1.5, .p50_us = 8 }, b = a;

	(void)state;
	assert_true(window_agree(&a, &b));
	b.mops = 9.55;
	assert_true(window_agree(&a, &b));
	b.mops = 9.45;
	assert_false(window_agree(&a, &b));
	b = a;
	b.attempts = 1.4;
	assert_false(window_agree(&a, &b));
	b = a;
	b.p50_us = 8.5;
	assert_false(window_agree(&b, &a));
	a.mops = b.mops = 0;
	assert_false(window_agree(&a, &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady_at_once),
		cmocka_unit_test(test_goes_on_until_steady),
		cmocka_unit_test(test_never_steady),
		cmocka_unit_test(test_window_has_a_cycle),
		cmocka_unit_test(test_window_has_enough_operations),
		cmocka_unit_test(test_operations_end_it),
		cmocka_unit_test(test_who_waits_longest),
		cmocka_unit_test(test_end_cuts_operations),
		cmocka_unit_test(test_no_thread_is_waited_for),
		cmocka_unit_test(test_errors_end_it),
		cmocka_unit_test(test_what_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
