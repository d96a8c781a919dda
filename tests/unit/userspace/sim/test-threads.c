// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads in virtual time: who runs when, waking, joining, and what never ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>

#include <cmocka.h>

#include "bed.h"

#define NR	5u

struct actor {
	struct bed_user user;
	unsigned id;
	struct actor *other;
	uint64_t woken_at;
	int result;
};

static unsigned order[NR], nr_order;
static struct actor actor[NR];

static struct far_nic_thread *actor_start(struct actor *a, struct bed *bed, unsigned id,
					  void (*run)(void *arg))
{
	struct far_qset_attr attr = bed_attr(bed, 4);
	struct far_nic_thread *thread;

	bed_user_init(&a->user, bed, 0, &attr);
	a->id = id;
	assert_int_equal(a->user.ops->thread_start(a->user.nic, run, a, &thread), 0);
	return thread;
}

static void sleeper(void *arg)
{
	struct actor *a = arg;

	a->result = a->user.ops->wait(a->user.qset, 1000 * (NR - a->id));
	order[nr_order++] = a->id;
}

static void test_timers(void **state)
{
	struct far_nic_thread *thread[NR];
	struct bed bed;
	unsigned i;

	bed_init(&bed, 1, 1, 1, 0, NULL);
	nr_order = 0;
	for (i = 0; i < NR; i++)
		thread[i] = actor_start(&actor[i], &bed, i, sleeper);
	assert_int_equal(far_sim_run(bed.sim, 2500), -ETIME);
	assert_int_equal(far_sim_now(bed.sim), 2500);
	assert_int_equal(nr_order, 2);
	assert_int_equal(far_sim_run(bed.sim, UINT64_MAX), 0);
	assert_int_equal(far_sim_now(bed.sim), 1000 * NR);
	for (i = 0; i < NR; i++) {
		assert_int_equal(order[i], NR - 1 - i);
		assert_int_equal(actor[i].result, -ETIME);
		actor[i].user.ops->thread_join(actor[i].user.nic, thread[i]);
	}
	bed_fini(&bed);
}

static void waiter(void *arg)
{
	struct actor *a = arg;

	a->result = a->user.ops->wait(a->user.qset, UINT64_MAX);
	a->woken_at = a->user.ops->now(a->user.nic);
}

static void waker(void *arg)
{
	struct actor *a = arg;

	a->user.ops->spend(a->user.nic, 700);
	a->user.ops->wake(a->other->user.qset);
}

/* A wake comes at its caller's time, and one before the wait is not lost. */
static void test_wake(void **state)
{
	struct far_nic_thread *thread[2];
	struct bed bed;

	bed_init(&bed, 1, 1, 1, 0, "spend_slow_threads=1000000");
	thread[0] = actor_start(&actor[0], &bed, 0, waiter);
	actor[1].other = &actor[0];
	thread[1] = actor_start(&actor[1], &bed, 1, waker);
	assert_int_equal(far_sim_run(bed.sim, UINT64_MAX), 0);
	assert_int_equal(actor[0].result, 0);
	assert_int_equal(actor[0].woken_at, 700);
	actor[0].user.ops->thread_join(actor[0].user.nic, thread[0]);
	actor[1].user.ops->thread_join(actor[1].user.nic, thread[1]);
	actor[0].user.ops->wake(actor[0].user.qset);
	assert_int_equal(actor[0].user.ops->wait(actor[0].user.qset, UINT64_MAX), 0);
	assert_int_equal(actor[0].user.ops->wait(actor[0].user.qset, 800), -ETIME);
	bed_fini(&bed);
}

/* A thread waits for what never comes: the run says so, and a join still ends. */
static void test_deadlock(void **state)
{
	struct far_nic_thread *thread;
	struct bed bed;

	bed_init(&bed, 1, 1, 1, 0, NULL);
	thread = actor_start(&actor[0], &bed, 0, waiter);
	assert_int_equal(far_sim_run(bed.sim, UINT64_MAX), -EDEADLK);
	actor[0].user.ops->wake(actor[0].user.qset);
	assert_int_equal(far_sim_run(bed.sim, UINT64_MAX), 0);
	actor[0].user.ops->thread_join(actor[0].user.nic, thread);
	thread = actor_start(&actor[1], &bed, 1, waiter);
	actor[1].user.ops->thread_join(actor[1].user.nic, thread);
	bed_fini(&bed);
}

static void parent(void *arg)
{
	struct actor *a = arg;
	struct far_nic_thread *child;

	child = actor_start(&actor[a->id + 1], a->user.bed, a->id + 1,
			    a->id + 2 < NR ? parent : sleeper);
	a->user.ops->thread_join(a->user.nic, child);
	order[nr_order++] = a->id;
}

/* Threads start threads, and join them. */
static void test_nested_join(void **state)
{
	struct far_nic_thread *thread;
	struct bed bed;
	unsigned i;

	bed_init(&bed, 1, 1, 1, 0, NULL);
	nr_order = 0;
	thread = actor_start(&actor[0], &bed, 0, parent);
	actor[0].user.ops->thread_join(actor[0].user.nic, thread);
	assert_int_equal(nr_order, NR);
	for (i = 0; i < NR; i++)
		assert_int_equal(order[i], NR - 1 - i);
	bed_fini(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_nested_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
