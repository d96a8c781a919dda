// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Queue pairs of the mlx5 NIC, and how they ended: error entries of the completion
 * queues say more about that than the queue pair's context.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5-priv.h"

static struct mlx5_qp *qp_of(struct nic *nic, uint32_t qpn)
{
	return numbers_find(&mlx5_of(nic)->card.qps, qpn);
}

struct wrc_mlx5_qp *nic_mlx5_qp(struct nic *nic, uint32_t qpn)
{
	struct mlx5_qp *q = qp_of(nic, qpn);

	return q ? &q->qp : NULL;
}

static uint8_t qp_access(unsigned int access)
{
	return (access & NIC_REMOTE_READ ? WRC_MLX5_REMOTE_READ : 0) |
	       (access & NIC_REMOTE_WRITE ? WRC_MLX5_REMOTE_WRITE : 0) |
	       (access & NIC_REMOTE_ATOMIC ? WRC_MLX5_REMOTE_ATOMIC : 0);
}

int mlx5_qp_create(struct nic *nic, const struct nic_qp_attr *attr,
		   uint32_t *ret_qpn)
{
	const struct wrc_mlx5_qp_attr a = {
		.pdn = attr->pdn, .scqn = attr->scqn, .rcqn = attr->rcqn,
		.log_sq = attr->log_sq, .log_rq = attr->log_rq,
		.log_rq_stride = attr->log_rq_stride,
		.cd_master = attr->cd_master,
		.cd_slave_send = attr->cd_slave_send,
	};
	const struct wrc_mlx5_qp_mem mem = {
		.rq = attr->rq, .sq = attr->sq, .dbr = attr->dbr,
		.end = (const char *)attr->mem + attr->mem_len,
	};
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_qp *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	r = wrc_mlx5_qp_init(&m->dev, &a, &mem, &q->qp);
	if (r)
		goto free_qp;
	q->qpn = q->qp.qpn;
	q->pdn = attr->pdn;
	q->scqn = attr->scqn;
	q->rcqn = attr->rcqn;
	q->access = qp_access(attr->access);
	r = numbers_add(&m->card.qps, q, ret_qpn);
	if (!r)
		return 0;
	wrc_mlx5_qp_fini(&q->qp);
free_qp:
	free(q);
	return r;
}

int mlx5_qp_destroy(struct nic *nic, uint32_t qpn)
{
	struct mlx5_qp *q = qp_of(nic, qpn);
	int r;

	if (!q)
		return -ENOENT;
	r = mlx5_look_leaves(mlx5_of(nic), q->qp.obj) ? wrc_mlx5_qp_fini(&q->qp) : -EBUSY;
	if (r)
		return r;
	nic_card_forget_qp(&mlx5_of(nic)->card, qpn);
	numbers_drop(&mlx5_of(nic)->card.qps, q);
	free(q);
	return 0;
}

int mlx5_qp_loop(struct nic *nic, uint32_t qpn, uint32_t to)
{
	struct mlx5_qp *q = qp_of(nic, qpn);

	return q ? wrc_mlx5_qp_loop(&q->qp, to, q->access) : -ENOENT;
}

int mlx5_qp_error(struct nic *nic, uint32_t qpn)
{
	struct mlx5_qp *q = qp_of(nic, qpn);
	int r;

	if (!q)
		return -ENOENT;
	r = wrc_mlx5_qp_error(&q->qp);
	q->told |= !r;
	return r;
}

int mlx5_qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi)
{
	struct mlx5_qp *q = qp_of(nic, qpn);

	if (!q)
		return -ENOENT;
	wrc_mlx5_qp_ring(&q->qp, pi);
	return 0;
}

/* ---- how it ended ------------------------------------------------------------ */

/**
 * struct mlx5_end - what error entries say about a queue pair
 * @sent:	an error entry is of the send queue; @first is then valid
 * @first:	the earliest WQE of the send queue that has an error entry
 * @syndrome:	of the first error entry that is not a flush; 0: there is none
 */
struct mlx5_end {
	bool sent;
	uint16_t first;
	uint8_t syndrome;
};

static void end_note(const struct wrc_cqe_err *e, struct mlx5_end *v)
{
	uint16_t wqe = be16toh(e->wqe_counter);

	if (e->syndrome != WRC_SYND_WR_FLUSH && !v->syndrome)
		v->syndrome = e->syndrome;
	if (e->op_own >> 4 != WRC_CQE_REQ_ERR)
		return;
	if (!v->sent || (int16_t)(wqe - v->first) < 0)
		v->first = wqe;
	v->sent = true;
}

/* Notes all error entries of the queue pair.  cq may be NULL. */
static void end_collect(const struct wrc_mlx5_cq *cq, uint32_t qpn,
			struct mlx5_end *v)
{
	struct wrc_cqe_err e;
	unsigned int i, op;

	for (i = 0; cq && i < 1u << cq->log_size; i++) {
		memcpy(&e, &cq->buf[i], sizeof(e));
		op = e.op_own >> 4;
		if ((op == WRC_CQE_REQ_ERR || op == WRC_CQE_RESP_ERR) &&
		    (be32toh(e.sop_qpn) & 0xffffff) == qpn)
			end_note(&e, v);
	}
}

/*
 * The earliest send WQE with an error entry, which may be a flush, is the first one that
 * was not executed.  The context's counter is not used then, as it is not known whether the
 * counter includes that WQE.
 */
void mlx5_qp_info(struct nic *nic, const struct mlx5_qp *q,
		  const struct wrc_mlx5_qp_info *hw, struct nic_qp_info *ret_info)
{
	struct mlx5_end v = { 0 };

	ret_info->sq_executed = hw->sq_executed;
	ret_info->error = hw->state == WRC_MLX5_QP_ERR ||
			  hw->state == WRC_MLX5_QP_SQER;
	ret_info->syndrome = 0;
	if (!ret_info->error)
		return;
	end_collect(nic_mlx5_cq(nic, q->scqn), q->qpn, &v);
	if (q->rcqn != q->scqn)
		end_collect(nic_mlx5_cq(nic, q->rcqn), q->qpn, &v);
	if (v.sent)
		ret_info->sq_executed = v.first;
	ret_info->syndrome = v.syndrome ? v.syndrome :
			     q->told ? 0 : WRC_SYND_WR_FLUSH;
}

int mlx5_qp_query(struct nic *nic, uint32_t qpn, struct nic_qp_info *ret_info)
{
	struct mlx5_qp *q = qp_of(nic, qpn);
	struct wrc_mlx5_qp_info hw;
	int r = q ? wrc_mlx5_qp_query(&q->qp, &hw) : -ENOENT;

	if (!r)
		mlx5_qp_info(nic, q, &hw, ret_info);
	return r;
}
