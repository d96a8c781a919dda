/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread's requests and their results. */
#include "client.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

int far_rpc_may_have_run(int err)
{
	return err == -ETIMEDOUT || err == -ECONNRESET || err == -ENOBUFS;
}

static void thread_free(struct far_rpc_thread *thread)
{
	unsigned i;

	for (i = 0; i < FAR_RPC_OUTSTANDING_MAX; i++)
		free(thread->slot[i].response);
	thread->rpc->nic->ops->qset_free(thread->qset);
	free(thread);
}

void rpc_threads_free(struct far_rpc *rpc)
{
	unsigned i;

	for (i = 0; i < FAR_RPC_THREADS_MAX && rpc->thread[i]; i++)
		thread_free(rpc->thread[i]);
}

static int thread_new(struct far_rpc *rpc, unsigned idx, struct far_rpc_thread **ret_thread)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 1, .group = FAR_NIC_OWN };
	struct far_rpc_thread *thread = calloc(1, sizeof(*thread));
	unsigned i;
	int err;

	if (!thread)
		return -ENOMEM;
	err = rpc->nic->ops->qset_new(rpc->nic, &attr, &thread->qset);
	if (err) {
		free(thread);
		return err;
	}
	thread->rpc = rpc;
	thread->idx = idx;
	thread->qp = rpc_place_first(rpc, idx);
	thread->used = 1;
	for (i = 0; i < FAR_RPC_OUTSTANDING_MAX; i++)
		thread->slot[i].thread = thread;
	for (i = 0; i < RPC_ACCESS_SLOTS; i++)
		thread->access[i].slot.thread = thread;
	*ret_thread = thread;
	return 0;
}

/* Takes a place that another thread has left. */
static bool thread_reuse(struct far_rpc_thread *thread)
{
	uint32_t used = 0;

	return __atomic_compare_exchange_n(&thread->used, &used, 1, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

int far_rpc_join(struct far_rpc *rpc, struct far_rpc_thread **ret_thread)
{
	struct far_rpc_thread *thread, *mine = NULL;
	unsigned i;
	int err;

	if (rpc_is_stale(rpc))
		return -ESTALE;
	for (i = 0; i < FAR_RPC_THREADS_MAX; i++) {
		thread = __atomic_load_n(&rpc->thread[i], __ATOMIC_ACQUIRE);
		if (!thread) {
			err = thread_new(rpc, i, &mine);
			if (err)
				return err;
			if (__atomic_compare_exchange_n(&rpc->thread[i], &thread, mine, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
				*ret_thread = mine;
				return 0;
			}
			thread_free(mine);
		}
		if (thread_reuse(thread)) {
			*ret_thread = thread;
			return 0;
		}
	}
	return -EUSERS;
}

void rpc_slot_forget(struct rpc_slot *slot)
{
	for (;;) {
		if (rpc_slot_change(slot, RPC_SLOT_SENT, RPC_SLOT_LOST))
			return;
		if (rpc_slot_state(slot) != RPC_SLOT_FILLING)
			break;
		sched_yield();
	}
	__atomic_store_n(&slot->state, RPC_SLOT_FREE, __ATOMIC_RELEASE);
}

/* Frees the slot of a request that was not sent: no response comes. */
static void slot_drop(struct rpc_slot *slot)
{
	bool ended;

	/* a thread with the duty may just end it, as it does all of a broken connection */
	while (rpc_slot_state(slot) == RPC_SLOT_FILLING ||
	       (rpc_slot_state(slot) == RPC_SLOT_SENT &&
		!rpc_slot_change(slot, RPC_SLOT_SENT, RPC_SLOT_FREE)))
		sched_yield();
	ended = rpc_slot_state(slot) == RPC_SLOT_FILLED;
	__atomic_store_n(&slot->state, RPC_SLOT_FREE, __ATOMIC_RELEASE);
	/* The duty has counted an answer to a request that it has ended. */
	if (ended && !slot->access)
		rpc_load_add(&slot->thread->load.taken, 1);
	else
		rpc_load_add(&slot->thread->load.asked, -1);
}

/*
 * Whether the slot can have a request. One that nobody waits for may be in it: its response
 * is looked for, since a thread that cannot send has nothing else that would take it.
 */
static bool slot_is_free(struct rpc_slot *slot)
{
	if (rpc_slot_state(slot) == RPC_SLOT_LOST)
		rpc_duty_look(slot->thread->rpc);
	return rpc_slot_state(slot) == RPC_SLOT_FREE;
}

/* Takes the oldest request of the thread. */
static struct rpc_slot *slot_take(struct far_rpc_thread *thread)
{
	rpc_load_add(&thread->load.taken, 1);
	return &thread->slot[thread->taken++ % FAR_RPC_OUTSTANDING_MAX];
}

void far_rpc_leave(struct far_rpc_thread *thread)
{
	/* A thread of the parent, which has no counterpart here, may just fill a response. */
	if (rpc_is_stale(thread->rpc))
		return;
	while (thread->taken != thread->sent)
		rpc_slot_forget(slot_take(thread));
	__atomic_store_n(&thread->used, 0, __ATOMIC_RELEASE);
}

/* Waits for the leader of the slot's queue. True: this thread leads now. */
static bool slot_follow(struct rpc_slot *slot)
{
	struct far_rpc_thread *thread = slot->thread;
	const struct far_nic_ops *ops = thread->rpc->nic->ops;
	uint32_t state;

	for (;;) {
		__atomic_store_n(&thread->waiting, 1, __ATOMIC_SEQ_CST);
		state = __atomic_load_n(&slot->node.state, __ATOMIC_SEQ_CST);
		if (state == RPC_WAITING || state == RPC_TAKEN)
			ops->wait(thread->qset, state == RPC_WAITING ? slot->until : UINT64_MAX);
		__atomic_store_n(&thread->waiting, 0, __ATOMIC_SEQ_CST);
		state = rpc_node_state(&slot->node);
		if (state == RPC_LEADING || state == RPC_DONE)
			return state == RPC_LEADING;
		if (state == RPC_WAITING && rpc_now(thread->rpc) >= slot->until &&
		    rpc_node_give_up(&slot->node)) {
			slot->send_err = -ETIME;
			return false;
		}
	}
}

/* Brings the request on its way, alone or in a message of others. -EXDEV: not over this one. */
static int slot_combine(struct rpc_slot *slot, struct rpc_qp *qp)
{
	__atomic_store_n(&slot->qp, qp, __ATOMIC_RELAXED);
	slot->send_err = 0;

	if (rpc_queue_add(&qp->queue, &slot->node)) {
		rpc_lead(qp, slot, NULL);
	} else {
		rpc_access_nudge(qp);
		if (slot_follow(slot))
			rpc_lead(qp, slot, slot->node.rest);
	}
	return slot->send_err;
}

int rpc_slot_send(struct rpc_slot *slot, uint64_t timeout_ns)
{
	struct far_rpc_thread *thread = slot->thread;
	uint64_t now = rpc_now(thread->rpc);
	uint32_t len = slot->len;	/* the response's, once it has come */
	int err;

	slot->until = rpc_until(now, timeout_ns);
	__atomic_store_n(&slot->state, RPC_SLOT_SENDING, __ATOMIC_RELEASE);
	rpc_load_add(&thread->load.asked, 1);
	rpc_load_add(&thread->load.inside, 1);
	rpc_place(thread->rpc, now);
	do {
		err = rpc_place_move(thread, slot->until);
		if (!err)
			err = slot_combine(slot, thread->qp);
	} while (err == -EXDEV);
	rpc_load_add(&thread->load.inside, -1);
	if (err)
		slot_drop(slot);
	else
		rpc_load_note(&thread->load, len);
	return err;
}

int far_rpc_send(struct far_rpc_thread *thread, unsigned handler, const void *data, size_t len,
		 uint64_t timeout_ns)
{
	struct rpc_slot *slot = &thread->slot[thread->sent % FAR_RPC_OUTSTANDING_MAX];
	int err;

	if (rpc_is_stale(thread->rpc))
		return -ESTALE;
	if (handler >= FAR_RPC_HANDLERS_MAX)
		return -ENOSYS;
	if (len > FAR_RPC_DATA_MAX)
		return -EMSGSIZE;
	if (thread->sent - thread->taken == FAR_RPC_OUTSTANDING_MAX ||
	    rpc_node_state(&slot->node) != RPC_DONE || !slot_is_free(slot))
		return -EAGAIN;
	if (!slot->response) {
		slot->response = malloc(FAR_RPC_DATA_MAX);
		if (!slot->response)
			return -ENOMEM;
	}
	__atomic_store_n(&slot->id, thread->sent, __ATOMIC_RELAXED);
	slot->data = data;
	slot->len = len;
	slot->handler = handler;
	err = rpc_slot_send(slot, timeout_ns);
	if (!err)
		thread->sent++;
	return err;
}

int far_rpc_recv(struct far_rpc_thread *thread, void *data, size_t size,
		 struct far_rpc_reply *ret_reply)
{
	struct rpc_slot *slot = &thread->slot[thread->taken % FAR_RPC_OUTSTANDING_MAX];
	int err;

	if (rpc_is_stale(thread->rpc))
		return -ESTALE;
	if (thread->taken == thread->sent)
		return -ENOMSG;
	rpc_load_add(&thread->load.inside, 1);
	rpc_await(thread, slot, slot->until);
	rpc_load_add(&thread->load.inside, -1);
	slot_take(thread);
	if (rpc_slot_state(slot) != RPC_SLOT_FILLED) {
		rpc_slot_forget(slot);
		return -ETIMEDOUT;
	}
	err = slot->err;
	if (!err && slot->len > size)
		err = -ENOBUFS;
	if (!err) {
		if (slot->len)
			memcpy(data, slot->response, slot->len);
		*ret_reply = (struct far_rpc_reply) { slot->status, slot->len };
	}
	rpc_slot_forget(slot);
	return err;
}

int far_rpc_cancel(struct far_rpc_thread *thread)
{
	if (rpc_is_stale(thread->rpc))
		return -ESTALE;
	if (thread->taken == thread->sent)
		return -ENOMSG;
	rpc_slot_forget(slot_take(thread));
	return 0;
}

int far_rpc_call(struct far_rpc_thread *thread, unsigned handler, const void *request,
		 size_t len, uint64_t timeout_ns, void *data, size_t size,
		 struct far_rpc_reply *ret_reply)
{
	int err;

	if (!rpc_is_stale(thread->rpc) && thread->taken != thread->sent)
		return -EBUSY;
	err = far_rpc_send(thread, handler, request, len, timeout_ns);
	return err ? err : far_rpc_recv(thread, data, size, ret_reply);
}
