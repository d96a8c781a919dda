// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * far_reopen(): another client in place of one that was fenced, or of one to which a memory
 * node is lost that has come back. The latter leaves first, as if no thread ran any more.
 *
 * The old client stays as it is, and every operation of it -ESTALE. When no task is inside of
 * one of its epochs, its service ends, the nodes are attached once more, and a new client
 * joins. Then far->peer and far->client change, in this order: who sees the client sees its
 * peers. Each thread takes them over by itself: its connections with its next far_post(),
 * epochs and magazines with its next far_epoch_enter(). Until far_close() the old ones stay,
 * since a thread that is idle knows them.
 *
 * Structures keep what they know of far memory: all of it are hints, as good as those of
 * a client that has stood idle for so long.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/why.h"
#include "core.h"
#include "loose.h"
#include "sum.h"
#include "task.h"
#include "thread.h"

#define LOOK_NS	UINT64_C(1000000)	/* between two looks of tasks that wait for another one */
#define STACK	(48u << 10)		/* a client joins, and does the NIC's work meanwhile */

/* None of the old client's verbs is executed any more, and nodes are asked at once. */
static void nodes_forget(struct far *far)
{
	for (unsigned n = 0; n < far->nr_nodes; n++) {
		atomic_store(&far->loose[n].last, 0);
		atomic_store(&far->loose[n].ended, 0);
		atomic_store(&far->down_until[n], 0);
	}
}

static int client_replace(struct far *far, char *why, size_t why_len)
{
	struct far_peer **peer = calloc(far->nr_nodes, sizeof(*peer));
	struct far_past *past = malloc(sizeof(*past));
	struct far_client *client;
	int err;

	if (!peer || !past) {
		err = far_why(why, why_len, -ENOMEM, "no memory for a client");
		goto free_peers;
	}
	err = far_peers_attach(far, peer, why, why_len);
	if (err)
		goto free_peers;
	nodes_forget(far);
	far_sums_forget(far);
	far_client_unclaim(far->client);
	err = far_join(far, peer, far->client, why, why_len, &client);
	if (err)
		goto free_peers;
	*past = (struct far_past){ .next = far->past, .client = far->client, .peer = far->peer };
	far->past = past;
	far->peer = peer;
	far->client = client;
	return 0;

free_peers:
	far_peers_free(far, peer);
	free(past);
	return err;
}

static int reopen_wait(struct far_task *task, char *why, size_t why_len)
{
	struct far *far = task->thread->far;
	int err;

	while (atomic_load(&far->reopens))
		far_sleep(task, LOOK_NS);
	err = atomic_load(&far->reopened);
	return err ? far_why(why, why_len, err, "another task has tried: %s", far_strerror(err)) :
		     0;
}

static int reopen_check(const struct far_task *task, char *why, size_t why_len)
{
	int err = far_task_usable(task);

	if (err)
		return far_why(why, why_len, err, "%s", far_strerror(err));
	if (!task->thread->far->client)
		return far_why(why, why_len, -EINVAL, "there is no client");
	if (task->op_depth || task->holds)
		return far_why(why, why_len, -EBUSY, "the task is in %s",
			       task->holds ? "far_hold()" : "an operation");
	if (task->thread->far->task_stack < STACK)
		return far_why(why, why_len, -EINVAL, "tasks have %u bytes of stack: expected "
			       "task_stack of %u or more", task->thread->far->task_stack, STACK);
	return 0;
}

int far_reopen(struct far_task *task, char *why, size_t why_len)
{
	struct far *far = task->thread->far;
	bool reopens = false;
	int err = reopen_check(task, why, why_len);

	if (err)
		return err;
	if (!atomic_compare_exchange_strong(&far->reopens, &reopens, true))
		return reopen_wait(task, why, why_len);
	if (far_client_stale(far->client) || far_client_lacks(far->client)) {
		far_client_retire(task, far->client);
		if (!far_client_stale(far->client))
			far_client_resign(task, far->client);
		err = client_replace(far, why, why_len);
	}
	atomic_store(&far->reopened, err);
	atomic_store(&far->reopens, false);
	return err;
}
