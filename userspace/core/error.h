/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Errors of operations: what a task is told, and in which words.
 */
#ifndef FAR_CORE_ERROR_H
#define FAR_CORE_ERROR_H

#include "../nic/nic.h"

struct far_task;

/*
 * Each makes its error the task's own unless it has one already, and returns the
 * errno that it became: of a connection that broke, -EIO, -EHOSTDOWN or -ETIMEDOUT.
 */
int far_error_connect(struct far_task *task, unsigned node, int err);
int far_error_post(struct far_task *task, unsigned node, int err);
int far_error_complete(struct far_task *task, const struct far_wc *wc);

#endif
