// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fences. A destroyed queue pair executes nothing more, but data that it has written may
 * still be on the way into memory. A READ that this NIC starts afterwards completes only
 * when the data have arrived.
 */
#include <errno.h>

#include <mlx5/encode.h>
#include <nic/node.h>

#include "host_priv.h"

#define LOOP_LOG_SQ	2
#define LOOP_READ	8u

static int loop_open(struct far_host *host)
{
	struct nic *dev = host->dev;
	int err;

	if (host->loop.dev)
		return 0;
	err = far_qp_new(dev, host->pdn, host->cqn, LOOP_LOG_SQ, NIC_REMOTE_READ,
			 &host->loop);
	if (err)
		return err;
	err = dev->node->ops->qp_loop(dev, host->loop.qpn, host->loop.qpn);
	if (err)
		goto free_qp;
	/* The whole memory; READs use its last bytes, behind ring and doorbell record. */
	err = dev->ops->mr_reg(dev, host->pdn, host->loop.mem, host->loop.mem_len, 0,
			       NIC_LOCAL_WRITE | NIC_REMOTE_READ, &host->loop_key);
	if (err)
		goto free_qp;
	host->loop_posted = 0;
	host->loop_covers = 0;
	return 0;

free_qp:
	far_qp_free(&host->loop);
	return err;
}

void far_host_loop_fini(struct far_host *host)
{
	if (!host->loop.dev)
		return;
	host->dev->ops->mr_dereg(host->dev, host->loop_key);
	far_qp_free(&host->loop);
}

/*
 * Posts a READ, unless one is under way. If that fails, the next far_host_settle() tries
 * again.
 */
static void loop_read(struct far_host *host)
{
	struct far_qp *qp = &host->loop;
	struct wrc_wr wr = {
		.op = WRC_WQE_READ, .shape = WRC_WQE_READ, .flags = WRC_WQE_CE_ALWAYS,
		.nr_sge = 1, .sge[0].len = LOOP_READ,
	};

	if (host->loop_covers || loop_open(host))
		return;
	wr.qpn = qp->qpn;
	wr.index = host->loop_posted;
	wr.rkey = wr.sge[0].lkey = host->loop_key;
	wr.raddr = qp->mem_len - 2 * LOOP_READ;
	wr.sge[0].addr = qp->mem_len - LOOP_READ;
	if (wrc_encode(&wr, far_qp_slot(qp, host->loop_posted), WRC_WQE_BB) < 0)
		return;
	host->loop_posted++;
	if (!far_qp_ring(qp, host->loop_posted))
		host->loop_covers = host->cuts;
}

bool far_host_loop_note(struct far_host *host, const struct wrc_cqe *cqe)
{
	if (!host->loop.dev || (be32_to_cpu(cqe->sop_qpn) & 0xffffff) != host->loop.qpn)
		return false;
	if (cqe->op_own >> 4 == WRC_CQE_REQ)
		host->settled = host->loop_covers;
	else
		far_host_loop_fini(host);	/* the next fence makes a new one */
	host->loop_covers = 0;
	return true;
}

int far_host_settle(struct far_host *host)
{
	if (host->settled == host->cuts)
		return 0;
	loop_read(host);
	return -EBUSY;
}

int far_host_fence(struct far_host *host, const struct far_host_space *space,
		   uint32_t client)
{
	struct far_host_attach *holder = far_host_holder(host, space, client);

	if (holder)
		far_host_cut(host, holder);
	return far_host_settle(host);
}
