// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Queue sets, the queue pairs that they own or share, and doorbells. The provider
 * assigns doorbells in the order in which queue pairs are made: first each low-latency
 * doorbell to one queue pair, then the others in turn.
 */
#include "cluster.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_DEPTH	32768u

static struct sim_doorbell *doorbell_new(struct sim_cn *cn)
{
	struct sim_doorbell *doorbell = calloc(1, sizeof(*doorbell));

	if (doorbell)
		sim_lock_init(&doorbell->lock, cn->sim);
	return doorbell;
}

static int share_new(struct sim_cn *cn, const struct far_qset_attr *attr,
		     struct sim_share **ret_share)
{
	struct sim_share *share = calloc(1, sizeof(*share));

	if (!share)
		return -ENOMEM;
	share->qp = calloc(attr->nr_peers, sizeof(share->qp[0]));
	if (!share->qp)
		goto free_share;
	if (attr->doorbell != FAR_DOORBELL_DEFAULT) {
		share->own = doorbell_new(cn);
		if (!share->own)
			goto free_qps;
	}
	if (attr->doorbell == FAR_DOORBELL_CONTEXT)
		share->own->context = ++cn->nr_contexts;
	share->cn = cn;
	share->group = attr->group;
	share->nr_peers = attr->nr_peers;
	share->raw_end = &share->raw;
	sim_lock_init(&share->cq_lock, cn->sim);
	share->next = cn->shares;
	cn->shares = share;
	*ret_share = share;
	return 0;

free_qps:
	free(share->qp);
free_share:
	free(share);
	return -ENOMEM;
}

void sim_qp_stop(struct sim_qp *qp, int complete)
{
	sim_qp_flush(qp, complete);
	if (qp->attach)
		sim_attach_put(qp->attach);
	qp->attach = NULL;
	qp->state = SIM_QP_NONE;
}

static void share_free(struct sim_share *share)
{
	struct sim_cn *cn = share->cn;
	struct sim_share **at;
	unsigned i;

	for (i = 0; i < share->nr_peers; i++)
		if (share->qp[i])
			sim_qp_stop(share->qp[i], 0);
	for (at = &cn->shares; *at != share; at = &(*at)->next)
		;
	*at = share->next;
	sim_wheel_remove(&cn->sim->wheel, &share->cq_lock.event);
	if (share->own) {
		sim_wheel_remove(&cn->sim->wheel, &share->own->lock.event);
		if (share->own->context)
			cn->nr_contexts--;
		free(share->own);
	}
	free(share->qp);
	free(share);
}

static int share_get(struct sim_cn *cn, const struct far_qset_attr *attr,
		     struct sim_share **ret_share)
{
	struct sim_share *share;

	if (attr->group == FAR_NIC_OWN)
		return share_new(cn, attr, ret_share);
	for (share = cn->shares; share; share = share->next)
		if (share->group == attr->group) {
			*ret_share = share;
			return share->nr_peers == attr->nr_peers ? 0 : -EINVAL;
		}
	return share_new(cn, attr, ret_share);
}

int sim_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		 struct far_qset **ret_qset)
{
	struct sim_cn *cn = sim_cn_of(nic);
	struct sim_qset *qset;
	int err;

	if (!attr->nr_peers || attr->nr_peers > UINT16_MAX || !attr->depth ||
	    attr->depth > MAX_DEPTH || attr->doorbell > FAR_DOORBELL_CONTEXT ||
	    (attr->datagrams && (attr->nr_peers > 1 || attr->group != FAR_NIC_OWN ||
				 !attr->recvs || attr->recvs > MAX_DEPTH)))
		return -EINVAL;
	qset = calloc(1, sizeof(*qset));
	if (!qset)
		return -ENOMEM;
	err = share_get(cn, attr, &qset->share);
	if (err) {
		free(qset);
		return err;
	}
	qset->qset.nic = nic;
	qset->cn = cn;
	qset->depth = attr->depth;
	qset->max_recvs = attr->recvs;
	qset->ready_end = &qset->ready;
	qset->share->shared |= qset->share->nr_members++ > 0;
	qset->share->depth += attr->depth;
	qset->next = cn->qsets;
	cn->qsets = qset;
	err = attr->datagrams ? sim_datagram_init(qset) : 0;
	if (err)
		sim_qset_free(&qset->qset);
	else
		*ret_qset = &qset->qset;
	return err;
}

/* Frees completions that will not be polled. */
static void qset_drop_ready(struct sim_qset *qset)
{
	struct sim_req *req;

	while ((req = qset->ready)) {
		qset->ready = req->next;
		sim_cqe_done(req);
	}
}

/* Frees a member's completions in the group's queue, and disowns its outstanding requests. */
static void share_forget(struct sim_share *share, const struct sim_qset *qset)
{
	struct sim_req **at, *req;
	unsigned i;

	for (at = &share->raw; (req = *at);) {
		if (req->owner != qset) {
			at = &req->next;
			continue;
		}
		*at = req->next;
		sim_cqe_done(req);
	}
	share->raw_end = at;
	for (i = 0; i < share->nr_peers; i++)
		for (req = share->qp[i] ? share->qp[i]->first : NULL; req;
		     req = req->next)
			if (req->owner == qset)
				req->owner = NULL;
}

void sim_qset_free(struct far_qset *far_qset)
{
	struct sim_qset *qset = sim_qset_of(far_qset);
	struct sim_share *share = qset->share;
	struct sim_qset **at;

	for (at = &qset->cn->qsets; *at != qset; at = &(*at)->next)
		;
	*at = qset->next;
	qset_drop_ready(qset);
	sim_datagram_fini(qset);
	share->depth -= qset->depth;
	if (--share->nr_members)
		share_forget(share, qset);
	else
		share_free(share);
	free(qset);
}

static struct sim_doorbell *doorbell_pick(const struct sim_share *share, unsigned nr)
{
	const struct sim_profile *p = &share->cn->sim->profile;
	unsigned low = p->low_latency, rest = p->shared;

	if (share->own)
		return share->own;
	return &share->cn->doorbells[nr < low ? nr : low + (nr - low) % rest];
}

int sim_qp_new(struct sim_share *share, unsigned idx)
{
	struct sim_cn *cn = share->cn;
	struct sim_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	qp->sim = cn->sim;
	qp->share = share;
	qp->cn = cn;
	qp->idx = idx;
	qp->id = cn->nr_qps++;
	qp->doorbell = doorbell_pick(share, qp->id);
	qp->doorbell->shared = !share->own && qp->id >= cn->sim->profile.low_latency;
	sim_lock_init(&qp->lock, cn->sim);
	qp->next = cn->qps;
	cn->qps = qp;
	share->qp[idx] = qp;
	return 0;
}

/* Connects a queue pair, which is new or was stopped, to a peer. */
static void qp_start(struct sim_qp *qp, struct sim_attach *attach)
{
	qp->attach = attach;
	attach->refs++;
	qp->mn = attach->mn;
	qp->first = qp->send = NULL;
	qp->end = &qp->first;
	qp->wait_first = NULL;
	qp->wait_end = &qp->wait_first;
	qp->used = qp->retired = qp->rung = qp->rd_out = 0;
	qp->last_served_ps = 0;
	qp->refused = 0;
	qp->era++;
	qp->state = SIM_QP_UP;
}

int sim_connect(struct far_qset *far_qset, unsigned idx, const struct far_peer *peer)
{
	struct sim_qset *qset = sim_qset_of(far_qset);
	struct sim_share *share = qset->share;
	struct sim_attach *attach = peer->priv;
	struct sim_qp *qp;
	int err;

	if (idx >= share->nr_peers || qset->datagrams)
		return -EINVAL;
	if (attach->mn->dead || attach->space->removed)
		return -EHOSTDOWN;
	if (!share->qp[idx]) {
		err = sim_qp_new(share, idx);
		if (err)
			return err;
	}
	qp = share->qp[idx];
	if (qp->state == SIM_QP_UP && share->shared && qp->attach->space == attach->space)
		return 0;	/* another member of the group has connected it */
	if (qp->link)
		return -EISCONN;
	sim_qp_stop(qp, 1);
	qp_start(qp, attach);
	return 0;
}

int sim_qp_open(struct sim_qset *qset, unsigned idx, struct sim_attach *attach,
		struct sim_qp **ret_qp)
{
	struct sim_share *share = qset->share;
	int err;

	if (idx >= share->nr_peers || qset->datagrams)
		return -EINVAL;
	if (!share->qp[idx]) {
		err = sim_qp_new(share, idx);
		if (err)
			return err;
	}
	if (share->qp[idx]->link)
		return -EISCONN;
	sim_qp_stop(share->qp[idx], 1);
	qp_start(share->qp[idx], attach);
	*ret_qp = share->qp[idx];
	return 0;
}

void sim_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats)
{
	*ret_stats = sim_qset_of(qset)->stats;
}
