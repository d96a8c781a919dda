/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The combining queue: requests are pushed as on a stack, and a leader takes all at once. */
#include "combine.h"

#include <stddef.h>

#define LED	((uintptr_t)1)

bool rpc_queue_add(struct rpc_queue *queue, struct rpc_node *node)
{
	uintptr_t old = __atomic_load_n(&queue->first, __ATOMIC_RELAXED), new;

	/* Nobody leads only while the queue is empty. */
	do {
		new = old ? (uintptr_t)node | LED : LED;
		node->next = (struct rpc_node *)(old & ~LED);
		__atomic_store_n(&node->state, old ? RPC_WAITING : RPC_LEADING, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&queue->first, &old, new, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return !old;
}

bool rpc_queue_lead(struct rpc_queue *queue)
{
	uintptr_t old = 0;

	return __atomic_compare_exchange_n(&queue->first, &old, LED, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

struct rpc_node *rpc_queue_take(struct rpc_queue *queue)
{
	struct rpc_node *node, *list = NULL;
	uintptr_t old;

	/* Looking costs the others nothing. */
	if (__atomic_load_n(&queue->first, __ATOMIC_RELAXED) == LED)
		return NULL;
	old = __atomic_exchange_n(&queue->first, LED, __ATOMIC_ACQ_REL);
	node = (struct rpc_node *)(old & ~LED);
	while (node) {
		struct rpc_node *next = node->next;

		node->next = list;
		list = node;
		node = next;
	}
	return list;
}

static bool node_change(struct rpc_node *node, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&node->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void node_drop(struct rpc_node *node)
{
	__atomic_store_n(&node->state, RPC_DONE, __ATOMIC_RELEASE);
}

struct rpc_node *rpc_queue_hand(struct rpc_node *list)
{
	while (list) {
		struct rpc_node *node = list;

		list = node->next;
		node->rest = list;
		if (node_change(node, RPC_WAITING, RPC_LEADING))
			return node;
		node_drop(node);
	}
	return NULL;
}

bool rpc_queue_leave(struct rpc_queue *queue)
{
	uintptr_t old = LED;

	return __atomic_compare_exchange_n(&queue->first, &old, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

bool rpc_node_take(struct rpc_node *node)
{
	if (node_change(node, RPC_WAITING, RPC_TAKEN))
		return true;
	node_drop(node);
	return false;
}

bool rpc_node_give_up(struct rpc_node *node)
{
	return node_change(node, RPC_WAITING, RPC_GIVEN_UP);
}
