// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Opening and closing a client.
 */
#include <far/far.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <own/words.h>

#include "client.h"
#include "core.h"
#include "deadline.h"
#include "loose.h"
#include "space.h"
#include "sum.h"
#include "thread.h"
#include "watch.h"

#define DEPTH		256u
#define DEPTH_MAX	32768u
#define TASK_STACK	(64u << 10)
#define TASK_STACK_MIN	(8u << 10)
#define CACHE_BYTES	(UINT64_C(64) << 20)
#define LOCKS		65536u	/* in use at a time; 256 KiB, touched as they are used */

static const char *const only_node[] = { "" };

static int conf_check(const struct far_conf *conf, char *why, size_t why_len)
{
	if (!conf->space || !conf->space[0])
		snprintf(why, why_len, "no space is named");
	else if (conf->nr_nodes > FAR_MAX_NODES)
		snprintf(why, why_len, "%u nodes: at most %u", conf->nr_nodes,
			 FAR_MAX_NODES);
	else if (conf->nr_nodes && !conf->nodes)
		snprintf(why, why_len, "%u nodes without addresses", conf->nr_nodes);
	else if (conf->depth > DEPTH_MAX)
		snprintf(why, why_len, "depth %u: at most %u", conf->depth, DEPTH_MAX);
	else if (conf->task_stack && conf->task_stack < TASK_STACK_MIN)
		snprintf(why, why_len, "stacks of %u bytes: at least %u",
			 conf->task_stack, TASK_STACK_MIN);
	else
		return 0;
	return -EINVAL;
}

static void conf_take(struct far *far, const struct far_conf *conf)
{
	far->without = conf->without;
	far->depth = conf->depth ? conf->depth : DEPTH;
	far->task_stack = conf->task_stack ? conf->task_stack : TASK_STACK;
	far->cache_bytes = conf->cache_bytes ? conf->cache_bytes : CACHE_BYTES;
	far->seed = conf->seed;
	far->epoch_scale = 1;
	far->op_ns = far_op_ns(conf);
	if (!far->seed)
		far->seed = far_rng_any_seed();
}

const char *far_node_words(int err)
{
	switch (err) {
	case -ENOENT:
		return "there is no such space (\"far space list\" shows those that are there)";
	case -EACCES:
		return "no rights";
	case -EINVAL:
		return "expected an IPv4 address (names are not looked up), with verbs HOST "
		       "or HOST:PORT, or a number from 0 for a memory node of this process";
	case -EADDRNOTAVAIL:
		return "this client has the same address; expected another one behind the "
		       "NIC, such as ip=10.77.0.2/24";
	case -EHOSTUNREACH:
		return "no such node, or it does not answer";
	case -EUSERS:
		return "it has no place for one more client, or for one more from this "
		       "machine";
	case -ECONNREFUSED:
		return "it serves no spaces";
	case -EPROTONOSUPPORT:
		return "it speaks another version of the protocol; expected version 1";
	case -ENOKEY:
		return "it lets in only who has a secret; expected key=NAME behind the NIC";
	case -EKEYREJECTED:
		return "it does not know this name with this secret";
	case -EAGAIN:
		return "not all memory nodes of its set have joined";
	case -EINPROGRESS:
		return "it has just started and still takes its memory: try again later";
	default:
		return far_strerror(err);
	}
}

void far_peers_free(struct far *far, struct far_peer **peer)
{
	for (unsigned n = 0; peer && n < far->nr_nodes; n++) {
		if (!peer[n])
			continue;
		far->nic->ops->detach(far->nic, peer[n]);
		free(peer[n]);
	}
	free(peer);
}

static void past_free(struct far *far)
{
	struct far_past *past;

	while ((past = far->past)) {
		far->past = past->next;
		far_client_bury(past->client);
		far_peers_free(far, past->peer);
		free(past);
	}
}

static void nodes_detach(struct far *far)
{
	far_asks_fini(far);
	past_free(far);
	far_peers_free(far, far->peer);
	for (unsigned n = 0; far->node && n < far->nr_nodes; n++)
		free(far->node[n]);
	free(far->node);
	free(far->ask);
	free(far->loose);
	free(far->down_until);
	free(far->space);
}

static bool node_is_away(int err)
{
	return err == -EHOSTUNREACH || err == -ETIMEDOUT || err == -EAGAIN ||
	       err == -EINPROGRESS || err == -ECONNREFUSED;
}

static int node_attach(struct far *far, const char *node, char *why, size_t why_len,
		       struct far_peer **ret_peer)
{
	struct far_peer *peer = calloc(1, sizeof(*peer));
	int err = -ENOMEM;

	if (peer)
		err = far->nic->ops->attach(far->nic, node, far->space,
					    FAR_ATTACH_READ | FAR_ATTACH_WRITE, peer);
	if (err) {
		snprintf(why, why_len, "space \"%s\" at node \"%s\": %s", far->space,
			 node, far_node_words(err));
		free(peer);
		return err;
	}
	*ret_peer = peer;
	return 0;
}

int far_peers_attach(struct far *far, struct far_peer **peer, char *why, size_t why_len)
{
	int err = 0;

	for (unsigned n = 0; n < far->nr_nodes && !err; n++) {
		err = node_attach(far, far->node[n], why, why_len, &peer[n]);
		/* the arbiter's memory will say whether it is lost */
		if (n && node_is_away(err))
			err = 0;
	}
	return err;
}

static int nodes_attach(struct far *far, const struct far_conf *conf, char *why,
			size_t why_len)
{
	const char *const *nodes = conf->nodes ? conf->nodes : only_node;
	unsigned nr = conf->nr_nodes ? conf->nr_nodes : 1;
	struct far_peer **peer = calloc(nr, sizeof(*peer));
	int err = 0;

	far->peer = peer;
	far->node = calloc(nr, sizeof(*far->node));
	far->down_until = calloc(nr, sizeof(*far->down_until));
	far->loose = calloc(nr, sizeof(*far->loose));
	far->space = strdup(conf->space);
	far->ask = calloc(nr, sizeof(*far->ask));
	if (!peer || !far->node || !far->down_until || !far->loose || !far->ask || !far->space)
		err = -ENOMEM;
	for (; far->nr_nodes < nr && !err; far->nr_nodes++) {
		far->node[far->nr_nodes] = strdup(nodes[far->nr_nodes]);
		err = far->node[far->nr_nodes] ? 0 : -ENOMEM;
	}
	if (!err)
		far_asks_init(far);
	if (err)
		snprintf(why, why_len, "no memory for %u nodes", nr);
	else
		err = far_peers_attach(far, peer, why, why_len);
	if (err)
		nodes_detach(far);
	return err;
}

int far_open_bare(struct far_nic *nic, const struct far_conf *conf, char *why,
		  size_t why_len, struct far **ret_far)
{
	struct far *far;
	int err;

	err = conf_check(conf, why, why_len);
	if (err)
		return err;
	far = far_forks_watch() ? NULL : calloc(1, sizeof(*far));
	if (!far) {
		snprintf(why, why_len, "no memory for a client");
		return -ENOMEM;
	}
	far->forks = far_forks;
	far->nic = nic;
	conf_take(far, conf);
	err = far_locks_new(LOCKS, &far->locks);
	if (err) {
		snprintf(why, why_len, "no memory for a table of locks");
		goto free_far;
	}
	err = nodes_attach(far, conf, why, why_len);
	if (err)
		goto free_locks;
	*ret_far = far;
	return 0;
free_locks:
	far_locks_free(far->locks);
free_far:
	free(far);
	return err;
}

static int thread_why(const struct far *far, char *why, size_t why_len, int err)
{
	if (far->nic->ops->caps & FAR_NIC_CAP_LOCKS &&
	    (err == -ENOMEM || err == -EPERM || err == -EAGAIN))
		return own_words(why, why_len, OWN_TRIED_REGISTER, 0, err);
	snprintf(why, why_len, "no thread for a client: %s", far_strerror(err));
	return err;
}

int far_join(struct far *far, struct far_peer **peer, const struct far_client *before,
	     char *why, size_t why_len, struct far_client **ret_client)
{
	const struct far_client_set set = {
		.nic = far->nic,
		.peer = peer,
		.node = (const char *const *)far->node,
		.space = far->space,
		.nr_nodes = far->nr_nodes,
	};
	struct far_thread *thread;
	int err;

	err = far_thread_new_joins(far, peer, &thread);
	if (err)
		return thread_why(far, why, why_len, err);
	err = far_client_join(&thread->task[0], &set, before, why, why_len, ret_client);
	if (err == -ENOMEM && thread->bufs.refused)
		thread_why(far, why, why_len, thread->bufs.refused);
	far_thread_free(thread);
	return err;
}

/* Without a thread, the number stays taken until the nodes notice. */
static void client_leave(struct far *far)
{
	struct far_client *client = far->client;
	struct far_thread *thread;

	if (!client)
		return;
	if (far_thread_new(far, 1, 0, &thread)) {
		far_client_forsake(client);
		return;
	}
	far_thread_serves(thread);
	far_client_leave(&thread->task[0], client);
	far->client = NULL;
	far_thread_free(thread);
}

int far_open_nic(struct far_nic *nic, const struct far_conf *conf, char *why,
		 size_t why_len, struct far **ret_far)
{
	struct far_client *client;
	struct far *far;
	int err;

	err = far_open_bare(nic, conf, why, why_len, &far);
	if (err)
		return err;
	err = far_join(far, far->peer, NULL, why, why_len, &client);
	if (err) {
		far_close(far);
		return err;
	}
	far->client = client;
	*ret_far = far;
	return 0;
}

int far_open(const struct far_conf *conf, char *why, size_t why_len,
	     struct far **ret_far)
{
	struct far_nic *nic;
	int err;

	err = far_nic_open(conf->nic ? conf->nic : "mem", why, why_len, &nic);
	if (err)
		return err;
	err = far_open_nic(nic, conf, why, why_len, ret_far);
	if (err) {
		nic->ops->close(nic);
		return err;
	}
	(*ret_far)->owns_nic = 1;
	return 0;
}

/* True if a thread of the program's has not been joined, or has not left. */
static int is_in_use(struct far *far)
{
	struct far_thread *thread = atomic_load(&far->threads);

	while (thread && !(atomic_load(&thread->busy) && !thread->service))
		thread = thread->next;
	return thread != NULL;
}

/* The child touches no object of the parent: a thread may have been changing it. */
int far_close(struct far *far)
{
	struct far_thread *thread, *next;

	if (far_is_parents(far))
		return 0;
	if (is_in_use(far))
		return -EBUSY;
	far_asks_end(far);
	client_leave(far);
	far_sums_forget(far);
	for (thread = atomic_load(&far->threads); thread; thread = next) {
		next = thread->next;
		far_thread_slot_free(thread);
	}
	nodes_detach(far);
	if (far->owns_nic)
		far->nic->ops->close(far->nic);
	far_locks_free(far->locks);
	free(far);
	return 0;
}

void far_scale_epochs(struct far *far, double scale)
{
	far->epoch_scale = scale;
}
