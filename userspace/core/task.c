// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tasks: who they are, sleeping and waking, operations of structures with their
 * retries, memory.
 */
#include "task.h"

#include <errno.h>

#include "deadline.h"
#include "thread.h"

unsigned far_task_index(const struct far_task *task)
{
	return task->index;
}

unsigned far_task_thread(const struct far_task *task)
{
	return task->thread->index;
}

struct far *far_task_far(const struct far_task *task)
{
	return task->thread->far;
}

struct far_client *far_task_client(const struct far_task *task)
{
	return task->thread->far->client;
}

struct far_client_thread *far_task_client_thread(const struct far_task *task)
{
	return task->thread->client;
}

void far_task_count_repaired(struct far_task *task)
{
	far_count(task, FAR_COUNT_REPAIRED, 1);
}

struct far_rng *far_task_rng(struct far_task *task)
{
	return &task->thread->rng;
}

void far_count(struct far_task *task, enum far_count what, uint64_t n)
{
	far_counts_add(&task->thread->counts, what, n);
}

/* AWAKE -> ASLEEP -> RESUMED -> AWAKE, or AWAKE -> RESUMED -> AWAKE without a sleep. */
void far_task_suspend(struct far_task *task)
{
	int was = FAR_AWAKE;

	if (atomic_compare_exchange_strong(&task->park, &was, FAR_ASLEEP))
		far_sched_sleep(task);
	/* pairs with the exchange below: what the waker wrote before is seen behind this */
	atomic_exchange(&task->park, FAR_AWAKE);
}

void far_task_suspend_until(struct far_task *task, uint64_t until)
{
	int was = FAR_AWAKE;

	if (atomic_compare_exchange_strong(&task->park, &was, FAR_ASLEEP)) {
		task->timed = 1;
		far_sched_sleep_until(task, until);
	}
	atomic_exchange(&task->park, FAR_AWAKE);
}

void far_task_resume(struct far_task *task)
{
	if (atomic_exchange(&task->park, FAR_RESUMED) == FAR_ASLEEP)
		far_sched_send(task);
}

uint64_t far_now(const struct far_task *task)
{
	return far_thread_now(task->thread);
}

void far_spend(struct far_task *task, uint64_t ns)
{
	struct far_nic *nic = task->thread->far->nic;

	nic->ops->spend(nic, ns);
}

/* Another thread's task cannot wait here. */
void far_sleep(struct far_task *task, uint64_t ns)
{
	if (far_task_usable(task) == -EPERM)
		return;
	far_sched_sleep_until(task, far_now(task) + ns);
}

void far_yield(struct far_task *task)
{
	if (far_task_usable(task) == -EPERM)
		return;
	far_sched_wake(task);
	far_sched_sleep(task);
}

void *far_buf(struct far_task *task, size_t len)
{
	if (far_task_usable(task) == -EPERM)
		return NULL;
	return far_arena_get(&task->arena, &task->thread->bufs, len);
}

size_t far_buf_mark(struct far_task *task)
{
	return far_arena_mark(&task->arena);
}

void far_buf_release(struct far_task *task, size_t mark)
{
	far_arena_release(&task->arena, &task->thread->bufs, mark);
}

static void held_put(struct far_thread *thread, struct far_task *task)
{
	task->held_next = NULL;
	if (thread->held.first)
		thread->held.last->held_next = task;
	else
		thread->held.first = task;
	thread->held.last = task;
	task->held = 1;
}

/* One that is late; the others keep their order. */
static void held_remove(struct far_thread *thread, struct far_task *task)
{
	struct far_task **at = &thread->held.first, *before = NULL;

	for (; *at != task; at = &before->held_next)
		before = *at;
	*at = task->held_next;
	if (thread->held.last == task)
		thread->held.last = before;
	task->held = 0;
}

/* Until the operation may begin. -ETIME: others have not let it in time. */
static int op_hold(struct far_task *task)
{
	bool late = far_op_is_late(task);	/* its time begins */

	held_put(task->thread, task);
	while (task->held && !late) {
		far_op_suspend(task);
		late = far_op_is_late(task);
	}
	if (!task->held)
		return 0;
	held_remove(task->thread, task);
	far_inner_end(task, &task->inner);
	task->late_at = FAR_NEVER;
	task->op_depth--;
	return -ETIME;
}

int far_op_begin(struct far_task *task)
{
	struct far_thread *thread = task->thread;
	int err = far_task_usable(task);

	if (err)
		return err;
	if (task->op_depth++)
		return 0;
	far_inner_begin(task, &task->inner);
	task->op_retries = 0;
	task->attempt = 0;
	task->late_at = task->until;
	task->must = 0;
	if (!thread->held.first && far_backoff_enter(&thread->backoff))
		return 0;
	return op_hold(task);
}

/* Lets operations begin as far as there are credits, which they hold from here on. */
static void held_release(struct far_thread *thread)
{
	struct far_task *task;

	while ((task = thread->held.first) && far_backoff_enter(&thread->backoff)) {
		thread->held.first = task->held_next;
		task->held = 0;
		far_task_hold(task);
		far_task_resume(task);
		far_task_unhold(thread);
	}
}

void far_op_end(struct far_task *task)
{
	struct far_thread *thread = task->thread;
	unsigned bin = task->op_retries;

	if (--task->op_depth)
		return;
	far_inner_end(task, &task->inner);
	task->late_at = FAR_NEVER;
	if (bin >= FAR_STATS_RETRIES)
		bin = FAR_STATS_RETRIES - 1;
	far_counts_add(&thread->counts, FAR_COUNT_OPS, 1);
	far_counts_add(&thread->counts, FAR_COUNT_RETRY_HIST + bin, 1);
	far_backoff_leave(&thread->backoff);
	far_backoff_tick(&thread->backoff, thread->now);
	held_release(thread);
}

void far_backoff_count(struct far_task *task)
{
	struct far_thread *thread = task->thread;

	task->op_retries++;
	far_counts_add(&thread->counts, FAR_COUNT_RETRIES, 1);
	far_backoff_lost(&thread->backoff);
	thread->now = far_thread_now(thread);
	far_backoff_tick(&thread->backoff, thread->now);
	held_release(thread);
}

void far_backoff(struct far_task *task)
{
	struct far_thread *thread = task->thread;
	uint64_t delay = far_backoff_delay(&thread->backoff, task->attempt++,
					   &thread->rng);

	far_backoff_count(task);
	if (delay)
		far_sleep(task, delay);
}

int far_backoff_cas(struct far_task *task, uint64_t addr, uint64_t compare,
		    uint64_t swap, uint64_t *ret_found)
{
	uint64_t found;
	int err;

	far_cas(task, addr, compare, swap, task->cas_found);
	err = far_sync(task);
	if (err)
		return err;
	found = *task->cas_found;
	if (found == compare)
		task->attempt = 0;
	else
		far_backoff(task);
	*ret_found = found;
	return 0;
}
