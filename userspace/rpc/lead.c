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

/* The requests of one message, and operations on the server's memory before it. */
struct batch {
	struct rpc_slot *slot[MAX_BATCH];
	unsigned nr;
	uint32_t bytes;
	struct rpc_access_batch access;
};

_Static_assert(RPC_ACCESS_BATCH <= RPC_MORE, "one post has all");

static struct rpc_slot *slot_of(struct rpc_node *node)
{
	return (struct rpc_slot *)node;
}

static struct rpc_access *access_of(struct rpc_slot *slot)
{
	return (struct rpc_access *)slot;
}

void rpc_lead_poll(struct rpc_qp *qp)
{
	const struct far_nic_ops *ops = qp->rpc->nic->ops;
	struct far_wc wc[RPC_SIGNAL];
	int nr, i;

	do {
		nr = ops->poll(qp->out, wc, RPC_SIGNAL);
		for (i = 0; i < nr; i++)
			if (wc[i].id && !wc[i].status) {
				rpc_out_done(&qp->end);
				rpc_access_done(qp, wc[i].id);
			} else {
				rpc_end_wc(&qp->end, &wc[i]);
			}
	} while (nr == RPC_SIGNAL);
	if (nr < 0)
		rpc_end_break(&qp->end, nr);
	if (rpc_end_broken(&qp->end))
		rpc_access_fail(qp);
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
	err = rpc_qp_call(qp, slot->thread, earlier(slot->until, rpc_until(now, rpc->timeout_ns)));
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
static int lead_look(struct rpc_qp *qp, uint64_t until)
{
	struct far_rpc *rpc = qp->rpc;
	int err = rpc_out_refresh(&qp->end);

	if (err && err != -EAGAIN)
		return -ENOTCONN;
	rpc_lead_poll(qp);
	while (qp->end.reading && !rpc_end_broken(&qp->end) && rpc_now(rpc) < until) {
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
		err = lead_look(qp, slot->until);
		if (!err && rpc_out_room(&qp->end) < need)
			rpc->nic->ops->wait(slot->thread->qset, rpc_now(rpc) + NAP_NS);
	}
	return err;
}

/* Reports with the next message what the client's threads ask, if nobody has yet. */
static void asks_report(struct rpc_qp *qp)
{
	uint32_t *asks = &qp->rpc->placing.asks;

	if (__atomic_load_n(asks, __ATOMIC_RELAXED) && !(qp->end.imm & RPC_IMM_ASKS))
		qp->end.imm |= __atomic_exchange_n(asks, 0, __ATOMIC_RELAXED);
}

/* Asks for credits with the next message. */
static void credit_ask(struct rpc_qp *qp)
{
	qp->asked = true;
	qp->end.imm |= RPC_IMM_RENEW;
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

/* Tells the owner that its request was sent, or that nothing was. */
static void slot_finish(struct rpc_slot *slot, int err)
{
	struct far_rpc_thread *thread = slot->thread;

	slot->send_err = err;
	__atomic_store_n(&slot->node.state, RPC_DONE, __ATOMIC_SEQ_CST);
	rpc_thread_wake(thread);
}

/* Takes an operation on the server's memory. False: it does not fit now. */
static bool batch_access(struct batch *batch, const struct rpc_qp *qp, struct rpc_slot *slot)
{
	int err = rpc_access_check(qp, access_of(slot));

	if (!err && !rpc_access_add(qp, &batch->access, access_of(slot)))
		return false;
	if (!rpc_node_take(&slot->node)) {
		if (!err)
			rpc_access_drop(qp, &batch->access);
		return true;
	}
	if (err)
		slot_finish(slot, err);
	return true;
}

/* Takes a request for the message. False: it does not fit. */
static bool batch_request(struct batch *batch, struct rpc_slot *slot, unsigned max,
			  uint32_t room)
{
	uint32_t bytes = batch->bytes + rpc_item(slot->len);

	if (batch->nr == max || rpc_round(bytes, RPC_ALIGN) > room)
		return false;
	if (rpc_node_take(&slot->node)) {
		batch->slot[batch->nr++] = slot;
		batch->bytes = bytes;
	}
	return true;
}

/*
 * Takes what fits from the list: up to max requests, into room bytes. Returns the rest of the
 * list.
 */
static struct rpc_node *batch_fill(struct batch *batch, const struct rpc_qp *qp,
				   struct rpc_node *list, unsigned max, uint32_t room)
{
	while (list) {
		struct rpc_slot *slot = slot_of(list);
		struct rpc_node *next = list->next;

		if (slot->access ? !batch_access(batch, qp, slot) :
				   !batch_request(batch, slot, max, room))
			break;
		list = next;
	}
	return list;
}

/*
 * Takes what waits, and looks again, until nothing has come while the leader copied and polled.
 * Returns what is not part of the message.
 */
static struct rpc_node *batch_gather(struct batch *batch, struct rpc_qp *qp,
				     struct rpc_node *list, unsigned max, uint32_t room)
{
	const struct far_nic_ops *ops = qp->rpc->nic->ops;
	unsigned copied = 0, before;

	do {
		ops->spend(qp->rpc->nic, COPY_NS * (batch->nr - copied));
		copied = batch->nr;
		before = batch->nr + batch->access.nr;
		if (qp->rpc->batch > 1)
			rpc_lead_poll(qp);
		/* Virtual time stands still for the others until this thread waits. */
		if (qp->rpc->batch > 1 && rpc_is_virtual(qp->rpc->nic))
			ops->wait(qp->out, rpc_now(qp->rpc));
		if (!list)
			list = rpc_queue_take(&qp->queue);
		list = batch_fill(batch, qp, list, max, room);
	} while (batch->nr + batch->access.nr != before);
	return list;
}

/* Makes the operations on the server's memory; the last is signaled. */
static void accesses_build(const struct rpc_access_batch *batch, struct rpc_qp *qp,
			   struct far_wr *wr)
{
	unsigned i;

	for (i = 0; i < batch->nr; i++) {
		const struct rpc_access *access = batch->access[i];
		uint8_t *local = qp->end.bounce + batch->place[i].at;

		if (access->op == FAR_NIC_WRITE && access->slot.len)
			memcpy(local, access->slot.data, access->slot.len);
		wr[i] = (struct far_wr) {
			.id = qp->accesses.posted + i + 1,
			.remote = RPC_WINDOW + access->offset,
			.local = local,
			.len = access->slot.len,
			.lkey = qp->end.bounce_lkey,
			.arg = { access->arg[0], access->arg[1] },
			.op = access->op,
			.flags = i + 1 == batch->nr ? FAR_WR_SIGNALED : 0,
		};
	}
	qp->rpc->nic->ops->spend(qp->rpc->nic, COPY_NS * batch->nr);
}

/* Makes the message, if there are requests. */
static void batch_build(const struct batch *batch, struct rpc_qp *qp)
{
	unsigned i, left;

	if (!batch->nr)
		return;
	left = credit_left(qp);
	asks_report(qp);
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
}

/* Posts all with one doorbell. -EAGAIN: the queue is full. */
static int batch_push(const struct batch *batch, struct rpc_qp *qp, const struct far_wr *more)
{
	if (!batch->nr)
		return rpc_out_more(&qp->end, more, batch->access.nr);
	return rpc_out_post(&qp->end, more, batch->access.nr);
}

/* Returns when the time of the first of the requests is up. */
static uint64_t batch_until(const struct batch *batch)
{
	uint64_t until = UINT64_MAX;
	unsigned i;

	for (i = 0; i < batch->nr; i++)
		until = earlier(until, batch->slot[i]->until);
	for (i = 0; i < batch->access.nr; i++)
		until = earlier(until, batch->access.access[i]->slot.until);
	return until;
}

/*
 * Posts when there is room. -ETIME: the time of a request is up, and there is none at a second
 * look, either; -ENOTCONN.
 */
static int batch_push_in_time(const struct batch *batch, struct rpc_qp *qp,
			      const struct far_wr *more)
{
	uint64_t until = 0;
	bool late = false;
	int err;

	while ((err = batch_push(batch, qp, more)) == -EAGAIN) {
		if (!until)
			until = batch_until(batch);
		if (late)
			return -ETIME;
		late = rpc_now(qp->rpc) >= until;
		rpc_lead_poll(qp);
		if (rpc_end_broken(&qp->end))
			return -ENOTCONN;
		if (!late)
			qp->rpc->nic->ops->wait(qp->out, rpc_now(qp->rpc) + NAP_NS);
	}
	return err;
}

static int batch_post(const struct batch *batch, struct rpc_qp *qp)
{
	const struct far_nic_ops *ops = qp->rpc->nic->ops;
	struct far_wr more[RPC_ACCESS_BATCH];
	int err;

	accesses_build(&batch->access, qp, more);
	err = batch_push_in_time(batch, qp, more);
	if (err == -ETIME)
		return err;
	if (err) {
		if (!rpc_end_broken(&qp->end))
			rpc_end_break(&qp->end, err);
		return -ENOTCONN;
	}
	rpc_access_posted(qp, &batch->access);
	qp->requests += batch->nr;
	qp->used += batch->nr;
	qp->messages += batch->nr != 0;
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

	for (i = 0; i < batch->nr; i++)
		slot_finish(batch->slot[i], err);
	for (i = 0; i < batch->access.nr; i++)
		slot_finish(&batch->access.access[i]->slot, err);
}

/*
 * Puts a request that was not posted in front of the list, or ends it if its time is up. The
 * leader's own stays with it.
 */
static void slot_return(struct rpc_slot *slot, const struct rpc_slot *own, uint64_t now,
			struct rpc_node **list)
{
	struct far_rpc_thread *thread = slot->thread;

	if (slot != own && slot->until <= now) {
		slot_finish(slot, -ETIME);
		return;
	}
	rpc_slot_change(slot, RPC_SLOT_SENT, RPC_SLOT_SENDING);
	if (slot == own)
		return;
	slot->node.next = *list;
	*list = &slot->node;
	rpc_node_return(&slot->node);
	/* It sleeps without an end while its request is taken. */
	rpc_thread_wake(thread);
}

/* The time of a request is up; others may have more. Returns the list with these. */
static struct rpc_node *batch_return(const struct batch *batch, const struct rpc_slot *own,
				     uint64_t now, struct rpc_node *list)
{
	unsigned i;

	for (i = batch->access.nr; i-- > 0;)
		slot_return(&batch->access.access[i]->slot, own, now, &list);
	for (i = batch->nr; i-- > 0;)
		slot_return(batch->slot[i], own, now, &list);
	return list;
}

void rpc_lead_leave(struct rpc_qp *qp, struct rpc_node *list)
{
	struct far_rpc_thread *heir;
	struct rpc_node *next;

	do {
		if (!list)
			list = rpc_queue_take(&qp->queue);
		next = rpc_queue_hand(list);
		list = NULL;
		heir = next ? NULL : rpc_access_heir(qp);
	} while (!next && !rpc_queue_leave(&qp->queue));
	if (next)
		rpc_thread_wake(slot_of(next)->thread);
	else if (heir)
		rpc_thread_wake(heir);
}

/* Adds the leader's own request, and finds room for those of others: *max, *ret_room. */
static int lead_begin(struct rpc_qp *qp, struct batch *batch, struct rpc_slot *slot,
		      unsigned *ret_max, uint32_t *ret_room)
{
	unsigned left = 0;
	int err = lead_credit(qp, slot, &left);

	if (!err)
		err = lead_room(qp, slot, ret_room);
	if (err)
		return err;
	batch->slot[batch->nr++] = slot;
	batch->bytes += rpc_item(slot->len);
	*ret_max = left < qp->rpc->batch ? left : qp->rpc->batch;
	return 0;
}

/* The same for an operation on the server's memory, which needs neither credits nor the ring. */
static int lead_begin_access(struct rpc_qp *qp, struct batch *batch, struct rpc_slot *slot,
			     unsigned *ret_max, uint32_t *ret_room)
{
	int err = rpc_access_check(qp, access_of(slot)), left = credit_left(qp);

	if (!err && left < 0)
		err = left;
	while (!err && !rpc_access_add(qp, &batch->access, access_of(slot))) {
		if (rpc_now(qp->rpc) >= slot->until)
			return -ETIME;
		qp->rpc->nic->ops->wait(qp->out, rpc_now(qp->rpc) + NAP_NS);
		rpc_lead_poll(qp);
		if (rpc_end_broken(&qp->end))
			return -ENOTCONN;
		rpc_access_begin(qp, &batch->access);
	}
	if (err)
		return err;
	*ret_max = left < (int)qp->rpc->batch ? left : (int)qp->rpc->batch;
	*ret_room = rpc_out_room(&qp->end);
	return 0;
}

/*
 * Sends the leader's request and others; *list becomes those that are not sent, and have time.
 * False: nothing was posted, and the leader has more time.
 */
static bool lead_send(struct rpc_qp *qp, struct rpc_slot *slot, struct batch *batch,
		      struct rpc_node **list, unsigned max, uint32_t room)
{
	uint64_t now;
	int err;

	*list = batch_gather(batch, qp, *list, max, room);
	batch_build(batch, qp);
	err = batch_post(batch, qp);
	if (err != -ETIME) {
		batch_finish(batch, err);
		return true;
	}
	now = rpc_now(qp->rpc);
	*list = batch_return(batch, slot, now, *list);
	if (now < slot->until)
		return false;
	slot_finish(slot, err);
	return true;
}

/* Sends the leader's request, or ends it. False as of lead_send(). */
static bool lead_try(struct rpc_qp *qp, struct rpc_slot *slot, struct rpc_node **list)
{
	struct batch batch = { .nr = 0, .bytes = sizeof(struct rpc_head) };
	uint32_t room = 0;
	unsigned max = 0;
	int err = lead_connect(qp, slot);

	rpc_access_begin(qp, &batch.access);
	if (!err)
		err = (slot->access ? lead_begin_access : lead_begin)(qp, &batch, slot, &max,
								      &room);
	if (!err)
		return lead_send(qp, slot, &batch, list, max, room);
	slot_finish(slot, err);
	return true;
}

void rpc_lead(struct rpc_qp *qp, struct rpc_slot *slot, struct rpc_node *rest)
{
	while (!lead_try(qp, slot, &rest))
		;
	rpc_lead_leave(qp, rest);
}
