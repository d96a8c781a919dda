/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client, inside: what it shares among its threads.
 */
#ifndef FAR_CORE_CORE_H
#define FAR_CORE_CORE_H

#include <stdatomic.h>
#include <stdint.h>

#include <far/far.h>

#include "../base/forks.h"
#include "../nic/nic.h"
#include "client.h"
#include "lock_queue.h"

struct far_ask;
struct far_thread;

/* A client that was fenced, and its attachments, in place of which others came. */
struct far_past {
	struct far_past *next;
	struct far_client *client;
	struct far_peer **peer;		/* nr_nodes */
};

struct far {
	struct far_nic *nic;
	int owns_nic;
	unsigned forks;			/* far_forks when it was opened */
	_Atomic(struct far_client *) client;	/* NULL: bare. See reopen.c */
	struct far_locks *locks;	/* of all structures of this client */
	unsigned without;		/* FAR_WITHOUT_* */
	unsigned depth;
	unsigned task_stack;
	uint64_t cache_bytes;
	uint64_t seed;
	double epoch_scale;		/* of the times of throttling's search */
	uint64_t op_ns;			/* that an operation may take */

	unsigned nr_nodes;
	struct far_peer **_Atomic peer;	/* nr_nodes; of the client */
	struct far_past *past;		/* threads may know these still */
	atomic_bool reopens;		/* a task is in far_reopen(), */
	_Atomic int reopened;		/* and what it has answered */
	char **node;			/* their addresses, nr_nodes */
	_Atomic uint64_t *down_until;	/* nr_nodes; see far_op_connect() */
	struct far_loose *loose;	/* nr_nodes; see loose.h */
	struct far_ask *ask;		/* nr_nodes; see watch.h */
	struct far_sum *_Atomic sums;	/* that have something in hand; see sum.h */
	atomic_bool closes;		/* nobody begins to ask any more */
	_Atomic unsigned beginners;	/* threads in watch.c that may begin to */
	_Atomic uint64_t claims;	/* made again by far_ask, */
	_Atomic uint64_t confirmed;	/* and those behind which the client has found it lives */
	char *space;

	/* All threads there ever were: it only grows, and their structs are used again. */
	_Atomic(struct far_thread *) threads;
	_Atomic unsigned nr_threads;
	_Atomic unsigned nr_starts;
};

/* True if it was opened before a fork(), by the parent: all calls are -ESTALE. */
static inline int far_is_parents(const struct far *far)
{
	return far->forks != far_forks;
}

/*
 * Attaches to all nodes of far->node, or to none: peer gets the results. far_peers_free()
 * detaches, and frees the array, too. NULL is allowed.
 */
int far_peers_attach(struct far *far, struct far_peer **peer, char *why, size_t why_len);
void far_peers_free(struct far *far, struct far_peer **peer);
/*
 * A client proper at these peers, from a thread that is none of its own yet. before: NULL,
 * or the client whose space it has to be; see far_client_join().
 */
int far_join(struct far *far, struct far_peer **peer, const struct far_client *before,
	     char *why, size_t why_len, struct far_client **ret_client);

/*
 * As far_open(), with an open back end: nic stays the caller's, and conf->nic is not
 * looked at.
 */
int far_open_nic(struct far_nic *nic, const struct far_conf *conf, char *why,
		 size_t why_len, struct far **ret_far);

/*
 * Shortens the search for C_max: 8 ms a candidate and 480 ms of rest are multiplied by
 * scale. For simulations, before the first thread starts.
 */
void far_scale_epochs(struct far *far, double scale);

/*
 * As far_open_nic(), for whoever wants verbs and threads over memory that need not be
 * a space: no superblock is looked at, and there is no client.
 */
int far_open_bare(struct far_nic *nic, const struct far_conf *conf, char *why,
		  size_t why_len, struct far **ret_far);

#endif
