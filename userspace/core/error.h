/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Errors of operations: what a task is told, and in which words.
 */
#ifndef FAR_CORE_ERROR_H
#define FAR_CORE_ERROR_H

#include "../nic/nic.h"

struct far_ops;
struct far_task;

/*
 * Each makes its error that of the top of the task's stack, or of ops, unless that has
 * one already; the first two return the errno that it became: of a connection that
 * broke, -EIO, -EHOSTDOWN or -ETIMEDOUT.
 */
int far_error_connect(struct far_task *task, unsigned node, int err);
int far_error_post(struct far_task *task, unsigned node, int err);
void far_error_complete(struct far_task *task, struct far_ops *ops,
			const struct far_wc *wc);
/* poll() itself has answered err. */
void far_error_poll(struct far_task *task, struct far_ops *ops, int err);

#endif
