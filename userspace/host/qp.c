/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs, with the memory of their rings. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "qp.h"

#define QP_PAGE		4096u
#define LOG_STRIDE	4	/* an entry has one segment at least */

int far_qp_new(struct nic *dev, uint32_t pdn, uint32_t cqn, uint8_t log_sq,
	       unsigned access, const struct far_rq *rq, struct far_qp *ret_qp)
{
	size_t sq_len = (size_t)WRC_WQE_BB << log_sq;
	size_t rq_len = rq ? (size_t)1 << (rq->log_rq + LOG_STRIDE) : 0;
	size_t len = sq_len + rq_len + sizeof(struct wrc_dbr);
	struct far_qp qp = {
		.dev = dev,
		.log_sq = log_sq,
		.mem_len = (len + QP_PAGE - 1) & ~((size_t)QP_PAGE - 1),
	};
	struct nic_qp_attr attr = {
		.pdn = pdn, .scqn = cqn, .rcqn = cqn, .log_sq = log_sq, .access = access,
	};
	int err;

	qp.mem = mmap(NULL, qp.mem_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (qp.mem == MAP_FAILED)
		return -ENOMEM;
	qp.dbr = (struct wrc_dbr *)((uint8_t *)qp.mem + sq_len + rq_len);
	attr.mem = attr.sq = qp.mem;
	if (rq) {
		attr.rq = (uint8_t *)qp.mem + sq_len;
		attr.rcqn = rq->cqn;
		attr.log_rq = rq->log_rq;
		attr.log_rq_stride = LOG_STRIDE;
	}
	attr.mem_len = qp.mem_len;
	attr.dbr = qp.dbr;
	err = dev->ops->qp_create(dev, &attr, &qp.qpn);
	if (err) {
		munmap(qp.mem, qp.mem_len);
		return err;
	}
	*ret_qp = qp;
	return 0;
}

void far_qp_free(struct far_qp *qp)
{
	if (!qp->dev)
		return;
	/* If destroying fails, the queue pair may still run: keep its memory. */
	if (!qp->dev->ops->qp_destroy(qp->dev, qp->qpn))
		munmap(qp->mem, qp->mem_len);
	memset(qp, 0, sizeof(*qp));
}

void *far_qp_slot(const struct far_qp *qp, uint32_t at)
{
	uint32_t mask = (UINT32_C(1) << qp->log_sq) - 1;

	return (uint8_t *)qp->mem + (size_t)(at & mask) * WRC_WQE_BB;
}

int far_qp_ring(const struct far_qp *qp, uint32_t end)
{
	qp->dbr->snd = cpu_to_be32(end & 0xffff);
	return qp->dev->ops->qp_doorbell(qp->dev, qp->qpn, end);
}
