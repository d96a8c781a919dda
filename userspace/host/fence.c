// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fences; see fence.h. */
#include <errno.h>

#include <mlx5/encode.h>
#include <nic/node.h>

#include "fence.h"

#define LOOP_LOG_CQ	2
#define LOOP_LOG_SQ	2
#define LOOP_READ	8u

static int loop_open(struct far_fence *fence)
{
	struct nic *dev = fence->dev;
	int err;

	if (fence->loop.dev)
		return 0;
	err = dev->ops->pd_alloc(dev, &fence->pdn);
	if (err)
		return err;
	err = dev->ops->cq_create(dev, LOOP_LOG_CQ, &fence->cqn);
	if (err)
		goto free_pd;
	err = far_qp_new(dev, fence->pdn, fence->cqn, LOOP_LOG_SQ, NIC_REMOTE_READ,
			 NULL, &fence->loop);
	if (err)
		goto destroy_cq;
	err = dev->node->ops->qp_loop(dev, fence->loop.qpn, fence->loop.qpn);
	if (err)
		goto free_qp;
	/* The whole memory; READs use its last bytes, behind ring and doorbell record. */
	err = dev->ops->mr_reg(dev, fence->pdn, fence->loop.mem, fence->loop.mem_len, 0,
			       NIC_LOCAL_WRITE | NIC_REMOTE_READ, &fence->key);
	if (err)
		goto free_qp;
	fence->posted = 0;
	fence->covers = 0;
	return 0;

free_qp:
	far_qp_free(&fence->loop);
destroy_cq:
	dev->ops->cq_destroy(dev, fence->cqn);
free_pd:
	dev->ops->pd_free(dev, fence->pdn);
	return err;
}

void far_fence_init(struct far_fence *fence, struct nic *dev)
{
	*fence = (struct far_fence){ .dev = dev };
}

void far_fence_fini(struct far_fence *fence)
{
	struct nic *dev = fence->dev;

	if (!fence->loop.dev)
		return;
	dev->ops->mr_dereg(dev, fence->key);
	far_qp_free(&fence->loop);
	dev->ops->cq_destroy(dev, fence->cqn);
	dev->ops->pd_free(dev, fence->pdn);
}

/*
 * Posts a READ, unless one is under way. If that fails, the next far_fence_settle() tries
 * again.
 */
static void loop_read(struct far_fence *fence)
{
	struct far_qp *qp = &fence->loop;
	struct wrc_wr wr = {
		.op = WRC_WQE_READ, .shape = WRC_WQE_READ, .flags = WRC_WQE_CE_ALWAYS,
		.nr_sge = 1, .sge[0].len = LOOP_READ,
	};

	if (fence->covers || loop_open(fence))
		return;
	wr.qpn = qp->qpn;
	wr.index = fence->posted;
	wr.rkey = wr.sge[0].lkey = fence->key;
	wr.raddr = qp->mem_len - 2 * LOOP_READ;
	wr.sge[0].addr = qp->mem_len - LOOP_READ;
	if (wrc_encode(&wr, far_qp_slot(qp, fence->posted), WRC_WQE_BB) < 0)
		return;
	fence->posted++;
	if (!far_qp_ring(qp, fence->posted))
		fence->covers = fence->ended;
}

void far_fence_poll(struct far_fence *fence)
{
	struct nic *dev = fence->dev;
	struct wrc_cqe cqe;

	if (!fence->loop.dev || dev->ops->cq_poll(dev, fence->cqn, &cqe))
		return;
	if (cqe.op_own >> 4 == WRC_CQE_REQ)
		fence->settled = fence->covers;
	else
		far_fence_fini(fence);	/* the next fence makes a new queue pair */
	fence->covers = 0;
}

int far_fence_settle(struct far_fence *fence, uint64_t ended)
{
	if (fence->settled >= ended)
		return 0;
	loop_read(fence);
	return -EBUSY;
}
