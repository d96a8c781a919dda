// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Silent connections: see watch.h. */
#include "watch.h"

#include <errno.h>
#include <stdlib.h>

#include "../base/pause.h"
#include "client_priv.h"
#include "core.h"
#include "thread.h"

#define SILENT_NS	UINT64_C(500000000)
/* Between two questions: agents count them, so that longer pauses follow. */
#define PAUSE_MS	50u
#define MAX_PAUSE_MS	800u

enum far_ask_state {
	ASK_NONE,	/* nobody asks */
	ASK_BEGINS,	/* its thread is being made */
	ASK_RUNS,
	ASK_DONE,	/* the node has answered: join the thread */
};

struct far_old_peer {
	struct far_old_peer *next;
	struct far_peer *peer;
};

static void pause_ask(void)
{
	far_pause_ms(PAUSE_MS);
}

static void pause_longer(unsigned *ms)
{
	far_pause_ms(*ms);
	if (*ms < MAX_PAUSE_MS)
		*ms *= 2;
}

/* Nobody needs the answer any more. */
static bool ask_is_idle(const struct far_ask *ask)
{
	return atomic_load(&ask->far->closes) || far_client_stale(ask->client) ||
	       far_client_lost(ask->client, ask->node);
}

static bool node_is_arbiter(const struct far_client *client, unsigned node)
{
	return node == client->arbiter;
}

/* Waits until a READ of the client's entry has been posted behind its claim, and it lives. */
static bool claim_is_confirmed(const struct far_ask *ask)
{
	uint64_t claim = atomic_fetch_add(&ask->far->claims, 1) + 1;

	while (atomic_load(&ask->far->confirmed) < claim) {
		if (ask_is_idle(ask))
			return false;
		pause_ask();
	}
	return ask->far->client == ask->client;
}

/* Attaches again and claims the client's number; once. */
static int part_claim(const struct far_ask *ask, struct far_peer *peer)
{
	struct far *far = ask->far;
	struct far_nic *nic = far->nic;
	int err = nic->ops->attach(nic, far->node[ask->node], far->space,
				   FAR_ATTACH_READ | FAR_ATTACH_WRITE, peer);

	if (err)
		return err;
	err = nic->ops->claim(nic, peer, ask->client->number);
	if (!err && !claim_is_confirmed(ask))
		err = -ESTALE;
	if (err)
		nic->ops->detach(nic, peer);
	return err;
}

/* The node goes on with its part: so does the client there. */
static void part_attach(struct far_ask *ask)
{
	struct far_old_peer *old = malloc(sizeof(*old));
	struct far_peer *peer = calloc(1, sizeof(*peer));
	unsigned pause = PAUSE_MS;

	while (old && peer && !ask_is_idle(ask)) {
		if (!part_claim(ask, peer)) {
			*old = (struct far_old_peer){ .next = ask->old, .peer = ask->peer };
			ask->old = old;
			__atomic_store_n(&ask->peers[ask->node], peer, __ATOMIC_RELEASE);
			return;
		}
		pause_longer(&pause);
	}
	free(old);
	free(peer);
}

/* Asks until the node answers. */
static void ask_run(void *arg)
{
	struct far_ask *ask = arg;
	struct far_nic *nic = ask->far->nic;
	int err = nic->ops->fence(nic, ask->peer, ask->client->number);
	unsigned pause = PAUSE_MS;

	while (err && err != -EBUSY && err != -ESTALE && !ask_is_idle(ask)) {
		pause_longer(&pause);
		err = nic->ops->fence(nic, ask->peer, ask->client->number);
	}
	if (err == -ESTALE && node_is_arbiter(ask->client, ask->node))
		far_client_cut(ask->client);
	else if (err == -ESTALE)
		part_attach(ask);
	atomic_store(&ask->state, ASK_DONE);
}

/* Begins to ask, unless somebody does. */
static void ask_begin(struct far *far, unsigned node)
{
	struct far_ask *ask = &far->ask[node];
	struct far_nic *nic = far->nic;
	int state = atomic_load(&ask->state), begins = ASK_BEGINS;

	if ((state != ASK_NONE && state != ASK_DONE) ||
	    !atomic_compare_exchange_strong(&ask->state, &state, ASK_BEGINS))
		return;
	if (state == ASK_DONE)
		nic->ops->thread_join(nic, ask->thread);
	atomic_store(&ask->since, nic->ops->now(nic));
	ask->client = far->client;
	ask->peers = far->peer;
	ask->peer = ask->peers[node];
	if (nic->ops->thread_start(nic, ask_run, ask, &ask->thread))
		atomic_store(&ask->state, ASK_NONE);
	else
		/* It may be done already. */
		atomic_compare_exchange_strong(&ask->state, &begins, ASK_RUNS);
}

/* One thread at a time begins: another one looks again soon. */
static void node_ask(struct far *far, unsigned node)
{
	bool alone = !atomic_fetch_add(&far->beginners, 1);

	if (alone && !atomic_load(&far->closes))
		ask_begin(far, node);
	atomic_fetch_sub(&far->beginners, 1);
}

bool far_node_is_silent(struct far *far, unsigned node)
{
	struct far_ask *ask = &far->ask[node];

	return atomic_load(&ask->state) == ASK_RUNS && !ask_is_idle(ask) &&
	       far->nic->ops->now(far->nic) - atomic_load(&ask->since) > SILENT_NS;
}

void far_asks_init(struct far *far)
{
	for (unsigned n = 0; n < far->nr_nodes; n++)
		far->ask[n] = (struct far_ask){ .far = far, .node = n };
}

void far_asks_end(struct far *far)
{
	atomic_store(&far->closes, true);
	/* The service runs still: it must not join a thread, too. */
	while (atomic_load(&far->beginners))
		pause_ask();
	for (unsigned n = 0; n < far->nr_nodes; n++) {
		struct far_ask *ask = &far->ask[n];

		if (atomic_load(&ask->state) != ASK_NONE)
			far->nic->ops->thread_join(far->nic, ask->thread);
		atomic_store(&ask->state, ASK_NONE);
	}
}

void far_asks_fini(struct far *far)
{
	for (unsigned n = 0; far->ask && n < far->nr_nodes; n++) {
		struct far_old_peer *old;

		while ((old = far->ask[n].old)) {
			far->ask[n].old = old->next;
			far->nic->ops->detach(far->nic, old->peer);
			free(old->peer);
			free(old);
		}
	}
}

static bool can_ask(const struct far *far)
{
	return far->nic->ops->look && far->nic->ops->fence;
}

void far_node_is_away(struct far *far, unsigned node)
{
	const struct far_client *client = far->client;

	if (client && !far_client_stale(client) && !far_client_lost(client, node) &&
	    far->peer[node] && can_ask(far))
		node_ask(far, node);
}

void far_node_forgot(struct far *far, unsigned node)
{
	struct far_client *client = far->client;

	if (client && !node_is_arbiter(client, node) && can_ask(far))
		node_ask(far, node);
	else
		far_client_cut(client);
}

uint64_t far_claims_seen(struct far *far)
{
	return atomic_load(&far->claims);
}

void far_claims_confirm(struct far *far, uint64_t seen)
{
	uint64_t old = atomic_load(&far->confirmed);

	while (old < seen && !atomic_compare_exchange_weak(&far->confirmed, &old, seen))
		;
}

/* Operations that are outstanding there come back. */
static void link_break(struct far_thread *thread, unsigned node)
{
	thread->far->nic->ops->connect(thread->qset, node, thread->peer[node]);
	thread->link[node].connected = 0;
}

static void link_silent(struct far_thread *thread, unsigned node)
{
	struct far *far = thread->far;
	struct far_client *client = far->client;

	/* Nobody needs the answer of a node that was declared lost. */
	if (!client || thread->peer != far->peer || far_client_lost(client, node))
		return;
	if (thread->link[node].peer != thread->peer[node])
		link_break(thread, node);
	else if (!far_client_stale(client))
		node_ask(far, node);
	else if (atomic_load(&far->ask[node].state) == ASK_DONE)
		link_break(thread, node);
}

void far_watch_due(struct far_thread *thread, uint64_t now)
{
	if (now < thread->next_look)
		return;
	thread->next_look = now + FAR_WATCH_NS;
	for (unsigned n = 0; n < thread->far->nr_nodes; n++) {
		struct far_link *link = &thread->link[n];

		if (can_ask(thread->far) && !thread->joins && link->outstanding &&
		    link->connected && link->answers == link->answers_seen)
			link_silent(thread, n);
		link->answers_seen = link->answers;
	}
}
