// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads: how they are made, run and end.
 */
#include "thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "deadline.h"
#include "loose.h"
#include "watch.h"

#define ATOMIC_BYTES	8u

/* Others look into loose_until as long as the struct is in the list. */
static struct far_thread *slot_new(struct far *far)
{
	struct far_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->far = far;
	thread->loose_until = calloc(far->nr_nodes, sizeof(*thread->loose_until));
	if (thread->loose_until)
		return thread;
	free(thread);
	return NULL;
}

/* A struct that an ended thread has left, or a new one at the end of the list. */
static struct far_thread *slot_take(struct far *far)
{
	struct far_thread *first = atomic_load_explicit(&far->threads,
							memory_order_acquire);
	struct far_thread *thread;
	int idle;

	for (thread = first; thread; thread = thread->next) {
		idle = 0;
		if (atomic_compare_exchange_strong(&thread->busy, &idle, 1))
			return thread;
	}
	thread = slot_new(far);
	if (!thread)
		return NULL;
	thread->index = atomic_fetch_add(&far->nr_threads, 1);
	atomic_store_explicit(&thread->busy, 1, memory_order_relaxed);
	thread->next = first;
	while (!atomic_compare_exchange_weak_explicit(&far->threads, &thread->next,
						      thread, memory_order_release,
						      memory_order_relaxed))
		;
	return thread;
}

static int links_open(struct far_thread *thread)
{
	struct far *far = thread->far;
	struct far_qset_attr attr = {
		.nr_peers = far->nr_nodes,
		.depth = far->depth,
		.group = FAR_NIC_OWN,
		.doorbell = far->without & FAR_WITHOUT_DOORBELL ?
			    FAR_DOORBELL_DEFAULT : FAR_DOORBELL_THREAD,
	};
	unsigned i;
	int err;

	err = far->nic->ops->qset_new(far->nic, &attr, &thread->qset);
	if (err)
		return err;
	memset(thread->link, 0, far->nr_nodes * sizeof(*thread->link));
	for (i = 0; i < far->nr_nodes && !err; i++) {
		err = far_op_connect(thread, i);
		/* a set goes on without a member */
		if (i && (err == -EHOSTDOWN || err == -EHOSTUNREACH || err == -ETIMEDOUT))
			err = 0;
	}
	if (err)
		far->nic->ops->qset_free(thread->qset);
	return err;
}

static struct far_context *task_main(void *arg)
{
	struct far_task *task = arg;
	struct far_thread *thread = task->thread;
	struct far_task *next;

	thread->run(task, thread->arg);
	far_op_drop(task);
	far_sync(task);
	far_hold_end(task);
	far_arena_release(&task->arena, &thread->bufs, 0);
	thread->nr_live--;
	next = far_queue_take(&thread->batch);
	return next ? &next->fiber->context : &thread->root;
}

static int tasks_alloc(struct far_thread *thread, unsigned nr_tasks)
{
	unsigned nr_nodes = thread->far->nr_nodes;

	thread->task = calloc(nr_tasks, sizeof(*thread->task));
	thread->timer = calloc(nr_tasks, sizeof(struct far_task *));
	thread->link = calloc(nr_nodes, sizeof(*thread->link));
	if (!thread->task || !thread->timer || !thread->link)
		return -ENOMEM;
	return 0;
}

static void tasks_free(struct far_thread *thread)
{
	far_fds_free(thread->fds);
	free(thread->link);
	free(thread->timer);
	free(thread->task);
}

static void task_init(struct far_thread *thread, unsigned index)
{
	struct far_task *task = &thread->task[index];
	char *atomics = thread->nowhere;

	task->thread = thread;
	task->index = index;
	task->ops = &task->first;
	far_deadline_at(task, 0);
	task->late_at = FAR_NEVER;
	task->cas_found = (uint64_t *)(atomics + (1 + index) * ATOMIC_BYTES);
	far_arena_init(&task->arena, &thread->bufs, index);
}

static void fibers_free(struct far_thread *thread)
{
	unsigned i;

	for (i = 0; i < thread->nr_tasks; i++)
		if (thread->task[i].fiber)
			far_fiber_free(&thread->stacks, thread->task[i].fiber);
	far_stacks_fini(&thread->stacks);
}

static int fibers_new(struct far_thread *thread)
{
	unsigned i;
	int err;

	for (i = 0; i < thread->nr_tasks; i++) {
		err = far_fiber_new(&thread->stacks, task_main, &thread->task[i],
				    &thread->task[i].fiber);
		if (err)
			return err;
	}
	return 0;
}

/* All but what can fail, and what outlives the thread. */
static void thread_reset(struct far_thread *thread, struct far_peer **peer,
			 unsigned nr_tasks)
{
	struct far *far = thread->far;
	uint64_t now = thread->now = far_thread_now(thread);

	thread->self = far_self();
	thread->nr_tasks = nr_tasks;
	thread->nr_live = nr_tasks;
	thread->service = 0;
	thread->client = NULL;
	thread->peer = peer;
	thread->joins = false;
	thread->outstanding = 0;
	thread->next_look = now + FAR_WATCH_NS;
	thread->waiting.first = NULL;
	thread->held.first = NULL;
	thread->ready.first = NULL;
	thread->batch.first = NULL;
	thread->nr_timers = 0;
	thread->fds = NULL;
	thread->system = NULL;
	thread->throttles = !(far->without & FAR_WITHOUT_CREDIT) &&
			    !(far->nic->ops->caps & FAR_NIC_CAP_UNCACHED);
	far_credit_init(&thread->credit, far->depth, far->epoch_scale, now);
	far_backoff_init(&thread->backoff, far->without, nr_tasks, now);
	far_rng_init(&thread->rng, far->seed, atomic_fetch_add(&far->nr_starts, 1));
	far_stacks_init(&thread->stacks, far->task_stack);
}

static int thread_new(struct far *far, struct far_peer **peer, unsigned nr_tasks,
		      int with_fibers, struct far_thread **ret_thread)
{
	struct far_thread *thread;
	unsigned i;
	int err;

	if (far_is_parents(far))
		return -ESTALE;
	thread = slot_take(far);
	if (!thread)
		return -ENOMEM;
	thread_reset(thread, peer, nr_tasks);
	err = tasks_alloc(thread, nr_tasks);
	if (err)
		goto free_tasks;
	err = far_bufs_init(&thread->bufs, far->nic, nr_tasks,
			    (1 + nr_tasks) * ATOMIC_BYTES);
	if (err)
		goto free_tasks;
	thread->nowhere = far_bufs_extra(&thread->bufs, nr_tasks);
	for (i = 0; i < nr_tasks; i++)
		task_init(thread, i);
	err = links_open(thread);
	if (err)
		goto fini_bufs;
	err = with_fibers ? fibers_new(thread) : 0;
	if (err)
		goto free_fibers;
	*ret_thread = thread;
	return 0;

free_fibers:
	fibers_free(thread);
	far->nic->ops->qset_free(thread->qset);
fini_bufs:
	far_bufs_fini(&thread->bufs);
free_tasks:
	tasks_free(thread);
	atomic_store_explicit(&thread->busy, 0, memory_order_release);
	return err;
}

int far_thread_new(struct far *far, unsigned nr_tasks, int with_fibers,
		   struct far_thread **ret_thread)
{
	return thread_new(far, far->peer, nr_tasks, with_fibers, ret_thread);
}

void far_thread_serves(struct far_thread *thread)
{
	unsigned i;

	thread->service = 1;
	for (i = 0; i < thread->nr_tasks; i++)
		thread->task[i].service++;
}

int far_thread_new_joins(struct far *far, struct far_peer **peer,
			 struct far_thread **ret_thread)
{
	int err = thread_new(far, peer, 1, 0, ret_thread);

	if (err)
		return err;
	(*ret_thread)->joins = true;
	far_thread_serves(*ret_thread);
	return 0;
}

void far_thread_free(struct far_thread *thread)
{
	unsigned i;

	far_sched_drain(thread);
	fibers_free(thread);
	for (i = 0; i < thread->nr_tasks; i++)
		far_op_fini(&thread->task[i]);
	far_loose_leave(thread);
	thread->far->nic->ops->qset_free(thread->qset);
	far_bufs_fini(&thread->bufs);
	tasks_free(thread);
	atomic_store_explicit(&thread->busy, 0, memory_order_release);
}

void far_thread_slot_free(struct far_thread *thread)
{
	free(thread->loose_until);
	free(thread);
}

/* The thread takes part in the client's epochs and has magazines, until it stops. */
static int client_start(struct far_thread *thread)
{
	struct far *far = thread->far;

	if (!far->client)
		return 0;
	return far_client_thread_start(far, far->client, thread->nr_tasks,
				       &thread->client);
}

static void client_stop(struct far_thread *thread)
{
	if (thread->client && !thread->service)
		far_client_thread_stop(thread->client);
}

static void thread_main(void *arg)
{
	struct far_thread *thread = arg;
	unsigned i;

	thread->self = far_self();
	for (i = 0; i < thread->nr_tasks; i++)
		far_sched_wake(&thread->task[i]);
	far_sched_run(thread);
	client_stop(thread);
}

static int thread_start(struct far_thread *thread,
			void (*run)(struct far_task *task, void *arg), void *arg)
{
	struct far_nic *nic = thread->far->nic;

	thread->run = run;
	thread->arg = arg;
	thread->self = NULL;	/* it says itself who it is */
	return nic->ops->thread_start(nic, thread_main, thread, &thread->system);
}

int far_thread_start(struct far *far, unsigned nr_tasks,
		     void (*run)(struct far_task *task, void *arg), void *arg,
		     struct far_thread **ret_thread)
{
	struct far_thread *thread;
	int err;

	if (!nr_tasks || nr_tasks > FAR_MAX_TASKS)
		return -EINVAL;
	err = far_thread_new(far, nr_tasks, 1, &thread);
	if (err)
		return err;
	err = client_start(thread);
	if (err)
		goto free_thread;
	err = thread_start(thread, run, arg);
	if (err)
		goto stop_client;
	*ret_thread = thread;
	return 0;

stop_client:
	client_stop(thread);
free_thread:
	far_thread_free(thread);
	return err;
}

int far_thread_start_service(struct far *far, struct far_client_thread *client_thread,
			     unsigned nr_tasks,
			     void (*run)(struct far_task *task, void *arg), void *arg,
			     struct far_thread **ret_thread)
{
	struct far_thread *thread;
	int err = far_thread_new(far, nr_tasks, 1, &thread);

	if (err)
		return err;
	far_thread_serves(thread);
	thread->client = client_thread;
	err = thread_start(thread, run, arg);
	if (err) {
		far_thread_free(thread);
		return err;
	}
	*ret_thread = thread;
	return 0;
}

int far_thread_join(struct far_thread *thread)
{
	if (far_is_parents(thread->far))
		return -ESTALE;
	if (thread->self == far_self() && !(thread->far->nic->ops->caps & FAR_NIC_CAP_VIRTUAL))
		return -EDEADLK;
	thread->far->nic->ops->thread_join(thread->far->nic, thread->system);
	far_thread_free(thread);
	return 0;
}

int far_enter(struct far *far, struct far_task **ret_task)
{
	struct far_thread *thread;
	int err;

	err = far_thread_new(far, 1, 0, &thread);
	if (err)
		return err;
	err = client_start(thread);
	if (err) {
		far_thread_free(thread);
		return err;
	}
	*ret_task = &thread->task[0];
	return 0;
}

int far_leave(struct far_task *task)
{
	int err = far_task_usable(task);

	if (err)
		return err;
	far_op_drop(task);
	far_sync(task);
	far_hold_end(task);
	client_stop(task->thread);
	far_thread_free(task->thread);
	return 0;
}
