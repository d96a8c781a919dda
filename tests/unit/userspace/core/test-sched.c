// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The scheduler on mem: turns are fair, timers go off in order, tasks of other threads
 * are woken, operations wait for their credits.
 */
#include "rig.h"

#include <stdatomic.h>

#define NR_TASKS	50u
#define NR_ROUNDS	40u

struct sched {
	struct rig rig;
	struct far *far;
	unsigned count[NR_TASKS];
	unsigned most_ahead;
	unsigned order[NR_TASKS], nr_order;
	uint64_t until[NR_TASKS];	/* 0: does not sleep */
	unsigned disorder;
	unsigned inside, most_inside;
};

static void sched_open(struct sched *s, unsigned without)
{
	*s = (struct sched) { .nr_order = 0 };
	rig_open(&s->rig);
	s->far = rig_client(s->rig.nic, without);
}

static void sched_close(struct sched *s)
{
	far_close(s->far);
	rig_close(&s->rig);
}

static void sched_run(struct sched *s, unsigned nr,
		      void (*run)(struct far_task *task, void *arg))
{
	struct far_thread *thread;

	assert_int_equal(far_thread_start(s->far, nr, run, s, &thread), 0);
	far_thread_join(thread);
}

/* Notes how far this task is ahead of the one that is behind most. */
static void count_turn(struct sched *s, struct far_task *task)
{
	unsigned mine = ++s->count[far_task_index(task)], i;

	for (i = 0; i < NR_TASKS; i++)
		if (mine > s->count[i] && mine - s->count[i] > s->most_ahead)
			s->most_ahead = mine - s->count[i];
}

static void yield_turns(struct far_task *task, void *arg)
{
	unsigned i;

	for (i = 0; i < NR_ROUNDS; i++) {
		count_turn(arg, task);
		far_yield(task);
	}
}

static void sync_turns(struct far_task *task, void *arg)
{
	unsigned i;

	for (i = 0; i < NR_ROUNDS; i++) {
		count_turn(arg, task);
		far_faa(task, far_addr(0, 64), 1, NULL);
		assert_int_equal(far_sync(task), 0);
	}
}

static void test_fair(void **state)
{
	struct sched s;

	sched_open(&s, 0);
	sched_run(&s, NR_TASKS, yield_turns);
	assert_int_equal(s.most_ahead, 1);
	sched_close(&s);
	/* who waits for credits is served in order: C_max is 4 for 50 tasks */
	sched_open(&s, 0);
	sched_run(&s, NR_TASKS, sync_turns);
	assert_true(s.most_ahead <= 2);
	sched_close(&s);
}

/*
 * Each task sleeps the longer the lower its number. Whoever wakes up sees that all who sleep
 * still have later times, however late the thread itself gets on.
 */
static void sleep_once(struct far_task *task, void *arg)
{
	struct sched *s = arg;
	unsigned index = far_task_index(task), i;
	uint64_t until = far_now(task) + (NR_TASKS - index) * UINT64_C(1000000);

	s->until[index] = until;
	far_sched_sleep_until(task, until);
	assert_true(far_now(task) >= until);
	s->until[index] = 0;
	s->nr_order++;
	for (i = 0; i < NR_TASKS; i++)
		s->disorder += s->until[i] && s->until[i] < until;
}

static void test_timers(void **state)
{
	struct far_task *task;
	struct sched s;
	uint64_t now;

	sched_open(&s, 0);
	sched_run(&s, NR_TASKS, sleep_once);
	assert_int_equal(s.nr_order, NR_TASKS);
	assert_int_equal(s.disorder, 0);
	assert_int_equal(far_enter(s.far, &task), 0);
	now = far_now(task);
	far_sleep(task, 2000000);
	assert_true(far_now(task) >= now + 2000000);
	far_yield(task);
	far_leave(task);
	sched_close(&s);
}

/* A ring of tasks of several threads: each passes a token on to the next one. */
#define NR_THREADS	3u
#define PER_THREAD	4u
#define RING		(NR_THREADS * PER_THREAD)

struct ring {
	_Atomic(struct far_task *) task[RING];
	atomic_uint nr_tasks;
	atomic_uint turn;		/* token: turn % RING may take it */
	unsigned plain;			/* written by whoever has the token */
	unsigned laps;
};

static void ring_run(struct far_task *task, void *arg)
{
	struct ring *ring = arg;
	unsigned me = atomic_fetch_add(&ring->nr_tasks, 1), lap;

	atomic_store(&ring->task[me], task);
	while (atomic_load(&ring->nr_tasks) < RING || !atomic_load(&ring->task[(me + 1) % RING]))
		far_sleep(task, 10000);
	for (lap = 0; lap < ring->laps; lap++) {
		while (atomic_load(&ring->turn) % RING != me)
			far_task_suspend(task);
		ring->plain++;
		atomic_fetch_add(&ring->turn, 1);
		far_task_resume(atomic_load(&ring->task[(me + 1) % RING]));
	}
	/* nobody leaves before all are through: resume() needs its task */
	while (atomic_load(&ring->turn) < ring->laps * RING)
		far_sleep(task, 10000);
	atomic_fetch_sub(&ring->nr_tasks, 1);
	while (atomic_load(&ring->nr_tasks))
		far_sleep(task, 10000);
}

static void test_ring(void **state)
{
	struct ring ring = { .laps = 300 };
	struct far_thread *thread[NR_THREADS];
	struct sched s;
	unsigned i;

	sched_open(&s, 0);
	for (i = 0; i < NR_THREADS; i++)
		assert_int_equal(far_thread_start(s.far, PER_THREAD, ring_run, &ring,
						  &thread[i]), 0);
	for (i = 0; i < NR_THREADS; i++)
		far_thread_join(thread[i]);
	assert_int_equal(ring.plain, ring.laps * RING);
	sched_close(&s);
}

/* A resume that comes first is not lost, and two are one. */
static void resume_self(struct far_task *task, void *arg)
{
	struct sched *s = arg;

	far_task_resume(task);
	far_task_resume(task);
	far_faa(task, far_addr(0, 64), 1, NULL);
	assert_int_equal(far_sync(task), 0);
	far_task_suspend(task);
	s->order[0] = atomic_load(&task->park);
	s->nr_order++;
}

static void test_resume_first(void **state)
{
	struct sched s;

	sched_open(&s, 0);
	sched_run(&s, 1, resume_self);
	assert_int_equal(s.nr_order, 1);
	assert_int_equal(s.order[0], FAR_AWAKE);
	sched_close(&s);
}

/*
 * All tasks update one word, and pause between their READ and their CAS: most lose.
 * Operations and their retries are counted once, however deep the brackets are.
 */
static void update_word(struct far_task *task, void *arg)
{
	struct sched *s = arg;
	uint64_t *seen = far_buf(task, 8), found;
	unsigned i;

	for (i = 0; i < NR_ROUNDS; i++) {
		assert_int_equal(far_op_begin(task), 0);
		assert_int_equal(far_op_begin(task), 0);
		if (++s->inside > s->most_inside)
			s->most_inside = s->inside;
		do {
			far_read(task, far_addr(0, 64), seen, 8);
			assert_int_equal(far_sync(task), 0);
			far_sleep(task, 100000);
			assert_int_equal(far_backoff_cas(task, far_addr(0, 64), *seen,
							 *seen + 1, &found), 0);
		} while (found != *seen);
		s->inside--;
		far_op_end(task);
		far_op_end(task);
	}
}

static void test_operations(void **state)
{
	struct far_stats stats;
	struct sched s;
	unsigned i;
	uint64_t sum = 0, retries = 0;

	sched_open(&s, 0);
	sched_run(&s, 8, update_word);
	assert_int_equal(s.most_inside, 8);
	assert_int_equal(*(uint64_t *)rig_at(&s.rig, 0, 64), 8 * NR_ROUNDS);
	far_stats_get(s.far, &stats);
	assert_int_equal(stats.ops, 8 * NR_ROUNDS);
	assert_int_equal(stats.cas, 8 * NR_ROUNDS + stats.retries);
	for (i = 0; i < FAR_STATS_RETRIES; i++) {
		sum += stats.retry_hist[i];
		retries += stats.retry_hist[i] * i;
	}
	assert_int_equal(sum, stats.ops);
	assert_true(retries <= stats.retries);
	assert_true(stats.retry_hist[FAR_STATS_RETRIES - 1] || retries == stats.retries);
	sched_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_resume_first),
		cmocka_unit_test(test_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
