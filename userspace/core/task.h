/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks, as the parts of core and structures see them: sleeping and waking, the
 * brackets of an operation, and the verbs that are not for programs.
 *
 * A task runs until it waits; the other tasks of its thread run then. Only its own
 * thread touches it, but for far_task_resume().
 */
#ifndef FAR_CORE_TASK_H
#define FAR_CORE_TASK_H

#include <far/far.h>

#include "../base/rng.h"
#include "op.h"

/*
 * Puts the task to sleep until somebody calls far_task_resume(); returns at once if
 * somebody has done so since the last return. Resumes do not add up, and one may be
 * left from earlier: whoever sleeps looks at its condition again, and in a loop.
 */
void far_task_suspend(struct far_task *task);

/*
 * Wakes a task of this client, which exists until this function returns only if the
 * caller's data says so: call it before the task can learn otherwise that it may go
 * on, or for a task that sleeps until it is called. Any thread of this client.
 */
void far_task_resume(struct far_task *task);

/*
 * Brackets around one operation of a structure, from its intent to its end. The first
 * one may wait: coroutine throttling (smart-framework section 4.3) lets a thread run
 * only so many operations at a time. The second one counts it, with its retries.
 * Brackets nest, and only the outermost ones count. A batch is one operation.
 *
 * -EPERM: another thread's task; -ESTALE: the parent's. There is no end of it then.
 */
__attribute__((warn_unused_result)) int far_op_begin(struct far_task *task);
void far_op_end(struct far_task *task);

/*
 * A try failed for the others' sake, without a CAS of far_backoff_cas() that lost:
 * counts a retry, and delays the task as that one does.
 */
void far_backoff(struct far_task *task);

/* The same without the delay: it will wait in another way. */
void far_backoff_count(struct far_task *task);

/*
 * What is appended, posted and waited for between the two is of a list of its own: it
 * neither posts what its caller has appended, nor takes the errors of what that has
 * posted. A function that calls far_sync() for a purpose of its own uses them, unless it
 * says that it posts what was appended before. far_op_begin() and far_op_end() do the
 * same around a whole operation. What is left appended at the end is appended to the
 * caller's list. They nest; *inner is the caller's memory, and need not be set before.
 */
void far_inner_begin(struct far_task *task, struct far_ops *inner);
void far_inner_end(struct far_task *task, struct far_ops *inner);

/* Operations appended between the two are libfar's own: far_stats.service counts them. */
void far_service_begin(struct far_task *task);
void far_service_end(struct far_task *task);

/* The next operation is not executed before all earlier ones of its node are done. */
void far_fence(struct far_task *task);

/* FAR_WITHOUT_* of its client, and random numbers of its thread. */
unsigned far_task_without(const struct far_task *task);
struct far_rng *far_task_rng(struct far_task *task);

/* Whether both run in the same thread: only they share memory of far_buf(). */
int far_task_together(const struct far_task *a, const struct far_task *b);

/* far_strerror_last() will say this. Returns err. */
__attribute__((format(printf, 3, 4)))
int far_task_fail(struct far_task *task, int err, const char *fmt, ...);

#endif
