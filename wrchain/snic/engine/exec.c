// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Executes one decoded WQE that moves data (sq.c and umr.c have the other
 * kinds).  It goes to the transport; on a loopback QP it is executed here with
 * the protection domain and the rights of the peer QP, as a responder would do
 * it.
 */
#include <errno.h>
#include "engine-priv.h"

/* Code that most WQEs do not run. */
#define RARELY static __attribute__((cold, noinline))

/* A loopback WQE under execution. */
struct loop {
	struct snic_qp *qp, *peer;
	const struct snic_wqe *w;
	unsigned int nr_sge;
	struct snic_sge sges[SNIC_MAX_SGE];	/* local list, translated */
};

/* ---- atomics ----------------------------------------------------------- */

static uint64_t masked_cs(uint64_t old, const struct snic_wqe *w)
{
	if ((old ^ w->compare) & w->compare_mask)
		return old;
	return (old & ~w->swap_mask) | (w->add_swap & w->swap_mask);
}

/* Adds field by field: the carry out of each field's top bit is dropped. */
static uint64_t masked_fa(uint64_t old, const struct snic_wqe *w)
{
	uint64_t top = w->compare_mask;

	return ((old & ~top) + (w->add_swap & ~top)) ^
	       ((old ^ w->add_swap) & top);
}

static uint64_t new_value(uint64_t old, const struct snic_wqe *w)
{
	switch (w->opcode) {
	case WRC_WQE_FA:
		return old + w->add_swap;
	case WRC_WQE_MASKED_FA:
		return masked_fa(old, w);
	case WRC_WQE_CS:
		return old == w->compare ? w->add_swap : old;
	default:
		return masked_cs(old, w);
	}
}

/* Atomic for other threads of this process too, such as the agent's. */
uint64_t snic_atomic(const struct snic_wqe *w, void *ptr)
{
	uint64_t old = __atomic_load_n((uint64_t *)ptr, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n((uint64_t *)ptr, &old,
					    new_value(old, w), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return old;
}

static uint32_t exec_atomic4(const struct snic_wqe *w, void *ptr)
{
	uint32_t old = __atomic_load_n((uint32_t *)ptr, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n((uint32_t *)ptr, &old,
					    (uint32_t)new_value(old, w), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return old;
}

/* ---- the peer of a loopback QP ------------------------------------------ */

uint64_t snic_rnr_ns(uint8_t code)
{
	static const uint32_t us10[32] = {	/* in 10 us */
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
		12288, 16384, 24576, 32768, 49152,
	};

	return us10[code & 31] * 10000ull;
}

/* Sets the timer for another try, max tries in a row at most; endless: no
 * maximum. */
static int send_again(struct snic_qp *qp, uint64_t delay, unsigned int max,
		      bool endless, int synd)
{
	if (!endless) {
		if (qp->sq_tries >= max)
			return synd;
		qp->sq_tries++;
	}
	snic_timer_set(qp->nic, &qp->sq_timer, qp->nic->now + delay);
	return -EAGAIN;
}

static int peer_not_ready(struct loop *l)
{
	struct snic_qp *qp = l->qp;

	qp->nic->stats.rnr_naks++;
	qp->nic->stats.rnr_received++;
	return send_again(qp, snic_rnr_ns(l->peer->conn.min_rnr_timer),
			  qp->conn.rnr_retry, qp->conn.rnr_retry == 7,
			  WRC_SYND_RNR_EXC);
}

/* The peer QP does not exist or is in ERR: as if no ACK came. */
static int peer_no_answer(struct snic_qp *qp)
{
	if (!qp->conn.timeout)
		return -EAGAIN;		/* until the peer QP enters RTR */
	qp->nic->stats.timeouts++;
	return send_again(qp, 4096ull << qp->conn.timeout, qp->conn.retry_cnt, false,
			  WRC_SYND_RETRY_EXC);
}

static bool peer_answers(const struct snic_qp *peer, uint32_t qpn)
{
	return peer && peer->conn.loopback && peer->conn.dest_qpn == qpn &&
	       (peer->state == SNIC_QP_RTR || peer->state == SNIC_QP_RTS);
}

/* A responder that refuses a request goes to ERR too. */
static int peer_refuse(struct loop *l, int synd)
{
	snic_qp_fail_send(l->qp, l->w, synd);
	snic_qp_fail(l->peer, WRC_SYND_LOCAL_ACCESS);
	return synd;
}

/* Refuses a request that has taken a receive WQE. */
static int peer_refuse_recv(struct loop *l, const struct snic_recv *recv,
			    uint8_t recv_synd, int synd)
{
	struct snic_cqe_info info = {
		.opcode = WRC_CQE_RESP_ERR,
		.syndrome = recv_synd,
		.wqe_counter = recv->wqe_counter,
	};

	snic_qp_fail_send(l->qp, l->w, synd);
	snic_qp_complete_recv(l->peer, &info);
	return synd;
}

static unsigned int right_for(const struct snic_wqe *w)
{
	switch (w->opcode) {
	case WRC_WQE_WRITE:
	case WRC_WQE_WRITE_IMM:
		return SNIC_REMOTE_WRITE;
	case WRC_WQE_READ:
		return SNIC_REMOTE_READ;
	default:
		return SNIC_REMOTE_ATOMIC;
	}
}

/* snic_mem() has failed: -EXDEV if the key is indirect and the access is
 * allowed. */
RARELY int remote_pieces(struct loop *l)
{
	const struct snic_wqe *w = l->w;

	if (snic_mem_check(l->qp->nic, l->peer->attr.pdn, w->rkey, w->raddr,
			   w->len, right_for(w)))
		return peer_refuse(l, WRC_SYND_REMOTE_ACCESS);
	return -EXDEV;
}

/* 0, -EXDEV (see remote_pieces()), or the syndrome after peer_refuse(). */
static int remote_mem(struct loop *l, unsigned int right, void **ret_ptr)
{
	const struct snic_wqe *w = l->w;
	struct snic_qp *peer = l->peer;

	*ret_ptr = NULL;
	if (!(peer->attr.access & right))
		return peer_refuse(l, WRC_SYND_REMOTE_ACCESS);
	if (w->len && snic_mem(l->qp->nic, peer->attr.pdn, w->rkey, w->raddr,
			       w->len, right, ret_ptr))
		return remote_pieces(l);
	return 0;
}

/* ---- data between lists ------------------------------------------------- */

static void list_to_buf(const struct loop *l, void *dst)
{
	if (l->w->is_inline)
		snic_copy(dst, l->w->inline_data, l->w->len);
	else
		snic_sges_gather(l->sges, l->nr_sge, 0, dst, l->w->len);
}

/*
 * Copies between the local list and remote memory of an indirect key.
 * remote_pieces() has checked all pieces, and no entry changes within one WQE.
 */
RARELY void copy_pieces(const struct loop *l,
			void (*copy)(const struct loop *l, uint32_t off,
				     const struct snic_sge *piece))
{
	const struct snic_wqe *w = l->w;
	struct snic_sge piece;
	uint32_t off;

	for (off = 0; off < w->len; off += piece.len) {
		if (snic_mem_piece(l->qp->nic, l->peer->attr.pdn, w->rkey,
				   w->raddr + off, w->len - off, right_for(w),
				   &piece))
			return;
		copy(l, off, &piece);
	}
}

static void piece_to_list(const struct loop *l, uint32_t off,
			  const struct snic_sge *piece)
{
	snic_sges_scatter(l->sges, l->nr_sge, off, piece->ptr, piece->len);
}

static void list_to_piece(const struct loop *l, uint32_t off,
			  const struct snic_sge *piece)
{
	if (l->w->is_inline)
		snic_copy(piece->ptr, l->w->inline_data + off, piece->len);
	else
		snic_sges_gather(l->sges, l->nr_sge, off, piece->ptr,
				 piece->len);
}

static void list_to_recv(const struct loop *l, const struct snic_recv *recv)
{
	uint64_t off = 0;
	unsigned int i;

	if (l->w->is_inline) {
		snic_sges_scatter(recv->sges, recv->nr_sge, 0,
				  l->w->inline_data, l->w->len);
		return;
	}
	for (i = 0; i < l->nr_sge; i++) {
		snic_sges_scatter(recv->sges, recv->nr_sge, off,
				  l->sges[i].ptr, l->sges[i].len);
		off += l->sges[i].len;
	}
}

static void recv_deliver(struct loop *l, const struct snic_recv *recv, uint8_t opcode)
{
	struct snic_cqe_info info = {
		.opcode = opcode,
		.wqe_counter = recv->wqe_counter,
		.byte_cnt = l->w->len,
		.imm = opcode == WRC_CQE_RESP_SEND ? 0 : l->w->imm,
		.solicited = l->w->solicited,
	};

	snic_qp_complete_recv(l->peer, &info);
}

/* ---- loopback operations ------------------------------------------------ */

static int loop_send(struct loop *l)
{
	struct snic_recv recv;
	int r = snic_rq_take(l->peer, true, &recv);

	if (r == -EAGAIN)
		return peer_not_ready(l);
	if (r)
		return peer_refuse_recv(l, &recv, WRC_SYND_LOCAL_PROT,
					WRC_SYND_REMOTE_OP);
	if (l->w->len > recv.len)
		return peer_refuse_recv(l, &recv, WRC_SYND_LOCAL_LENGTH,
					WRC_SYND_REMOTE_INVAL);
	list_to_recv(l, &recv);
	recv_deliver(l, &recv, l->w->opcode == WRC_WQE_SEND ?
			  WRC_CQE_RESP_SEND : WRC_CQE_RESP_SEND_IMM);
	return 0;
}

RARELY int write_pieces(struct loop *l)
{
	struct snic_recv recv;

	if (l->w->opcode == WRC_WQE_WRITE_IMM &&
	    snic_rq_take(l->peer, false, &recv))
		return peer_not_ready(l);
	copy_pieces(l, list_to_piece);
	if (l->w->opcode == WRC_WQE_WRITE_IMM)
		recv_deliver(l, &recv, WRC_CQE_RESP_WR_IMM);
	return 0;
}

static int loop_write(struct loop *l)
{
	struct snic_recv recv;
	void *dst;
	int r = remote_mem(l, SNIC_REMOTE_WRITE, &dst);

	if (r)
		return r == -EXDEV ? write_pieces(l) : r;
	if (l->w->opcode == WRC_WQE_WRITE_IMM &&
	    snic_rq_take(l->peer, false, &recv))
		return peer_not_ready(l);
	list_to_buf(l, dst);
	if (l->w->opcode == WRC_WQE_WRITE_IMM)
		recv_deliver(l, &recv, WRC_CQE_RESP_WR_IMM);
	return 0;
}

/* Scatters the result and writes the CQE: now, or delayed (land.c). */
static void land_data(struct loop *l, const void *data)
{
	if (snic_land_later(l->qp, l->w, l->sges, l->nr_sge, data))
		return;
	snic_sges_scatter(l->sges, l->nr_sge, 0, data, l->w->len);
	snic_qp_complete_send(l->qp, l->w, l->w->len);
}

/* The result is collected in one buffer first, for land_data(). */
RARELY int read_pieces(struct loop *l)
{
	uint8_t data[SNIC_LANDING_LEN];
	struct loop whole = *l;

	if (l->w->len <= sizeof(data)) {
		whole.nr_sge = 1;
		whole.sges[0] = (struct snic_sge){ data, l->w->len };
		copy_pieces(&whole, piece_to_list);
		land_data(l, data);
		return 0;
	}
	/* A long result is not delayed. */
	snic_land_all(l->qp);
	copy_pieces(l, piece_to_list);
	snic_qp_complete_send(l->qp, l->w, l->w->len);
	return 0;
}

static int loop_read(struct loop *l)
{
	void *src;
	int r = remote_mem(l, SNIC_REMOTE_READ, &src);

	if (r)
		return r == -EXDEV ? read_pieces(l) : r;
	land_data(l, src);
	return 0;
}

/*
 * The old value is written in host order, as a ConnectX does in the mode that
 * Linux selects (atomic_req_8B_endianness_mode 1).  That mode covers 8 bytes
 * only: a 4-byte result stays big endian.
 */
static int loop_atomic(struct loop *l)
{
	union {
		uint64_t v8;
		__be32 v4;
	} old;
	void *ptr;
	int r;

	if (l->w->raddr & (l->w->len - 1))
		return peer_refuse(l, WRC_SYND_REMOTE_INVAL);
	r = remote_mem(l, SNIC_REMOTE_ATOMIC, &ptr);
	if (r)
		return r;
	if (l->w->len == 8)
		old.v8 = htole64(snic_atomic(l->w, ptr));
	else
		old.v4 = cpu_to_be32(exec_atomic4(l->w, ptr));
	land_data(l, &old);
	return 0;
}

static bool writes_list(const struct snic_wqe *w)
{
	return w->opcode >= WRC_WQE_READ && w->opcode <= WRC_WQE_MASKED_FA;
}

static int exec_loopback(struct snic_qp *qp, const struct snic_wqe *w)
{
	struct loop l;
	int r;

	if (snic_wqe_sges(qp->nic, qp->attr.pdn, w,
			  writes_list(w) ? SNIC_LOCAL_WRITE : 0, l.sges))
		return WRC_SYND_LOCAL_PROT;
	l.qp = qp;
	l.w = w;
	l.nr_sge = w->nr_sge;
	l.peer = snic_qp_find(qp->nic, qp->conn.dest_qpn);
	if (!peer_answers(l.peer, qp->qpn))
		return peer_no_answer(qp);
	if (snic_land_full(qp))
		return -EAGAIN;
	switch (w->opcode) {
	case WRC_WQE_SEND:
	case WRC_WQE_SEND_IMM:
		r = loop_send(&l);
		break;
	case WRC_WQE_WRITE:
	case WRC_WQE_WRITE_IMM:
		r = loop_write(&l);
		break;
	case WRC_WQE_READ:
		r = loop_read(&l);
		break;
	default:
		r = loop_atomic(&l);
	}
	if (!r && !writes_list(w) && !snic_land_behind(qp, w))
		snic_qp_complete_send(qp, w, 0);
	return r;
}

static int exec_wire(struct snic_qp *qp, const struct snic_wqe *w)
{
	switch (qp->nic->upper->rc_post(qp, w)) {
	case 0:
		return 0;
	case -EAGAIN:
		return -EAGAIN;
	case -EACCES:
		return WRC_SYND_LOCAL_PROT;
	case -EMSGSIZE:
		return WRC_SYND_LOCAL_LENGTH;
	default:
		return WRC_SYND_LOCAL_QP_OP;
	}
}

/* ---- loopback or wire ------------------------------------------------------- */

int snic_exec(struct snic_qp *qp, const struct snic_wqe *w)
{
	return qp->conn.loopback ? exec_loopback(qp, w) : exec_wire(qp, w);
}
