// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Queue pairs: states, completions, and what happens on errors.
 *
 *	RESET -to_rtr-> RTR -to_rts-> RTS,  any -> ERR,  any -> RESET
 */
#include <errno.h>
#include <stdlib.h>
#include "engine-priv.h"

#define MAX_LOG_SQ 15
#define MAX_LOG_RQ 15
#define MAX_LOG_RQ_STRIDE 10	/* SNIC_MAX_SGE segments */

struct snic_qp *snic_qp_lookup(struct snic *nic, uint32_t qpn)
{
	return snic_qp_find(nic, qpn);
}

void snic_qps_forget_rate(struct snic *nic, const struct snic_rate *rate)
{
	struct snic_qp *qp;
	uint32_t pos = 0;

	while ((qp = snic_table_next(&nic->qps, &pos)))
		if (qp->rate == rate)
			qp->rate = NULL;
}

static void sq_timer_fire(struct snic *nic, struct snic_timer *t)
{
	struct snic_qp *qp = (struct snic_qp *)
		((char *)t - offsetof(struct snic_qp, sq_timer));

	snic_qp_kick(qp);
}

/* ---- creation ---------------------------------------------------------- */

static int check_attr(const struct snic_qp_attr *a)
{
	if (!a->sq || ((uintptr_t)a->sq & 15) || a->log_sq > MAX_LOG_SQ)
		return -EINVAL;
	if (!a->dbr || ((uintptr_t)a->dbr & 7))
		return -EINVAL;
	if (a->rq && (((uintptr_t)a->rq & 15) || a->log_rq > MAX_LOG_RQ ||
		      a->log_rq_stride < 4 ||
		      a->log_rq_stride > MAX_LOG_RQ_STRIDE))
		return -EINVAL;
	if (a->user_index > 0xffffff)
		return -EINVAL;
	if (a->access & ~(SNIC_REMOTE_READ | SNIC_REMOTE_WRITE |
			  SNIC_REMOTE_ATOMIC))
		return -EINVAL;
	return 0;
}

int snic_qp_create(struct snic *nic, const struct snic_qp_attr *attr,
		   uint32_t *ret_qpn)
{
	struct snic_pd *pd = snic_pd_lookup(nic, attr->pdn);
	struct snic_cq *scq = snic_cq_lookup(nic, attr->scqn);
	struct snic_cq *rcq = snic_cq_lookup(nic, attr->rcqn);
	struct snic_qp *qp;
	int r = check_attr(attr);

	if (r)
		return r;
	if (!pd || !scq || !rcq)
		return -ENOENT;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->nic = nic;
	qp->attr = *attr;
	qp->scq = scq;
	qp->rcq = rcq;
	snic_timer_init(&qp->sq_timer, sq_timer_fire);
	if (nic->cfg.fetch == SNIC_FETCH_EARLY) {
		qp->early = calloc((size_t)1 << attr->log_sq, WRC_WQE_BB);
		if (!qp->early) {
			r = -ENOMEM;
			goto free_qp;
		}
	}
	if (nic->cfg.land == SNIC_LAND_LATE) {
		qp->landing = calloc(1, sizeof(*qp->landing));
		if (!qp->landing) {
			r = -ENOMEM;
			goto free_early;
		}
	}
	r = snic_timer_reserve(nic, 1);
	if (r)
		goto free_landing;
	r = snic_table_add(nic, &nic->qps, qp, &qp->qpn);
	if (r)
		goto unreserve_timer;
	pd->users++;
	scq->users++;
	rcq->users++;
	*ret_qpn = qp->qpn;
	return 0;

unreserve_timer:
	snic_timer_unreserve(nic, 1);
free_landing:
	free(qp->landing);
free_early:
	free(qp->early);
free_qp:
	free(qp);
	return r;
}

/* Moves the QP to RESET; afterwards no list or timer of the engine refers to
 * it. */
static void qp_quiesce(struct snic_qp *qp)
{
	snic_sq_stop(qp);
	snic_land_never(qp);
	if (qp->req || qp->resp)
		qp->nic->upper->rc_detach(qp);
	qp->state = SNIC_QP_RESET;
	qp->syndrome = 0;
	qp->sq_ci = 0;
	qp->sq_limit = 0;
	qp->sq_tries = 0;
	qp->rq_ci = 0;
	qp->reads_in_flight = 0;
}

int snic_qp_destroy(struct snic *nic, uint32_t qpn)
{
	struct snic_qp *qp = snic_qp_lookup(nic, qpn);

	if (!qp)
		return -ENOENT;
	if (qp->cm)
		qp->nic->upper->cm_qp_gone(qp);
	qp_quiesce(qp);
	snic_table_del(&nic->qps, qpn);
	snic_timer_unreserve(nic, 1);
	snic_pd_lookup(nic, qp->attr.pdn)->users--;
	qp->scq->users--;
	qp->rcq->users--;
	free(qp->landing);
	free(qp->early);
	free(qp);
	return 0;
}

/* ---- states ------------------------------------------------------------ */

static int check_conn(const struct snic_qp_conn *c)
{
	if (c->dest_qpn > 0xffffff || c->retry_cnt > 7 || c->rnr_retry > 7 ||
	    c->timeout > 31 || c->min_rnr_timer > 31)
		return -EINVAL;
	if (c->loopback)
		return 0;
	switch (c->mtu) {
	case 256: case 512: case 1024: case 2048: case 4096:
		break;
	default:
		return -EINVAL;
	}
	if (c->rq_psn > 0xffffff || c->sq_psn > 0xffffff)
		return -EINVAL;
	return 0;
}

/* The peer of a loopback QP may have been waiting for this one to enter RTR.  Others that
 * name this one are no peers of it, and wait on. */
static void kick_loopback_peer(struct snic_qp *qp)
{
	struct snic_qp *peer = snic_qp_lookup(qp->nic, qp->conn.dest_qpn);

	if (peer && peer->conn.loopback && peer->conn.dest_qpn == qp->qpn)
		snic_qp_kick(peer);
}

int snic_qp_to_rtr(struct snic_qp *qp, const struct snic_qp_conn *conn)
{
	int r = check_conn(conn);

	if (r)
		return r;
	if (qp->state != SNIC_QP_RESET && qp->state != SNIC_QP_INIT)
		return -EINVAL;
	qp->conn = *conn;
	if (!conn->loopback) {
		r = qp->nic->upper->rc_attach(qp);
		if (r)
			return r;
	}
	qp->state = SNIC_QP_RTR;
	if (conn->loopback)
		kick_loopback_peer(qp);
	return 0;
}

int snic_qp_to_rts(struct snic_qp *qp)
{
	if (qp->state != SNIC_QP_RTR)
		return -EINVAL;
	qp->state = SNIC_QP_RTS;
	snic_qp_kick(qp);
	return 0;
}

int snic_qp_connect(struct snic *nic, uint32_t qpn,
		    const struct snic_qp_conn *conn)
{
	struct snic_qp *qp = snic_qp_lookup(nic, qpn);
	int r;

	if (!qp)
		return -ENOENT;
	r = snic_qp_to_rtr(qp, conn);
	if (r)
		return r;
	return snic_qp_to_rts(qp);
}

int snic_qp_error(struct snic *nic, uint32_t qpn)
{
	struct snic_qp *qp = snic_qp_lookup(nic, qpn);

	if (!qp)
		return -ENOENT;
	snic_qp_fail(qp, 0);
	return 0;
}

int snic_qp_reset(struct snic *nic, uint32_t qpn)
{
	struct snic_qp *qp = snic_qp_lookup(nic, qpn);

	if (!qp)
		return -ENOENT;
	qp_quiesce(qp);
	return 0;
}

int snic_qp_query(struct snic *nic, uint32_t qpn, struct snic_qp_info *ret_info)
{
	struct snic_qp *qp = snic_qp_lookup(nic, qpn);

	if (!qp)
		return -ENOENT;
	*ret_info = (struct snic_qp_info){
		.state = qp->state,
		.sq_executed = qp->sq_ci,
		.sq_limit = qp->sq_limit,
		.rq_consumed = qp->rq_ci,
		.syndrome = qp->syndrome,
	};
	return 0;
}

int snic_qp_doorbell(struct snic *nic, uint32_t qpn, uint16_t pi)
{
	struct snic_qp *qp = snic_qp_lookup(nic, qpn);

	if (!qp)
		return -ENOENT;
	if (qp->state == SNIC_QP_RESET)
		return -EINVAL;
	snic_sq_enable(qp, pi);
	return 0;
}

/* ---- completions and errors -------------------------------------------- */

static void push_send(struct snic_qp *qp, const struct snic_wqe *w,
		      uint32_t byte_cnt)
{
	struct snic_cqe_info info = {
		.opcode = WRC_CQE_REQ,
		.send_opcode = w->opcode,
		.wqe_counter = w->index,
		.byte_cnt = byte_cnt,
	};

	snic_cq_push(qp->scq, qp, &info);
}

void snic_qp_complete_send(struct snic_qp *qp, const struct snic_wqe *w,
			   uint32_t byte_cnt)
{
	if (w->signal)
		push_send(qp, w, byte_cnt);
	/* The head of the queue may have waited for this completion. */
	if (qp->req && qp->sq_ci != qp->sq_limit)
		snic_qp_kick(qp);
}

static void push_send_error(struct snic_qp *qp, const struct snic_wqe *w,
			    enum wrc_cqe_syndrome syndrome)
{
	struct snic_cqe_info info = {
		.opcode = WRC_CQE_REQ_ERR,
		.syndrome = syndrome,
		.send_opcode = w->opcode,
		.wqe_counter = w->index,
	};

	snic_cq_push(qp->scq, qp, &info);
}

void snic_qp_flush_send(struct snic_qp *qp, const struct snic_wqe *w)
{
	push_send_error(qp, w, WRC_SYND_WR_FLUSH);
}

/*
 * flush_from: first BB that has no CQE yet and is not in the transport's queue.
 */
static void go_to_error(struct snic_qp *qp, uint8_t syndrome,
			uint16_t flush_from)
{
	/* A queue that stops has no delayed results. */
	snic_land_all(qp);
	snic_sq_stop(qp);
	qp->state = SNIC_QP_ERR;
	qp->syndrome = syndrome;
	qp->sq_flushed = flush_from;
	if (syndrome)
		qp->nic->stats.qp_errors++;
	if (qp->req)
		qp->nic->upper->rc_flush(qp);
	qp->reads_in_flight = 0;
	snic_sq_flush(qp);
	snic_rq_flush(qp);
}

void snic_qp_fail_send(struct snic_qp *qp, const struct snic_wqe *w,
		       enum wrc_cqe_syndrome syndrome)
{
	bool at_head = w->index == qp->sq_ci && qp->sq_ci != qp->sq_limit;

	if (qp->state == SNIC_QP_ERR)
		return;
	snic_land_all(qp);
	push_send_error(qp, w, syndrome);
	go_to_error(qp, syndrome, qp->sq_ci + (at_head ? w->nr_bb : 0));
}

void snic_qp_complete_recv(struct snic_qp *qp, const struct snic_cqe_info *info)
{
	snic_cq_push(qp->rcq, qp, info);
	if (info->opcode == WRC_CQE_RESP_ERR && qp->state != SNIC_QP_ERR)
		go_to_error(qp, info->syndrome, qp->sq_ci);
}

void snic_qp_fail(struct snic_qp *qp, enum wrc_cqe_syndrome syndrome)
{
	if (qp->state != SNIC_QP_ERR)
		go_to_error(qp, syndrome, qp->sq_ci);
}
