/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One queue of a queue set: its queue pair, work requests, completions. */
#include <core/wqe.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_priv.h"

int verbs_queue_init(struct verbs_nic *verbs, struct verbs_queue *queue, unsigned depth)
{
	int err = far_ring_init(&queue->ring, depth, IBV_WC_WR_FLUSH_ERR);

	if (err)
		return err;
	queue->number = __atomic_fetch_add(&verbs->queues, 1, __ATOMIC_RELAXED);
	return 0;
}

static void copies_drop(struct verbs_queue *queue)
{
	if (queue->copies_mr)
		ibv_dereg_mr(queue->copies_mr);
	queue->copies_mr = NULL;
}

void verbs_queue_fini(struct verbs_nic *verbs, struct verbs_queue *queue)
{
	if (!queue->ring.rec)
		return;
	verbs_queue_reset(verbs, queue);
	copies_drop(queue);
	free(queue->copies);
	far_ring_fini(&queue->ring);
}

void verbs_queue_reset(struct verbs_nic *verbs, struct verbs_queue *queue)
{
	verbs_conn_end(verbs, queue->conn);
	queue->conn = NULL;
	queue->qp = NULL;
	far_ring_cancel(&queue->ring);
	queue->connected = false;
}

/* Memory for inline data of a device that takes less than FAR_NIC_MAX_INLINE, in a domain. */
static int copies_make(struct ibv_pd *pd, struct verbs_queue *queue)
{
	size_t len = ((size_t)queue->ring.mask + 1) * FAR_NIC_MAX_INLINE;

	if (queue->max_inline >= FAR_NIC_MAX_INLINE || (queue->copies_mr &&
	    queue->copies_mr->pd == pd))
		return 0;
	copies_drop(queue);
	if (!queue->copies)
		queue->copies = aligned_alloc(64, len);
	if (!queue->copies)
		return -ENOMEM;
	errno = 0;
	queue->copies_mr = ibv_reg_mr(pd, queue->copies, len, 0);
	return verbs_errno(!queue->copies_mr);
}

static void queue_begin(struct verbs_queue *queue, struct ibv_qp *qp,
			const struct far_regions *regions, uint16_t serial)
{
	queue->regions = regions;
	queue->qp = qp;
	queue->qpn = qp->qp_num;
	queue->serial = serial;
	queue->connected = true;
}

int verbs_queue_connect(struct verbs_nic *verbs, struct verbs_queue *queue,
			const struct verbs_doorbell *db, unsigned depth,
			struct verbs_peer *peer, uint16_t serial)
{
	struct odrp_far_hello hello = far_hello(ODRP_FAR_QUEUE, peer->attach.id);
	const struct verbs_qp_conf conf = {
		.pd = db->pd, .cq = db->cq, .depth = depth,
		.ret_inline = &queue->max_inline,
	};
	int err;

	hello.number = cpu_to_be32(queue->number);
	err = verbs_call(verbs, &peer->addr, &hello, &conf, &queue->conn);
	if (err) {
		queue->conn = NULL;
		return err == -EHOSTUNREACH || err == -ECONNREFUSED ? -EHOSTDOWN : err;
	}
	err = copies_make(verbs->pd, queue);
	if (err) {
		verbs_conn_end(verbs, queue->conn);
		queue->conn = NULL;
		return err;
	}
	queue_begin(queue, queue->conn->id->qp, &peer->attach.regions, serial);
	return 0;
}

int verbs_queue_link(struct verbs_nic *verbs, struct verbs_queue *queue,
		     struct verbs_wire *wire, uint16_t serial)
{
	int err;

	queue->max_inline = wire->max_inline;
	err = copies_make(wire->qp->pd, queue);
	if (err)
		return err;
	queue->wire = wire;
	queue_begin(queue, wire->qp, &wire->regions, serial);
	return 0;
}

int verbs_queue_open(struct verbs_nic *verbs, struct verbs_queue *queue, unsigned depth,
		     struct verbs_datagram *datagram, uint16_t serial)
{
	int err = verbs_queue_init(verbs, queue, depth);

	if (err)
		return err;
	queue->max_inline = datagram->max_inline;
	err = copies_make(verbs->pd, queue);
	if (err)
		return err;
	queue->datagram = datagram;
	queue_begin(queue, datagram->qp, NULL, serial);
	return 0;
}

void verbs_queue_unlink(struct verbs_queue *queue)
{
	queue->wire = NULL;
	queue->qp = NULL;
	/* The window's domain may go. */
	copies_drop(queue);
	/* Forgets what is not done: it has no completion. */
	queue->ring.freed = queue->ring.run = queue->ring.done = queue->ring.posted;
	queue->ring.fail_status = 0;
	queue->connected = false;
}

/* ---- posting ---- */

static void wr_name_op(const struct verbs_queue *queue, const struct far_wr *from,
		       struct ibv_send_wr *wr)
{
	const struct far_region *region = far_regions_of(queue->regions, from->remote);
	uint64_t addr = region->addr + (from->remote - region->start);
	uint32_t rkey = region->rkey;

	switch (from->op) {
	case FAR_NIC_CAS:
	case FAR_NIC_FAA:
		wr->opcode = from->op == FAR_NIC_CAS ? IBV_WR_ATOMIC_CMP_AND_SWP :
			     IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = from->arg[0];
		wr->wr.atomic.swap = from->op == FAR_NIC_CAS ? from->arg[1] : 0;
		return;
	default:
		wr->opcode = from->op == FAR_NIC_READ ? IBV_WR_RDMA_READ :
			     from->op == FAR_NIC_WRITE ? IBV_WR_RDMA_WRITE :
			     IBV_WR_RDMA_WRITE_WITH_IMM;
		wr->imm_data = cpu_to_be32(from->arg[0]);
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
	}
}

static void wr_name_data(const struct verbs_queue *queue, const struct far_wr *from,
			 uint32_t at, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	uint8_t *copy;

	if (!from->len)
		return;
	*sge = (struct ibv_sge) {
		.addr = (uintptr_t)from->local, .length = from->len, .lkey = from->lkey,
	};
	wr->sg_list = sge;
	wr->num_sge = 1;
	if (!(from->flags & FAR_WR_INLINE))
		return;
	if (from->len <= queue->max_inline) {
		wr->send_flags |= IBV_SEND_INLINE;
		return;
	}
	copy = queue->copies + (size_t)(at & queue->ring.mask) * FAR_NIC_MAX_INLINE;
	memcpy(copy, from->local, from->len);
	sge->addr = (uintptr_t)copy;
	sge->lkey = queue->copies_mr->lkey;
}

static void wr_fill(const struct verbs_queue *queue, uint16_t idx,
		    const struct far_wr *from, uint32_t at, struct ibv_send_wr *wr,
		    struct ibv_sge *sge)
{
	*wr = (struct ibv_send_wr) {
		.wr_id = verbs_wr_id(queue->serial, idx, at),
		.send_flags = (from->flags & FAR_WR_SIGNALED ? IBV_SEND_SIGNALED : 0) |
			      (from->flags & FAR_WR_FENCE ? IBV_SEND_FENCE : 0),
	};
	if (queue->datagram)
		verbs_datagram_name(queue->datagram, from->remote, wr);
	else
		wr_name_op(queue, from, wr);
	wr_name_data(queue, from, at, wr, sge);
}

void verbs_queue_post(struct verbs_queue *queue, uint16_t idx, const struct far_wr *from,
		      unsigned nr, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	uint32_t begin = queue->ring.posted;
	struct ibv_send_wr *bad;
	unsigned i;

	for (i = 0; i < nr; i++) {
		wr_fill(queue, idx, &from[i], begin + i, &wr[i], &sge[i]);
		wr[i].next = i + 1 < nr ? &wr[i + 1] : NULL;
		far_ring_put(&queue->ring, &from[i], begin + i);
	}
	queue->ring.posted += nr;
	if (!ibv_post_send(queue->qp, wr, &bad))
		return;
	/* Some may be on their way: it is not known which ones will be executed. */
	queue->connected = false;
	far_ring_fail(&queue->ring, queue->ring.done, -EIO, IBV_WC_GENERAL_ERR);
}

/* ---- completions ---- */

static bool queue_over(struct verbs_nic *verbs, const struct verbs_queue *queue)
{
	return queue->wire ? verbs_wire_over(queue->wire) :
	       verbs_conn_state(verbs, queue->conn) == VERBS_CONN_OVER;
}

static int status_of(struct verbs_nic *verbs, const struct verbs_queue *queue,
		     const struct far_ring_rec *rec, enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_LOC_PROT_ERR:
		return -EFAULT;
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
		/* A window's key gives all rights. */
		return queue->wire ? -EFAULT :
		       far_regions_refused(queue->regions, rec->op, rec->remote, rec->len);
	case IBV_WC_RETRY_EXC_ERR:
		return -ETIMEDOUT;
	case IBV_WC_WR_FLUSH_ERR:
		/* A flush without an earlier error: the peer has ended the connection. */
		return !queue->datagram && queue_over(verbs, queue) ? -EHOSTDOWN : -EIO;
	default:
		return -EIO;
	}
}

void verbs_queue_note(struct verbs_nic *verbs, struct verbs_queue *queue,
		      const struct ibv_wc *wc)
{
	uint32_t at = (uint32_t)wc->wr_id;

	if (!far_ring_busy_at(&queue->ring, at))
		return;
	if (wc->status == IBV_WC_SUCCESS) {
		queue->ring.done = at + 1;
		return;
	}
	far_ring_fail(&queue->ring, at,
		      status_of(verbs, queue, far_ring_at(&queue->ring, at), wc->status),
		      wc->status | (wc->vendor_err & 0xffffff) << 8);
	queue->connected = false;
}
