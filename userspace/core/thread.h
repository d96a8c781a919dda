/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads and their tasks, inside core: the structs, and the scheduler.
 *
 * A thread has one queue set, with a connection to each node, and runs its tasks one
 * after the other:
 *
 *	turn:  poll -> inbox -> timers -> what is ready now, each once -> turn
 *
 * Tasks switch to the next ready one directly, and the last one to the thread's root,
 * which makes the turn. When nothing is ready, the turn waits in the NIC, or for the NIC
 * and descriptors (wait.c). A task of far_enter() has no fiber: it makes the turns itself
 * while it waits.
 */
#ifndef FAR_CORE_THREAD_H
#define FAR_CORE_THREAD_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <far/far.h>

#include "../base/fiber.h"
#include "../base/rng.h"
#include "../nic/nic.h"
#include "backoff.h"
#include "buf.h"
#include "core.h"
#include "credit.h"
#include "op.h"
#include "stats.h"
#include "wait.h"

#define FAR_MAX_TASKS	1024u
#define FAR_REASON_MAX	256u	/* bytes of far_strerror_last() */

/* Tasks in order of arrival; by far_task.next. */
struct far_queue {
	struct far_task *first, *last;
};

/* A connection of the thread. */
struct far_link {
	unsigned outstanding;
	int connected;
	int was_connected;		/* so that a connection is one made anew */
	const struct far_peer *peer;	/* to which it leads */
	uint32_t answers;		/* completions, */
	uint32_t answers_seen;		/* and when far_watch_due() looked last */
};

/* far_task.late_at outside of operations, and before the clock was read. */
#define FAR_NEVER	UINT64_MAX
#define FAR_UNSTARTED	(UINT64_MAX - 1)

/* What far_task_suspend() and far_task_resume() agree on: far_task.park. */
enum { FAR_AWAKE, FAR_RESUMED, FAR_ASLEEP };

struct far_task {
	struct far_thread *thread;
	unsigned index;
	struct far_fiber *fiber;	/* NULL: far_enter() */
	struct far_task *next;		/* in the one queue that it is in */
	int ready;			/* entered tasks: may go on */
	_Atomic int park;
	uint64_t wake_at;		/* in the timers, */
	unsigned timer_at;		/* at this place */
	int timed;			/* it is there, and far_task_resume() may come first */

	/* wait.c */
	_Atomic bool permit;		/* far_unpark() that no far_park() has had */
	bool waits;			/* sleeps in far_park() or far_fd_wait() */
	bool syncs;			/* posts in far_sync(): it sleeps at once after that */
	unsigned fd_at;			/* its place in far_thread.fds */
	int fd_result;			/* what has become ready, or -errno; 0: nothing yet */

	/* operations: op.c */
	struct far_ops *ops;		/* the top of a stack */
	struct far_ops first;		/* its bottom */
	struct far_ops inner;		/* of the operation of a structure under way */
	struct far_lists *lists;	/* that no far_ops has */
	int service;			/* depth of far_service_begin(); of thread->service, too */
	struct far_peer **peer;		/* thread->peer when its last list was posted */
	unsigned want, want_node;	/* while it waits for credits: how many, for whom */
	int granted;			/* and what it got: how many, or an error */

	/* the operation of a structure under way: task.c, deadline.c */
	unsigned op_depth;
	unsigned holds;			/* far_hold() without an end: hold.c */
	uint64_t until;			/* far_deadline_set(), or FAR_UNSTARTED */
	uint64_t late_at;		/* the clock from which it is late, or: */
	unsigned must;			/* far_must_begin() without an end */
	struct far_task *held_next;	/* in far_thread.held, */
	int held;			/* where it is */
	unsigned op_retries;
	unsigned attempt;		/* tries that lost in a row */
	uint64_t *cas_found;		/* registered, for far_backoff_cas() */

	struct far_arena arena;
	char reason[FAR_REASON_MAX];
};

struct far_thread {
	struct far *far;
	struct far_thread *next;	/* in far.threads; never changes */
	unsigned index;
	_Atomic int busy;		/* 0: the struct is free for another one */
	_Atomic(void *) self;		/* far_self() of the thread of the system */
	int service;			/* all its operations are libfar's own */
	struct far_client_thread *client;	/* NULL: bare, or joining, or leaving */

	struct far_qset *qset;
	struct far_peer **peer;		/* to which its links lead: far.peer, or one of before */
	bool joins;			/* for far_join(): it is no client's yet */
	struct far_link *link;		/* per node */
	/* per node, with the struct: when verbs of that link are not loose any more; loose.h */
	_Atomic uint64_t *loose_until;
	unsigned outstanding;		/* of all links */
	uint64_t next_look;		/* when far_watch_due() looks next */
	int throttles;			/* operations take credits */
	struct far_credit credit;
	unsigned generation;		/* of the queue set: it goes up when that broke */
	struct far_queue waiting;	/* for credits, room or a connection */
	uint64_t now;			/* of its last completions: the clock of epochs */
	struct far_backoff backoff;
	struct far_queue held;		/* operations that may not begin yet; by held_next */
	struct far_rng rng;
	struct far_counts counts;
	struct far_bufs bufs;
	void *nowhere;			/* 8 registered bytes: old values that nobody needs */

	struct far_context root;
	struct far_stacks stacks;
	struct far_queue ready;
	struct far_queue batch;		/* ready in this turn */
	struct far_task **timer;	/* a heap by wake_at */
	unsigned nr_timers;
	struct far_fds *fds;		/* that tasks wait for; NULL: none ever did */
	_Atomic(struct far_task *) inbox;	/* of far_task_resume(); last first */
	_Atomic unsigned held_by;	/* far_task_hold() without an end */

	struct far_task *task;		/* nr_tasks */
	unsigned nr_tasks, nr_live;
	void (*run)(struct far_task *task, void *arg);
	void *arg;
	struct far_nic_thread *system;	/* NULL: far_enter() */
};

static inline void far_queue_put(struct far_queue *queue, struct far_task *task)
{
	task->next = NULL;
	if (queue->first)
		queue->last->next = task;
	else
		queue->first = task;
	queue->last = task;
}

static inline struct far_task *far_queue_take(struct far_queue *queue)
{
	struct far_task *task = queue->first;

	if (task)
		queue->first = task->next;
	return task;
}

/* What tells threads of the system apart. */
static inline void *far_self(void)
{
	return __builtin_thread_pointer();
}

/*
 * Whether the calling thread may use the task: 0; -EPERM, it is another thread's;
 * -ESTALE, it is the parent's.
 */
static inline int far_task_usable(const struct far_task *task)
{
	if (task->thread->self != far_self())
		return -EPERM;
	return far_is_parents(task->thread->far) ? -ESTALE : 0;
}

static inline uint64_t far_thread_now(const struct far_thread *thread)
{
	return thread->far->nic->ops->now(thread->far->nic);
}

/* The same at other peers than far.peer, with one task, whose operations are libfar's own. */
int far_thread_new_joins(struct far *far, struct far_peer **peer,
			 struct far_thread **ret_thread);
/* All operations of a thread that has not begun are libfar's own. */
void far_thread_serves(struct far_thread *thread);

/*
 * A thread with nr_tasks tasks, connected to all nodes, that does not run yet.
 * The errors of qset_new(), connect() and mr_reg(), and -ENOMEM.
 */
int far_thread_new(struct far *far, unsigned nr_tasks, int with_fibers,
		   struct far_thread **ret_thread);
/* Nothing of it runs any more. Its struct stays, for its counters. */
void far_thread_free(struct far_thread *thread);
/* The client ends: nobody has the struct any more. */
void far_thread_slot_free(struct far_thread *thread);

/* The task ends: it holds nothing any more, and nothing of it is under way. */
void far_hold_end(struct far_task *task);

/* Puts the calling task to sleep until far_sched_wake(). */
void far_sched_sleep(struct far_task *task);
/* Lets a task of the calling thread go on. It sleeps, and is in no queue. */
void far_sched_wake(struct far_task *task);
/* far_task_resume() of a task of the calling thread, without the inbox. */
void far_sched_resume(struct far_task *task);
/* Puts the calling task to sleep until the clock says `until`. */
void far_sched_sleep_until(struct far_task *task, uint64_t until);
/* Puts a task that sleeps in far_task_suspend() into the inbox. Any thread. */
void far_sched_send(struct far_task *task);
/* The thread's root: turns until no task lives. */
void far_sched_run(struct far_thread *thread);
/* Waits until no other thread holds one of its tasks. */
void far_sched_drain(struct far_thread *thread);

#endif
