// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completions, and waiting for them. If a group shares a completion queue, the thread
 * that polls takes the queue's lock and gives each member its completions, as programs
 * with a shared completion queue do.
 */
#include "cluster.h"

#include <errno.h>
#include <math.h>

#include "../wr.h"

static int qset_has_cqe(const struct sim_qset *qset)
{
	return qset->ready || qset->nr_raw;
}

/* True if wait() returns at once. */
static int qset_has_reason(const struct sim_qset *qset)
{
	return qset_has_cqe(qset) || qset->woken || qset->landed;
}

static void qset_push(struct sim_qset *qset, struct sim_req *req)
{
	req->next = NULL;
	*qset->ready_end = req;
	qset->ready_end = &req->next;
}

static void share_push(struct sim_share *share, struct sim_req *req)
{
	req->next = NULL;
	*share->raw_end = req;
	share->raw_end = &req->next;
	req->owner->nr_raw++;
}

void sim_complete(struct sim_req *req)
{
	struct sim_qset *owner = req->owner;

	if (owner->share->shared)
		share_push(owner->share, req);
	else
		qset_push(owner, req);
	if (owner->waiter)
		sim_thread_wake(owner->waiter, req->qp->sim->wheel.now);
}

void sim_cqe_done(struct sim_req *req)
{
	if (req->era == req->qp->era)
		req->qp->used -= req->covers;
	sim_req_free(req->qp->sim, req);
}

/* Gives each member of the group its completions. Returns how many there were. */
static unsigned share_harvest(struct sim_share *share)
{
	struct sim_req *req = share->raw;
	unsigned nr = 0;

	share->raw = NULL;
	share->raw_end = &share->raw;
	while (req) {
		struct sim_req *next = req->next;

		req->owner->nr_raw--;
		qset_push(req->owner, req);
		req = next;
		nr++;
	}
	return nr;
}

static unsigned qset_take(struct sim_qset *qset, struct far_wc *wc, unsigned max,
			  double *ret_recv_ns)
{
	struct sim_req *req;
	unsigned nr = 0, nr_recvs = 0;

	while (nr < max && (req = qset->ready)) {
		qset->ready = req->next;
		nr_recvs += req->wr.op == FAR_NIC_RECV;
		if (!req->local_bad)
			far_wr_lose(&req->wr, req->status, req->wr.remote ^ req->wr.id);
		wc[nr++] = (struct far_wc) {
			.id = req->wr.id,
			.status = req->status,
			.syndrome = -req->status,
			.len = req->status ? 0 : req->wr.len,
			.imm = req->wr.op == FAR_NIC_RECV ? req->wr.arg[0] : 0,
			.peer = req->wr.op == FAR_NIC_RECV ? req->wr.remote : req->qp->idx,
			.op = req->wr.op,
		};
		sim_cqe_done(req);
	}
	if (!qset->ready)
		qset->ready_end = &qset->ready;
	*ret_recv_ns = qset->cn->sim->profile.recv_cqe_ns * nr_recvs * qset->cn->slow;
	return nr;
}

static void poll_spend(struct sim_cn *cn, unsigned nr, double more)
{
	const struct sim_profile *p = &cn->sim->profile;
	double ns = nr ? p->poll_ns + p->cqe_ns * nr : p->poll_empty_ns;

	cn->sim->current->lag += ns * cn->slow + more + 0.5;
}

/* Polls a shared completion queue. */
static void share_poll(struct sim_share *share)
{
	struct far_sim *sim = share->cn->sim;
	int moved;

	sim_lock_take(&share->cq_lock, &moved);
	poll_spend(share->cn, share_harvest(share),
		   moved ? sim->profile.cq_change_ns : 0);
	sim_lock_drop(&share->cq_lock, sim_local_now(sim));
}

int sim_poll(struct far_qset *far_qset, struct far_wc *wc, unsigned max)
{
	struct sim_qset *qset = sim_qset_of(far_qset);
	struct sim_cn *cn = qset->cn;
	double recv_ns;
	unsigned nr;

	if (cn->dead)
		return -EIO;
	sim_settle(cn->sim);
	if (qset->share->shared) {
		if (!qset->ready)
			share_poll(qset->share);
		nr = qset_take(qset, wc, max, &recv_ns);
		cn->sim->current->lag += recv_ns + 0.5;
		return nr;
	}
	nr = qset_take(qset, wc, max, &recv_ns);
	poll_spend(cn, nr, recv_ns);
	return nr;
}

int sim_wait(struct far_qset *far_qset, uint64_t until)
{
	struct sim_qset *qset = sim_qset_of(far_qset);
	struct far_sim *sim = qset->cn->sim;
	struct sim_thread *self = sim->current;

	sim_settle(sim);
	if (!qset_has_reason(qset) && until > sim->wheel.now) {
		qset->waiter = self;
		if (until != UINT64_MAX)
			sim_wheel_add(&sim->wheel, &self->event, until);
		sim_block(sim, SIM_WAIT);
		qset->waiter = NULL;
	}
	if (qset_has_reason(qset)) {
		qset->woken = qset->landed = 0;
		return 0;
	}
	return sim->wheel.now >= until ? -ETIME : 0;
}

/*
 * How long until a thread that another one wakes notices that, by an exponential
 * distribution: without chance, threads that are woken together would stay together.
 */
static uint64_t wake_ns(struct far_sim *sim)
{
	double mean = sim->profile.wake_ns;

	return mean > 0 ? mean * -log(1 - far_rng_unit(&sim->rng)) + 0.5 : 0;
}

void sim_wake(struct far_qset *far_qset)
{
	struct sim_qset *qset = sim_qset_of(far_qset);
	struct far_sim *sim = qset->cn->sim;

	qset->woken = 1;
	if (qset->waiter)
		sim_thread_wake(qset->waiter, sim_local_now(sim) + wake_ns(sim));
}
