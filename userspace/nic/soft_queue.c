/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One queue of a queue set. Inline data are copied to memory of the queue, so that each
 * operation takes one basic block of the send queue: places in the ring and in the send
 * queue correspond.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mlx5/encode.h>

#include "soft_priv.h"

static uint8_t log2_up(uint32_t n)
{
	uint8_t log = 0;

	while (UINT32_C(1) << log < n)
		log++;
	return log;
}

int soft_queue_init(struct soft_nic *soft, struct soft_queue *queue, unsigned depth)
{
	size_t len;
	int err = far_ring_init(&queue->ring, depth, WRC_SYND_WR_FLUSH);

	if (err)
		return err;
	len = ((size_t)queue->ring.mask + 1) * FAR_NIC_MAX_INLINE;
	queue->inlined = aligned_alloc(64, len);
	if (!queue->inlined) {
		err = -ENOMEM;
		goto fini_ring;
	}
	err = soft->dev->ops->mr_reg(soft->dev, soft->pdn, queue->inlined, len,
				     (uintptr_t)queue->inlined, NIC_LOCAL_WRITE,
				     &queue->inline_key);
	if (err)
		goto free_inlined;
	queue->number = __atomic_fetch_add(&soft->queues, 1, __ATOMIC_RELAXED);
	return 0;

free_inlined:
	free(queue->inlined);
	queue->inlined = NULL;
fini_ring:
	far_ring_fini(&queue->ring);
	return err;
}

void soft_queue_fini(struct soft_nic *soft, struct soft_queue *queue)
{
	if (!queue->ring.rec)
		return;
	soft_queue_reset(soft, queue);
	soft->dev->ops->mr_dereg(soft->dev, queue->inline_key);
	free(queue->inlined);
	far_ring_fini(&queue->ring);
}

void soft_queue_reset(struct soft_nic *soft, struct soft_queue *queue)
{
	far_qp_free(&queue->qp);
	soft_conn_end(soft, &queue->conn);
	far_ring_cancel(&queue->ring);
	queue->connected = false;
}

int soft_queue_connect(struct soft_nic *soft, struct soft_queue *queue,
		       uint32_t cqn, struct soft_peer *peer)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_QUEUE, peer->id);
	const struct soft_qp_conf conf = {
		.cqn = cqn, .log_sq = log2_up(queue->ring.mask + 1),
	};
	int err;

	hello.number = cpu_to_be32(queue->number);
	err = soft_call(soft, peer->addr.ip, &hello, &conf, &queue->qp, &queue->conn);
	if (err)
		return err == -EHOSTUNREACH || err == -ECONNREFUSED ?
		       -EHOSTDOWN : err;
	queue->peer = peer;
	queue->begin = queue->ring.posted;
	queue->connected = true;
	return 0;
}

static void wr_name_op(const struct far_wr *wr, struct wrc_wr *to)
{
	switch (wr->op) {
	case FAR_NIC_READ:
		to->op = WRC_WQE_READ;
		break;
	case FAR_NIC_CAS:
		to->op = WRC_WQE_CS;
		to->compare = wr->arg[0];
		to->swap = wr->arg[1];
		break;
	case FAR_NIC_FAA:
		to->op = WRC_WQE_FA;
		to->swap = wr->arg[0];
		break;
	default:
		to->op = WRC_WQE_WRITE;
		break;
	}
	to->shape = to->op;
}

static void wr_name_data(const struct soft_queue *queue, const struct far_wr *wr,
			 uint32_t at, struct wrc_wr *to)
{
	uint8_t *copy = queue->inlined + (size_t)(at & queue->ring.mask) * FAR_NIC_MAX_INLINE;

	if (!wr->len)
		return;
	to->nr_sge = 1;
	to->sge[0].len = wr->len;
	if (wr->flags & FAR_WR_INLINE) {
		memcpy(copy, wr->local, wr->len);
		to->sge[0].lkey = queue->inline_key;
		to->sge[0].addr = (uintptr_t)copy;
	} else {
		to->sge[0].lkey = wr->lkey;
		to->sge[0].addr = (uintptr_t)wr->local;
	}
}

/* Encodes the operation for place `at`. far_wr_check() has passed, so it can be encoded. */
static int queue_put(struct soft_queue *queue, const struct far_wr *wr, uint32_t at)
{
	const struct far_region *region = far_regions_of(&queue->peer->regions,
							 wr->remote);
	uint32_t index = at - queue->begin;
	struct wrc_wr to = {
		.index = index,
		.qpn = queue->qp.qpn,
		.rkey = region->rkey,
		.raddr = region->addr + (wr->remote - region->start),
		.flags = (wr->flags & FAR_WR_SIGNALED ? WRC_WQE_CE_ALWAYS : 0) |
			 (wr->flags & FAR_WR_FENCE ? WRC_WQE_FM_FENCE : 0),
	};
	int len;

	wr_name_op(wr, &to);
	wr_name_data(queue, wr, at, &to);
	len = wrc_encode(&to, far_qp_slot(&queue->qp, index), WRC_WQE_BB);
	if (len < 0)
		return len;
	far_ring_put(&queue->ring, wr, at);
	return 0;
}

int soft_queue_post(struct soft_queue *queue, const struct far_wr *wr, unsigned nr)
{
	uint32_t end = queue->ring.posted + nr;
	unsigned i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = queue_put(queue, &wr[i], queue->ring.posted + i);
	if (err)
		return err;
	queue->ring.posted = end;
	end -= queue->begin;
	queue->qp.dbr->snd = cpu_to_be32(end & 0xffff);
	nic_soft_ring(queue->qp.dev, queue->qp.qpn, end);
	return 0;
}

/* The software NIC reports a wrong key, wrong bounds and missing rights as the same error. */
static int status_of(struct soft_nic *soft, struct soft_queue *queue,
		     const struct far_ring_rec *rec, uint8_t syndrome)
{
	const struct far_regions *regions = &queue->peer->regions;
	int status;

	switch (syndrome) {
	case WRC_SYND_LOCAL_PROT:
		return -EFAULT;
	case WRC_SYND_REMOTE_ACCESS:
		return far_regions_refused(regions, rec->op, rec->remote, rec->len);
	case WRC_SYND_REMOTE_INVAL:
		status = far_regions_refused(regions, rec->op, rec->remote, rec->len);
		return status == -EACCES ? status : -EIO;
	case WRC_SYND_RETRY_EXC:
		return -ETIMEDOUT;
	case WRC_SYND_WR_FLUSH:
		/* A flush without an earlier error: the memory node has ended the connection. */
		return soft_conn_over(soft, &queue->conn) ? -EHOSTDOWN : -EIO;
	default:
		return -EIO;
	}
}

void soft_queue_note(struct soft_nic *soft, struct soft_queue *queue,
		     const struct wrc_cqe *cqe)
{
	const struct wrc_cqe_err *bad = (const struct wrc_cqe_err *)cqe;
	uint16_t behind = be16_to_cpu(cqe->wqe_counter) - (queue->ring.done - queue->begin);
	uint32_t at = queue->ring.done + behind;

	if (!far_ring_busy_at(&queue->ring, at))
		return;
	if (cqe->op_own >> 4 == WRC_CQE_REQ) {
		queue->ring.done = at + 1;
		return;
	}
	far_ring_fail(&queue->ring, at,
		      status_of(soft, queue, far_ring_at(&queue->ring, at), bad->syndrome),
		      bad->syndrome);
	queue->connected = false;
}
