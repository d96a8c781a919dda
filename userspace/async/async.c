// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Queues of calls: slots, of which each is free, submitted, or has a result.
 *
 *	free --submit--> calls --a task--> results --poll--> free
 *
 * Each of the three is a ring that has room for all slots.
 *
 * Tasks without a call are idle: each sets its bit, looks for a call once more, and parks. Who
 * submits puts the call first, and wakes one of the idle then. So either the task sees the
 * call or the other one sees the bit. The same holds between results and the descriptor:
 * `notified` says that it is readable, or is about to be.
 *
 * Ending: no call comes any more once `ending` is set and nobody is inside of
 * far_async_submit() (`inside`). Tasks cancel what is left, and return. They stay while
 * somebody is inside, who may wake them.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <own/own.h>

#include "../core/core.h"
#include "../core/deadline.h"
#include "call.h"
#include "ring.h"

#define DEF_TASKS	16u
#define DEF_DEPTH	1024u
#define NAP_NS		100000

struct async_slot {
	struct far_call call;
	uint64_t until;		/* the clock at which it is late; 0: op_ms */
	struct far_result result;
};

struct far_async {
	struct far *far;
	struct far_thread *thread;
	int fd;
	unsigned nr_tasks;
	atomic_bool notified;
	atomic_bool ending;
	atomic_bool ended;		/* the thread was joined */
	atomic_uint inside;
	atomic_uint pending;
	_Atomic uint64_t idle;		/* a bit for each task */
	_Atomic(struct far_task *) task[FAR_ASYNC_MAX_TASKS];
	struct async_ring free, calls, results;
	struct async_slot slot[];
};

/* The queue whose thread is the calling one. */
static _Thread_local const struct far_async *own_async;

/* The caller is no task, or must not go on: what it waits for is short. */
static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

/*
 * Puts a slot where there is room for all. A thread that stops in the middle of a take holds
 * its place up, until it goes on, when others have gone once around meanwhile.
 */
static void slot_put(struct async_ring *ring, struct async_slot *slot)
{
	while (!async_ring_put(ring, slot))
		nap();
}

/* ---- results ---- */

static void results_notify(struct far_async *async)
{
	uint64_t one = 1;

	if (!atomic_exchange(&async->notified, true) &&
	    write(async->fd, &one, sizeof(one)) < 0)
		atomic_store(&async->notified, false);	/* cannot be: the counter has room */
}

static void slot_done(struct far_async *async, struct async_slot *slot, int status,
		      uint64_t len)
{
	slot->result = (struct far_result) {
		.tag = slot->call.tag, .status = status, .len = len,
	};
	slot_put(&async->results, slot);
	results_notify(async);
}

static unsigned results_take(struct far_async *async, struct far_result *result, unsigned max)
{
	struct async_slot *slot;
	unsigned nr = 0;

	while (nr < max && (slot = async_ring_take(&async->results))) {
		result[nr++] = slot->result;
		slot_put(&async->free, slot);
		atomic_fetch_sub(&async->pending, 1);
	}
	return nr;
}

int far_async_poll(struct far_async *async, struct far_result *result, unsigned max)
{
	uint64_t counter;
	unsigned nr;

	if (far_is_parents(async->far))
		return -ESTALE;
	nr = results_take(async, result, max);
	if (nr == max)
		return nr;
	/* Nothing is left: so it says, until the next result. What came since is taken below. */
	if (read(async->fd, &counter, sizeof(counter)) < 0 && errno != EAGAIN)
		return nr;
	atomic_store(&async->notified, false);
	nr += results_take(async, result + nr, max - nr);
	if (nr == max)
		results_notify(async);
	return nr;
}

int far_async_fd(const struct far_async *async)
{
	return async->fd;
}

unsigned far_async_pending(const struct far_async *async)
{
	return atomic_load(&async->pending);
}

/* ---- tasks ---- */

static void slot_run(struct far_async *async, struct far_task *task, struct async_slot *slot)
{
	uint64_t len = 0;
	int status;

	if (atomic_load(&async->ending)) {
		status = -ECANCELED;
	} else if (slot->until && far_now(task) >= slot->until) {
		status = -ETIME;
	} else {
		far_deadline_at(task, slot->until);
		status = async_call_make(task, &slot->call, &len);
	}
	slot_done(async, slot, status, len);
}

static void tasks_wake(struct far_async *async, unsigned nr)
{
	uint64_t idle = atomic_load(&async->idle);

	while (nr && idle) {
		uint64_t bit = idle & -idle;

		if (atomic_compare_exchange_weak(&async->idle, &idle, idle & ~bit)) {
			far_unpark(atomic_load(&async->task[__builtin_ctzll(bit)]));
			idle &= ~bit;
			nr--;
		}
	}
}

/* NULL: the queue ends. */
static struct async_slot *slot_next(struct far_async *async, struct far_task *task)
{
	uint64_t bit = UINT64_C(1) << far_task_index(task);
	bool idle = false;

	far_deadline_at(task, 0);
	for (;;) {
		/* before the ring: what is put later is put by nobody */
		bool end = atomic_load(&async->ending) && !atomic_load(&async->inside);
		struct async_slot *slot = async_ring_take(&async->calls);

		if (slot || end) {
			/* woken for another call, which this task does not look for now */
			bool owes = idle && !(atomic_fetch_and(&async->idle, ~bit) & bit);

			/*
			 * Calls behind one that was submitted slowly came to sight with that
			 * one: tasks that were woken for them have found nothing.
			 */
			if (owes || (slot && async_ring_has(&async->calls)))
				tasks_wake(async, 1);
			return slot;
		}
		if (idle && far_park(task))
			return NULL;	/* the parent's */
		if (idle)
			atomic_fetch_and(&async->idle, ~bit);
		else
			atomic_fetch_or(&async->idle, bit);
		idle = !idle;
	}
}

static void task_run(struct far_task *task, void *arg)
{
	struct far_async *async = arg;
	struct async_slot *slot;

	own_async = async;
	atomic_store(&async->task[far_task_index(task)], task);
	while ((slot = slot_next(async, task)))
		slot_run(async, task, slot);
}

/* ---- calls ---- */

static uint64_t call_until(const struct far_async *async, const struct far_call *call)
{
	struct far_nic *nic = async->far->nic;

	return call->ms ? nic->ops->now(nic) + call->ms * UINT64_C(1000000) : 0;
}

static int submit_inside(struct far_async *async, const struct far_call *call)
{
	struct async_slot *slot;

	if (atomic_load(&async->ending))
		return -ESHUTDOWN;
	slot = async_ring_take(&async->free);
	if (!slot)
		return -EAGAIN;
	slot->call = *call;
	slot->until = call_until(async, call);
	atomic_fetch_add(&async->pending, 1);
	slot_put(&async->calls, slot);
	tasks_wake(async, 1);
	return 0;
}

int far_async_submit(struct far_async *async, const struct far_call *call)
{
	int err = async_call_check(call);

	if (far_is_parents(async->far))
		return -ESTALE;
	if (err)
		return err;
	atomic_fetch_add(&async->inside, 1);
	err = submit_inside(async, call);
	atomic_fetch_sub(&async->inside, 1);
	return err;
}

/* ---- queues ---- */

static void async_free(struct far_async *async)
{
	if (async->fd >= 0)
		own_fd_close(async->fd);
	async_ring_fini(&async->results);
	async_ring_fini(&async->calls);
	async_ring_fini(&async->free);
	free(async);
}

static int async_new(struct far *far, unsigned nr_tasks, unsigned depth,
		     struct far_async **ret_async)
{
	struct far_async *async;
	int err = -ENOMEM;

	async = aligned_alloc(64, (sizeof(*async) + depth * sizeof(async->slot[0]) + 63) / 64 * 64);
	if (!async)
		return -ENOMEM;
	*async = (struct far_async){ .far = far, .nr_tasks = nr_tasks, .fd = -1 };
	if (async_ring_init(&async->free, depth) || async_ring_init(&async->calls, depth) ||
	    async_ring_init(&async->results, depth))
		goto free_async;
	async->fd = own_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	err = async->fd < 0 ? async->fd : 0;
	if (err)
		goto free_async;
	for (unsigned i = 0; i < depth; i++)
		async_ring_put(&async->free, &async->slot[i]);
	*ret_async = async;
	return 0;

free_async:
	async_free(async);
	return err;
}

int far_async_open(struct far *far, const struct far_async_attr *attr,
		   struct far_async **ret_async)
{
	unsigned tasks = attr && attr->tasks ? attr->tasks : DEF_TASKS;
	unsigned depth = attr && attr->depth ? attr->depth : DEF_DEPTH;
	struct far_async *async;
	int err;

	if (tasks > FAR_ASYNC_MAX_TASKS || depth > FAR_ASYNC_MAX_DEPTH)
		return -EINVAL;
	if (far->nic->ops->caps & FAR_NIC_CAP_VIRTUAL)
		return -EOPNOTSUPP;
	err = async_new(far, tasks, depth, &async);
	if (err)
		return err;
	err = far_thread_start(far, tasks, task_run, async, &async->thread);
	if (err)
		async_free(async);
	else
		*ret_async = async;
	return err;
}

/* The first who ends it. */
static int queue_end(struct far_async *async)
{
	int err;

	while (atomic_load(&async->inside))
		nap();
	tasks_wake(async, async->nr_tasks);
	err = far_thread_join(async->thread);
	if (err)
		atomic_store(&async->ending, false);
	else
		atomic_store(&async->ended, true);
	return err;
}

int far_async_stop(struct far_async *async)
{
	if (far_is_parents(async->far))
		return -ESTALE;
	/* a modify function: the queue waits for it */
	if (own_async == async)
		return -EDEADLK;
	while (!atomic_load(&async->ended)) {
		if (!atomic_exchange(&async->ending, true))
			return queue_end(async);
		nap();
	}
	return 0;
}

int far_async_close(struct far_async *async)
{
	int err = async ? far_async_stop(async) : 0;

	if (!err && async)
		async_free(async);
	return err;
}
