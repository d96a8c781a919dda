/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams of verbs: an unreliable datagram queue pair, and its RECVs. Of each datagram the
 * device writes a head of 40 bytes, too, into memory of its own, so that the caller's memory
 * has what was sent and nothing else.
 *
 * A datagram that is longer than its RECV is lost. Most devices stop the queue pair, as the
 * InfiniBand specification says. Then it starts again:
 *
 *	RTS --too long--> hurt --halt()--> RESET --heal()--> RTS, RECVs posted again
 *	                                         --error--> deaf
 */
#include <core/wqe.h>
#include <errno.h>
#include <stdlib.h>

#include "verbs_priv.h"

/* Ports drop datagrams with another Q_Key. Its highest bit would be a privilege. */
#define QKEY		0x0da7a6a3u
#define NO_QKEY		(QKEY ^ 1)
#define RECV_BATCH	16u	/* RECVs of one call of the provider */

/* ---- start and end ---- */

/* Takes the queue pair from RESET to where it sends and receives. */
static int qp_start(struct verbs_datagram *datagram)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = datagram->ways.port, .qkey = QKEY,
	}, rtr = { .qp_state = IBV_QPS_RTR }, rts = { .qp_state = IBV_QPS_RTS };
	int err = ibv_modify_qp(datagram->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				IBV_QP_PORT | IBV_QP_QKEY);

	if (!err)
		err = ibv_modify_qp(datagram->qp, &rtr, IBV_QP_STATE);
	if (!err)
		err = ibv_modify_qp(datagram->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return -err;
}

static int objects_make(struct verbs_datagram *datagram, const struct verbs_doorbell *db,
			unsigned depth)
{
	const struct verbs_qp_conf conf = {
		.pd = db->pd, .cq = db->cq, .depth = depth, .nr_recvs = datagram->nr_recvs,
		.datagrams = true, .ret_inline = &datagram->max_inline,
	};
	int err;

	errno = 0;
	datagram->grh_mr = ibv_reg_mr(datagram->ways.verbs->pd, datagram->grh, VERBS_GRH,
				      IBV_ACCESS_LOCAL_WRITE);
	err = verbs_errno(!datagram->grh_mr);
	if (!err)
		err = verbs_qp_new(NULL, &conf, &datagram->qp);
	if (!err)
		err = qp_start(datagram);
	return err;
}

int verbs_datagram_new(struct verbs_nic *verbs, const struct verbs_doorbell *db, unsigned depth,
		       unsigned recvs, struct verbs_datagram **ret_datagram)
{
	struct verbs_datagram *datagram = calloc(1, sizeof(*datagram));
	int err;

	if (!datagram)
		return -ENOMEM;
	datagram->nr_recvs = recvs;
	err = verbs_ways_init(verbs, &datagram->ways);
	if (!err)
		err = far_ring_init(&datagram->ring, recvs, IBV_WC_WR_FLUSH_ERR);
	if (!err) {
		datagram->memory = calloc((size_t)datagram->ring.mask + 1,
					  sizeof(datagram->memory[0]));
		err = datagram->memory ? 0 : -ENOMEM;
	}
	if (!err)
		err = objects_make(datagram, db, depth);
	if (err)
		verbs_datagram_free(datagram);
	else
		*ret_datagram = datagram;
	return err;
}

void verbs_datagram_free(struct verbs_datagram *datagram)
{
	if (datagram->qp)
		ibv_destroy_qp(datagram->qp);
	if (datagram->grh_mr)
		ibv_dereg_mr(datagram->grh_mr);
	verbs_ways_fini(&datagram->ways);
	far_ring_fini(&datagram->ring);
	free(datagram->memory);
	free(datagram);
}

/* ---- SENDs ---- */

void verbs_datagram_name(struct verbs_datagram *datagram, uint64_t address,
			 struct ibv_send_wr *wr)
{
	struct verbs_ways *ways = &datagram->ways;
	bool valid = !((uint32_t)address >> VERBS_QPN_BITS);
	struct ibv_ah *ah = valid ? verbs_ways_find(ways, address >> 32) : NULL;

	wr->opcode = IBV_WR_SEND;
	wr->send_flags &= ~IBV_SEND_FENCE;	/* nothing is there to wait for */
	wr->wr.ud.remote_qkey = ah ? QKEY : NO_QKEY;
	wr->wr.ud.remote_qpn = ah ? (uint32_t)address : datagram->qp->qp_num;
	/* A datagram to nobody keeps its place in the queue: our own port drops it. */
	wr->wr.ud.ah = ah ? ah : verbs_ways_find(ways, ways->ip);
}

/* ---- RECVs ---- */

/* Posts the RECVs of places [from, to), at most RECV_BATCH. */
static int batch_post(struct verbs_datagram *datagram, uint32_t from, uint32_t to)
{
	struct ibv_sge sge[RECV_BATCH][2];
	struct ibv_recv_wr wr[RECV_BATCH], *bad;
	unsigned i;

	for (i = 0; i < to - from; i++) {
		sge[i][0] = (struct ibv_sge) {
			.addr = (uintptr_t)datagram->grh, .length = VERBS_GRH,
			.lkey = datagram->grh_mr->lkey,
		};
		sge[i][1] = datagram->memory[(from + i) & datagram->ring.mask];
		wr[i] = (struct ibv_recv_wr) {
			.wr_id = verbs_wr_id(datagram->serial, 0, from + i) | VERBS_WR_RECV,
			.next = from + i + 1 != to ? &wr[i + 1] : NULL,
			.sg_list = sge[i], .num_sge = sge[i][1].length ? 2 : 1,
		};
	}
	return ibv_post_recv(datagram->qp, wr, &bad);
}

/* Posts the RECVs of places [from, to). RECVs fail if the provider refuses one. */
static void recvs_post(struct verbs_datagram *datagram, uint32_t from, uint32_t to)
{
	struct far_ring *ring = &datagram->ring;
	int err = 0;

	for (; from != to && !err; from += to - from < RECV_BATCH ? to - from : RECV_BATCH)
		err = batch_post(datagram, from,
				 to - from < RECV_BATCH ? to : from + RECV_BATCH);
	if (!err)
		return;
	datagram->deaf = true;
	far_ring_fail(ring, ring->done, -EIO, IBV_WC_GENERAL_ERR);
}

int verbs_datagram_recv(struct verbs_datagram *datagram, const struct far_wr *wr, unsigned nr)
{
	struct far_ring *ring = &datagram->ring;
	uint32_t begin = ring->posted;
	unsigned i;

	if (datagram->deaf)
		return -ENOTCONN;
	/* The device would stop for it, and rdma_rxe not tell it from a datagram too long. */
	if (!verbs_mrs_hold(datagram->ways.verbs, wr, nr))
		return -EINVAL;
	if (!far_ring_has_room(ring, datagram->nr_recvs, nr))
		return -EAGAIN;
	for (i = 0; i < nr; i++) {
		datagram->memory[(begin + i) & ring->mask] = (struct ibv_sge) {
			.addr = (uintptr_t)wr[i].local, .length = wr[i].len, .lkey = wr[i].lkey,
		};
		far_ring_put(ring, &wr[i], begin + i);
		far_ring_at(ring, begin + i)->imm = 0;
	}
	ring->posted += nr;
	/* One that has stopped gets them when it starts again. */
	if (!datagram->hurt)
		recvs_post(datagram, begin, ring->posted);
	return 0;
}

/* ---- completions ---- */

static void recv_done(struct far_ring *ring, uint32_t at, uint32_t len)
{
	far_ring_at(ring, at)->len = len < VERBS_GRH ? 0 : len - VERBS_GRH;
	ring->done = at + 1;
}

bool verbs_datagram_note(struct verbs_datagram *datagram, const struct ibv_wc *wc)
{
	bool is_recv = wc->wr_id & VERBS_WR_RECV;
	uint32_t at = (uint32_t)wc->wr_id;

	if (is_recv && !far_ring_busy_at(&datagram->ring, at))
		return true;
	switch (wc->status) {
	case IBV_WC_SUCCESS:
		if (is_recv)
			recv_done(&datagram->ring, at, wc->byte_len);
		return is_recv;
	case IBV_WC_LOC_LEN_ERR:
	case IBV_WC_LOC_QP_OP_ERR:	/* of rdma_rxe */
	case IBV_WC_WR_FLUSH_ERR:
		datagram->hurt |= is_recv;
		return datagram->hurt;
	default:
		if (is_recv) {
			datagram->deaf = true;
			far_ring_fail(&datagram->ring, at, -EIO, wc->status);
		}
		return is_recv;
	}
}

void verbs_datagram_halt(struct verbs_datagram *datagram)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	datagram->deaf |= ibv_modify_qp(datagram->qp, &reset, IBV_QP_STATE) != 0;
}

void verbs_datagram_heal(struct verbs_datagram *datagram, uint16_t serial)
{
	struct far_ring *ring = &datagram->ring;

	datagram->hurt = false;
	datagram->serial = serial;
	if (datagram->deaf || qp_start(datagram)) {
		datagram->deaf = true;
		far_ring_fail(ring, ring->done, -EIO, IBV_WC_GENERAL_ERR);
		return;
	}
	recvs_post(datagram, ring->done, ring->posted);
}
