// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * WQEs in the caller's memory to work requests, and completions to entries.
 *
 * Every work request asks for a completion, since the library keeps its place in the send
 * queue until then.  A completion that the WQE has not asked for is taken, and not shown.
 */
#include <core/decode.h>
#include <errno.h>
#include <string.h>
#include "verbs-priv.h"

/*
 * struct name - what a wr_id says: the WQE of a queue pair.
 * @at, @blocks: the WQE's first basic block, modulo 2^16, and how many it has; of a
 *	receive entry its number
 */
struct name {
	uint32_t serial;
	uint16_t at;
	uint8_t blocks, opcode;
	bool quiet, receive;
};

#define NAME_BLOCKS	48
#define NAME_OPCODE	53
#define NAME_QUIET	61
#define NAME_RECEIVE	63

static uint64_t name_pack(const struct name *name)
{
	return name->at | (uint64_t)name->serial << 16 |
	       (uint64_t)name->blocks << NAME_BLOCKS |
	       (uint64_t)name->opcode << NAME_OPCODE |
	       (uint64_t)name->quiet << NAME_QUIET |
	       (uint64_t)name->receive << NAME_RECEIVE;
}

static struct name name_unpack(uint64_t id)
{
	return (struct name){
		.at = id, .serial = id >> 16, .blocks = id >> NAME_BLOCKS & 0x1f,
		.opcode = id >> NAME_OPCODE, .quiet = id >> NAME_QUIET & 1,
		.receive = id >> NAME_RECEIVE & 1,
	};
}

/* ---- work requests -------------------------------------------------------------- */

static int opcode_of(uint8_t op, enum ibv_wr_opcode *ret_op)
{
	switch (op) {
	case WRC_WQE_SEND:
		*ret_op = IBV_WR_SEND;
		return 0;
	case WRC_WQE_SEND_IMM:
		*ret_op = IBV_WR_SEND_WITH_IMM;
		return 0;
	case WRC_WQE_WRITE:
		*ret_op = IBV_WR_RDMA_WRITE;
		return 0;
	case WRC_WQE_WRITE_IMM:
		*ret_op = IBV_WR_RDMA_WRITE_WITH_IMM;
		return 0;
	case WRC_WQE_READ:
		*ret_op = IBV_WR_RDMA_READ;
		return 0;
	case WRC_WQE_CS:
		*ret_op = IBV_WR_ATOMIC_CMP_AND_SWP;
		return 0;
	case WRC_WQE_FA:
		*ret_op = IBV_WR_ATOMIC_FETCH_AND_ADD;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* The library has two keys for what is one here. */
static int sge_fill(struct nic_verbs *v, const struct wrc_sge *from, unsigned int nr,
		    struct ibv_sge *to)
{
	const struct plain_mr *mr;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		mr = numbers_find(&v->card.mrs, from[i].lkey);
		if (!mr)
			return -EINVAL;
		to[i] = (struct ibv_sge){
			.addr = from[i].addr, .length = from[i].len, .lkey = mr->mr->lkey,
		};
	}
	return 0;
}

static void remote_fill(const struct wrc_wr *wqe, struct ibv_send_wr *wr)
{
	switch (wqe->op) {
	case WRC_WQE_CS:
		wr->wr.atomic.remote_addr = wqe->raddr;
		wr->wr.atomic.rkey = wqe->rkey;
		wr->wr.atomic.compare_add = wqe->compare;
		wr->wr.atomic.swap = wqe->swap;
		break;
	case WRC_WQE_FA:
		wr->wr.atomic.remote_addr = wqe->raddr;
		wr->wr.atomic.rkey = wqe->rkey;
		wr->wr.atomic.compare_add = wqe->swap;
		break;
	default:
		wr->wr.rdma.remote_addr = wqe->raddr;
		wr->wr.rdma.rkey = wqe->rkey;
	}
}

/* Posts a decoded WQE. */
static int wqe_post(struct nic_verbs *v, struct plain_qp *q, const struct wrc_wr *wqe,
		    uint8_t blocks)
{
	const struct name name = {
		.serial = q->serial, .at = q->posted, .blocks = blocks, .opcode = wqe->op,
		.quiet = (wqe->flags & WRC_WQE_CE_MASK) == WRC_WQE_CE_ERROR,
	};
	struct ibv_sge sge[WRC_MAX_SGE];
	struct ibv_send_wr wr = {
		.wr_id = name_pack(&name), .sg_list = sge, .num_sge = wqe->nr_sge,
		.send_flags = IBV_SEND_SIGNALED |
			      (wqe->flags & WRC_WQE_SE ? IBV_SEND_SOLICITED : 0) |
			      (wqe->flags & WRC_WQE_FM_FENCE ? IBV_SEND_FENCE : 0),
		.imm_data = cpu_to_be32(wqe->imm),
	}, *bad;
	int r = wqe->inl_len ? -EOPNOTSUPP : opcode_of(wqe->op, &wr.opcode);

	if (!r)
		r = sge_fill(v, wqe->sge, wqe->nr_sge, sge);
	if (r)
		return r;
	remote_fill(wqe, &wr);
	return plain_result(ibv_post_send(q->qp, &wr, &bad));
}

/* Copies the WQE at the queue pair's next basic block, which may pass the ring's end. */
static void wqe_copy(const struct plain_qp *q, uint16_t blocks,
		     uint8_t to[WRC_WQE_MAX_DS * WRC_WQE_DS + WRC_WQE_BB])
{
	uint16_t mask = (1u << q->attr.log_sq) - 1, i;

	for (i = 0; i < blocks; i++)
		memcpy(to + i * WRC_WQE_BB, (const uint8_t *)q->attr.sq +
		       ((q->posted + i) & mask) * WRC_WQE_BB, WRC_WQE_BB);
}

/* Posts the WQE at the queue pair's next basic block, of at most `room` blocks. */
static int wqe_take(struct nic_verbs *v, struct plain_qp *q, uint16_t room)
{
	uint8_t bytes[WRC_WQE_MAX_DS * WRC_WQE_DS + WRC_WQE_BB];
	uint16_t most = WRC_WQE_MAX_DS * WRC_WQE_DS / WRC_WQE_BB + 1;
	struct wrc_wr wqe;
	uint8_t blocks;
	int r;

	wqe_copy(q, room < most ? room : most, bytes);
	r = wrc_decode(bytes, (room < most ? room : most) * WRC_WQE_BB, WRC_OWN_SHAPE,
		       &wqe);
	if (r < 0)
		return r;
	blocks = (r + WRC_WQE_BB - 1) / WRC_WQE_BB;
	r = wqe_post(v, q, &wqe, blocks);
	if (!r)
		q->posted += blocks;
	return r;
}

int plain_qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_qp *q = numbers_find(&v->card.qps, qpn);
	int r;

	if (!q)
		return -ENOENT;
	if (q->state != PLAIN_READY && q->state != PLAIN_STOPPED)
		return -ENOTCONN;
	if ((uint16_t)(pi - q->posted) > 1u << q->attr.log_sq)
		return -EINVAL;
	r = plain_receives_post(v, q);
	while (!r && q->posted != pi)
		r = wqe_take(v, q, pi - q->posted);
	return r;
}

/* ---- receives ---------------------------------------------------------------------- */

static int receive_post(struct nic_verbs *v, struct plain_qp *q)
{
	const struct name name = {
		.serial = q->serial, .at = q->received, .receive = true,
	};
	size_t stride = (size_t)1 << q->attr.log_rq_stride;
	uint16_t slot = q->received & ((1u << q->attr.log_rq) - 1);
	struct wrc_sge from[WRC_MAX_RECV_SGE];
	struct ibv_sge sge[WRC_MAX_RECV_SGE];
	struct ibv_recv_wr wr = { .wr_id = name_pack(&name), .sg_list = sge }, *bad;
	int r = wrc_decode_recv((const uint8_t *)q->attr.rq + slot * stride, stride, from);

	if (r < 0)
		return r;
	wr.num_sge = r;
	r = sge_fill(v, from, wr.num_sge, sge);
	return r ? r : plain_result(ibv_post_recv(q->qp, &wr, &bad));
}

int plain_receives_post(struct nic_verbs *v, struct plain_qp *q)
{
	uint16_t end;
	int r = 0;

	if (!q->attr.rq || q->state == PLAIN_RESET)
		return 0;
	end = be32_to_cpu(__atomic_load_n(&q->attr.dbr->rcv, __ATOMIC_ACQUIRE));
	while (!r && q->received != end) {
		r = receive_post(v, q);
		if (!r)
			q->received++;
	}
	return r;
}

/* ---- completions -------------------------------------------------------------------- */

static uint8_t syndrome_of(enum ibv_wc_status status)
{
	static const uint8_t syndromes[] = {
		[IBV_WC_LOC_LEN_ERR] = WRC_SYND_LOCAL_LENGTH,
		[IBV_WC_LOC_QP_OP_ERR] = WRC_SYND_LOCAL_QP_OP,
		[IBV_WC_LOC_PROT_ERR] = WRC_SYND_LOCAL_PROT,
		[IBV_WC_WR_FLUSH_ERR] = WRC_SYND_WR_FLUSH,
		[IBV_WC_MW_BIND_ERR] = WRC_SYND_MW_BIND,
		[IBV_WC_BAD_RESP_ERR] = WRC_SYND_BAD_RESP,
		[IBV_WC_LOC_ACCESS_ERR] = WRC_SYND_LOCAL_ACCESS,
		[IBV_WC_REM_INV_REQ_ERR] = WRC_SYND_REMOTE_INVAL,
		[IBV_WC_REM_ACCESS_ERR] = WRC_SYND_REMOTE_ACCESS,
		[IBV_WC_REM_OP_ERR] = WRC_SYND_REMOTE_OP,
		[IBV_WC_RETRY_EXC_ERR] = WRC_SYND_RETRY_EXC,
		[IBV_WC_RNR_RETRY_EXC_ERR] = WRC_SYND_RNR_EXC,
	};

	return (size_t)status < sizeof(syndromes) && syndromes[status] ? syndromes[status] :
	       WRC_SYND_ABORTED;
}

static uint8_t cqe_opcode(const struct ibv_wc *wc, const struct name *name)
{
	bool imm;

	if (wc->status)
		return name->receive ? WRC_CQE_RESP_ERR : WRC_CQE_REQ_ERR;
	if (!name->receive)
		return WRC_CQE_REQ;
	imm = wc->wc_flags & IBV_WC_WITH_IMM;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return WRC_CQE_RESP_WR_IMM;
	return imm ? WRC_CQE_RESP_SEND_IMM : WRC_CQE_RESP_SEND;
}

static void cqe_fill(const struct ibv_wc *wc, const struct name *name,
		     struct wrc_cqe *ret_cqe)
{
	struct wrc_cqe_err err = {
		.vendor_synd = wc->vendor_err, .syndrome = syndrome_of(wc->status),
		.sop_qpn = cpu_to_be32((uint32_t)name->opcode << 24 | wc->qp_num),
		.wqe_counter = cpu_to_be16(name->at),
		.op_own = cqe_opcode(wc, name) << 4,
	};
	struct wrc_cqe cqe = {
		.byte_cnt = cpu_to_be32(wc->byte_len), .imm = wc->imm_data,
		.sop_qpn = err.sop_qpn, .wqe_counter = err.wqe_counter,
		.op_own = err.op_own,
	};

	memcpy(ret_cqe, wc->status ? (void *)&err : &cqe, sizeof(cqe));
}

/* Notes what a completion tells about its queue pair. */
static void qp_note(struct plain_qp *q, const struct ibv_wc *wc, const struct name *name)
{
	if (!wc->status && !name->receive)
		q->executed = name->at + name->blocks;
	if (!wc->status)
		return;
	q->failed = true;
	if (wc->status != IBV_WC_WR_FLUSH_ERR && !q->syndrome)
		q->syndrome = syndrome_of(wc->status);
}

/* Completions may be left of a queue pair that is destroyed, also under a number that
 * another one has now. */
static struct plain_qp *qp_of(struct nic_verbs *v, const struct ibv_wc *wc,
			      const struct name *name)
{
	struct plain_qp *q = numbers_find(&v->card.qps, wc->qp_num);

	return q && q->serial == name->serial ? q : NULL;
}

int plain_cq_poll(struct nic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_cq *c = numbers_find(&v->card.cqs, cqn);
	struct plain_qp *q;
	struct name name;
	struct ibv_wc wc;
	int r;

	if (!c)
		return -ENOENT;
	for (q = c->receivers; q; q = q->next)
		plain_receives_post(v, q);	/* what fails is tried again */
	while ((r = ibv_poll_cq(c->cq, 1, &wc)) > 0) {
		name = name_unpack(wc.wr_id);
		q = qp_of(v, &wc, &name);
		if (!q)
			continue;
		qp_note(q, &wc, &name);
		if (name.quiet && !wc.status)
			continue;
		cqe_fill(&wc, &name, ret_cqe);
		return 0;
	}
	return r ? -EIO : -EAGAIN;
}
