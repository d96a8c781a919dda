// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Posting, and its costs for the thread: building WQEs; the lock of the queue pair, if
 * threads share it; the lock of the doorbell, if queue pairs share it; MMIO. A thread
 * that takes no lock runs ahead of the cluster's clock.
 */
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../wr.h"

#define RUN_AHEAD_NS	2000u	/* how far ahead a thread may be after post() */

int sim_mr_reg(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey)
{
	struct sim_cn *cn = sim_cn_of(nic);
	uintptr_t start = (uintptr_t)addr;
	struct sim_mr *mrs;
	unsigned i;

	if (!len || start + len < start)
		return -EINVAL;
	for (i = 0; i < cn->nr_mrs && cn->mrs[i].end; i++)
		;
	if (i == cn->nr_mrs) {
		mrs = realloc(cn->mrs, (i + 1) * sizeof(mrs[0]));
		if (!mrs)
			return -ENOMEM;
		cn->mrs = mrs;
		cn->nr_mrs++;
	}
	cn->mrs[i] = (struct sim_mr) { start, start + len };
	*ret_lkey = i + 1;
	return 0;
}

void sim_mr_dereg(struct far_nic *nic, uint32_t lkey)
{
	struct sim_cn *cn = sim_cn_of(nic);

	if (lkey - 1 < cn->nr_mrs)
		cn->mrs[lkey - 1] = (struct sim_mr) { 0 };
}

int sim_mr_holds(const struct sim_cn *cn, const struct far_wr *wr)
{
	uintptr_t at = (uintptr_t)wr->local;
	const struct sim_mr *mr;

	if (wr->lkey - 1 >= cn->nr_mrs)
		return 0;
	mr = &cn->mrs[wr->lkey - 1];
	return at >= mr->start && at <= mr->end && wr->len <= mr->end - at;
}

/* Only a connection between compute nodes has RECVs, which have a list of their own. */
static int post_check_ops(const struct sim_qp *qp, const struct far_wr *wr, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++) {
		if (wr[i].op == FAR_NIC_RECV)
			return -EINVAL;
		if (wr[i].op == FAR_NIC_WRITE_IMM && !qp->link)
			return -EOPNOTSUPP;
	}
	return 0;
}

static int post_check(const struct sim_qset *qset, unsigned idx, const struct far_wr *wr,
		      unsigned nr)
{
	const struct sim_share *share = qset->share;
	const struct sim_qp *qp;
	int err;

	if (idx >= share->nr_peers)
		return -EINVAL;
	if (nr > qset->depth)
		return -E2BIG;
	qp = share->qp[idx];
	if (!qp || qp->state != SIM_QP_UP)
		return -ENOTCONN;
	err = qset->datagrams ? sim_datagram_check(qset, wr, nr) :
				far_wr_check(wr, nr, qset->qset.nic->ops->caps);
	if (!err && !qset->datagrams)
		err = post_check_ops(qp, wr, nr);
	if (!err && qp->used + nr > share->depth)
		err = -EAGAIN;
	return err;
}

static struct sim_req *req_make(struct sim_qset *qset, struct sim_qp *qp,
				const struct far_wr *wr)
{
	struct sim_req *req = sim_req_new(qp->sim);

	if (!req)
		return NULL;
	req->wr = *wr;
	req->qp = qp;
	req->owner = qset;
	if (wr->flags & FAR_WR_INLINE) {
		memcpy(req->data, wr->local, wr->len);
		req->copy = req->data;
	} else if (wr->len) {
		req->local_bad = !sim_mr_holds(qset->cn, wr);
	}
	return req;
}

static void reqs_drop(struct far_sim *sim, struct sim_req *req)
{
	while (req) {
		struct sim_req *next = req->next;

		sim_req_free(sim, req);
		req = next;
	}
}

/* Makes a list of nr requests. NULL: no memory for all of them. */
static struct sim_req *reqs_make(struct sim_qset *qset, struct sim_qp *qp,
				 const struct far_wr *wr, unsigned nr)
{
	struct sim_req *first = NULL, **end = &first;
	unsigned i;

	for (i = 0; i < nr; i++) {
		*end = req_make(qset, qp, &wr[i]);
		if (!*end) {
			reqs_drop(qp->sim, first);
			return NULL;
		}
		end = &(*end)->next;
	}
	first->nr_batch = nr;
	return first;
}

static void qset_count(struct sim_qset *qset, const struct far_wr *wr, unsigned nr)
{
	far_wr_count(&qset->stats, wr, nr);
	qset->cn->stats.doorbells++;
}

static uint64_t cost_ns(double ns, double slow)
{
	return ns * slow + 0.5;
}

/* Appends the list to the outstanding requests. */
static void qp_append(struct sim_qp *qp, struct sim_req *first)
{
	struct sim_req *req;

	*qp->end = first;
	if (!qp->send)
		qp->send = first;
	for (req = first; req; req = req->next) {
		req->era = qp->era;
		qp->end = &req->next;
	}
}

/*
 * Appends the list to the queue pair, and adds the costs of posting and doorbell to the
 * current thread's lag. On return the thread's clock shows when the NIC gets the doorbell.
 * -ENOTCONN: the queue pair has broken while the thread waited for its lock.
 */
static int qp_ring(struct sim_qp *qp, struct sim_req *first, unsigned nr)
{
	struct far_sim *sim = qp->sim;
	const struct sim_profile *p = &sim->profile;
	struct sim_thread *self = sim->current;
	struct sim_doorbell *doorbell = qp->doorbell;
	double slow = qp->cn->slow;
	int moved;

	/*
	 * The thread that had the queue set before may be ahead of the cluster's clock. In a
	 * group the lock of the queue pair keeps the order.
	 */
	if (!qp->share->shared && sim_local_now(sim) < qp->posted_ns)
		self->lag += qp->posted_ns - sim_local_now(sim);
	if (qp->share->shared) {
		sim_settle(sim);
		sim_lock_take(&qp->lock, &moved);
		if (qp->state != SIM_QP_UP) {
			sim_lock_drop(&qp->lock, sim->wheel.now);
			return -ENOTCONN;
		}
		self->lag += cost_ns(p->qp_change_ns, moved);
	}
	qp_append(qp, first);
	self->lag += cost_ns(p->build_ns * nr, slow);
	if (doorbell->shared) {
		sim_settle(sim);
		sim_lock_take(&doorbell->lock, &moved);
		self->lag += cost_ns(p->line_ns, moved);
	}
	self->lag += cost_ns(p->mmio_ns, slow);
	if (doorbell->shared)
		sim_lock_drop(&doorbell->lock, sim_local_now(sim));
	if (qp->share->shared)
		sim_lock_drop(&qp->lock, sim_local_now(sim));
	qp->posted_ns = sim_local_now(sim);
	/* The list may have been cancelled meanwhile. */
	if (!first->done)
		sim_wheel_add(&sim->wheel, &first->event, sim_local_now(sim));
	return 0;
}

int sim_post(struct far_qset *far_qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct sim_qset *qset = sim_qset_of(far_qset);
	struct far_sim *sim = qset->cn->sim;
	struct sim_req *first;
	struct sim_qp *qp;
	unsigned live;
	int err;

	if (nr && wr[0].op == FAR_NIC_RECV)
		return qset->datagrams ? sim_datagram_recv(qset, idx, wr, nr) :
					 sim_link_recv(qset, idx, wr, nr);
	err = post_check(qset, idx, wr, nr);
	if (err || !nr)
		return err;
	qp = qset->share->qp[idx];
	live = sim_cn_count(qset->cn, nr);
	if (!live) {
		sim_cn_die(qset->cn);
		return -ENOTCONN;
	}
	first = reqs_make(qset, qp, wr, live);
	if (!first)
		return -ENOMEM;
	qp->used += nr;
	err = qp_ring(qp, first, live);
	if (err) {
		reqs_drop(sim, first);
		return err;
	}
	qset_count(qset, wr, nr);
	if (live < nr)
		sim_cn_die(qset->cn);
	if (sim->current->lag > RUN_AHEAD_NS)
		sim_settle(sim);
	return 0;
}
