// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What tasks wait for besides far memory: descriptors, and far_unpark().
 *
 * Descriptors: all that tasks of a thread wait for are in one array, which ppoll() gets
 * as it is. Where nothing is ready the thread sleeps in ppoll(), with the NIC's descriptor
 * in front. Where something is, it looks at them now and then.
 */
#include "wait.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "deadline.h"
#include "task.h"
#include "thread.h"

#define NEVER		UINT64_MAX
#define LOOK_NS		UINT64_C(20000)	/* between two looks while tasks run */

/* Places 1 to nr are in use; place 0 is the NIC's. */
struct far_fds {
	unsigned nr;
	uint64_t next_look;	/* the clock from which a thread that does not sleep looks */
	struct far_task **task;	/* who waits for the descriptor at the same place */
	struct pollfd fd[];
};

/* ---- one task ---- */

static void wait_sleep(struct far_task *task)
{
	task->waits = true;
	if (far_op_has_own(task))
		far_task_suspend_until(task, task->until);
	else
		far_task_suspend(task);
	task->waits = false;
}

/* Why the task does not wait on; 0: it does. */
static int wait_over(const struct far_task *task)
{
	if (far_is_parents(task->thread->far))
		return -ESTALE;
	return far_op_has_own(task) && far_thread_now(task->thread) >= task->until ?
	       -ETIME : 0;
}

/* Within an operation (a scan calls the program), or far_hold(), it would hold up epochs. */
static int wait_may(const struct far_task *task)
{
	int err = far_task_usable(task);

	return !err && (task->op_depth || task->holds) ? -EBUSY : err;
}

bool far_wait_forsake(struct far_thread *thread)
{
	bool any = false;

	for (unsigned i = 0; i < thread->nr_tasks; i++) {
		if (!thread->task[i].waits)
			continue;
		far_sched_resume(&thread->task[i]);
		any = true;
	}
	return any;
}

int far_park(struct far_task *task)
{
	int err = wait_may(task);

	while (!err && !atomic_exchange(&task->permit, false)) {
		err = wait_over(task);
		if (!err)
			wait_sleep(task);
	}
	return err;
}

int far_unpark(struct far_task *task)
{
	struct far_thread *thread = task->thread;

	if (far_is_parents(thread->far))
		return -ESTALE;
	/* The permit alone may let the task go on, and end. */
	far_task_hold(task);
	atomic_store(&task->permit, true);
	far_task_resume(task);
	far_task_unhold(thread);
	return 0;
}

/* ---- descriptors ---- */

static int fds_make(struct far_thread *thread)
{
	size_t places = 1 + (size_t)thread->nr_tasks;
	struct far_fds *fds;

	if (thread->fds)
		return 0;
	fds = calloc(1, sizeof(*fds) + places * sizeof(fds->fd[0]));
	if (!fds)
		return -ENOMEM;
	fds->task = calloc(places, sizeof(struct far_task *));
	if (!fds->task) {
		free(fds);
		return -ENOMEM;
	}
	thread->fds = fds;
	return 0;
}

void far_fds_free(struct far_fds *fds)
{
	if (fds)
		free(fds->task);
	free(fds);
}

unsigned far_fds_nr(const struct far_fds *fds)
{
	return fds ? fds->nr : 0;
}

static void fds_add(struct far_task *task, int fd, int events)
{
	struct far_fds *fds = task->thread->fds;
	unsigned at = ++fds->nr;

	fds->fd[at] = (struct pollfd) { .fd = fd, .events = events };
	fds->task[at] = task;
	fds->next_look = 0;
	task->fd_at = at;
	task->fd_result = 0;
}

/* The last one takes its place. */
static void fds_remove(struct far_task *task)
{
	struct far_fds *fds = task->thread->fds;
	unsigned at = task->fd_at, last = fds->nr--;

	fds->fd[at] = fds->fd[last];
	fds->task[at] = fds->task[last];
	fds->task[at]->fd_at = at;
}

static void fds_end(struct far_task *task, int result)
{
	fds_remove(task);
	task->fd_result = result;
	far_sched_resume(task);
}

static void fds_fail(struct far_fds *fds, int err)
{
	while (fds->nr)
		fds_end(fds->task[fds->nr], err);
}

/* Until one of them is ready, or the NIC's (-1: none), or the clock says `until`. */
static void fds_poll(struct far_thread *thread, int nic_fd, uint64_t until)
{
	struct far_fds *fds = thread->fds;
	uint64_t now = far_thread_now(thread), left = until > now ? until - now : 0;
	struct timespec ts = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
	int nr;

	fds->fd[0] = (struct pollfd) { .fd = nic_fd, .events = POLLIN };
	nr = ppoll(fds->fd, 1 + fds->nr, until == NEVER ? NULL : &ts, NULL);
	if (nr < 0 && errno != EINTR)
		fds_fail(fds, -errno);
	for (unsigned at = nr > 0 ? fds->nr : 0; at; at--) {
		int found = fds->fd[at].revents;

		if (found)
			fds_end(fds->task[at], found & POLLNVAL ? -EBADF : found);
	}
	fds->next_look = now + LOOK_NS;
}

void far_fds_look(struct far_thread *thread)
{
	if (far_thread_now(thread) >= thread->fds->next_look)
		fds_poll(thread, -1, 0);
}

/*
 * What is under way mostly ends soon, and the bell is cheaper than a descriptor: so the
 * thread waits for the NIC alone first, until the next look.
 */
static bool nic_is_quick(struct far_thread *thread, uint64_t until)
{
	uint64_t soon = far_thread_now(thread) + LOOK_NS;

	return thread->outstanding &&
	       !thread->far->nic->ops->wait(thread->qset, soon < until ? soon : until);
}

void far_fds_wait(struct far_thread *thread, uint64_t until)
{
	const struct far_nic_ops *ops = thread->far->nic->ops;
	int fd = nic_is_quick(thread, until) ? -EAGAIN : ops->fd_arm(thread->qset);

	if (fd == -EAGAIN) {
		far_fds_look(thread);
	} else if (fd < 0) {
		fds_fail(thread->fds, fd);
	} else {
		fds_poll(thread, fd, until);
		ops->fd_disarm(thread->qset);
	}
}

int far_fd_wait(struct far_task *task, int fd, int events)
{
	int err = wait_may(task);

	if (err)
		return err;
	if (!task->thread->far->nic->ops->fd_arm)
		return -EOPNOTSUPP;
	if (fd < 0)
		return -EBADF;
	if (events & ~INT16_MAX)
		return -EINVAL;
	err = fds_make(task->thread);
	if (err)
		return err;
	fds_add(task, fd, events);
	do {
		wait_sleep(task);
	} while (!task->fd_result && !(err = wait_over(task)));
	if (task->fd_result)
		return task->fd_result;
	fds_remove(task);
	return err;
}
