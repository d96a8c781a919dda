/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Deadlines of operations (far_conf.op_ms, far_deadline_set()).
 *
 *	far_op_begin	no time has passed: the clock is read after the first round trip,
 *			or by the first one who asks whether the operation is late
 *	far_post	posts nothing for an operation that is late: -ETIME, and the errors of
 *			its callers undo what they have done, as they do for other errors
 *	far_op_end	what is done outside of operations has no deadline
 *
 * An operation that is late and has got something that others see (a claim, a lock, a
 * frozen word) or is about to publish its change must not stop there. It says so: between
 * far_must_begin() and far_must_end() far_post() posts. What is posted is awaited in any
 * case. So -ETIME means that nothing has happened.
 *
 * A loop that waits for somebody else asks far_op_is_late(), also within far_must_begin():
 * that one may never come.
 */
#ifndef FAR_CORE_DEADLINE_H
#define FAR_CORE_DEADLINE_H

#include <stdbool.h>

#include <far/far.h>

/* How long an operation may take. */
uint64_t far_op_ns(const struct far_conf *conf);

/* True if the task's operation is late now. Reads the clock; starts it. */
bool far_op_is_late(struct far_task *task);

/*
 * Whether the task's operation is late and may stop: far_post() would say so. For loops that
 * wait where an operation that has to go on waits without a limit.
 */
bool far_op_may_stop(struct far_task *task);

/* When the task's operation is late; outside of one, when one that began now would be. */
uint64_t far_op_until(struct far_task *task);

/* far_task_suspend(), until the operation is late at the latest. */
void far_op_suspend(struct far_task *task);

/*
 * They nest. What a begin has no end for lasts until the task has left its epoch: so after
 * the change is published all is finished.
 */
void far_must_begin(struct far_task *task);
void far_must_end(struct far_task *task);

/* A part of a long operation is done: the next one has as much time again. */
void far_op_renew(struct far_task *task);

/* True if far_deadline_set() holds: others do not wait for the operation, nor it for them. */
bool far_op_has_own(const struct far_task *task);

/*
 * The task's operation, if one is under way, is late from now on. Only where one thread of
 * the system runs all tasks, as in sim: another one may just be reading its time.
 */
void far_op_expire(struct far_task *task);

/* The task's operations are late when the clock says `until`; 0: each has op_ms. */
void far_deadline_at(struct far_task *task, uint64_t until);

#endif
