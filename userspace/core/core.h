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

struct far_thread;

struct far {
	struct far_nic *nic;
	int owns_nic;
	unsigned forks;			/* far_forks when it was opened */
	struct far_client *client;	/* NULL: bare */
	struct far_locks *locks;	/* of all structures of this client */
	unsigned without;		/* FAR_WITHOUT_* */
	unsigned depth;
	unsigned task_stack;
	uint64_t cache_bytes;
	uint64_t seed;
	double epoch_scale;		/* of the times of throttling's search */
	uint64_t op_ns;			/* that an operation may take */

	unsigned nr_nodes;
	struct far_peer **peer;		/* nr_nodes */
	char **node;			/* their addresses, nr_nodes */
	_Atomic uint64_t *down_until;	/* nr_nodes; see far_op_connect() */
	struct far_loose *loose;	/* nr_nodes; see loose.h */
	char *space;

	/* All threads there ever were: it only grows, and their structs are used again. */
	_Atomic(struct far_thread *) threads;
	_Atomic unsigned nr_threads;
	_Atomic unsigned nr_starts;
};

/* Whether it was opened before a fork(), by the parent: all calls are -ESTALE. */
static inline int far_is_parents(const struct far *far)
{
	return far->forks != far_forks;
}

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
