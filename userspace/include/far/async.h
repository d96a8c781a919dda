/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Submit and poll: operations of structures for event loops and other languages. The caller
 * needs no task. It submits calls and does something else; when the descriptor of the queue
 * is readable, it polls the results.
 *
 *	far_async_open -> far_async_submit ... -> far_async_fd is readable
 *		       -> far_async_poll ... -> far_async_close
 *
 * The calls are made by tasks of a thread of the library's own. So a program that does not
 * poll, or is stopped, holds no lock and no memory of the space; calls of one queue run at
 * the same time and in any order, unless one is submitted after the result of another.
 *
 * Threads: any thread of the process calls these functions, several at the same time, but for
 * far_async_close(). In the child of a fork() all answer -ESTALE.
 */
#ifndef FAR_ASYNC_H
#define FAR_ASYNC_H

#include <far/far.h>
#include <far/modify.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define FAR_ASYNC_MAX_TASKS	64u
#define FAR_ASYNC_MAX_DEPTH	65536u

struct far_async;

struct far_async_attr {
	unsigned tasks;		/* that make calls, at most FAR_ASYNC_MAX_TASKS; 0: 16 */
	unsigned depth;		/* calls from submit to poll, at most _MAX_DEPTH; 0: 1024 */
};

/* Kinds of handles. */
enum far_async_on {
	FAR_ASYNC_HASH	= 1,	/* struct far_hash */
	FAR_ASYNC_BTREE	= 2,	/* struct far_btree */
	FAR_ASYNC_ART	= 3,	/* struct far_art */
};

enum far_async_op {
	FAR_ASYNC_GET	= 1,
	FAR_ASYNC_PUT	= 2,
	FAR_ASYNC_INSERT = 3,
	FAR_ASYNC_UPDATE = 4,
	FAR_ASYNC_DELETE = 5,
	FAR_ASYNC_MODIFY = 6,
};

/* Key and value are the caller's, and stay as they are until the result is polled. */
struct far_call {
	uint64_t tag;		/* the caller's: comes back with the result */
	uint32_t on;		/* enum far_async_on */
	uint32_t op;		/* enum far_async_op */
	void *handle;		/* open until the result is polled */
	const void *key;
	uint64_t key_len;
	void *value;		/* get: where to; put, insert, update: what; modify: its arg */
	uint64_t value_len;	/* get: room; put, insert, update: length */
	far_modify_fn *modify;	/* of far/modify.h; it runs on a thread of the library */
	uint32_t ms;		/* it may take, from its submission on; 0: far_conf.op_ms */
	uint32_t reserved;	/* 0 */
};

struct far_result {
	uint64_t tag;
	int64_t status;		/* 0 or -errno, of the structure's function; -ECANCELED */
	uint64_t len;		/* get: the value's length, with -EMSGSIZE, too; else 0 */
};

/*
 * A queue of a client. attr NULL: the defaults. -EINVAL: attr; -EOPNOTSUPP: sim, where only
 * threads of the simulation run; else as far_thread_start(), and -EMFILE.
 */
int far_async_open(struct far *far, const struct far_async_attr *attr,
		   struct far_async **ret_async);
/*
 * The descriptor, for poll(2) and its like: readable while there are results. The caller
 * reads and closes nothing of it.
 */
int far_async_fd(const struct far_async *async);

/*
 * Submits one call; waits for nothing. 0: there will be exactly one result. Else there is
 * none, and nothing has happened: -EAGAIN, as many calls as the queue is deep are submitted
 * and not polled; -EINVAL, the call has an op, on or reserved that cannot be, or no handle;
 * -ESHUTDOWN, after far_async_stop(); -ESTALE, in the child of a fork().
 */
int far_async_submit(struct far_async *async, const struct far_call *call);
/* Takes up to max results; waits for nothing. How many: 0 upwards, or -ESTALE. */
int far_async_poll(struct far_async *async, struct far_result *result, unsigned max);
/* Calls that were submitted and not polled. */
unsigned far_async_pending(const struct far_async *async);

/*
 * Ends the queue: calls that no task has begun get -ECANCELED, and have not happened; those
 * under way are waited for. Results are still there for far_async_poll(). 0, also if somebody
 * else ends it, when it has ended. -EDEADLK: called by a modify function of the queue.
 */
int far_async_stop(struct far_async *async);
/*
 * far_async_stop(), and frees the queue, with results that were not polled. Nobody else calls
 * anything of it. Before far_close(), which is -EBUSY until then.
 */
int far_async_close(struct far_async *async);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
