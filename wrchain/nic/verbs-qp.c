// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs of the NIC on plain verbs, and their states. */
#include <core/opdef.h>
#include <errno.h>
#include <stdlib.h>
#include "cm-attr.h"
#include "verbs-priv.h"

#define MIN_RNR_TIMER	6	/* 0.08 ms; the CM's 0 means 0.66 s */
#define RNR_RETRY	7	/* for ever */
#define RETRY_CNT	6	/* the maximum is 7, but rdma_rxe retries for ever then */
#define TIMEOUT		16	/* 4.096 us * 2^16 */

/* Bits of the mask that kernels set for RoCE and that ibv_modify_qp() does not know. */
#define CM_ONLY_MASK	0xe00000

static struct plain_qp *qp_of(struct nic *nic, uint32_t qpn)
{
	return numbers_find(&plain_of(nic)->card.qps, qpn);
}

static int qp_access(unsigned int access)
{
	return (access & NIC_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (access & NIC_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & NIC_REMOTE_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static uint32_t at_most(uint32_t n, uint32_t limit)
{
	return n < limit ? n : limit;
}

/* Makes the queue pair of the library. */
static int qp_make(struct nic_verbs *v, struct plain_qp *q)
{
	const struct nic_qp_attr *attr = &q->attr;
	const struct plain_pd *pd = numbers_find(&v->card.pds, attr->pdn);
	const struct plain_cq *scq = numbers_find(&v->card.cqs, attr->scqn);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap.max_send_wr = 1u << attr->log_sq,
		.cap.max_send_sge = at_most(WRC_MAX_SGE, v->attr.max_sge),
	};

	q->rcq = numbers_find(&v->card.cqs, attr->rcqn);
	if (!pd || !scq || !q->rcq)
		return -ENOENT;
	init.send_cq = scq->cq;
	init.recv_cq = q->rcq->cq;
	if (attr->rq) {
		init.cap.max_recv_wr = 1u << attr->log_rq;
		init.cap.max_recv_sge = at_most((1u << attr->log_rq_stride) / WRC_WQE_DS,
						v->attr.max_sge);
	}
	errno = 0;
	q->qp = ibv_create_qp(pd->pd, &init);
	return plain_status(!q->qp);
}

int plain_qp_create(struct nic *nic, const struct nic_qp_attr *attr, uint32_t *ret_qpn)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_qp *q;
	int r;

	if (attr->cd_master || attr->cd_slave_send)
		return -EOPNOTSUPP;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->attr = *attr;
	r = qp_make(v, q);
	if (r)
		goto free_qp;
	q->qpn = q->qp->qp_num;
	q->serial = ++v->next_serial;
	r = numbers_add(&v->card.qps, q, ret_qpn);
	if (r)
		goto destroy;
	if (attr->rq) {
		q->next = q->rcq->receivers;
		q->rcq->receivers = q;
	}
	return 0;

destroy:
	ibv_destroy_qp(q->qp);
free_qp:
	free(q);
	return r;
}

static void qp_unlist(struct plain_qp *q)
{
	struct plain_qp **at = &q->rcq->receivers;

	while (*at && *at != q)
		at = &(*at)->next;
	if (*at)
		*at = q->next;
}

int plain_qp_destroy(struct nic *nic, uint32_t qpn)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_qp *q = qp_of(nic, qpn);
	int r;

	if (!q)
		return -ENOENT;
	r = plain_result(ibv_destroy_qp(q->qp));
	if (r)
		return r;
	nic_card_forget_qp(&v->card, qpn);
	qp_unlist(q);
	numbers_drop(&v->card.qps, q);
	free(q);
	return 0;
}

int plain_qp_error(struct nic *nic, uint32_t qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct plain_qp *q = qp_of(nic, qpn);
	int r = 0;

	if (!q)
		return -ENOENT;
	if (q->state != PLAIN_RESET && q->state != PLAIN_STOPPED)
		r = plain_result(ibv_modify_qp(q->qp, &attr, IBV_QP_STATE));
	if (!r)
		q->state = PLAIN_STOPPED;
	return r;
}

int plain_qp_query(struct nic *nic, uint32_t qpn, struct nic_qp_info *ret_info)
{
	struct plain_qp *q = qp_of(nic, qpn);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int r;

	if (!q)
		return -ENOENT;
	r = plain_result(ibv_query_qp(q->qp, &attr, IBV_QP_STATE, &init));
	if (r)
		return r;
	ret_info->sq_executed = q->executed;
	ret_info->error = q->failed || q->state == PLAIN_STOPPED ||
			  attr.qp_state == IBV_QPS_ERR || attr.qp_state == IBV_QPS_SQE;
	ret_info->syndrome = q->syndrome;
	return 0;
}

/* ---- connecting ---------------------------------------------------------------- */

/* How the attributes of the next state are found. */
typedef int get_attr(struct nic_verbs *v, const void *arg, struct ibv_qp_attr *attr,
		     int *ret_mask);

/* Fills in what the caller has said, and applies the device's limits. */
static void attr_complete(const struct nic_verbs *v, struct plain_qp *q,
			  struct ibv_qp_attr *attr)
{
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->qp_access_flags = qp_access(q->attr.access);
		break;
	case IBV_QPS_RTR:
		attr->min_rnr_timer = MIN_RNR_TIMER;
		attr->max_dest_rd_atomic = at_most(attr->max_dest_rd_atomic,
						   v->attr.max_qp_rd_atom);
		q->reads_in = attr->max_dest_rd_atomic;
		break;
	default:
		attr->max_rd_atomic = at_most(attr->max_rd_atomic,
					      v->attr.max_qp_init_rd_atom);
		q->reads_out = attr->max_rd_atomic;
	}
}

static int qp_change(struct nic_verbs *v, struct plain_qp *q, enum ibv_qp_state state,
		     get_attr *get, const void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = 0, r = get(v, arg, &attr, &mask);

	if (r)
		return r;
	attr_complete(v, q, &attr);
	return plain_result(ibv_modify_qp(q->qp, &attr, mask & ~CM_ONLY_MASK));
}

static int qp_begin(struct nic_verbs *v, struct plain_qp *q, get_attr *get, const void *arg)
{
	int r;

	if (q->state != PLAIN_RESET)
		return -EISCONN;
	r = qp_change(v, q, IBV_QPS_INIT, get, arg);
	if (r)
		return r;
	q->state = PLAIN_INIT;
	r = plain_receives_post(v, q);
	if (!r)
		r = qp_change(v, q, IBV_QPS_RTR, get, arg);
	if (!r)
		r = qp_change(v, q, IBV_QPS_RTS, get, arg);
	if (r)
		plain_qp_error(&v->card.nic, q->qpn);
	else
		q->state = PLAIN_READY;
	return r;
}

static int get_conn(struct nic_verbs *v, const void *arg, struct ibv_qp_attr *attr,
		    int *ret_mask)
{
	return nic_cm_qp_attr(*(void *const *)arg, attr, ret_mask);
}

int plain_qp_connect(struct nic_card *card, uint32_t qpn, void *conn,
		     struct nic_cm_accept *accept)
{
	struct nic_verbs *v = plain_of(&card->nic);
	struct plain_qp *q = qp_of(&card->nic, qpn);
	int r = q ? qp_begin(v, q, get_conn, &conn) : -ENOENT;

	if (r)
		return r;
	accept->responder_resources = q->reads_in;
	accept->initiator_depth = q->reads_out;
	return 0;
}

int nic_verbs_accept(struct nic *nic, uint32_t id, struct ibv_qp *qp, const void *priv,
		     uint8_t priv_len)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_qp q = { .qp = qp, .attr.access = NIC_ALL };
	struct nic_cm_accept accept = {
		.qpn = qp->qp_num, .rnr_retry = RNR_RETRY, .priv = priv, .priv_len = priv_len,
	};
	void *conn = nic_card_conn(&v->card, id);
	int r = conn ? qp_begin(v, &q, get_conn, &conn) : -ENOENT;

	if (r)
		return r;
	accept.responder_resources = q.reads_in;
	accept.initiator_depth = q.reads_out;
	return v->card.cm->accept(conn, &accept);
}

int plain_connect(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		  const void *priv, uint8_t priv_len, uint32_t *ret_id)
{
	const struct nic_cm_call call = {
		.ip = ip, .port = port, .qpn = qpn, .priv = priv, .priv_len = priv_len,
	};
	struct nic_card *card = &plain_of(nic)->card;
	struct nic_conn *c;
	void *conn;
	int r;

	if (!qp_of(nic, qpn))
		return -ENOENT;
	r = card->cm->connect(card->cm_ctx, &call, &conn);
	if (r)
		return r;
	c = nic_card_add_conn(card, conn);
	if (!c) {
		card->cm->release(conn);
		return -ENOMEM;
	}
	c->qpn = qpn;
	*ret_id = c->id;
	return 0;
}

/* A path from the port to itself. */
static struct ibv_ah_attr own_path(const struct nic_verbs *v)
{
	bool ethernet = v->link.link_layer == IBV_LINK_LAYER_ETHERNET;

	return (struct ibv_ah_attr){
		.port_num = v->port, .dlid = v->link.lid, .is_global = ethernet,
		.grh = {
			.dgid = v->gid, .sgid_index = v->gid_index, .hop_limit = 1,
		},
	};
}

/* arg: number of the queue pair that it is connected to. */
static int get_loop(struct nic_verbs *v, const void *arg, struct ibv_qp_attr *attr,
		    int *ret_mask)
{
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->port_num = v->port;
		*ret_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS;
		break;
	case IBV_QPS_RTR:
		attr->ah_attr = own_path(v);
		attr->path_mtu = v->link.active_mtu;
		attr->dest_qp_num = *(const uint32_t *)arg;
		attr->max_dest_rd_atomic = UINT8_MAX;
		*ret_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		break;
	default:
		attr->timeout = TIMEOUT;
		attr->retry_cnt = RETRY_CNT;
		attr->rnr_retry = RNR_RETRY;
		attr->max_rd_atomic = UINT8_MAX;
		*ret_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return 0;
}

int plain_qp_loop(struct nic *nic, uint32_t qpn, uint32_t to)
{
	struct plain_qp *q = qp_of(nic, qpn);

	return q ? qp_begin(plain_of(nic), q, get_loop, &to) : -ENOENT;
}
