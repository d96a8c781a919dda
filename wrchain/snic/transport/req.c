// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC requester: turns WQEs into request packets, keeps WQEs until they are
 * acknowledged, and sends lost packets again.
 *
 * PSNs are assigned when a WQE is posted.  `snd` runs through them; to go back
 * after a loss, the requester sets snd to una.  Payload is gathered from memory
 * each time a packet is sent, as hardware does.
 */
#include <stdlib.h>

#include "transport-priv.h"

/* Slots of a queue: the number of WQEs that can be outstanding. */
#define MIN_SLOTS	32
#define MAX_SLOTS	128
/* An ACK has been asked for before the slots run out. */
WRC_ASSERT(MIN_SLOTS >= 2 * RC_ACK_EVERY);
/* Payload with more pieces is copied into one buffer. */
#define MAX_PIECES	(SNIC_NET_MAX_IOV - 2)

/* ---- set-up and tear-down ------------------------------------------------- */

int rc_req_init(struct snic_qp *qp)
{
	unsigned int n = 1u << qp->attr.log_sq;
	struct snic_rc_req *req;

	if (n < MIN_SLOTS)
		n = MIN_SLOTS;
	if (n > MAX_SLOTS)
		n = MAX_SLOTS;
	req = calloc(1, sizeof(*req));
	if (!req)
		return -ENOMEM;
	req->slots = calloc(n, sizeof(*req->slots));
	if (!req->slots) {
		free(req);
		return -ENOMEM;
	}
	req->fresh = n;
	req->qp = qp;
	req->una = req->snd = req->max = req->next = qp->conn.sq_psn;
	req->asked = snic_psn_add(req->una, -1);
	req->window = RC_WINDOW_MAX;
	rc_time_init(req);
	qp->req = req;
	return 0;
}

void rc_req_fini(struct snic_qp *qp)
{
	struct snic_rc_req *req = qp->req;

	snic_timer_cancel(qp->nic, &req->timer);
	free(req->slots);
	free(req);
	qp->req = NULL;
}

unsigned int snic_rc_pending(const struct snic_qp *qp)
{
	return qp->req ? qp->req->pending : 0;
}

/* ---- slots ------------------------------------------------------------------- */

/*
 * Copies the fields of a WQE that the transport uses; most of a WQE is an empty
 * list.  Copies field by field: a block copy would load bytes that were stored
 * just before, which stalls.
 */
static void copy_wqe(struct snic_wqe *dst, const struct snic_wqe *src)
{
	dst->opcode = src->opcode;
	dst->signal = src->signal;
	dst->solicited = src->solicited;
	dst->nr_bb = src->nr_bb;
	dst->index = src->index;
	dst->imm = src->imm;
	dst->raddr = src->raddr;
	dst->rkey = src->rkey;
	dst->len = src->len;
	dst->nr_sge = src->nr_sge;
	dst->is_inline = src->is_inline;
	if (src->is_inline)
		memcpy(dst->inline_data, src->inline_data, src->len);
	else if (src->nr_sge == 1)
		dst->sge[0] = src->sge[0];
	else
		memcpy(dst->sge, src->sge, src->nr_sge * sizeof(src->sge[0]));
}

static void slot_append(struct snic_rc_req *req, struct rc_slot *s)
{
	s->next = NULL;
	if (req->tail)
		req->tail->next = s;
	else
		req->head = s;
	req->tail = s;
	req->pending++;
	if (!req->cur)
		req->cur = s;
}

/* Removes the oldest WQE; the caller passes its slot to put_slot(). */
static struct rc_slot *slot_pop(struct snic_rc_req *req)
{
	struct rc_slot *s = req->head;
	struct snic_qp *qp = req->qp;

	req->head = s->next;
	if (!req->head)
		req->tail = NULL;
	/* The next to complete, probably; it is no longer in the cache. */
	__builtin_prefetch(req->head);
	req->pending--;
	if (req->cur == s)
		req->cur = req->head;
	if (rc_is_rd(s) && !--qp->reads_in_flight)
		snic_qp_kick(qp);	/* a fence may be open */
	return s;
}

/* Prefers the slot freed last over unused slots, to touch few of them. */
static struct rc_slot *get_slot(struct snic_rc_req *req)
{
	struct rc_slot *s = req->free;

	if (s)
		req->free = s->next;
	else if (req->fresh)
		s = &req->slots[--req->fresh];
	return s;
}

static void put_slot(struct snic_rc_req *req, struct rc_slot *s)
{
	s->next = req->free;
	req->free = s;
	if (req->starved) {
		req->starved = false;
		snic_qp_kick(req->qp);
	}
}

/* ---- posting --------------------------------------------------------------------- */

static int kind_of(const struct snic_wqe *w)
{
	switch (w->opcode) {
	case WRC_WQE_SEND:
	case WRC_WQE_SEND_IMM:
		return RC_SEND;
	case WRC_WQE_WRITE:
	case WRC_WQE_WRITE_IMM:
		return RC_WRITE;
	case WRC_WQE_READ:
		return RC_READ;
	case WRC_WQE_CS:
	case WRC_WQE_FA:
		return RC_ATOMIC;
	default:
		return -EOPNOTSUPP;
	}
}

int rc_local_sges(struct snic_qp *qp, const struct snic_wqe *w,
		      enum rc_kind kind, struct snic_sge *ret_sges)
{
	bool in = kind == RC_READ || kind == RC_ATOMIC;
	int err;

	if (w->is_inline) {
		ret_sges[0].ptr = (uint8_t *)w->inline_data;
		ret_sges[0].len = w->len;
		return 1;
	}
	err = snic_wqe_sges(qp->nic, qp->attr.pdn, w,
			    in ? SNIC_LOCAL_WRITE : 0, ret_sges);
	return err ? err : w->nr_sge;
}

static int check_post(struct snic_qp *qp, const struct snic_wqe *w, int kind)
{
	struct snic_sge sges[SNIC_MAX_SGE];
	bool rd = kind == RC_READ || kind == RC_ATOMIC;
	int n;

	if (kind < 0)
		return kind;
	if (rd && (!qp->conn.max_rd_atomic || w->is_inline))
		return -EOPNOTSUPP;
	if (kind == RC_ATOMIC && w->len != 8)
		return -EMSGSIZE;
	if (w->len > RC_MSG_MAX ||
	    rc_nr_packets(w->len, qp->conn.mtu) > RC_PSN_SPAN)
		return -EMSGSIZE;
	n = rc_local_sges(qp, w, kind, sges);
	return n < 0 ? n : 0;
}

int snic_rc_post(struct snic_qp *qp, const struct snic_wqe *w)
{
	struct snic_rc_req *req = qp->req;
	int kind = kind_of(w);
	struct rc_slot *s;
	uint32_t nr;
	int err;

	err = check_post(qp, w, kind);
	if (err)
		return err;
	nr = kind == RC_ATOMIC ? 1 : rc_nr_packets(w->len, qp->conn.mtu);
	if (req->pending &&
	    snic_psn_diff(req->next, req->una) + nr > RC_PSN_SPAN)
		goto full;
	s = get_slot(req);
	if (!s)
		goto full;
	s->first_psn = req->next;
	s->nr_psn = nr;
	s->kind = kind;
	s->bad = false;
	copy_wqe(&s->w, w);
	if (kind == RC_ATOMIC) {
		s->w.add_swap = w->add_swap;
		s->w.compare = w->compare;
	}
	req->next = snic_psn_add(req->next, nr);
	slot_append(req, s);
	if (rc_is_rd(s))
		qp->reads_in_flight++;
	rc_want_turn(qp);
	return 0;

full:
	req->starved = true;
	return -EAGAIN;
}

/* ---- retransmission and failure ---------------------------------------------------- */

void rc_go_back(struct snic_rc_req *req)
{
	req->snd = req->una;
	req->cur = req->head;
	req->asked = snic_psn_add(req->una, -1);
	req->unasked = 0;
	req->unasked_signal = false;
	req->hurry = true;
	req->rd_out = 0;
	req->timing = false;	/* it is not known which copy is answered */
	rc_want_turn(req->qp);
}

void rc_go_back_once(struct snic_rc_req *req)
{
	if (req->rewound || req->rnr_wait)
		return;
	req->rewound = true;
	req->window = req->window / 2 > RC_WINDOW_MIN ?
		      req->window / 2 : RC_WINDOW_MIN;
	rc_go_back(req);
	rc_restart_timeout(req);
}

void rc_fail_head(struct snic_rc_req *req, enum wrc_cqe_syndrome syndrome)
{
	struct rc_slot *s = slot_pop(req);

	snic_qp_fail_send(req->qp, &s->w, syndrome);
	put_slot(req, s);
}

void rc_complete_head(struct snic_rc_req *req)
{
	struct rc_slot *s = slot_pop(req);

	snic_qp_complete_send(req->qp, &s->w, rc_is_rd(s) ? s->w.len : 0);
	put_slot(req, s);
}

void rc_req_flush(struct snic_qp *qp)
{
	struct snic_rc_req *req = qp->req;

	req->rnr_wait = false;
	rc_stop_timeout(req);
	while (req->head) {
		struct rc_slot *s = slot_pop(req);

		snic_qp_flush_send(qp, &s->w);
		put_slot(req, s);
	}
	req->una = req->snd = req->max = req->next;
	req->asked = snic_psn_add(req->una, -1);
	req->rd_out = 0;
}

/* ---- sending ----------------------------------------------------------------------- */

static bool has_imm(const struct snic_wqe *w)
{
	return w->opcode == WRC_WQE_SEND_IMM || w->opcode == WRC_WQE_WRITE_IMM;
}

static uint8_t data_opcode(const struct rc_slot *s, bool first, bool last)
{
	bool imm = has_imm(&s->w);

	if (s->kind == RC_SEND) {
		if (!last)
			return first ? SNIC_OP_SEND_FIRST : SNIC_OP_SEND_MIDDLE;
		if (first)
			return imm ? SNIC_OP_SEND_ONLY_IMM : SNIC_OP_SEND_ONLY;
		return imm ? SNIC_OP_SEND_LAST_IMM : SNIC_OP_SEND_LAST;
	}
	if (!last)
		return first ? SNIC_OP_WRITE_FIRST : SNIC_OP_WRITE_MIDDLE;
	if (first)
		return imm ? SNIC_OP_WRITE_ONLY_IMM : SNIC_OP_WRITE_ONLY;
	return imm ? SNIC_OP_WRITE_LAST_IMM : SNIC_OP_WRITE_LAST;
}

/* Did the last message before this step follow its predecessor within
 * RC_LAZY_NS? */
static bool is_dense(const struct snic_rc_req *req)
{
	uint64_t now = snic_now(req->qp->nic);

	return now == req->last_msg ? req->dense :
				      now - req->last_msg < RC_LAZY_NS;
}

/*
 * The last packet of a queue asks for an ACK if software waits for the
 * completion, or if no other message is likely to ask soon.  In between,
 * packets ask often enough that neither the window closes nor the slots run
 * out.
 */
static bool want_ack(const struct snic_rc_req *req, const struct rc_slot *s)
{
	bool last = req->snd == rc_last_psn(s);

	if (rc_is_rd(s) || req->hurry)
		return true;
	if (last && s->next && s->next->bad)
		return true;
	if (last && !s->next &&
	    (s->w.signal || req->unasked_signal || !is_dense(req)))
		return true;
	return req->unasked + 1 >= RC_ACK_EVERY ||
	       req->unasked + 1 >= req->window / 2;
}

/* Returns len bytes at off of a list as pieces of memory; if there are too many
 * pieces, copies them into bounce. */
static int sges_gather(const struct snic_sge *sges, unsigned int nr, uint64_t off,
		       uint32_t len, struct iovec *ret_iov, uint8_t *bounce)
{
	uint64_t at = off;
	uint32_t left = len;
	unsigned int i;
	int n = 0;

	for (i = 0; i < nr && left; i++) {
		uint32_t part;

		if (at >= sges[i].len) {
			at -= sges[i].len;
			continue;
		}
		if (n == MAX_PIECES) {
			snic_sges_gather(sges, nr, off, bounce, len);
			ret_iov[0].iov_base = bounce;
			ret_iov[0].iov_len = len;
			return 1;
		}
		part = sges[i].len - at < left ? sges[i].len - at : left;
		ret_iov[n].iov_base = sges[i].ptr + at;
		ret_iov[n].iov_len = part;
		n++;
		left -= part;
		at = 0;
	}
	return n;
}

static int send_data(struct snic_rc_req *req, struct rc_slot *s, bool ask)
{
	uint32_t idx = snic_psn_diff(req->snd, s->first_psn);
	uint32_t mtu = req->qp->conn.mtu;
	uint64_t off = (uint64_t)idx * mtu;
	uint32_t len = rc_min(mtu, s->w.len - off);
	bool last = idx == s->nr_psn - 1;
	struct snic_sge sges[SNIC_MAX_SGE];
	struct iovec iov[MAX_PIECES];
	uint8_t bounce[4096];
	struct snic_pkt pkt;	/* only the fields that its opcodes need */
	int n = rc_local_sges(req->qp, &s->w, s->kind, sges);

	pkt.opcode = data_opcode(s, idx == 0, last);
	pkt.psn = req->snd;
	pkt.ack_req = ask;
	pkt.solicited = last && s->w.solicited;
	pkt.va = s->w.raddr;
	pkt.rkey = s->w.rkey;
	pkt.dma_len = s->w.len;
	pkt.imm = s->w.imm;
	if (n < 0)
		return -EACCES;
	n = sges_gather(sges, n, off, len, iov, bounce);
	return rc_send(req->qp, &pkt, iov, n, len);
}

/*
 * Sends a READ or atomic request.  A READ asks for the data that has not come
 * yet, up to the next multiple of RC_READ_CHUNK packets.  So a long READ is
 * paced by its own responses, and little is sent twice when one is lost.
 */
static int send_rd(struct snic_rc_req *req, struct rc_slot *s)
{
	uint32_t idx = snic_psn_diff(req->snd, s->first_psn);
	uint32_t nr = rc_request_psns(s, req->snd);
	uint64_t mtu = req->qp->conn.mtu, off = idx * mtu;
	struct snic_pkt pkt = {
		.psn = req->snd,
		.ack_req = true,
		.va = s->w.raddr,
		.rkey = s->w.rkey,
	};

	if (s->kind == RC_READ) {
		pkt.opcode = SNIC_OP_READ_REQ;
		pkt.va += off;
		pkt.dma_len = nr * mtu < s->w.len - off ?
			      nr * mtu : s->w.len - off;
	} else {
		pkt.opcode = s->w.opcode == WRC_WQE_CS ? SNIC_OP_CMP_SWAP :
							 SNIC_OP_FETCH_ADD;
		pkt.swap_add = s->w.add_swap;
		pkt.compare = s->w.opcode == WRC_WQE_CS ? s->w.compare : 0;
	}
	return rc_send(req->qp, &pkt, NULL, 0, 0);
}

static void count_asked(struct snic_rc_req *req, const struct rc_slot *s,
			bool ask)
{
	if (ask) {
		req->asked = snic_psn_add(req->snd,
					  rc_request_psns(s, req->snd) - 1);
		req->unasked = 0;
		req->unasked_signal = false;
		req->hurry = false;
		if (req->snd == req->max)
			rc_time_answer(req);
		return;
	}
	req->unasked++;
	if (s->w.signal && req->snd == rc_last_psn(s))
		req->unasked_signal = true;
}

/*
 * Does the message consume a receive WQE of the peer, so that software sees it?
 */
static bool is_answer(const struct rc_slot *s)
{
	return s->kind == RC_SEND || s->w.opcode == WRC_WQE_WRITE_IMM;
}

/* The packet at snd was sent; ask: it asked for an ACK. */
static void req_advance(struct snic_rc_req *req, struct rc_slot *s, bool ask)
{
	bool rd = rc_is_rd(s), lazy = !rc_answer_due(req);

	if (snic_psn_diff(req->snd, req->max) < 0)
		snic_stats(req->qp->nic)->retransmits++;
	if (rd)
		req->rd_out++;
	count_asked(req, s, ask);
	if (req->snd == rc_last_psn(s)) {
		if (is_answer(s))
			rc_ack_answered(req->qp);
		req->dense = is_dense(req);
		req->last_msg = snic_now(req->qp->nic);
	}
	req->snd = snic_psn_add(req->snd, rc_request_psns(s, req->snd));
	if (snic_psn_diff(req->snd, req->max) > 0)
		req->max = req->snd;
	if (req->snd == snic_psn_add(rc_last_psn(s), 1))
		req->cur = s->next;
	if (lazy || req->deadline == SNIC_NEVER)
		rc_start_timeout(req);
}

static bool may_send(const struct snic_rc_req *req, const struct rc_slot *s)
{
	if (req->rnr_wait)
		return false;
	if (snic_psn_diff(req->snd, req->una) >= (int32_t)req->window)
		return false;
	return !rc_is_rd(s) || req->rd_out < req->qp->conn.max_rd_atomic;
}

/* The WQE's memory is gone: complete the WQEs before it, then fail it. */
static int fail_bad(struct snic_rc_req *req, struct rc_slot *s)
{
	if (s == req->head) {
		rc_fail_head(req, WRC_SYND_LOCAL_PROT);
	} else if (!s->bad) {
		s->bad = true;
		rc_go_back(req);	/* now the packet before it asks for an ACK */
		return 1;
	}
	return 0;
}

int rc_req_turn(struct snic_qp *qp)
{
	struct snic_rc_req *req = qp->req;
	unsigned int budget = RC_TURN;

	while (req->cur && may_send(req, req->cur)) {
		struct rc_slot *s = req->cur;
		bool ask = want_ack(req, s);
		int err;

		if (!budget--)
			return 1;
		if (s->bad)
			err = -EACCES;
		else if (rc_is_rd(s))
			err = send_rd(req, s);
		else
			err = send_data(req, s, ask);
		if (err == -EACCES)
			return fail_bad(req, s);
		if (err)
			return err;
		req_advance(req, s, ask);
	}
	return 0;
}
