// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC responder: executes requests in PSN order, exactly once.
 *
 * SENDs and WRITEs are executed as their packets arrive.  READs and atomics
 * append a reply to a short queue, which rc_resp_turn() sends.
 * Acknowledgements leave in PSN order: first the replies, then the one ACK or
 * NAK that is due.
 *
 * A plain ACK never names the PSN of a READ or atomic: a requester that lost
 * the reply could take the ACK for it.
 */
#include <stdlib.h>

#include "transport-priv.h"

/* ---- set-up and tear-down ------------------------------------------------- */

int rc_resp_init(struct snic_qp *qp)
{
	unsigned int nr = qp->conn.max_dest_rd_atomic;
	struct snic_rc_resp *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->epsn = qp->conn.rq_psn;
	r->nr = nr;
	if (nr) {
		r->replies = calloc(nr, sizeof(*r->replies));
		r->results = calloc(nr, sizeof(*r->results));
		if (!r->replies || !r->results) {
			free(r->replies);
			free(r->results);
			free(r);
			return -ENOMEM;
		}
	}
	qp->resp = r;
	rc_ack_init(qp);
	rc_ahead_init(qp);
	return 0;
}

void rc_resp_fini(struct snic_qp *qp)
{
	rc_ahead_fini(qp);
	rc_ack_flush(qp);
	free(qp->resp->replies);
	free(qp->resp->results);
	free(qp->resp);
	qp->resp = NULL;
}

/* Completes the receive WQE of the current message with an error. */
static void fail_recv(struct snic_qp *qp, enum wrc_cqe_syndrome syndrome)
{
	struct snic_rc_resp *r = qp->resp;
	struct snic_cqe_info info = {
		.opcode = WRC_CQE_RESP_ERR,
		.syndrome = syndrome,
		.wqe_counter = r->recv.wqe_counter,
	};

	r->have_recv = false;
	snic_qp_complete_recv(qp, &info);
}

void rc_resp_flush(struct snic_qp *qp)
{
	struct snic_rc_resp *r = qp->resp;

	r->msg = RC_MSG_NONE;
	r->nr_replies = 0;
	rc_ack_flush(qp);
	rc_ahead_flush(qp);
	if (r->have_recv)
		fail_recv(qp, WRC_SYND_WR_FLUSH);
}

/* ---- requests that cannot be executed ---------------------------------------- */

static void qp_fail_now(struct snic_qp *qp)
{
	struct snic_rc_resp *r = qp->resp;

	/* Send the NAK now: a queue pair in ERR gets no turn.  If the NAK is
	 * not sent, the requester notices by time-out. */
	rc_ack_now(qp, r->fail_nak, r->fail_psn);
	if (r->have_recv)
		fail_recv(qp, r->fail_syndrome);
	snic_qp_fail(qp, r->fail_syndrome);
}

/*
 * A request that cannot be executed: sends a NAK and moves the QP to ERR with
 * `syndrome`, which also completes a receive WQE that the request has taken.
 * Replies to earlier requests are sent first, because the requester could not
 * know otherwise that these were executed; until then the QP executes no
 * request.
 */
static void qp_fail(struct snic_qp *qp, const struct snic_pkt *pkt,
		    uint8_t nak_syndrome, enum wrc_cqe_syndrome syndrome)
{
	struct snic_rc_resp *r = qp->resp;

	r->fail_nak = nak_syndrome;
	r->fail_syndrome = syndrome;
	r->fail_psn = pkt->psn;
	if (!r->nr_replies || r->replies[0].psn == pkt->psn) {
		qp_fail_now(qp);
		return;
	}
	r->failing = true;
	rc_want_turn(qp);
}

static void qp_fail_invalid(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	qp_fail(qp, pkt, SNIC_NAK_INVALID_REQ, WRC_SYND_REMOTE_INVAL);
}

static void qp_fail_access(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	qp_fail(qp, pkt, SNIC_NAK_REMOTE_ACCESS, WRC_SYND_LOCAL_ACCESS);
}

/* ---- receive WQEs -------------------------------------------------------------- */

/* True: r->recv is valid.  False: the request has been answered with a NAK. */
static bool take_recv(struct snic_qp *qp, const struct snic_pkt *pkt,
		      bool want_sges)
{
	struct snic_rc_resp *r = qp->resp;
	int err = snic_rq_take(qp, want_sges, &r->recv);

	if (err == -EAGAIN) {
		r->rnr_sent = true;
		rc_nak(qp, SNIC_AETH_RNR |
			(qp->conn.min_rnr_timer & SNIC_AETH_VALUE), pkt->psn);
		return false;
	}
	r->have_recv = true;
	if (err) {
		qp_fail(qp, pkt, SNIC_NAK_REMOTE_OP, WRC_SYND_LOCAL_PROT);
		return false;
	}
	return true;
}

static uint8_t recv_opcode(const struct snic_pkt *pkt)
{
	if (pkt->flags & SNIC_OPF_WRITE)
		return WRC_CQE_RESP_WR_IMM;
	if (pkt->flags & SNIC_OPF_IMM)
		return WRC_CQE_RESP_SEND_IMM;
	if (pkt->flags & SNIC_OPF_IETH)
		return WRC_CQE_RESP_SEND_INV;
	return WRC_CQE_RESP_SEND;
}

static void complete_recv(struct snic_qp *qp, const struct snic_pkt *pkt,
			  uint32_t byte_cnt)
{
	struct snic_rc_resp *r = qp->resp;
	struct snic_cqe_info info = {
		.opcode = recv_opcode(pkt),
		.wqe_counter = r->recv.wqe_counter,
		.byte_cnt = byte_cnt,
		.solicited = pkt->solicited,
	};

	if (pkt->flags & SNIC_OPF_IMM)
		info.imm = pkt->imm;
	else if (pkt->flags & SNIC_OPF_IETH)
		info.imm = cpu_to_be32(pkt->inv_rkey);
	r->have_recv = false;
	snic_qp_complete_recv(qp, &info);
}

/* ---- requests in order ---------------------------------------------------------- */

/*
 * Does the packet continue the current message, or begin one between messages?
 */
static bool packet_in_sequence(const struct snic_rc_resp *r,
			       const struct snic_pkt *pkt)
{
	bool first = pkt->flags & SNIC_OPF_FIRST;

	switch (r->msg) {
	case RC_MSG_SEND:
		return !first && pkt->flags & SNIC_OPF_SEND;
	case RC_MSG_WRITE:
		return !first && pkt->flags & SNIC_OPF_WRITE;
	default:
		return first;
	}
}

/* All packets but the last are full; the last is empty only if it is the only
 * one. */
static bool packet_size_ok(const struct snic_qp *qp, const struct snic_pkt *pkt)
{
	if (!(pkt->flags & SNIC_OPF_LAST))
		return pkt->len == qp->conn.mtu;
	return pkt->len <= qp->conn.mtu &&
	       (pkt->len || pkt->flags & SNIC_OPF_FIRST);
}

/*
 * The packet was executed: advances epsn, and acknowledges the packet if asked.
 */
static void packet_executed(struct snic_qp *qp, const struct snic_pkt *pkt,
			    enum rc_msg msg)
{
	struct snic_rc_resp *r = qp->resp;
	bool last = pkt->flags & SNIC_OPF_LAST;

	rc_rate_pay(qp, pkt->len);
	r->epsn = snic_psn_add(r->epsn, 1);
	r->off += pkt->len;
	r->msg = last ? RC_MSG_NONE : msg;
	if (last)
		r->msn++;
	if (!pkt->ack_req)
		return;
	if (msg == RC_MSG_SEND && last && !r->ahead.gap)
		rc_ack_message(qp, pkt->psn, pkt->flags & SNIC_OPF_FIRST);
	else
		rc_ack(qp, pkt->psn);
}

static void do_send(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;

	if (!packet_size_ok(qp, pkt)) {
		qp_fail_invalid(qp, pkt);
		return;
	}
	if (pkt->flags & SNIC_OPF_FIRST) {
		if (!take_recv(qp, pkt, true))
			return;
		r->off = 0;
	}
	if ((uint64_t)r->off + pkt->len > r->recv.len) {
		qp_fail(qp, pkt, SNIC_NAK_INVALID_REQ, WRC_SYND_LOCAL_LENGTH);
		return;
	}
	snic_sges_scatter(r->recv.sges, r->recv.nr_sge, r->off, pkt->payload,
			  pkt->len);
	packet_executed(qp, pkt, RC_MSG_SEND);
	if (pkt->flags & SNIC_OPF_LAST)
		complete_recv(qp, pkt, r->off);
}

/* An indirect key splits the payload of a packet into two pieces at most. */
#define PIECES 2

/*
 * Translates a packet's payload that snic_mem() has not found in one piece;
 * returns the number of pieces or -errno.  Valid for this packet only: a UMR
 * may change the entry before the next packet arrives.
 */
static __attribute__((noinline)) int
payload_pieces(struct snic_qp *qp, uint32_t rkey, uint64_t va, uint32_t len,
	       unsigned int need, struct snic_sge ret_pieces[PIECES])
{
	int n = 0;

	while (len && n < PIECES) {
		int err = snic_mem_piece(qp->nic, qp->attr.pdn, rkey, va, len,
					 need, &ret_pieces[n]);

		if (err)
			return err;
		va += ret_pieces[n].len;
		len -= ret_pieces[n].len;
		n++;
	}
	return n;
}

/* Is the whole range of a RETH accessible, in any number of pieces?  An empty
 * message needs no key. */
static bool reth_is_there(struct snic_qp *qp, const struct snic_pkt *pkt,
			  unsigned int need)
{
	void *ptr;

	return !pkt->dma_len ||
	       !snic_mem(qp->nic, qp->attr.pdn, pkt->rkey, pkt->va,
			 pkt->dma_len, need, &ptr) ||
	       !snic_mem_check(qp->nic, qp->attr.pdn, pkt->rkey, pkt->va,
			       pkt->dma_len, need);
}

/* Checks the access rights of a WRITE for its whole range. */
static bool begin_write(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;

	if (!(qp->attr.access & SNIC_REMOTE_WRITE) ||
	    pkt->dma_len > RC_MSG_MAX) {
		qp_fail_invalid(qp, pkt);
		return false;
	}
	if (!reth_is_there(qp, pkt, SNIC_REMOTE_WRITE)) {
		qp_fail_access(qp, pkt);
		return false;
	}
	r->va = pkt->va;
	r->rkey = pkt->rkey;
	r->len = pkt->dma_len;
	r->off = 0;
	return true;
}

static void write_executed(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	packet_executed(qp, pkt, RC_MSG_WRITE);
	if (pkt->flags & SNIC_OPF_IMM)
		complete_recv(qp, pkt, qp->resp->len);
}

/* Executes a WRITE packet under an indirect key, or under one that is not
 * valid. */
static __attribute__((noinline)) void
do_write_pieces(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;
	struct snic_sge to[PIECES];
	int n = payload_pieces(qp, r->rkey, r->va + r->off, pkt->len,
			       SNIC_REMOTE_WRITE, to);

	if (n < 0) {
		qp_fail_access(qp, pkt);
		return;
	}
	if (pkt->flags & SNIC_OPF_IMM && !take_recv(qp, pkt, false))
		return;
	snic_sges_scatter(to, n, 0, pkt->payload, pkt->len);
	write_executed(qp, pkt);
}

static void do_write(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;
	bool last = pkt->flags & SNIC_OPF_LAST;
	void *ptr;

	if (pkt->flags & SNIC_OPF_FIRST && !begin_write(qp, pkt))
		return;
	if (!packet_size_ok(qp, pkt) || pkt->len > r->len - r->off ||
	    last != (pkt->len == r->len - r->off)) {
		qp_fail_invalid(qp, pkt);
		return;
	}
	/*
	 * The key is looked up for each packet: it may have been destroyed, and
	 * the entries of an indirect key may have changed.  Software that
	 * changes an entry relies on this: no packet that arrives after the UMR
	 * goes to the old page.
	 */
	if (pkt->len && snic_mem(qp->nic, qp->attr.pdn, r->rkey, r->va + r->off,
				 pkt->len, SNIC_REMOTE_WRITE, &ptr)) {
		do_write_pieces(qp, pkt);
		return;
	}
	if (pkt->flags & SNIC_OPF_IMM && !take_recv(qp, pkt, false))
		return;
	if (pkt->len)
		snic_copy(ptr, pkt->payload, pkt->len);
	write_executed(qp, pkt);
}

static void append_reply(struct snic_qp *qp, const struct rc_reply *reply)
{
	struct snic_rc_resp *r = qp->resp;

	r->replies[r->nr_replies++] = *reply;
	rc_want_turn(qp);
}

static struct rc_reply read_reply(const struct snic_qp *qp,
				  const struct snic_pkt *pkt)
{
	uint32_t nr = rc_nr_packets(pkt->dma_len, qp->conn.mtu);

	return (struct rc_reply){
		.psn = pkt->psn,
		.end = snic_psn_add(pkt->psn, nr - 1),
		.rkey = pkt->rkey,
		.va = pkt->va,
		.len = pkt->dma_len,
	};
}

static void do_read(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;
	struct rc_reply reply;

	if (!(qp->attr.access & SNIC_REMOTE_READ) || !r->nr ||
	    pkt->dma_len > RC_MSG_MAX ||
	    rc_nr_packets(pkt->dma_len, qp->conn.mtu) > RC_PSN_SPAN) {
		qp_fail_invalid(qp, pkt);
		return;
	}
	/* More READs than agreed on: dropped; the requester will ask again. */
	if (r->nr_replies == r->nr)
		return;
	if (!reth_is_there(qp, pkt, SNIC_REMOTE_READ)) {
		qp_fail_access(qp, pkt);
		return;
	}
	reply = read_reply(qp, pkt);
	append_reply(qp, &reply);
	r->epsn = snic_psn_add(reply.end, 1);
	r->msn++;
}

static uint64_t run_atomic(const struct snic_pkt *pkt, void *ptr)
{
	struct snic_wqe w;

	w.opcode = pkt->opcode == SNIC_OP_CMP_SWAP ? WRC_WQE_CS : WRC_WQE_FA;
	w.opmod = 0;
	w.add_swap = pkt->swap_add;
	w.compare = pkt->compare;
	w.swap_mask = ~0ull;
	w.compare_mask = w.opcode == WRC_WQE_CS ? ~0ull : 0;
	return snic_atomic(&w, ptr);
}

static void do_atomic(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;
	struct rc_result *res;
	void *ptr;

	/* An aligned address is aligned in memory too; see snic_mkey_reg(). */
	if (!(qp->attr.access & SNIC_REMOTE_ATOMIC) || !r->nr || pkt->va & 7) {
		qp_fail_invalid(qp, pkt);
		return;
	}
	if (r->nr_replies == r->nr)
		return;
	if (snic_mem(qp->nic, qp->attr.pdn, pkt->rkey, pkt->va, 8,
		     SNIC_REMOTE_ATOMIC, &ptr)) {
		qp_fail_access(qp, pkt);
		return;
	}
	res = &r->results[r->next_result];
	r->next_result = (r->next_result + 1) % r->nr;
	*res = (struct rc_result){
		.valid = true,
		.psn = pkt->psn,
		.orig = run_atomic(pkt, ptr),
	};
	append_reply(qp, &(struct rc_reply){
		.psn = pkt->psn,
		.end = pkt->psn,
		.atomic = true,
		.orig = res->orig,
	});
	r->epsn = snic_psn_add(r->epsn, 1);
	r->msn++;
}

/* ---- duplicate requests -------------------------------------------------------------- */

/* The queued reply that ends within the PSNs of `reply`, or NULL. */
static struct rc_reply *find_reply(struct snic_rc_resp *r,
				   const struct rc_reply *reply)
{
	unsigned int i;

	for (i = 0; i < r->nr_replies; i++)
		if (snic_psn_diff(reply->psn, r->replies[i].end) <= 0 &&
		    snic_psn_diff(reply->end, r->replies[i].end) >= 0)
			return &r->replies[i];
	return NULL;
}

/* Sends a reply again.  If the reply is still queued and begins no later,
 * nothing is to be done; if part of it was sent, it starts again. */
static void repeat_reply(struct snic_qp *qp, const struct rc_reply *reply)
{
	struct snic_rc_resp *r = qp->resp;
	struct rc_reply *q = find_reply(r, reply);
	unsigned int i;

	if (q) {
		if (snic_psn_diff(reply->psn, q->psn) < 0)
			*q = *reply;
		return;
	}
	if (r->nr_replies == r->nr)
		return;
	for (i = r->nr_replies; i > 0; i--) {
		if (snic_psn_diff(r->replies[i - 1].psn, reply->psn) < 0)
			break;
		r->replies[i] = r->replies[i - 1];
	}
	r->replies[i] = *reply;
	r->nr_replies++;
	rc_want_turn(qp);
}

static void repeat_read(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;
	struct rc_reply reply;

	if (!r->nr || !(qp->attr.access & SNIC_REMOTE_READ) ||
	    pkt->dma_len > RC_MSG_MAX)
		return;
	reply = read_reply(qp, pkt);
	/* Not a duplicate if it is longer than the original; and the key must
	 * still be valid. */
	if (snic_psn_diff(reply.end, r->epsn) >= 0 ||
	    snic_psn_diff(reply.end, pkt->psn) < 0 ||
	    !reth_is_there(qp, pkt, SNIC_REMOTE_READ))
		return;
	repeat_reply(qp, &reply);
}

/* The responder keeps as many results as may be outstanding, and drops a duplicate
 * of an older atomic. */
static void repeat_atomic(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		const struct rc_result *res = &r->results[i];

		if (!res->valid || res->psn != pkt->psn)
			continue;
		repeat_reply(qp, &(struct rc_reply){
			.psn = pkt->psn,
			.end = pkt->psn,
			.atomic = true,
			.orig = res->orig,
		});
		return;
	}
}

/* A duplicate SEND or WRITE is acknowledged for its own PSN only: the requester
 * may still miss the reply to a later READ. */
static void packet_duplicate(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	snic_stats(qp->nic)->duplicates++;
	/* Two different requests for one PSN: one was forged, and one was
	 * executed. */
	if (!rc_ahead_same(qp, pkt)) {
		qp_fail_invalid(qp, pkt);
		return;
	}
	if (pkt->flags & (SNIC_OPF_SEND | SNIC_OPF_WRITE))
		rc_ack(qp, pkt->psn);
	else if (pkt->flags & SNIC_OPF_ATOMIC)
		repeat_atomic(qp, pkt);
	else
		repeat_read(qp, pkt);
}

/* ---- all requests --------------------------------------------------------------------- */

bool rc_resp_full(const struct snic_rc_resp *r, const struct snic_pkt *pkt)
{
	return r->nr && r->nr_replies == r->nr &&
	       !(pkt->flags & (SNIC_OPF_SEND | SNIC_OPF_WRITE));
}

void rc_resp_execute(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_resp *r = qp->resp;

	if (r->failing)
		return;
	r->rnr_sent = false;
	if (r->ack_due && !rc_positive_due(r))
		r->ack_due = false;	/* the request has arrived within the same step */
	if (!packet_in_sequence(r, pkt))
		qp_fail_invalid(qp, pkt);
	else if (pkt->flags & SNIC_OPF_SEND)
		do_send(qp, pkt);
	else if (pkt->flags & SNIC_OPF_WRITE)
		do_write(qp, pkt);
	else if (pkt->flags & SNIC_OPF_ATOMIC)
		do_atomic(qp, pkt);
	else
		do_read(qp, pkt);
}

void rc_resp_receive(struct snic_qp *qp, const struct snic_pkt *pkt,
		     uint16_t port)
{
	struct snic_rc_resp *r = qp->resp;
	int32_t diff = snic_psn_diff(pkt->psn, r->epsn);
	struct snic_pkt filler;

	if (diff > 0) {
		snic_stats(qp->nic)->out_of_sequence++;
		rc_ahead_receive(qp, pkt, port);
		return;
	}
	rc_ahead_see(r, pkt);
	if (diff < 0) {
		packet_duplicate(qp, pkt);
		return;
	}
	rc_ahead_port(qp, port);
	if (!r->ahead.gap) {
		rc_resp_execute(qp, pkt);
		return;
	}
	/* Acknowledge progress at once: some requesters go back again only
	 * after an ACK. */
	filler = *pkt;
	filler.ack_req = true;
	rc_resp_execute(qp, &filler);
	rc_ahead_go_on(qp, pkt->psn);
}

/* ---- sending --------------------------------------------------------------------------- */

static int send_atomic_reply(struct snic_qp *qp, const struct rc_reply *q)
{
	struct snic_pkt pkt = {
		.opcode = SNIC_OP_ATOMIC_ACK,
		.psn = q->psn,
		.syndrome = SNIC_ACK_UNLIMITED,
		.msn = qp->resp->msn,
		.orig = q->orig,
	};

	return rc_send(qp, &pkt, NULL, 0, 0);
}

/* payload_pieces() for READ data, as iov. */
static int reply_pieces(struct snic_qp *qp, const struct rc_reply *q,
			uint32_t len, struct iovec ret_iov[PIECES])
{
	struct snic_sge from[PIECES];
	int i, n = payload_pieces(qp, q->rkey, q->va, len, SNIC_REMOTE_READ,
				  from);

	for (i = 0; i < n; i++)
		ret_iov[i] = (struct iovec){ from[i].ptr, from[i].len };
	return n;
}

/*
 * Sends one packet of READ data.  -EACCES: the key or its entry is no longer
 * valid.  The key is looked up for each packet, as for WRITEs: no packet that
 * is sent after a UMR has data of the old page, even if the reply began before.
 */
static int send_read_reply(struct snic_qp *qp, const struct rc_reply *q)
{
	uint32_t len = rc_min(q->len, qp->conn.mtu);
	bool last = q->psn == q->end;
	struct iovec iov[PIECES] = { { .iov_len = len } };
	int n = len ? 1 : 0;
	struct snic_pkt pkt = {
		.psn = q->psn,
		.syndrome = SNIC_ACK_UNLIMITED,
		.msn = qp->resp->msn,
	};

	if (last)
		pkt.opcode = q->begun ? SNIC_OP_READ_RESP_LAST :
					SNIC_OP_READ_RESP_ONLY;
	else
		pkt.opcode = q->begun ? SNIC_OP_READ_RESP_MIDDLE :
					SNIC_OP_READ_RESP_FIRST;
	if (len && snic_mem(qp->nic, qp->attr.pdn, q->rkey, q->va, len,
			    SNIC_REMOTE_READ, &iov[0].iov_base))
		n = reply_pieces(qp, q, len, iov);
	return n < 0 ? -EACCES : rc_send(qp, &pkt, iov, n, len);
}

static void reply_sent(struct snic_rc_resp *r, uint32_t mtu)
{
	struct rc_reply *q = &r->replies[0];
	uint32_t len = rc_min(q->len, mtu);

	/* The reply acknowledges earlier requests. */
	if (rc_positive_due(r) && snic_psn_diff(r->ack_psn, q->psn) < 0)
		r->ack_due = false;
	if (q->psn == q->end) {
		r->nr_replies--;
		memmove(q, q + 1, r->nr_replies * sizeof(*q));
		return;
	}
	q->begun = true;
	q->psn = snic_psn_add(q->psn, 1);
	q->va += len;
	q->len -= len;
}

int rc_resp_turn(struct snic_qp *qp)
{
	struct snic_rc_resp *r = qp->resp;
	unsigned int budget = RC_TURN;
	int err;

	while (r->nr_replies) {
		const struct rc_reply *q = &r->replies[0];

		if (!budget--)
			return 1;
		err = q->atomic ? send_atomic_reply(qp, q) :
				  send_read_reply(qp, q);
		if (err == -EACCES) {
			struct snic_pkt at = { .psn = q->psn };

			qp_fail_access(qp, &at);
			return 0;
		}
		if (err)
			return err;
		reply_sent(r, qp->conn.mtu);
	}
	if (r->failing) {
		qp_fail_now(qp);
		return 0;
	}
	/* A held request may have waited for room for its reply. */
	if (r->ahead.gap && r->ahead.slot[r->epsn % RC_AHEAD]) {
		rc_ahead_go_on(qp, r->epsn);
		if (r->nr_replies)
			return 1;
	}
	return rc_ack_turn(qp);
}
