/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The combining queue of a queue pair. A thread that wants to send puts its request into the
 * queue. If nobody leads, the thread becomes the leader: it takes requests of others, too, up
 * to a bound, and sends all as one message. Then it hands the lead over to the first thread
 * whose request is not part of the message, or gives it up.
 *
 *	WAITING --leader takes it--> TAKEN --> DONE
 *	TAKEN --nothing was posted in the leader's time--> WAITING
 *	WAITING --the lead is handed over--> LEADING
 *	WAITING --its thread gives up--> GIVEN_UP --a leader drops it--> DONE
 */
#ifndef FAR_RPC_COMBINE_H
#define FAR_RPC_COMBINE_H

#include <stdbool.h>
#include <stdint.h>

enum rpc_node_state { RPC_DONE, RPC_WAITING, RPC_TAKEN, RPC_LEADING, RPC_GIVEN_UP };

struct rpc_node {
	struct rpc_node *next;		/* in the queue, or in a leader's list */
	struct rpc_node *rest;		/* LEADING: the list that the last leader has left */
	uint32_t state;			/* enum rpc_node_state; atomic */
};

struct rpc_queue {
	uintptr_t first;		/* the newest request, with bit 0: somebody leads; atomic */
};

/*
 * Adds a request, which is WAITING then. True: the caller leads; its request is LEADING, and is
 * not in the queue.
 */
bool rpc_queue_add(struct rpc_queue *queue, struct rpc_node *node);
/* Becomes the leader without a request. False: another thread leads. */
bool rpc_queue_lead(struct rpc_queue *queue);
/* The leader: takes all requests, the oldest first. NULL: there are none. */
struct rpc_node *rpc_queue_take(struct rpc_queue *queue);
/* The leader: hands the lead, with a list of requests, to the first of them that waits. */
struct rpc_node *rpc_queue_hand(struct rpc_node *list);
/* The leader: gives up the lead. False: there are requests. */
bool rpc_queue_leave(struct rpc_queue *queue);

/* True if a thread leads; whether there are requests that no leader has taken. */
static inline bool rpc_queue_led(const struct rpc_queue *queue)
{
	return __atomic_load_n(&queue->first, __ATOMIC_ACQUIRE) != 0;
}

static inline bool rpc_queue_waits(const struct rpc_queue *queue)
{
	return __atomic_load_n(&queue->first, __ATOMIC_ACQUIRE) > 1;
}

/* The leader: takes a request for the message. False: its thread has given up. */
bool rpc_node_take(struct rpc_node *node);
/* The leader: takes a request out of the message, which waits again. */
static inline void rpc_node_return(struct rpc_node *node)
{
	__atomic_store_n(&node->state, RPC_WAITING, __ATOMIC_SEQ_CST);
}

/* The owner: gives up. False: a leader has taken it, or it leads. */
bool rpc_node_give_up(struct rpc_node *node);

static inline uint32_t rpc_node_state(const struct rpc_node *node)
{
	return __atomic_load_n(&node->state, __ATOMIC_ACQUIRE);
}

#endif
