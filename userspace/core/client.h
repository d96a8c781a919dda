/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This process as a client of a space set: its number, its entry in the client table,
 * and the hooks by which threads and tasks take part in it.
 *
 * While at least one of its threads runs, a service thread beats, publishes epochs,
 * frees what was retired, and collects memory of clients that died.
 */
#ifndef FAR_CORE_CLIENT_H
#define FAR_CORE_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <far/far.h>

#include "../base/forks.h"

struct far_client;
struct far_client_thread;
struct far_nic;
struct far_peer;

/* The nodes of the set, as core has attached them; they live as long as the client. */
struct far_client_set {
	struct far_nic *nic;
	struct far_peer *const *peer;	/* of node 0, 1, ... */
	const char *const *node;	/* their addresses */
	const char *space;
	unsigned nr_nodes;
};

/*
 * Reads and judges the superblocks, and claims a number. The errors of far_open(). The
 * task is of a thread of core's that no hook has seen. far_client_leave() likewise.
 * before: NULL, or a client of which the space must be that of now: -ESTALE, it was made
 * anew.
 */
int far_client_join(struct far_task *task, const struct far_client_set *set,
		    const struct far_client *before, char *why, size_t why_len,
		    struct far_client **ret_client);
/*
 * Leaves: gives back chunks and number. All threads have stopped. What cannot be given
 * back now is collected as that of a dead client.
 */
void far_client_leave(struct far_task *task, struct far_client *client);
/* As if the process had died: without a verb. */
void far_client_forsake(struct far_client *client);

/* True if a node that is lost to the client is back, and a client that joins now has it. */
bool far_client_lacks(const struct far_client *client);
/*
 * Retires a client: waits until no task is inside of an epoch, and ends its
 * service. Nobody enters an epoch of it, and no service of it begins any more. Threads may
 * know it until far_client_bury(), which frees it.
 */
void far_client_retire(struct far_task *task, struct far_client *client);
/* Then, of one that lives: gives its number back, and everything is -ESTALE. */
void far_client_resign(struct far_task *task, struct far_client *client);
/* Then: where its attachment has outlived it, the number may be another one's. */
void far_client_unclaim(struct far_client *client);
void far_client_bury(struct far_client *client);

/*
 * A thread with nr_tasks tasks begins, before its first task runs; and ends, after its
 * last one. The first one starts the service thread.
 */
int far_client_thread_start(struct far *far, struct far_client *client,
			    unsigned nr_tasks, struct far_client_thread **ret_thread);
void far_client_thread_stop(struct far_client_thread *thread);

/* The head of struct far_client. */
struct far_client_head {
	atomic_bool cut;
	unsigned forks;		/* far_forks when it was made */
	atomic_bool *lost;	/* by node, see far_client_lost() */
};

/*
 * Whether the arbiter has declared that node lost since the client joined, or before: every
 * operation on it is -EHOSTDOWN, until another client joins, and nothing there is this
 * client's any more. False for NULL.
 */
static inline bool far_client_lost(const struct far_client *client, unsigned node)
{
	const struct far_client_head *head = (const struct far_client_head *)client;

	return client && atomic_load_explicit(&head->lost[node], memory_order_relaxed);
}

/*
 * After this, every operation is -ESTALE: a memory node has cut this client off, or it
 * is the parent's.
 */
static inline bool far_client_stale(const struct far_client *client)
{
	const struct far_client_head *head = (const struct far_client_head *)client;

	return client && (atomic_load_explicit(&head->cut, memory_order_relaxed) ||
			  head->forks != far_forks);
}

/* A memory node has cut this client off. No effect on NULL. */
static inline void far_client_cut(struct far_client *client)
{
	struct far_client_head *head = (struct far_client_head *)client;

	if (client)
		atomic_store_explicit(&head->cut, true, memory_order_relaxed);
}

/*
 * What core offers to the files of this part: the client of a task, the hook's object
 * of its thread, and the service's thread, which is as one of far_thread_start() with
 * two differences: its operations are counted as service, and no hook is called, since
 * the hook's object is given.
 */
struct far_client *far_task_client(const struct far_task *task);
struct far_client_thread *far_task_client_thread(const struct far_task *task);
int far_thread_start_service(struct far *far, struct far_client_thread *client_thread,
			     unsigned nr_tasks,
			     void (*run)(struct far_task *task, void *arg), void *arg,
			     struct far_thread **ret_thread);
/* Adds to far_stats.repaired. */
void far_task_count_repaired(struct far_task *task);

/*
 * Call between two epochs of a walk. If the walk is a sweep's, the client collects meanwhile
 * what it has retired, since walks take long. (sweep.c)
 */
void far_sweep_pause(struct far_task *task);

#endif
