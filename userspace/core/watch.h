/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Watching connections that are silent.
 *
 * A memory node whose agent was killed says nothing, and neither does the agent that comes
 * in its place, which does not know the queue pairs: a transport notices after seconds. So a
 * thread looks, while operations are under way, whether each of its connections answers. If
 * one does not, a thread of its own asks the memory node by another way, as one asks for a
 * connection, whether it knows this client. A node that does not has begun anew, and no verb
 * of before can reach it any more: the silent connection is broken at once. A node that does
 * is only slow.
 *
 * When the arbiter has begun anew, the client is fenced. Another node of a set goes on with
 * its part, so the client attaches there once more, and claims its number. Then it reads its
 * entry at the arbiter, as it does all the time. If it still lives by that, nobody had begun
 * to fence it when its claim stood, and whoever does will find the claim: the arbiter ends
 * the attachment to its own node before it asks another one (space/arbiter.h).
 */
#ifndef FAR_CORE_WATCH_H
#define FAR_CORE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAR_WATCH_NS	UINT64_C(250000000)	/* between two looks of a thread */

struct far;
struct far_client;
struct far_nic_thread;
struct far_old_peer;
struct far_peer;
struct far_thread;

/**
 * struct far_ask - the question to a memory node
 * @state:	enum far_ask_state, in watch.c
 * @far:	whose node @node it is
 * @since:	when it began, ns
 * @client, @peers, @peer: of the question
 * @thread:	the thread that asks
 * @old:	attachments in place of which others came; threads may use them still
 */
struct far_ask {
	_Atomic int state;
	_Atomic uint64_t since;
	struct far *far;
	unsigned node;
	struct far_client *client;
	struct far_peer **peers, *peer;
	struct far_nic_thread *thread;
	struct far_old_peer *old;
};

/* Questions of far->ask, one for each node. */
void far_asks_init(struct far *far);
/* Waits until nobody asks any more. */
void far_asks_end(struct far *far);
/* Frees attachments in place of which others came. */
void far_asks_fini(struct far *far);

/*
 * A node cannot be connected to, which has taken long to find out: it is asked by a thread of
 * its own, and nobody connects until it has answered.
 */
void far_node_is_away(struct far *far, unsigned node);
/* A node does not know this client any more. */
void far_node_forgot(struct far *far, unsigned node);
/*
 * A client that reads its entry calls far_claims_seen() before, and far_claims_confirm() with
 * the answer when it has found that it lives.
 */
uint64_t far_claims_seen(struct far *far);
void far_claims_confirm(struct far *far, uint64_t seen);

/* True if the node has left a question unanswered for so long that nobody should wait for it. */
bool far_node_is_silent(struct far *far, unsigned node);

/* The thread looks at its connections, if it is time: now. Own thread. */
void far_watch_due(struct far_thread *thread, uint64_t now);

#endif
