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

/* The same until the clock says `until`, at the latest. */
void far_task_suspend_until(struct far_task *task, uint64_t until);

/*
 * Wakes a task of this client, which exists until this function returns only if the
 * caller's data says so: call it before the task can learn otherwise that it may go
 * on, or while it is held. Any thread of this client.
 */
void far_task_resume(struct far_task *task);

/*
 * The memory of a task stays until far_task_unhold(), also if the task goes on and ends.
 * A task that sleeps may wake before it is resumed, by a timer or by what others have
 * resumed it for earlier: who tells it that it may go on, and resumes it then, holds it
 * before.
 */
struct far_thread *far_task_hold(struct far_task *task);
void far_task_unhold(struct far_thread *thread);

/*
 * Brackets around one operation of a structure, from its intent to its end. The first
 * one may wait: coroutine throttling (smart-framework section 4.3) lets a thread run
 * only so many operations at a time. The second one counts it, with its retries.
 * Brackets nest, and only the outermost ones count. A batch is one operation.
 *
 * -EPERM: another thread's task; -ESTALE: the parent's; -ETIME: it was late when it might
 * have begun. There is no end of it then.
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

/* Random numbers of its thread. */
struct far_rng *far_task_rng(struct far_task *task);

/* far_strerror_last() will say this. Returns err. */
__attribute__((format(printf, 3, 4)))
int far_task_fail(struct far_task *task, int err, const char *fmt, ...);
/* The words of an error that no operation on far memory has: far_strerror_last(). */
__attribute__((format(printf, 2, 3)))
void far_task_explain(struct far_task *task, const char *fmt, ...);

#endif
