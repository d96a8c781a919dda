// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Errors of operations: what a task is told, and in which words.
 */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "task.h"
#include "thread.h"

static void ops_fail(struct far_task *task, struct far_ops *ops, int err,
		     const char *fmt, va_list ap)
{
	if (ops->error)
		return;
	ops->error = err;
	vsnprintf(task->reason, sizeof(task->reason), fmt, ap);
}

int far_task_fail(struct far_task *task, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ops_fail(task, task->ops, err, fmt, ap);
	va_end(ap);
	return err;
}

void far_task_explain(struct far_task *task, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(task->reason, sizeof(task->reason), fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 4, 5)))
static void fail(struct far_task *task, struct far_ops *ops, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ops_fail(task, ops, err, fmt, ap);
	va_end(ap);
}

const char *far_strerror_last(const struct far_task *task)
{
	return task->reason;
}

/* What a back end says, in the words of far_sync(). */
static int error_public(int err)
{
	switch (err) {
	case -EHOSTDOWN:
	case -ETIMEDOUT:
	case -EFAULT:
	case -EINVAL:
	case -EACCES:
	case -ENOMEM:
	case -ESTALE:
		return err;
	case -EHOSTUNREACH:
	case -EUSERS:
		return -EHOSTDOWN;
	default:
		return -EIO;
	}
}

static const char *nic_name(const struct far_task *task)
{
	return task->thread->far->nic->ops->name;
}

int far_error_connect(struct far_task *task, unsigned node, int err)
{
	if (err == -ESTALE)
		return far_task_fail(task, err, "%s: node %u does not know this client any "
				     "more: it was fenced, or the node has begun anew; "
				     "open a new one", nic_name(task), node);
	return far_task_fail(task, error_public(err),
			     "%s: thread %u cannot connect to node %u: %s",
			     nic_name(task), task->thread->index, node,
			     strerrordesc_np(-err));
}

int far_error_post(struct far_task *task, unsigned node, int err)
{
	return far_task_fail(task, error_public(err),
			     "%s: queue pair of thread %u to node %u takes no operation: %s",
			     nic_name(task), task->thread->index, node,
			     strerrordesc_np(-err));
}

void far_error_poll(struct far_task *task, struct far_ops *ops, int err)
{
	if (err == -ESTALE)
		fail(task, ops, err, "this client was fenced, or is the parent's: open a "
		     "new one");
	else
		fail(task, ops, -EIO, "queue set of thread %u: error %d on poll",
		     task->thread->index, err);
}

void far_error_complete(struct far_task *task, struct far_ops *ops,
			const struct far_wc *wc)
{
	static const char *const name[FAR_NIC_NR_OPS] = {
		"READ", "WRITE", "WRITE_IMM", "CAS", "FAA", "SEND", "RECV",
	};

	struct far_qset *qset = task->thread->qset;
	char more[128] = "";

	if (qset->nic->ops->explain)
		qset->nic->ops->explain(qset, wc, more, sizeof(more));
	fail(task, ops, error_public(wc->status),
	     "%s: queue pair of thread %u to node %u: %s failed: %s, syndrome 0x%x%s%s",
	     nic_name(task), task->thread->index, wc->peer,
	     wc->op < FAR_NIC_NR_OPS ? name[wc->op] : "operation",
	     strerrordesc_np(-wc->status), wc->syndrome, *more ? ": " : "", more);
}
