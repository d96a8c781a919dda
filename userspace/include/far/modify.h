/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that say what becomes of a key, from what it has: far_hash_modify() and its
 * like of the trees.
 */
#ifndef FAR_MODIFY_H
#define FAR_MODIFY_H

#include <stddef.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of the key. */
enum far_modified {
	FAR_LEAVE,	/* it stays as it is */
	FAR_STORE,	/* it has what *value says now, whether it was there or not */
	FAR_DELETE,	/* it is not there any more */
};

struct far_value {
	const void *data;	/* NULL: there is no such key; aligned to nothing */
	size_t len;
};

/*
 * Is shown what the key has, and says what becomes of it. To store, it makes *value the new
 * one: memory that arg names, or a part of what it was shown, which stays as it is until the
 * function is called again or the operation has returned.
 *
 * It is called again when the change loses to another one, and what it said before has not
 * happened then: an answer that it leaves in memory of arg is that of the last call, if the
 * operation returns 0. So it depends on arg and on *value alone. It may run on another thread
 * of the program, while its own task sleeps; it calls nothing of libfar, waits for nothing,
 * and needs little of the stack of a task.
 */
typedef enum far_modified far_modify_fn(void *arg, struct far_value *value);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
