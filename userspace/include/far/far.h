/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libfar: memory of other machines through one-sided RDMA.
 *
 * A program opens a client of a space set (memory on one or several memory nodes),
 * starts threads, and runs tasks on them. A task is a coroutine: it appends READs,
 * WRITEs and atomics, rings once per memory node with far_post(), and is suspended
 * in far_sync() until all of them are done, while other tasks of its thread go on.
 *
 *	far_open -> far_thread_start -> tasks: far_read, far_post, far_sync -> ...
 *	         -> far_thread_join -> far_close
 *
 * A program without tasks of its own uses far_enter(): the calling thread becomes a
 * thread with one task, whose waits block.
 *
 * Errors: 0 or a negative errno, of which far_strerror() has a sentence;
 * far_strerror_last() says more of what the NIC refused, or of what is full. No
 * function here prints, exits or aborts. Operations of the structures end in time
 * (far_conf.op_ms, far_deadline_set()): -ETIME, nothing has happened; -ETIMEDOUT, the
 * connection broke, and it may have. After a client was fenced (it was thought dead, or a
 * memory node has restarted), all functions answer -ESTALE until far_reopen() or far_open()
 * has made a new one.
 *
 * Threads: functions that take a struct far_task are called by that task alone;
 * others say what they need.
 */
#ifndef FAR_FAR_H
#define FAR_FAR_H

#include <stddef.h>
#include <stdint.h>

#include <far/addr.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct far;
struct far_thread;
struct far_task;

/* Mechanisms that can be switched off, for comparisons: far_conf.without. */
enum {
	/* "throttle": work request throttling, smart-framework section 4.2 */
	FAR_WITHOUT_CREDIT	= 1 << 0,
	/* "backoff": truncated exponential backoff of a failed CAS, section 4.3 */
	FAR_WITHOUT_BACKOFF	= 1 << 1,
	/* "limit": the backoff's limit follows the retry rate */
	FAR_WITHOUT_LIMIT	= 1 << 2,
	/* "tasks": the retry rate bounds how many tasks run */
	FAR_WITHOUT_TASKS	= 1 << 3,
	/* "combine": one operation for many of the same key */
	FAR_WITHOUT_COMBINE	= 1 << 4,
	/* "handover": hot keys queue across compute nodes; only with combining */
	FAR_WITHOUT_HANDOVER	= 1 << 5,
	/* "cache": cached slots and addresses */
	FAR_WITHOUT_CACHE	= 1 << 6,
	/* "doorbell": a doorbell of each thread's own, section 4.1 */
	FAR_WITHOUT_DOORBELL	= 1 << 7,
};

struct far_conf {
	const char *nic;		/* "mem", "mem:dir=/dev/shm/x", ...; NULL: "mem" */
	const char *space;		/* name of the space, the same on each node */
	const char *const *nodes;	/* addresses; NULL: the back end's only node */
	unsigned nr_nodes;		/* 1 to FAR_MAX_NODES; 0 is 1 */
	unsigned without;		/* FAR_WITHOUT_* */
	unsigned depth;			/* operations outstanding per thread and node; 0: 256 */
	unsigned task_stack;		/* bytes of stack of a task; 0: 64 KiB */
	uint64_t cache_bytes;		/* for caches of structures, all threads; 0: 64 MiB */
	uint64_t seed;			/* of jitter and the like; 0: from the system */
	unsigned op_ms;			/* that an operation may take; 0: FAR_OP_MS */
};

#define FAR_OP_MS	10000u
#define FAR_NO_DEADLINE	(~0u)		/* op_ms: as long as it takes */

/*
 * Opens a client: connects to all nodes, checks the superblocks, claims a client
 * number. -ENOENT no such space, -EACCES no rights, -EPROTO a superblock that is
 * not ours or of another version, -EUSERS the client table is full, -EHOSTUNREACH no
 * answer, -EAGAIN not all nodes of the set have joined, -EINPROGRESS a node starts and
 * is not ready after 30 s, -EINVAL a field or an address that cannot be.
 * why, of why_len bytes, gets one sentence on failure. Any thread.
 */
int far_open(const struct far_conf *conf, char *why, size_t why_len,
	     struct far **ret_far);
/*
 * Chunks that are not empty stay the space's. -EBUSY: a thread has not been joined, or
 * has not left; nothing has happened then.
 */
int far_close(struct far *far);

/*
 * After -ESTALE: another client in place of the one that was fenced, under the same struct
 * far, also when its memory node has restarted. The first task that calls this waits until
 * all tasks have left their operations, then its thread stands still while it connects; others
 * wait for it, and get its result. Threads, tasks and handles of structures go on. What the
 * program holds of the space besides, addresses among it, is void.
 *
 * After -EHOSTDOWN likewise, when a memory node that was declared lost is back: its part is
 * empty, and a client of before does not use it. Then operations under way may get -ESTALE.
 *
 * Else 0 at once if the client is alive. Errors are those of far_open(), and the client is as
 * before, or fenced; -ESTALE: the space was made anew, and there is nothing to go on with;
 * -EBUSY: the task is in a scan; -EPERM: another thread's task; -EINVAL: task_stack is less
 * than 48 KiB.
 */
int far_reopen(struct far_task *task, char *why, size_t why_len);

/*
 * Starts a thread with nr_tasks tasks, 1 to 1024, each of which calls run(task, arg)
 * once; the thread ends when all have returned. Any thread.
 */
int far_thread_start(struct far *far, unsigned nr_tasks,
		     void (*run)(struct far_task *task, void *arg), void *arg,
		     struct far_thread **ret_thread);
/* -EDEADLK: by a task of it; -ESTALE: in the child of a fork(). */
int far_thread_join(struct far_thread *thread);

/*
 * Makes the calling thread one of libfar's with one task, and undoes that. Waits need 24 KB
 * of the thread's stack. -EPERM: it is another thread's task.
 */
int far_enter(struct far *far, struct far_task **ret_task);
int far_leave(struct far_task *task);

/*
 * The number of the task in its thread, 0 upwards; the thread's in its client, which no
 * other thread of the client has or has had.
 */
unsigned far_task_index(const struct far_task *task);
unsigned far_task_thread(const struct far_task *task);
struct far *far_task_far(const struct far_task *task);

/*
 * Registered memory of the task for far_read() and the like, len bytes, aligned to
 * 64. It is the caller's until the far_buf_release() of a mark made before. NULL
 * when memory is exhausted. A task that returns releases all.
 */
void *far_buf(struct far_task *task, size_t len);
size_t far_buf_mark(struct far_task *task);
void far_buf_release(struct far_task *task, size_t mark);

/*
 * Append one operation. local is memory of far_buf() or NULL for a CAS or FAA whose
 * old value nobody needs; it may be read again after far_sync(). src of far_write()
 * may be any memory when len is at most 64 (it is copied), else of far_buf(). What
 * cannot be is reported by far_post() or far_sync().
 */
void far_read(struct far_task *task, uint64_t addr, void *local, uint32_t len);
void far_write(struct far_task *task, uint64_t addr, const void *src, uint32_t len);
void far_cas(struct far_task *task, uint64_t addr, uint64_t compare,
	     uint64_t swap, uint64_t *local);
void far_faa(struct far_task *task, uint64_t addr, uint64_t add, uint64_t *local);

/* Posts what was appended: one doorbell per node, in order per node. */
int far_post(struct far_task *task);
/*
 * Posts what was appended, and suspends the task until all that it posted is done.
 * 0: all succeeded. -EIO, -EHOSTDOWN, -ETIMEDOUT: the connection broke; of each
 * WRITE, CAS and FAA since the last far_sync() nobody knows whether it happened, and
 * the connection is made anew. -EFAULT, -EINVAL: the caller's error. -ESTALE: fenced.
 */
int far_sync(struct far_task *task);

/*
 * One CAS, posted behind what was appended, and waited for. Returns 0 and stores the
 * value that was found: equal to compare if the CAS succeeded. After a CAS that lost
 * it delays the task (truncated exponential backoff, smart-framework section 4.3) and
 * counts a retry. Errors as far_sync().
 */
int far_backoff_cas(struct far_task *task, uint64_t addr, uint64_t compare,
		    uint64_t swap, uint64_t *ret_found);

/*
 * The operations of structures (far/hash.h, far/btree.h, far/art.h) that the task begins
 * from now on have ms milliseconds from now, all together; 0: each has far_conf.op_ms again.
 * One that is late answers -ETIME: nothing has happened, and nothing is left behind. The
 * clock is looked at between round trips: what is posted is awaited, and an operation whose
 * change has begun to show finishes it. A scan, mget or mput has op_ms from what it has done
 * last. An operation of a task that has called this is not combined with those of others.
 * -EPERM: another thread's task; -ESTALE: the parent's.
 */
int far_deadline_set(struct far_task *task, unsigned ms);

/* The clock of the back end, in ns; virtual in sim. */
uint64_t far_now(const struct far_task *task);
/* Lets other tasks go on for at least ns. */
void far_sleep(struct far_task *task, uint64_t ns);
void far_yield(struct far_task *task);
/* Declares processor time to sim; nothing elsewhere. */
void far_spend(struct far_task *task, uint64_t ns);

/*
 * Suspends the task until descriptor fd is ready for one of events, which are poll()'s
 * (<poll.h>), while other tasks of its thread go on. A thread whose tasks all wait sleeps.
 * Returns what has become ready, above 0: bits of events, POLLERR, POLLHUP. The descriptor
 * stays the program's and stays open meanwhile; several tasks may wait for one.
 * far_deadline_set() limits the wait, far_conf.op_ms does not. -ETIME: its time is over;
 * -EBADF: fd is not open; -EMFILE, -ENOMEM: there is no descriptor or memory for that;
 * -EINVAL: events, or more descriptors than RLIMIT_NOFILE; -EOPNOTSUPP: sim; -EBUSY: the
 * task is in a scan; -EPERM, -ESTALE as far_deadline_set(). That the client was fenced does
 * not end the wait.
 */
int far_fd_wait(struct far_task *task, int fd, int events);
/*
 * far_park() suspends the task until far_unpark() is called for it. One that came first is
 * not lost: far_park() then returns at once. Several that came first are one. What the
 * caller of far_unpark() wrote before is visible when far_park() returns 0. Deadline and
 * errors as far_fd_wait(); after -ETIME the next far_unpark() is for the next far_park().
 *
 * far_unpark(): any thread of the process, also one that is not libfar's. The task may have
 * returned, but its thread has not been joined, and a task of far_enter() has not left.
 * -ESTALE: the parent's task.
 */
int far_park(struct far_task *task);
int far_unpark(struct far_task *task);

/* What an error that a function here answered means: a sentence without a dot. Never NULL. */
const char *far_strerror(int err);
/*
 * The last failure of this task, in words. Of an operation that the NIC failed: device,
 * queue pair, operation, syndrome. Of a space that is full (-ENOSPC): which node has no
 * chunk free, and which clients have them; or that all names are taken. "" if there was
 * none: then the errno says all.
 */
const char *far_strerror_last(const struct far_task *task);

/* The names of FAR_WITHOUT_*, comma-separated; -EINVAL and *ret_bad at the unknown. */
int far_without_parse(const char *list, unsigned *ret_without, const char **ret_bad);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
