/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The leader of a combining queue: it makes sure of a connection and of room, takes requests
 * that fit, posts them as one message, and hands the lead over.
 */
#include "client.h"

#include <errno.h>
#include <string.h>

#define NAP_NS		20000u		/* between two looks for room */
#define RETRY_NS	UINT64_C(10000000)	/* between two tries to connect */
#define COPY_NS		20u		/* declared cost of a request in a message */
#define MAX_BATCH	64u

/* The requests of one message. */
struct batch {
	struct rpc_slot *slot[MAX_BATCH];
	unsigned nr;
	uint32_t bytes;
};

static struct rpc_slot *slot_of(struct rpc_node *node)
{
	return (struct rpc_slot *)node;
}

void rpc_lead_poll(struct rpc_qp *qp)
{
	const struct far_nic_ops *ops = qp->rpc->nic->ops;
	struct far_wc wc[RPC_SIGNAL];
	int nr, i;

	do {
		nr = ops->poll(qp->out, wc, RPC_SIGNAL);
		for (i = 0; i < nr; i++)
			rpc_end_wc(&qp->end, &wc[i]);
	} while (nr == RPC_SIGNAL);
	if (nr < 0)
		rpc_end_break(&qp->end, nr);
}

void rpc_lead_wake(struct rpc_qp *qp)
{
	uint64_t seen = qp->end.told_seen;
	int err = rpc_out_wake(&qp->end);

	if (!err)
		err = rpc_out_probe(&qp->end, rpc_now(qp->rpc));
	if (err && err != -EAGAIN)
		rpc_end_break(&qp->end, err);
	if (err || qp->end.told_seen != seen || qp->end.probing)
		rpc_lead_poll(qp);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Makes the connection anew, if it is broken. */
static int lead_connect(struct rpc_qp *qp, const struct rpc_slot *slot)
{
	struct far_rpc *rpc = qp->rpc;
	uint64_t now;
	int err;

	if (qp->live && !rpc_end_broken(&qp->end))
		return 0;
	now = rpc_now(rpc);
	if (now < qp->next_call)
		return -ENOTCONN;
	err = rpc_qp_call(qp, slot->thread, earlier(slot->until, now + rpc->timeout_ns));
	if (!err)
		return 0;
	qp->next_call = rpc_now(rpc) + RETRY_NS;
	return err == -ETIMEDOUT ? -ETIME : -ENOTCONN;
}

/*
 * Looks for what may bring the leader on: completions, and responses if nobody else does. The
 * server may have fallen asleep while the last message was on its way; nobody but the leader
 * can wake it.
 */
static int lead_turn(struct rpc_qp *qp)
{
	rpc_lead_poll(qp);
	if (!rpc_end_broken(&qp->end))
		rpc_lead_wake(qp);
	if (rpc_duty_try(qp->rpc)) {
		rpc_deliver(qp->rpc);
		rpc_duty_leave(qp->rpc);
	}
	return rpc_end_broken(&qp->end) ? -ENOTCONN : 0;
}

/* The ring looks full: asks the other end for its head; takes responses meanwhile. */
static int lead_look(struct rpc_qp *qp)
{
	struct far_rpc *rpc = qp->rpc;
	int err = rpc_out_refresh(&qp->end);

	if (err && err != -EAGAIN)
		return -ENOTCONN;
	rpc_lead_poll(qp);
	while (qp->end.reading && !rpc_end_broken(&qp->end)) {
		rpc->nic->ops->wait(qp->out, rpc_now(rpc) + NAP_NS);
		rpc_lead_poll(qp);
	}
	return lead_turn(qp);
}

/* Waits for room. -ETIME, -ENOTCONN. */
static int lead_room(struct rpc_qp *qp, const struct rpc_slot *slot, uint32_t *ret_room)
{
	struct far_rpc *rpc = qp->rpc;
	uint32_t need = sizeof(struct rpc_head) + rpc_item(slot->len);
	int err = 0;

	while ((*ret_room = rpc_out_room(&qp->end)) < need && !err) {
		if (rpc_now(rpc) >= slot->until)
			return -ETIME;
		err = lead_look(qp);
		if (!err && rpc_out_room(&qp->end) < need)
			rpc->nic->ops->wait(slot->thread->qset, rpc_now(rpc) + NAP_NS);
	}
	return err;
}

/* The median of the requests of messages since the last time, which it forgets. */
static unsigned degree_median(struct rpc_qp *qp)
{
	unsigned i, sum = 0, half, median = 0;

	for (i = 1; i <= RPC_CREDITS; i++)
		sum += qp->degree[i];
	half = (sum + 1) / 2;
	for (i = 1, sum = 0; i <= RPC_CREDITS && !median; i++) {
		sum += qp->degree[i];
		if (sum >= half && sum)
			median = i;
	}
	memset(qp->degree, 0, sizeof(qp->degree));
	return median;
}

/* Asks for credits with the next message. */
static void credit_ask(struct rpc_qp *qp)
{
	qp->asked = true;
	qp->end.imm |= RPC_IMM_RENEW | degree_median(qp) << RPC_IMM_DEGREE_SHIFT;
}

/* Credits that are left. -EXDEV: none, since the server has closed the queue pair. */
static int credit_left(struct rpc_qp *qp)
{
	uint64_t word = rpc_qp_look(qp);
	int32_t left = (uint32_t)(word >> RPC_CREDIT_SHIFT) - qp->used;

	if (word != qp->credit)
		qp->asked = false;
	qp->credit = word;
	if (!(word & RPC_CREDIT_ACTIVE))
		return -EXDEV;
	return left < 0 ? 0 : left < (int)RPC_CREDITS ? left : (int)RPC_CREDITS;
}

/* Waits for credits. -ETIME, -ENOTCONN, -EXDEV. */
static int lead_credit(struct rpc_qp *qp, const struct rpc_slot *slot, unsigned *ret_left)
{
	struct far_rpc *rpc = qp->rpc;
	int err = 0, left;

	while (!(left = credit_left(qp)) && !err) {
		bool late = rpc_now(rpc) >= slot->until;

		/* It has not asked since the server has opened the queue pair. */
		if (!qp->asked)
			credit_ask(qp);
		err = rpc_out_notify(&qp->end);
		if (err && err != -EAGAIN)
			return -ENOTCONN;
		err = lead_turn(qp);
		/* Late, too, it has looked once: who is always late gets on. */
		if (!err && late)
			return -ETIME;
		if (!err)
			rpc->nic->ops->wait(slot->thread->qset, rpc_now(rpc) + NAP_NS);
	}
	*ret_left = left;
	return err ? err : left < 0 ? left : 0;
}

/* Appends what has come meanwhile, if the list is shorter than a message may be. */
static void list_grow(struct rpc_qp *qp, struct rpc_node **list)
{
	unsigned nr = 0;

	while (*list && nr++ < qp->rpc->batch)
		list = &(*list)->next;
	if (!*list)
		*list = rpc_queue_take(&qp->queue);
}

/* Takes up to max requests from the list, as many as fit into room. Returns the rest of it. */
static struct rpc_node *batch_fill(struct batch *batch, struct rpc_node *list, unsigned max,
				   uint32_t room)
{
	while (list && batch->nr < max) {
		struct rpc_slot *slot = slot_of(list);
		uint32_t bytes = batch->bytes + rpc_item(slot->len);
		struct rpc_node *next = list->next;

		if (rpc_round(bytes, RPC_ALIGN) > room)
			break;
		if (rpc_node_take(list)) {
			batch->slot[batch->nr++] = slot;
			batch->bytes = bytes;
		}
		list = next;
	}
	return list;
}

static void batch_build(const struct batch *batch, struct rpc_qp *qp)
{
	unsigned i;

	unsigned left = credit_left(qp);

	qp->degree[batch->nr]++;
	if (!qp->asked && left - batch->nr <= RPC_CREDITS / 2)
		credit_ask(qp);
	rpc_out_begin(&qp->end, rpc_round(batch->bytes, RPC_ALIGN));
	for (i = 0; i < batch->nr; i++) {
		struct rpc_slot *slot = batch->slot[i];
		struct rpc_meta meta = {
			.len = slot->len,
			.thread = slot->thread->idx,
			.handler = slot->handler,
			.id = slot->id,
		};
		uint8_t *at = rpc_out_add(&qp->end, &meta);

		if (slot->len)
			memcpy(at, slot->data, slot->len);
		memset(at + slot->len, 0, rpc_round(slot->len, 8) - slot->len);
		rpc_slot_change(slot, RPC_SLOT_SENDING, RPC_SLOT_SENT);
	}
	qp->rpc->nic->ops->spend(qp->rpc->nic, COPY_NS * batch->nr);
}

static int batch_post(const struct batch *batch, struct rpc_qp *qp)
{
	const struct far_nic_ops *ops = qp->rpc->nic->ops;
	int err;

	while ((err = rpc_out_post(&qp->end)) == -EAGAIN) {
		rpc_lead_poll(qp);
		if (rpc_end_broken(&qp->end))
			return -ENOTCONN;
		ops->wait(qp->out, rpc_now(qp->rpc) + NAP_NS);
	}
	if (err) {
		rpc_end_break(&qp->end, err);
		return -ENOTCONN;
	}
	qp->requests += batch->nr;
	qp->used += batch->nr;
	qp->messages++;
	/* Back ends that execute at poll() do that now. Others add requests meanwhile. */
	rpc_lead_poll(qp);
	/* The other end may have fallen asleep while the message was built. */
	if (!rpc_end_broken(&qp->end))
		rpc_lead_wake(qp);
	/* The thread with the duty may have failed the queue pair's requests, and sleep again. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (rpc_end_broken(&qp->end))
		ops->wake(qp->rpc->in);
	return 0;
}

/* Tells the owners that their requests were sent, or that nothing was. */
static void batch_finish(const struct batch *batch, int err)
{
	unsigned i;

	for (i = 0; i < batch->nr; i++) {
		struct rpc_slot *slot = batch->slot[i];
		struct far_rpc_thread *thread = slot->thread;

		slot->send_err = err;
		__atomic_store_n(&slot->node.state, RPC_DONE, __ATOMIC_SEQ_CST);
		rpc_thread_wake(thread);
	}
}

void rpc_lead_leave(struct rpc_qp *qp, struct rpc_node *list)
{
	struct rpc_node *next;

	do {
		if (!list)
			list = rpc_queue_take(&qp->queue);
		next = rpc_queue_hand(list);
		list = NULL;
	} while (!next && !rpc_queue_leave(&qp->queue));
	if (next)
		rpc_thread_wake(slot_of(next)->thread);
}

void rpc_lead(struct rpc_qp *qp, struct rpc_slot *slot, struct rpc_node *rest)
{
	struct batch batch = { .slot = { slot }, .nr = 1 };
	uint32_t room = 0;
	unsigned left = 0;
	int err;

	batch.bytes = sizeof(struct rpc_head) + rpc_item(slot->len);
	err = lead_connect(qp, slot);
	if (!err)
		err = lead_credit(qp, slot, &left);
	if (!err)
		err = lead_room(qp, slot, &room);
	if (!err) {
		list_grow(qp, &rest);
		rest = batch_fill(&batch, rest, left < qp->rpc->batch ? left : qp->rpc->batch,
				  room);
		batch_build(&batch, qp);
		err = batch_post(&batch, qp);
	}
	batch_finish(&batch, err);
	rpc_lead_leave(qp, rest);
}
