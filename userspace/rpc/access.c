/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client's operations on the server's memory; see access.h. */
#include "client.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#define ALIGN		64u
#define LOOK_NS		UINT64_C(1000000)	/* between two looks for the server */
#define REST_NS		UINT64_C(1000000)	/* of a follower: a leader may have missed it */

static uint32_t ring_of(uint64_t number)
{
	return number % RPC_ACCESSES;
}

int rpc_access_check(const struct rpc_qp *qp, const struct rpc_access *access)
{
	uint64_t size = qp->accesses.size;

	if (!size)
		return -EOPNOTSUPP;
	return access->offset > size || access->slot.len > size - access->offset ? -EFAULT : 0;
}

void rpc_access_begin(const struct rpc_qp *qp, struct rpc_access_batch *batch)
{
	batch->nr = 0;
	batch->tail = qp->accesses.tail;
}

bool rpc_access_add(const struct rpc_qp *qp, struct rpc_access_batch *batch,
		    struct rpc_access *access)
{
	const struct rpc_accesses *all = &qp->accesses;
	uint32_t len = rpc_round(access->slot.len, ALIGN), left;
	uint64_t begin = batch->tail;

	left = RPC_BOUNCE - begin % RPC_BOUNCE;
	if (left < len)
		begin += left;
	if (batch->nr == RPC_ACCESS_BATCH ||
	    all->posted + batch->nr - all->done == RPC_ACCESSES ||
	    begin + len - all->head > RPC_BOUNCE)
		return false;
	batch->access[batch->nr] = access;
	batch->place[batch->nr++] = (struct rpc_posted) { access, begin + len,
							  begin % RPC_BOUNCE };
	batch->tail = begin + len;
	return true;
}

void rpc_access_drop(const struct rpc_qp *qp, struct rpc_access_batch *batch)
{
	batch->nr--;
	batch->tail = batch->nr ? batch->place[batch->nr - 1].end : qp->accesses.tail;
}

void rpc_access_posted(struct rpc_qp *qp, const struct rpc_access_batch *batch)
{
	struct rpc_accesses *all = &qp->accesses;
	unsigned i;

	for (i = 0; i < batch->nr; i++) {
		all->ring[ring_of(all->posted++)] = batch->place[i];
		rpc_slot_change(&batch->access[i]->slot, RPC_SLOT_SENDING, RPC_SLOT_SENT);
	}
	all->tail = batch->tail;
	qp->nr_accesses += batch->nr;
}

/* Ends the oldest operation under way. Its thread may have given it up. */
static void oldest_end(struct rpc_qp *qp, int err)
{
	struct rpc_accesses *all = &qp->accesses;
	const struct rpc_posted *oldest = &all->ring[ring_of(all->done++)];
	struct rpc_access *access = oldest->access;
	struct rpc_slot *slot = &access->slot;

	all->head = oldest->end;
	if (!rpc_slot_change(slot, RPC_SLOT_SENT, RPC_SLOT_FILLING)) {
		rpc_slot_change(slot, RPC_SLOT_LOST, RPC_SLOT_FREE);
		return;
	}
	slot->err = err;
	if (!err && access->result)
		memcpy(access->result, qp->end.bounce + oldest->at, slot->len);
	__atomic_store_n(&slot->state, RPC_SLOT_FILLED, __ATOMIC_SEQ_CST);
	rpc_thread_wake(slot->thread);
}

void rpc_access_done(struct rpc_qp *qp, uint64_t number)
{
	while (qp->accesses.done < number && qp->accesses.done != qp->accesses.posted)
		oldest_end(qp, 0);
}

void rpc_access_fail(struct rpc_qp *qp)
{
	while (qp->accesses.done != qp->accesses.posted)
		oldest_end(qp, -ECONNRESET);
}

struct far_rpc_thread *rpc_access_heir(const struct rpc_qp *qp)
{
	const struct rpc_accesses *all = &qp->accesses;
	uint64_t i;

	for (i = all->done; i != all->posted; i++) {
		struct rpc_slot *slot = &all->ring[ring_of(i)].access->slot;

		if (rpc_slot_state(slot) == RPC_SLOT_SENT)
			return slot->thread;
	}
	return NULL;
}

void rpc_access_nudge(struct rpc_qp *qp)
{
	/* The sleeper says so first, and then looks whether there is something for it. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&qp->collecting, __ATOMIC_RELAXED))
		qp->rpc->nic->ops->wake(qp->out);
}

/* ---- a thread's operations ---- */

static bool slot_is_filled(const struct rpc_slot *slot)
{
	return rpc_slot_state(slot) == RPC_SLOT_FILLED;
}

static bool collect_over(const struct rpc_qp *qp, const struct rpc_slot *slot)
{
	return slot_is_filled(slot) || rpc_queue_waits(&qp->queue) || rpc_end_broken(&qp->end);
}

/* Leads until the operation is done, the time is up, or another thread wants to send. */
static void collect(struct rpc_qp *qp, const struct rpc_slot *slot)
{
	struct far_rpc *rpc = qp->rpc;
	uint64_t begun = rpc_now(rpc), now;

	rpc_lead_poll(qp);
	while (!collect_over(qp, slot) && (now = rpc_now(rpc)) < slot->until) {
		if (!rpc_is_virtual(rpc->nic) && now - begun < rpc->spin_ns) {
			sched_yield();
		} else {
			__atomic_store_n(&qp->collecting, 1, __ATOMIC_SEQ_CST);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			if (!collect_over(qp, slot))
				rpc->nic->ops->wait(qp->out, slot->until);
			__atomic_store_n(&qp->collecting, 0, __ATOMIC_SEQ_CST);
		}
		rpc_lead_poll(qp);
	}
}

/* Another thread leads: sleeps until it has done the operation, or leads no more. */
static void follow(struct rpc_qp *qp, struct rpc_slot *slot)
{
	struct far_rpc_thread *thread = slot->thread;
	uint64_t until = rpc_now(qp->rpc) + REST_NS;

	__atomic_store_n(&thread->waiting, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!slot_is_filled(slot) && rpc_queue_led(&qp->queue))
		qp->rpc->nic->ops->wait(thread->qset, until < slot->until ? until : slot->until);
	__atomic_store_n(&thread->waiting, 0, __ATOMIC_SEQ_CST);
}

/* Polls once, unless another thread leads. */
static void glance(struct rpc_qp *qp)
{
	if (!rpc_queue_lead(&qp->queue))
		return;
	rpc_lead_poll(qp);
	rpc_lead_leave(qp, NULL);
}

/* Waits until the operation is done, and frees its slot. */
static int access_await(struct rpc_slot *slot)
{
	struct rpc_qp *qp = __atomic_load_n(&slot->qp, __ATOMIC_RELAXED);

	while (!slot_is_filled(slot) && rpc_now(qp->rpc) < slot->until) {
		if (!rpc_queue_lead(&qp->queue)) {
			follow(qp, slot);
			continue;
		}
		collect(qp, slot);
		rpc_lead_leave(qp, NULL);
	}
	if (slot_is_filled(slot)) {
		rpc_slot_forget(slot);
		return slot->err;
	}
	rpc_slot_forget(slot);
	/* It may be the one that was to lead next. */
	glance(qp);
	return -ETIMEDOUT;
}

static struct rpc_access *access_find(struct far_rpc_thread *thread)
{
	unsigned i;

	for (i = 0; i < RPC_ACCESS_SLOTS; i++) {
		struct rpc_access *access = &thread->access[i];

		if (rpc_slot_state(&access->slot) == RPC_SLOT_LOST)
			glance(__atomic_load_n(&access->slot.qp, __ATOMIC_RELAXED));
		if (rpc_slot_state(&access->slot) == RPC_SLOT_FREE &&
		    rpc_node_state(&access->slot.node) == RPC_DONE)
			return access;
	}
	return NULL;
}

/* An operation, as a program has asked for it. */
struct asked {
	enum far_nic_op op;
	uint64_t offset;
	size_t len;
	const void *data;		/* of a WRITE */
	void *result;			/* NULL: none */
	uint64_t arg[2];
};

/*
 * Looks now and then whether the server lives. Its memory may be there when it has ended, and
 * nobody else looks while there are no requests.
 */
static void server_look(struct far_rpc_thread *thread)
{
	uint64_t now = rpc_now(thread->rpc);

	if (now - thread->looked < LOOK_NS)
		return;
	thread->looked = now;
	rpc_duty_look(thread->rpc);
}

static int access_run(struct far_rpc_thread *thread, const struct asked *asked,
		      uint64_t timeout_ns)
{
	struct rpc_access *access;
	int err;

	if (rpc_is_stale(thread->rpc))
		return -ESTALE;
	if (asked->len > FAR_RPC_DATA_MAX)
		return -EMSGSIZE;
	server_look(thread);
	access = access_find(thread);
	if (!access)
		return -EAGAIN;
	access->op = asked->op;
	access->offset = asked->offset;
	access->result = asked->result;
	access->arg[0] = asked->arg[0];
	access->arg[1] = asked->arg[1];
	access->slot.data = asked->data;
	access->slot.len = asked->len;
	access->slot.access = true;
	err = rpc_slot_send(&access->slot, timeout_ns);
	if (err)
		return err;
	err = access_await(&access->slot);
	rpc_load_add(&thread->load.asked, -1);
	return err;
}

int far_rpc_read(struct far_rpc_thread *thread, uint64_t offset, void *data, size_t len,
		 uint64_t timeout_ns)
{
	const struct asked asked = { FAR_NIC_READ, offset, len, NULL, data };

	return access_run(thread, &asked, timeout_ns);
}

int far_rpc_write(struct far_rpc_thread *thread, uint64_t offset, const void *data, size_t len,
		  uint64_t timeout_ns)
{
	const struct asked asked = { FAR_NIC_WRITE, offset, len, data };

	return access_run(thread, &asked, timeout_ns);
}

int far_rpc_faa(struct far_rpc_thread *thread, uint64_t offset, uint64_t add,
		uint64_t timeout_ns, uint64_t *ret_old)
{
	const struct asked asked = { FAR_NIC_FAA, offset, 8, NULL, ret_old, { add } };

	return offset % 8 ? -EINVAL : access_run(thread, &asked, timeout_ns);
}

int far_rpc_cas(struct far_rpc_thread *thread, uint64_t offset, uint64_t compare, uint64_t swap,
		uint64_t timeout_ns, uint64_t *ret_old)
{
	const struct asked asked = { FAR_NIC_CAS, offset, 8, NULL, ret_old, { compare, swap } };

	return offset % 8 ? -EINVAL : access_run(thread, &asked, timeout_ns);
}

uint64_t far_rpc_memory(const struct far_rpc *rpc)
{
	return __atomic_load_n(&rpc->memory, __ATOMIC_RELAXED);
}
