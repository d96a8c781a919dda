/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Responses. There is no thread for them: of the threads that wait for a response, one has
 * the duty. It takes the responses of all, and sleeps for all; when it has its own, it gives
 * the duty to another.
 */
#include "client.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#define LOOK_NS		5u		/* declared cost of looking at a ring */
#define DUTY_NAP_NS	20000u
#define WCS		32
#define WAKE_ROUNDS	64u		/* between two looks for servers that sleep */

void rpc_thread_wake(struct far_rpc_thread *thread)
{
	if (__atomic_load_n(&thread->waiting, __ATOMIC_SEQ_CST))
		thread->rpc->nic->ops->wake(thread->qset);
}

bool rpc_duty_try(struct far_rpc *rpc)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&rpc->duty, &free, 1, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* The duty is free: wakes a thread that waits for it. */
static void duty_pass(struct far_rpc *rpc)
{
	unsigned i;

	for (i = 0; i < FAR_RPC_THREADS_MAX; i++) {
		struct far_rpc_thread *thread = __atomic_load_n(&rpc->thread[i],
								__ATOMIC_ACQUIRE);

		if (!thread)
			break;
		if (__atomic_load_n(&thread->wants_duty, __ATOMIC_SEQ_CST)) {
			rpc->nic->ops->wake(thread->qset);
			break;
		}
	}
}

void rpc_duty_leave(struct far_rpc *rpc)
{
	__atomic_store_n(&rpc->duty, 0, __ATOMIC_SEQ_CST);
	duty_pass(rpc);
}

void rpc_duty_take(struct far_rpc *rpc, struct far_rpc_thread *self)
{
	__atomic_add_fetch(&rpc->wanted, 1, __ATOMIC_ACQ_REL);
	while (!rpc_duty_try(rpc)) {
		/* The holder may sleep for a response. */
		rpc->nic->ops->wake(rpc->in);
		rpc->nic->ops->wait(self->qset, rpc_now(rpc) + DUTY_NAP_NS);
	}
	__atomic_sub_fetch(&rpc->wanted, 1, __ATOMIC_ACQ_REL);
}

/* Returns what the caller gets instead of the response, or 0. */
static int answer_error(const struct rpc_meta *meta)
{
	switch (meta->handler) {
	case RPC_ANSWERED:
		return meta->len > FAR_RPC_DATA_MAX ? -ECONNRESET : 0;
	case RPC_NO_HANDLER:
		return -ENOSYS;
	case RPC_TOO_LONG:
		return -ENOBUFS;
	}
	return -ECONNRESET;
}

/* Counts a request of the thread that is answered, or ended. */
static void answer_note(struct far_rpc_thread *thread)
{
	__atomic_store_n(&thread->answered, thread->answered + 1, __ATOMIC_RELAXED);
}

/* Puts a result into a slot that is SENT with this id. */
static void slot_fill(struct far_rpc_thread *thread, struct rpc_slot *slot,
		      const struct rpc_meta *meta, const void *data)
{
	if (__atomic_load_n(&slot->id, __ATOMIC_RELAXED) != meta->id)
		return;
	if (!rpc_slot_change(slot, RPC_SLOT_SENT, RPC_SLOT_FILLING)) {
		if (rpc_slot_change(slot, RPC_SLOT_LOST, RPC_SLOT_FREE)) {
			answer_note(thread);
			rpc_thread_wake(thread);
		}
		return;
	}
	answer_note(thread);
	slot->err = answer_error(meta);
	slot->status = meta->status;
	slot->len = slot->err ? 0 : meta->len;
	if (slot->len)
		memcpy(slot->response, data, slot->len);
	__atomic_store_n(&slot->state, RPC_SLOT_FILLED, __ATOMIC_SEQ_CST);
	rpc_thread_wake(thread);
}

static unsigned message_deliver(struct rpc_qp *qp)
{
	const struct rpc_head *head = (const struct rpc_head *)qp->end.in;
	struct far_rpc *rpc = qp->rpc;
	const struct rpc_meta *meta;
	const void *data;
	unsigned nr = 0;

	rpc_out_head(&qp->end, head->head);
	while ((meta = rpc_in_next(&qp->end, &data))) {
		struct far_rpc_thread *thread = NULL;

		if (meta->thread < FAR_RPC_THREADS_MAX)
			thread = __atomic_load_n(&rpc->thread[meta->thread], __ATOMIC_ACQUIRE);
		if (thread)
			slot_fill(thread, &thread->slot[meta->id % FAR_RPC_OUTSTANDING_MAX],
				  meta, data);
		nr++;
	}
	return nr;
}

/* Ends a request that was sent over the queue pair. */
static bool slot_fail(struct rpc_slot *slot, const struct rpc_qp *qp)
{
	bool lost = false;

	if (__atomic_load_n(&slot->qp, __ATOMIC_RELAXED) != qp)
		return false;
	/* Its thread may give it up just now: SENT becomes LOST, and never the other way. */
	if (!rpc_slot_change(slot, RPC_SLOT_SENT, RPC_SLOT_FILLING)) {
		lost = rpc_slot_change(slot, RPC_SLOT_LOST, RPC_SLOT_FILLING);
		if (!lost)
			return false;
	}
	/* Its thread may have used it again meanwhile. */
	if (__atomic_load_n(&slot->qp, __ATOMIC_RELAXED) != qp) {
		__atomic_store_n(&slot->state, lost ? RPC_SLOT_LOST : RPC_SLOT_SENT,
				 __ATOMIC_SEQ_CST);
		return false;
	}
	answer_note(slot->thread);
	slot->err = -ECONNRESET;
	__atomic_store_n(&slot->state, lost ? RPC_SLOT_FREE : RPC_SLOT_FILLED, __ATOMIC_SEQ_CST);
	rpc_thread_wake(slot->thread);
	return true;
}

unsigned rpc_qp_fail(struct rpc_qp *qp)
{
	struct far_rpc *rpc = qp->rpc;
	unsigned i, j, nr = 0;

	/* A leader connects it anew, and ends what is under way on the server's memory. */
	rpc_access_nudge(qp);
	__atomic_store_n(&qp->closed, 0, __ATOMIC_RELEASE);
	/* The leader does it the other way round: a request is SENT, then it looks at `broken`. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < FAR_RPC_THREADS_MAX; i++) {
		struct far_rpc_thread *thread = __atomic_load_n(&rpc->thread[i],
								__ATOMIC_ACQUIRE);

		for (j = 0; thread && j < FAR_RPC_OUTSTANDING_MAX; j++)
			nr += slot_fail(&thread->slot[j], qp);
	}
	return nr;
}

uint64_t rpc_qp_look(struct rpc_qp *qp)
{
	const struct rpc_control *control = qp->end.window.addr;
	uint64_t word = __atomic_load_n(&control->credit, __ATOMIC_ACQUIRE);
	uint32_t closed;

	if (!word)
		word = qp->credit_first;
	closed = !(word & RPC_CREDIT_ACTIVE);
	if (closed != __atomic_load_n(&qp->closed, __ATOMIC_RELAXED))
		__atomic_store_n(&qp->closed, closed, __ATOMIC_RELEASE);
	return word;
}

static void in_poll(struct far_rpc *rpc)
{
	struct far_wc wc[WCS];
	int nr, i;

	do {
		nr = rpc->nic->ops->poll(rpc->in, wc, WCS);
		for (i = 0; i < nr; i++)
			if (rpc->qp[wc[i].peer].live)
				rpc_end_wc(&rpc->qp[wc[i].peer].end, &wc[i]);
	} while (nr == WCS);
}

unsigned rpc_deliver(struct far_rpc *rpc)
{
	unsigned i, nr = 0;
	int ret;

	in_poll(rpc);
	for (i = 0; i < rpc->nr_qps; i++) {
		struct rpc_qp *qp = &rpc->qp[i];

		if (!qp->live)
			continue;
		while (!rpc_end_broken(&qp->end) && (ret = rpc_in_take(&qp->end))) {
			if (ret > 0)
				nr += message_deliver(qp);
			else
				rpc_end_break(&qp->end, ret);
		}
		if (!rpc_end_broken(&qp->end)) {
			rpc_qp_look(qp);
		} else {
			nr += rpc_qp_fail(qp);
			qp->failed = true;
		}
	}
	rpc->nic->ops->spend(rpc->nic, LOOK_NS * rpc->nr_qps);
	return nr;
}

/* Tells the other end of the sleep; wakes it if it sleeps. False: not now. */
static bool qp_sleep(struct rpc_qp *qp)
{
	bool told = true;

	if (!rpc_queue_lead(&qp->queue))
		return false;
	if (qp->live && !rpc_end_broken(&qp->end)) {
		told = !rpc_out_wake(&qp->end) &&
		       !rpc_out_probe(&qp->end, rpc_now(qp->rpc)) &&
		       (qp->end.asleep || !rpc_out_sleep(&qp->end));
		rpc_lead_poll(qp);
	}
	rpc_lead_leave(qp, NULL);
	return told;
}

/* Sleeps until there may be a response. */
static void duty_sleep(struct far_rpc *rpc, uint64_t until)
{
	unsigned i;

	for (i = 0; i < rpc->nr_qps; i++)
		if (rpc->qp[i].live && !rpc->qp[i].failed && !qp_sleep(&rpc->qp[i])) {
			sched_yield();
			return;
		}
	for (i = 0; i < rpc->nr_qps; i++)
		if (rpc->qp[i].live && !rpc->qp[i].failed &&
		    (rpc_in_waits(&rpc->qp[i].end) || rpc_end_broken(&rpc->qp[i].end)))
			return;
	rpc->sleeps++;
	rpc->nic->ops->wait(rpc->in, rpc_probe_until(rpc->nic, rpc_now(rpc), until));
}

/*
 * Wakes servers that have fallen asleep while a message was on its way: neither has seen the
 * other then. A thread that leads does that itself.
 */
static void duty_wake(struct far_rpc *rpc)
{
	unsigned i;

	for (i = 0; i < rpc->nr_qps; i++) {
		struct rpc_qp *qp = &rpc->qp[i];

		if (!qp->live || rpc_end_broken(&qp->end) || !rpc_queue_lead(&qp->queue))
			continue;
		rpc_lead_wake(qp);
		rpc_lead_leave(qp, NULL);
	}
}

void rpc_duty_look(struct far_rpc *rpc)
{
	if (!rpc_duty_try(rpc))
		return;
	rpc_deliver(rpc);
	duty_wake(rpc);
	rpc_duty_leave(rpc);
}

bool rpc_thread_drained(const struct far_rpc_thread *thread)
{
	unsigned i;

	for (i = 0; i < FAR_RPC_OUTSTANDING_MAX; i++) {
		uint32_t state = rpc_slot_state(&thread->slot[i]);

		if (state == RPC_SLOT_SENT || state == RPC_SLOT_FILLING || state == RPC_SLOT_LOST)
			return false;
	}
	return true;
}

/* True if what the thread waits for has come. */
static bool await_over(const struct far_rpc_thread *thread, const struct rpc_slot *slot)
{
	return slot ? rpc_slot_state(slot) == RPC_SLOT_FILLED : rpc_thread_drained(thread);
}

/* Has the duty until the wait is over, or the time is up, or another thread wants it. */
static void duty_run(struct far_rpc_thread *thread, struct rpc_slot *slot, uint64_t until)
{
	struct far_rpc *rpc = thread->rpc;
	uint64_t idle = 0, now;

	for (;;) {
		unsigned nr = rpc_deliver(rpc);

		if (++rpc->rounds % WAKE_ROUNDS == 0)
			duty_wake(rpc);
		if (await_over(thread, slot))
			return;
		now = rpc_now(rpc);
		if (now >= until)
			return;
		if (nr || !idle)
			idle = now;
		/* Spins first. On a busy machine a processor that is given away comes back late. */
		if (rpc_is_virtual(rpc->nic))
			rpc->nic->ops->wait(rpc->in, until);
		else if (now - idle >= rpc->spin_ns)
			duty_sleep(rpc, until);
		if (__atomic_load_n(&rpc->wanted, __ATOMIC_ACQUIRE))
			return;
	}
}

/* Sleeps while another thread has the duty. */
static void duty_wait(struct far_rpc_thread *thread, struct rpc_slot *slot, uint64_t until)
{
	struct far_rpc *rpc = thread->rpc;

	__atomic_store_n(&thread->waiting, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&thread->wants_duty, 1, __ATOMIC_SEQ_CST);
	if (!await_over(thread, slot) &&
	    __atomic_load_n(&rpc->duty, __ATOMIC_SEQ_CST))
		rpc->nic->ops->wait(thread->qset, until);
	__atomic_store_n(&thread->wants_duty, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&thread->waiting, 0, __ATOMIC_SEQ_CST);
}

void rpc_await(struct far_rpc_thread *thread, struct rpc_slot *slot, uint64_t until)
{
	struct far_rpc *rpc = thread->rpc;
	bool waited = false;

	while (!await_over(thread, slot) && rpc_now(rpc) < until) {
		if (!rpc_duty_try(rpc)) {
			duty_wait(thread, slot, until);
			waited = true;
			continue;
		}
		duty_run(thread, slot, until);
		rpc_duty_leave(rpc);
		waited = false;
	}
	/* It may have been woken for the duty, and does not need it any more. */
	if (waited && !__atomic_load_n(&rpc->duty, __ATOMIC_SEQ_CST))
		duty_pass(rpc);
}
