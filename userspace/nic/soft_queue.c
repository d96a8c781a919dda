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

static size_t inline_len(const struct soft_queue *queue)
{
	return ((size_t)queue->ring.mask + 1) * FAR_NIC_MAX_INLINE;
}

static int inline_reg(struct soft_nic *soft, struct soft_queue *queue, uint32_t pdn,
		      uint32_t *ret_key)
{
	int err = soft->dev->ops->mr_reg(soft->dev, pdn, queue->inlined, inline_len(queue),
					 (uintptr_t)queue->inlined, NIC_LOCAL_WRITE, ret_key);

	if (!err)
		queue->inline_pdn = pdn;
	return err;
}

int soft_queue_inline(struct soft_nic *soft, struct soft_queue *queue, uint32_t pdn)
{
	uint32_t key;
	int err;

	if (queue->inline_pdn == pdn)
		return 0;
	err = inline_reg(soft, queue, pdn, &key);
	if (err)
		return err;
	soft->dev->ops->mr_dereg(soft->dev, queue->inline_key);
	queue->inline_key = key;
	return 0;
}

int soft_queue_init(struct soft_nic *soft, struct soft_queue *queue, unsigned depth)
{
	int err = far_ring_init(&queue->ring, depth, WRC_SYND_WR_FLUSH);

	if (err)
		return err;
	queue->inlined = aligned_alloc(64, inline_len(queue));
	if (!queue->inlined) {
		err = -ENOMEM;
		goto fini_ring;
	}
	err = inline_reg(soft, queue, soft->pdn, &queue->inline_key);
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

static void queue_begin(struct soft_queue *queue, const struct far_regions *regions)
{
	queue->regions = regions;
	queue->begin = queue->ring.posted;
	queue->connected = true;
}

void soft_queue_link(struct soft_queue *queue, struct soft_wire *wire)
{
	queue->wire = wire;
	queue->qp = wire->qp;
	queue_begin(queue, &wire->regions);
}

void soft_queue_unlink(struct soft_queue *queue)
{
	queue->wire = NULL;
	queue->qp = (struct far_qp){ .dev = NULL };
	/* Forgets what is not done: it has no completion. */
	queue->ring.freed = queue->ring.run = queue->ring.done = queue->ring.posted;
	queue->ring.fail_status = 0;
	queue->connected = false;
}

int soft_queue_connect(struct soft_nic *soft, struct soft_queue *queue,
		       uint32_t cqn, struct soft_peer *peer)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_QUEUE, peer->attach.id);
	const struct soft_qp_conf conf = {
		.pdn = soft->pdn, .cqn = cqn, .log_sq = log2_up(queue->ring.mask + 1),
		.connect_ns = soft->connect_ns,
	};
	int err;

	hello.number = cpu_to_be32(queue->number);
	err = soft_call(soft, peer->ip, &hello, &conf, &queue->qp, &queue->conn);
	if (err)
		return err == -EHOSTUNREACH || err == -ECONNREFUSED ?
		       -EHOSTDOWN : err;
	queue_begin(queue, &peer->attach.regions);
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
	case FAR_NIC_WRITE_IMM:
		to->op = WRC_WQE_WRITE_IMM;
		to->imm = wr->arg[0];
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
	const struct far_region *region = far_regions_of(queue->regions,
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

int soft_queue_post(struct soft_queue *queue, const struct far_wr *wr, unsigned nr,
		    bool *put_off)
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
	if (put_off)
		*put_off |= nic_soft_note(queue->qp.dev, queue->qp.qpn, end);
	else
		nic_soft_ring(queue->qp.dev, queue->qp.qpn, end);
	return 0;
}

/* The software NIC reports a wrong key, wrong bounds and missing rights as the same error. */
static int refusal_status(const struct soft_queue *queue, const struct far_ring_rec *rec)
{
	/* A window's key gives all rights. */
	return queue->wire ? -EFAULT :
	       far_regions_refused(queue->regions, rec->op, rec->remote, rec->len);
}

/* The connection's operations were flushed, without an earlier error of them. */
static int flush_status(struct soft_nic *soft, struct soft_conn *conn)
{
	return soft_conn_over(soft, conn) ? -EHOSTDOWN : -EIO;
}

static int status_of(struct soft_nic *soft, struct soft_queue *queue,
		     const struct far_ring_rec *rec, uint8_t syndrome)
{
	int status;

	switch (syndrome) {
	case WRC_SYND_LOCAL_PROT:
		return -EFAULT;
	case WRC_SYND_REMOTE_ACCESS:
		return refusal_status(queue, rec);
	case WRC_SYND_REMOTE_INVAL:
		status = refusal_status(queue, rec);
		return status == -EACCES ? status : -EIO;
	case WRC_SYND_RETRY_EXC:
		return -ETIMEDOUT;
	case WRC_SYND_WR_FLUSH:
		return flush_status(soft, queue->wire ? &queue->wire->conn : &queue->conn);
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

int soft_wire_recv(struct soft_wire *wire, const struct far_wr *wr, unsigned nr)
{
	struct far_ring *ring = &wire->ring;
	unsigned i;

	if (wire->deaf)
		return -ENOTCONN;
	if (!far_ring_has_room(ring, ring->mask + 1, nr))
		return -EAGAIN;
	for (i = 0; i < nr; i++)
		far_ring_put(ring, &wr[i], ring->posted + i);
	ring->posted += nr;
	/* The entries have no segments: the NIC reads their number only. */
	__atomic_store_n(&wire->qp.dbr->rcv, cpu_to_be32(ring->posted & 0xffff),
			 __ATOMIC_RELEASE);
	return 0;
}

void soft_wire_note(struct soft_wire *wire, const struct wrc_cqe *cqe)
{
	struct far_ring *ring = &wire->ring;
	uint16_t behind = be16_to_cpu(cqe->wqe_counter) - ring->done;
	uint32_t at = ring->done + behind;

	if (!far_ring_busy_at(ring, at))
		return;
	if (cqe->op_own >> 4 == WRC_CQE_RESP_WR_IMM) {
		far_ring_at(ring, at)->imm = be32_to_cpu(cqe->imm);
		ring->done = at + 1;
		return;
	}
	far_ring_fail(ring, at, flush_status(wire->soft, &wire->conn),
		      ((const struct wrc_cqe_err *)cqe)->syndrome);
	wire->deaf = true;
}
