// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Deadlines of operations: the words of struct far_task.
 *
 *	FAR_NEVER --far_op_begin--> FAR_UNSTARTED --first answer--> ns --far_op_end--> FAR_NEVER
 */
#include "deadline.h"

#include "task.h"
#include "thread.h"

#define NS_PER_MS	UINT64_C(1000000)

/* Without a limit the result is so large that clock plus result exceeds any clock. */
uint64_t far_op_ns(const struct far_conf *conf)
{
	if (conf->op_ms == FAR_NO_DEADLINE)
		return FAR_UNSTARTED / 2;
	return (conf->op_ms ? conf->op_ms : FAR_OP_MS) * NS_PER_MS;
}

bool far_op_is_late(struct far_task *task)
{
	uint64_t now;

	if (task->late_at == FAR_NEVER)
		return false;
	now = far_thread_now(task->thread);
	if (task->late_at == FAR_UNSTARTED)
		task->late_at = now + task->thread->far->op_ns;
	return now >= task->late_at;
}

bool far_op_may_stop(struct far_task *task)
{
	return !task->must && far_op_is_late(task);
}

uint64_t far_op_until(struct far_task *task)
{
	far_op_is_late(task);	/* its time begins */
	if (task->late_at != FAR_NEVER)
		return task->late_at;
	return far_op_has_own(task) ? task->until :
				      far_thread_now(task->thread) + task->thread->far->op_ns;
}

void far_op_suspend(struct far_task *task)
{
	if (task->late_at >= FAR_UNSTARTED / 2)
		far_task_suspend(task);
	else
		far_task_suspend_until(task, task->late_at);
}

void far_must_begin(struct far_task *task)
{
	task->must++;
}

void far_must_end(struct far_task *task)
{
	task->must--;
}

void far_op_renew(struct far_task *task)
{
	if (task->op_depth)
		task->late_at = task->until;
}

bool far_op_has_own(const struct far_task *task)
{
	return task->until != FAR_UNSTARTED;
}

void far_op_expire(struct far_task *task)
{
	if (task->late_at != FAR_NEVER)
		task->late_at = 0;
}

void far_deadline_at(struct far_task *task, uint64_t until)
{
	task->until = until ? until : FAR_UNSTARTED;
}

int far_deadline_set(struct far_task *task, unsigned ms)
{
	int err = far_task_usable(task);

	if (!err)
		far_deadline_at(task, ms ? far_thread_now(task->thread) + ms * NS_PER_MS : 0);
	return err;
}
