/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One call of a queue, made by a task. */
#ifndef FAR_ASYNC_CALL_H
#define FAR_ASYNC_CALL_H

#include <far/async.h>

/* -EINVAL: it has a field that cannot be. */
int async_call_check(const struct far_call *call);
/* Makes it: the status. *ret_len as far_result.len. */
int async_call_make(struct far_task *task, const struct far_call *call, uint64_t *ret_len);

#endif
