/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue sets of the fault wrapper. An operation stays in its queue here until poll()
 * returns its completion. Completions come in the order of posting, whatever the order in
 * which inner has executed the operations.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fault_priv.h"
#include "../../../userspace/nic/wr.h"

static struct fault_qset *qset_of(struct far_qset *qset)
{
	return (struct fault_qset *)qset;
}

int fault_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		   struct far_qset **ret_qset)
{
	struct fault_nic *fault = fault_nic_of(nic);
	struct far_nic *inner = fault->wrap.inner;
	struct fault_qset *mine;
	int err;

	mine = calloc(1, sizeof(*mine) + attr->nr_peers * sizeof(mine->queue[0]));
	if (!mine)
		return -ENOMEM;
	err = inner->ops->qset_new(inner, attr, &mine->wrap.inner);
	if (err) {
		free(mine);
		return err;
	}
	mine->wrap.qset.nic = nic;
	mine->depth = attr->depth;
	mine->nr_peers = attr->nr_peers;
	far_rng_init(&mine->rng, fault->seed,
		     __atomic_fetch_add(&fault->nr_qsets, 1, __ATOMIC_RELAXED));
	*ret_qset = &mine->wrap.qset;
	return 0;
}

void fault_qset_free(struct far_qset *qset)
{
	struct fault_qset *mine = qset_of(qset);
	struct far_qset *inner = mine->wrap.inner;
	unsigned i;

	inner->nic->ops->qset_free(inner);
	for (i = 0; i < mine->nr_peers; i++)
		free(mine->queue[i].wqe);
	free(mine);
}

static int queue_alloc(struct fault_queue *queue, unsigned depth)
{
	uint32_t size = 1;

	while (size < depth)
		size *= 2;
	queue->wqe = calloc(size, sizeof(*queue->wqe));
	if (!queue->wqe)
		return -ENOMEM;
	queue->mask = size - 1;
	return 0;
}

int fault_queue_start(struct far_qset *qset, unsigned idx)
{
	struct fault_qset *mine = qset_of(qset);
	struct fault_queue *queue;
	int err;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	queue = &mine->queue[idx];
	if (!queue->wqe) {
		err = queue_alloc(queue, mine->depth);
		if (err)
			return err;
	}
	fault_cancel(queue);
	queue->connected = 1;
	return 0;
}

void fault_queue_stop(struct far_qset *qset, unsigned idx)
{
	struct fault_queue *queue = &qset_of(qset)->queue[idx];

	queue->connected = 0;
	queue->freed = queue->taken = queue->posted;
}

int fault_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	struct fault_qset *mine = qset_of(qset);
	struct far_qset *inner = mine->wrap.inner;
	int err;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	err = inner->nic->ops->connect(inner, idx, peer);
	return err ? err : fault_queue_start(qset, idx);
}

/* True if a rule applies to one of the nr operations after count; *ret_i: to which. */
static int rule_hits(const uint64_t *at, uint64_t count, unsigned nr, unsigned *ret_i)
{
	uint64_t when = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	if (when <= count || when > count + nr)
		return 0;
	*ret_i = when - count - 1;
	return 1;
}

static void queue_put(struct fault_qset *mine, struct fault_queue *queue,
		      const struct far_wr *wr, unsigned always)
{
	struct fault_wqe *wqe = queue_at(queue, queue->posted);

	*wqe = (struct fault_wqe) { .wr = *wr };
	if (wr->flags & FAR_WR_INLINE)
		memcpy(wqe->data, wr->local, wr->len);
	if (always & FAR_FAULT_LATE &&
	    !far_rng_below(&mine->rng, FAR_FAULT_LATE_ONE_IN))
		wqe->late = 1 + far_rng_below(&mine->rng, FAR_FAULT_LATE_POLLS);
	queue->posted++;
}

/* True if inner has not completed all operations, or has not got all of them. */
static int qset_is_busy(const struct fault_qset *mine)
{
	unsigned i;
	uint32_t nr;

	for (i = 0; i < mine->nr_peers; i++) {
		const struct fault_queue *queue = &mine->queue[i];

		for (nr = queue->taken; nr != queue->posted; nr++)
			if (queue_at(queue, nr)->state != FAULT_DONE)
				return 1;
	}
	return 0;
}

/* The client dies: executes what its outstanding operations' fates say, and calls die(). */
static void qset_kill(struct fault_qset *mine)
{
	struct fault_nic *fault = fault_of_qset(mine);
	struct far_qset *inner = mine->wrap.inner;
	void (*die)(void *arg) = __atomic_load_n(&fault->die, __ATOMIC_RELAXED);
	unsigned i;

	for (i = 0; i < mine->nr_peers; i++) {
		struct fault_queue *queue = &mine->queue[i];

		if (queue->taken != queue->posted)
			fault_break(mine, queue, queue->taken, -EIO);
	}
	for (;;) {
		fault_give(mine);
		if (fault_collect(mine) || !qset_is_busy(mine))
			break;
		/* Wait briefly: operations that are not given yet need another round. */
		inner->nic->ops->wait(inner, inner->nic->ops->now(inner->nic) + 1000);
	}
	__atomic_store_n(&fault->dead, 1, __ATOMIC_SEQ_CST);
	if (die)
		die(__atomic_load_n(&fault->die_arg, __ATOMIC_RELAXED));
}

/* Appends the list to its queue, and applies the rules for these operations. */
static void queue_post(struct fault_qset *mine, struct fault_queue *queue,
		       const struct far_wr *wr, unsigned nr)
{
	struct fault_nic *fault = fault_of_qset(mine);
	unsigned always = __atomic_load_n(&fault->always, __ATOMIC_RELAXED);
	uint64_t count = __atomic_fetch_add(&fault->count, nr, __ATOMIC_RELAXED);
	uint32_t first = queue->posted;
	unsigned last = nr - 1;
	unsigned i, at;
	int dies;

	dies = rule_hits(&fault->kill_at, count, nr, &last);
	for (i = 0; i <= last; i++)
		queue_put(mine, queue, &wr[i], always);
	far_wr_count(&mine->stats, wr, last + 1);
	if (rule_hits(&fault->delay_at, count, nr, &at) && at <= last)
		queue_at(queue, first + at)->late =
			__atomic_load_n(&fault->delay_polls, __ATOMIC_RELAXED);
	if (dies)
		qset_kill(mine);
	else if (rule_hits(&fault->fail_at, count, nr, &at))
		fault_break(mine, queue, first + at,
			    __atomic_load_n(&fault->fail_status, __ATOMIC_RELAXED));
	else if (always & FAR_FAULT_BREAK &&
		 far_rng_below(&mine->rng, FAR_FAULT_BREAK_ONE_IN) < nr)
		fault_break(mine, queue, first + far_rng_below(&mine->rng, nr),
			    -ETIMEDOUT);
}

/* RECVs go to inner at once. */
static int recv_post(struct fault_qset *mine, unsigned idx, const struct far_wr *wr,
		     unsigned nr)
{
	struct far_qset *inner = mine->wrap.inner;
	int err;

	if (fault_enter(fault_of_qset(mine)))
		return -ENOTCONN;
	err = inner->nic->ops->post(inner, idx, wr, nr);
	fault_leave(fault_of_qset(mine));
	if (!err)
		far_wr_count(&mine->stats, wr, nr);
	return err;
}

/* Checks what inner would refuse: inner may get the operations one by one. */
static int fault_kinds(const struct fault_qset *mine, unsigned idx, const struct far_wr *wr,
		       unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++) {
		if (wr[i].op == FAR_NIC_RECV)
			return -EINVAL;
		if (wr[i].op == FAR_NIC_WRITE_IMM && !mine->queue[idx].linked)
			return -EOPNOTSUPP;
	}
	return 0;
}

int fault_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct fault_qset *mine = qset_of(qset);
	struct fault_queue *queue;
	int err;

	if (idx >= mine->nr_peers)
		return -EINVAL;
	if (!nr)
		return 0;
	if (nr > mine->depth)
		return -E2BIG;
	queue = &mine->queue[idx];
	err = far_wr_check(wr, nr, qset->nic->ops->caps);
	if (!err && wr[0].op == FAR_NIC_RECV)
		return recv_post(mine, idx, wr, nr);
	if (!err)
		err = fault_kinds(mine, idx, wr, nr);
	if (!queue->connected || fault_enter(fault_of_qset(mine)))
		return -ENOTCONN;
	if (!err && queue->posted - queue->freed + nr > mine->depth)
		err = -EAGAIN;
	if (!err)
		queue_post(mine, queue, wr, nr);
	fault_leave(fault_of_qset(mine));
	return err;
}

static void wc_fill(struct far_wc *wc, const struct fault_wqe *wqe, unsigned idx)
{
	*wc = (struct far_wc) {
		.id = wqe->wr.id,
		.status = wqe->status,
		.syndrome = -wqe->status,
		.len = wqe->status ? 0 : wqe->wr.len,
		.peer = idx,
		.op = wqe->wr.op,
	};
}

/* True if the first operation of the queue may be completed now. */
static int queue_ready(struct fault_queue *queue)
{
	const struct fault_wqe *wqe;

	if (queue->taken == queue->posted)
		return 0;
	wqe = queue_at(queue, queue->taken);
	if (wqe->state != FAULT_DONE)
		return 0;
	/* It was dropped because of a failure that inner has not completed yet. */
	if (wqe->fate != FAULT_WHOLE && !wqe->status)
		return 0;
	return !wqe->late;
}

static unsigned queue_take(struct fault_qset *mine, unsigned idx, struct far_wc *wc,
			   unsigned max)
{
	struct fault_queue *queue = &mine->queue[idx];
	unsigned nr = 0;

	while (nr < max && queue_ready(queue)) {
		const struct fault_wqe *wqe = queue_at(queue, queue->taken++);

		if (!wqe->status && !(wqe->wr.flags & FAR_WR_SIGNALED))
			continue;
		far_wr_lose(&wqe->wr, wqe->status, queue->taken);
		wc_fill(&wc[nr++], wqe, idx);
		queue->freed = queue->taken;
	}
	if (queue->taken != queue->posted && queue_at(queue, queue->taken)->late)
		queue_at(queue, queue->taken)->late--;
	return nr;
}

static unsigned recvs_take(struct fault_qset *mine, struct far_wc *wc, unsigned max)
{
	unsigned nr = mine->nr_recvs < max ? mine->nr_recvs : max;

	memcpy(wc, mine->recv, nr * sizeof(*wc));
	mine->nr_recvs -= nr;
	memmove(mine->recv, mine->recv + nr, mine->nr_recvs * sizeof(*wc));
	return nr;
}

int fault_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	struct fault_qset *mine = qset_of(qset);
	unsigned nr = 0;
	unsigned i;
	int err;

	if (fault_enter(fault_of_qset(mine)))
		return -ESHUTDOWN;
	fault_give(mine);
	err = fault_collect(mine);
	fault_leave(fault_of_qset(mine));
	if (err)
		return err;
	nr = recvs_take(mine, wc, max);
	for (i = 0; i < mine->nr_peers && nr < max; i++)
		nr += queue_take(mine, i, wc + nr, max - nr);
	return nr;
}

/* True if nothing changes in the queue before inner completes something. */
static bool queue_waits(const struct fault_queue *queue)
{
	uint32_t nr = queue->taken;

	if (nr == queue->posted)
		return true;
	if (queue_at(queue, nr)->late || queue_at(queue, nr)->state == FAULT_DONE)
		return false;
	for (; nr != queue->posted; nr++)
		if (queue_at(queue, nr)->state == FAULT_QUEUED)
			return false;
	return true;
}

/* True if nothing changes before inner completes something, or wake() is called. */
static bool qset_waits(const struct fault_qset *mine)
{
	if (mine->nr_recvs || far_fault_dead(mine->wrap.qset.nic))
		return false;
	/* Operations that are not given yet, or late, need poll() to go on. */
	for (unsigned i = 0; i < mine->nr_peers; i++)
		if (!queue_waits(&mine->queue[i]))
			return false;
	return true;
}

int fault_wait(struct far_qset *qset, uint64_t until)
{
	struct fault_qset *mine = qset_of(qset);
	struct far_qset *inner = mine->wrap.inner;

	return qset_waits(mine) ? inner->nic->ops->wait(inner, until) : 0;
}

int fault_fd_arm(struct far_qset *qset)
{
	struct fault_qset *mine = qset_of(qset);
	struct far_qset *inner = mine->wrap.inner;

	return qset_waits(mine) ? inner->nic->ops->fd_arm(inner) : -EAGAIN;
}

void fault_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats)
{
	*ret_stats = qset_of(qset)->stats;
}
