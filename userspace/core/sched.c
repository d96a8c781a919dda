// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The scheduler of a thread: ready tasks, timers, the inbox of other threads.
 */
#include <time.h>

#include "task.h"
#include "thread.h"
#include "watch.h"

#define NEVER	UINT64_MAX

static void timer_set(struct far_thread *thread, unsigned at, struct far_task *task)
{
	thread->timer[at] = task;
	task->timer_at = at;
}

/* Puts the task at that place, or as far above as it belongs. */
static void timer_up(struct far_thread *thread, unsigned at, struct far_task *task)
{
	for (; at > 0; at = (at - 1) / 2) {
		struct far_task *above = thread->timer[(at - 1) / 2];

		if (above->wake_at <= task->wake_at)
			break;
		timer_set(thread, at, above);
	}
	timer_set(thread, at, task);
}

/* Puts the task at that place, or as far below as it belongs. */
static void timer_down(struct far_thread *thread, unsigned at, struct far_task *task)
{
	unsigned nr = thread->nr_timers;

	for (;;) {
		unsigned down = 2 * at + 1;

		if (down + 1 < nr &&
		    thread->timer[down + 1]->wake_at < thread->timer[down]->wake_at)
			down++;
		if (down >= nr || task->wake_at <= thread->timer[down]->wake_at)
			break;
		timer_set(thread, at, thread->timer[down]);
		at = down;
	}
	timer_set(thread, at, task);
}

static void timer_put(struct far_thread *thread, struct far_task *task)
{
	timer_up(thread, thread->nr_timers++, task);
}

static void timer_remove(struct far_thread *thread, struct far_task *task)
{
	struct far_task *last = thread->timer[--thread->nr_timers];
	unsigned at = task->timer_at;

	task->timed = 0;
	if (last == task)
		return;
	timer_up(thread, at, last);
	if (last->timer_at == at)
		timer_down(thread, at, last);
}

/* The time of the first one has come. One that far_task_resume() has sent comes by itself. */
static void timer_end(struct far_thread *thread)
{
	struct far_task *task = thread->timer[0];
	int timed = task->timed, was = FAR_ASLEEP;

	timer_remove(thread, task);
	if (!timed || atomic_compare_exchange_strong(&task->park, &was, FAR_AWAKE))
		far_sched_wake(task);
}

static void timers_run(struct far_thread *thread)
{
	uint64_t now;

	if (!thread->nr_timers)
		return;
	now = far_thread_now(thread);
	while (thread->nr_timers && thread->timer[0]->wake_at <= now)
		timer_end(thread);
}

/* Wakes whom other threads have sent, in the order in which they did. */
static void inbox_run(struct far_thread *thread)
{
	struct far_task *task, *next, *in_order = NULL;

	if (!atomic_load_explicit(&thread->inbox, memory_order_relaxed))
		return;
	task = atomic_exchange_explicit(&thread->inbox, NULL, memory_order_acquire);
	for (; task; task = next) {
		next = task->next;
		task->next = in_order;
		in_order = task;
	}
	for (task = in_order; task; task = next) {
		next = task->next;
		if (task->timed)
			timer_remove(thread, task);
		far_sched_wake(task);
	}
}

struct far_thread *far_task_hold(struct far_task *task)
{
	struct far_thread *thread = task->thread;

	atomic_fetch_add(&thread->held_by, 1);
	return thread;
}

void far_task_unhold(struct far_thread *thread)
{
	atomic_fetch_sub_explicit(&thread->held_by, 1, memory_order_release);
}

void far_sched_send(struct far_task *task)
{
	struct far_thread *thread = far_task_hold(task);
	struct far_task *first;

	first = atomic_load_explicit(&thread->inbox, memory_order_relaxed);
	do {
		task->next = first;
	} while (!atomic_compare_exchange_weak_explicit(&thread->inbox, &first, task,
							memory_order_release,
							memory_order_relaxed));
	/* whoever found it empty rings for all that come until it is emptied */
	if (!first)
		thread->far->nic->ops->wake(thread->qset);
	far_task_unhold(thread);
}

void far_sched_drain(struct far_thread *thread)
{
	while (atomic_load_explicit(&thread->held_by, memory_order_acquire))
		thread->far->nic->ops->wait(thread->qset,
					    far_thread_now(thread) + 1000);
}

void far_sched_wake(struct far_task *task)
{
	task->ready = 1;
	far_queue_put(&task->thread->ready, task);
}

void far_sched_resume(struct far_task *task)
{
	/* RESUMED: it is in the inbox */
	if (atomic_exchange(&task->park, FAR_RESUMED) != FAR_ASLEEP)
		return;
	if (task->timed)
		timer_remove(task->thread, task);
	far_sched_wake(task);
}

/*
 * Tasks wait to post though nothing is under way whose end would let them: who had been
 * let through has posted nothing after all. far_op_poll() lets them go on.
 */
static int sched_stalled(const struct far_thread *thread)
{
	return thread->waiting.first && !thread->outstanding;
}

/* The same without the NIC, which is the parent's: only time can make a task ready. */
static void sched_wait_alone(struct far_thread *thread)
{
	uint64_t until = thread->nr_timers ? thread->timer[0]->wake_at : 0;
	struct timespec ts = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };

	if (!far_wait_forsake(thread) && !thread->outstanding)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void sched_wait(struct far_thread *thread)
{
	uint64_t until = thread->nr_timers ? thread->timer[0]->wake_at : NEVER;

	if (thread->outstanding && thread->next_look < until)
		until = thread->next_look;
	if (far_fds_nr(thread->fds))
		far_fds_wait(thread, until);
	else
		thread->far->nic->ops->wait(thread->qset, until);
	if (until == thread->next_look)
		far_watch_due(thread, far_thread_now(thread));
}

/* Begins what tasks have posted, on the thread's own stack: it needs more than a task has. */
static void sched_push(struct far_thread *thread)
{
	if (thread->qset->put_off && !far_is_parents(thread->far))
		thread->far->nic->ops->push(thread->qset);
}

/* What may have become ready; waits for it in the NIC when nothing is. */
static void sched_turn(struct far_thread *thread)
{
	bool idle = !thread->ready.first && !sched_stalled(thread);

	sched_push(thread);
	if (idle && far_is_parents(thread->far))
		sched_wait_alone(thread);
	else if (idle)
		sched_wait(thread);
	else if (far_fds_nr(thread->fds) && !far_is_parents(thread->far))
		far_fds_look(thread);
	far_op_poll(thread);
	inbox_run(thread);
	timers_run(thread);
}

/* Where the calling task's thread goes on when the task sleeps or has ended. */
static struct far_context *sched_next(struct far_thread *thread)
{
	struct far_task *next = NULL;

	if (!thread->qset->put_off)
		next = far_queue_take(&thread->batch);
	return next ? &next->fiber->context : &thread->root;
}

void far_sched_sleep(struct far_task *task)
{
	struct far_thread *thread = task->thread;

	if (task->fiber) {
		far_context_switch(&task->fiber->context, sched_next(thread));
		return;
	}
	while (!task->ready)
		sched_turn(thread);
	far_queue_take(&thread->ready);
	task->ready = 0;
}

void far_sched_sleep_until(struct far_task *task, uint64_t until)
{
	task->wake_at = until;
	timer_put(task->thread, task);
	far_sched_sleep(task);
}

void far_sched_run(struct far_thread *thread)
{
	while (thread->nr_live) {
		struct far_task *first;

		thread->batch = thread->ready;
		thread->ready.first = NULL;
		while ((first = far_queue_take(&thread->batch))) {
			far_context_switch(&thread->root, &first->fiber->context);
			sched_push(thread);
		}
		if (thread->nr_live)
			sched_turn(thread);
		/* What else sleeps would be woken by a thread that the child has not. */
		if (far_is_parents(thread->far) && !thread->ready.first &&
		    !thread->nr_timers)
			return;
	}
}
