// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC responder: requests that arrive before their turn.
 *
 * Such requests are held until the ones before them have arrived, and then
 * executed as if they had come in order.  So packets that overtake each other
 * cost nothing, and after a loss only the lost packet has to arrive again.  A
 * requester that goes back only once per NAK, as rdma_rxe does, needs that.
 *
 * When the requester was told to go back, a held request is not acknowledged
 * before its second copy arrives.  An ACK of a packet that the requester is
 * about to send again is correct, but can confuse rdma_rxe (read in 6.1).  If
 * rdma_rxe is between two packets of that message and goes back once more soon,
 * it sends an empty message that nobody posted, and everything after it with
 * another PSN.
 *
 * A NAK is sent when a gap has existed for longer than packets overtake each
 * other.  IBA has the responder send it once.  Here it is repeated a few times
 * with growing pauses, because it may be lost.
 *
 * A held request may be forged; the peer's own packet would then be taken for a
 * duplicate.  So a request is held only if its UDP port is that of the last
 * request in order (arp.c drops packets from another MAC).  If two requests
 * with different contents arrive for one PSN, neither is held.  If a request
 * that was held and executed arrives again with another header, the connection
 * breaks.  An attacker who knows or guesses all of this can still forge the
 * very next request.
 *
 * Memory: one pool of frames per NIC, of fixed size, allocated for the first
 * request that needs a frame and freed with the last QP.  A QP may take a frame
 * while it holds fewer frames than are free.  It keeps them while the NAK timer
 * runs: half a second.  So a peer that leaves gaps open has to keep sending to
 * take frames from others.  A request that cannot be held is dropped; without
 * this file all of them would be.
 */
#include <stdlib.h>

#include "transport-priv.h"

#define SLOT(psn) ((psn) % RC_AHEAD)
WRC_ASSERT(!(RC_AHEAD & (RC_AHEAD - 1)) && RC_AHEAD <= RC_AHEAD_POOL);

/* ---- the pool ------------------------------------------------------------- */

/* NULL: out of memory; no request is held. */
static struct snic_frame_pool *pool_of(struct snic_rc *rc)
{
	struct snic_frame_pool *pool = rc->ahead;

	if (pool)
		return pool;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	if (snic_frame_pool_init(pool, RC_AHEAD_POOL,
				 sizeof(struct snic_pkt) + 4096)) {
		free(pool);
		return NULL;
	}
	rc->ahead = pool;
	return pool;
}

static void pool_free(struct snic_rc *rc)
{
	if (!rc->ahead)
		return;
	snic_frame_pool_fini(rc->ahead);
	free(rc->ahead);
	rc->ahead = NULL;
}

/* ---- held requests --------------------------------------------------------- */

static void packet_hold(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc *rc = snic_rc_of(qp->nic);
	struct snic_rc_resp *r = qp->resp;
	struct rc_ahead *a = &r->ahead;
	struct iovec iov[2] = {
		{ .iov_base = (void *)pkt, .iov_len = sizeof(*pkt) },
		{ .iov_base = (void *)pkt->payload, .iov_len = pkt->len },
	};

	struct snic_frame_pool *pool;

	if (snic_psn_diff(pkt->psn, r->epsn) >= RC_AHEAD ||
	    pkt->len > qp->conn.mtu || a->slot[SLOT(pkt->psn)] ||
	    a->is_void[SLOT(pkt->psn)] || a->nr >= RC_AHEAD_POOL - rc->nr_ahead)
		return;
	pool = pool_of(rc);
	if (!pool)
		return;
	a->slot[SLOT(pkt->psn)] = snic_frame_get(pool, iov, 2);
	a->nr++;
	rc->nr_ahead++;
}

/* Fields that the opcode does not have stay 0. */
static struct rc_head head_of(const struct snic_pkt *pkt)
{
	struct rc_head h = {
		.opcode = pkt->opcode, .psn = pkt->psn, .len = pkt->len,
	};

	if (pkt->flags & (SNIC_OPF_RETH | SNIC_OPF_ATOMIC)) {
		h.va = pkt->va;
		h.rkey = pkt->rkey;
	}
	if (pkt->flags & SNIC_OPF_RETH)
		h.dma_len = pkt->dma_len;
	if (pkt->flags & SNIC_OPF_IMM)
		h.imm = pkt->imm;
	if (pkt->flags & SNIC_OPF_IETH)
		h.rkey = pkt->inv_rkey;
	return h;
}

static bool heads_same(const struct rc_head *a, const struct rc_head *b)
{
	return a->opcode == b->opcode && a->len == b->len &&
	       a->rkey == b->rkey && a->dma_len == b->dma_len &&
	       a->imm == b->imm && a->va == b->va;
}

/* True: the held request of this PSN, if any, equals pkt. */
static bool same_packet(const struct snic_frame *f, const struct snic_pkt *pkt)
{
	struct snic_pkt held;
	struct rc_head a, b;

	if (!f)
		return true;
	memcpy(&held, f->data, sizeof(held));
	if (held.psn != pkt->psn)
		return true;
	a = head_of(&held);
	b = head_of(pkt);
	if (pkt->flags & SNIC_OPF_ATOMIC &&
	    (held.swap_add != pkt->swap_add || held.compare != pkt->compare))
		return false;
	return heads_same(&a, &b) &&
	       !memcmp(f->data + sizeof(held), pkt->payload, pkt->len);
}

static void frame_drop(struct snic_qp *qp, struct snic_frame *f)
{
	snic_frame_put(f);
	qp->resp->ahead.nr--;
	snic_rc_of(qp->nic)->nr_ahead--;
}

/* Drops the frames of PSNs `from` to `to` - 1. */
static void frames_drop_passed(struct snic_qp *qp, uint32_t from, uint32_t to)
{
	struct rc_ahead *a = &qp->resp->ahead;
	uint32_t n = rc_min(snic_psn_diff(to, from), RC_AHEAD);

	for (; n && (a->nr || a->nr_void); n--, from++) {
		struct snic_frame **slot = &a->slot[SLOT(from)];

		a->nr_void -= a->is_void[SLOT(from)];
		a->is_void[SLOT(from)] = false;

		if (*slot)
			frame_drop(qp, *slot);
		*slot = NULL;
	}
}

static void frames_drop_all(struct snic_qp *qp)
{
	frames_drop_passed(qp, 0, RC_AHEAD);
}

/* Executes the held request at epsn.  False: there is none, or no room for its
 * reply. */
static bool frame_execute(struct snic_qp *qp)
{
	struct snic_rc_resp *r = qp->resp;
	struct snic_frame **slot = &r->ahead.slot[SLOT(r->epsn)], *f = *slot;
	struct snic_pkt pkt;

	if (!f)
		return false;
	memcpy(&pkt, f->data, sizeof(pkt));
	pkt.payload = f->data + sizeof(pkt);
	if (rc_resp_full(r, &pkt))
		return false;
	pkt.ack_req = !r->ahead.back;
	*slot = NULL;
	r->ahead.done[SLOT(pkt.psn)] = head_of(&pkt);
	rc_resp_execute(qp, &pkt);
	snic_stats(qp->nic)->reordered++;
	frame_drop(qp, f);
	return true;
}

/* ---- the gap ---------------------------------------------------------------- */

static void gap_timer_fire(struct snic *nic, struct snic_timer *t)
{
	struct rc_ahead *a = (struct rc_ahead *)
		((char *)t - offsetof(struct rc_ahead, timer));

	if (a->naks == RC_NAKS) {
		frames_drop_all(a->qp);
		return;
	}
	rc_nak(a->qp, SNIC_NAK_SEQ, a->qp->resp->epsn);
	snic_timer_set(nic, t, snic_now(nic) + (RC_NAK_AGAIN_NS << a->naks++));
}

static void gap_watch(struct snic_qp *qp)
{
	struct rc_ahead *a = &qp->resp->ahead;

	a->naks = 0;
	snic_timer_set(qp->nic, &a->timer,
		       snic_now(qp->nic) + RC_REORDER_NS);
}

void rc_ahead_receive(struct snic_qp *qp, const struct snic_pkt *pkt,
		      uint16_t port)
{
	struct snic_rc_resp *r = qp->resp;
	struct rc_ahead *a = &r->ahead;
	struct snic_frame **slot = &a->slot[SLOT(pkt->psn)];
	uint32_t end = snic_psn_add(pkt->psn, 1);

	if (r->rnr_sent)
		return;			/* the requester will send it again */
	if (!a->port_known)
		rc_ahead_port(qp, port);
	if (port != a->port) {
		snic_stats(qp->nic)->rx_strange++;
		return;
	}
	if (!a->gap || snic_psn_diff(end, a->end) > 0)
		a->end = end;
	if (a->told && snic_psn_diff(end, a->back_end) > 0)
		a->back_end = end;	/* sent before the NAK arrived */
	if (!a->gap)
		gap_watch(qp);
	a->gap = true;
	if (a->timer.when == SNIC_NEVER)
		return;
	if (same_packet(*slot, pkt)) {
		packet_hold(qp, pkt);
		return;
	}
	snic_stats(qp->nic)->rx_conflicts++;
	frame_drop(qp, *slot);
	*slot = NULL;
	a->is_void[SLOT(pkt->psn)] = true;
	a->nr_void++;
}

void rc_ahead_port(struct snic_qp *qp, uint16_t port)
{
	struct rc_ahead *a = &qp->resp->ahead;

	if (a->port_known && port == a->port)
		return;
	frames_drop_all(qp);
	a->port = port;
	a->port_known = true;
}

bool rc_ahead_same(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	const struct rc_head *done = &qp->resp->ahead.done[SLOT(pkt->psn)];
	const struct rc_head head = head_of(pkt);

	if (!done->opcode || done->psn != pkt->psn ||
	    !(pkt->flags & (SNIC_OPF_SEND | SNIC_OPF_WRITE)) ||
	    heads_same(done, &head))
		return true;
	snic_stats(qp->nic)->rx_conflicts++;
	return false;
}

void rc_ahead_nak_sent(struct snic_rc_resp *r)
{
	struct rc_ahead *a = &r->ahead;

	a->back = a->told = true;
	a->back_end = a->end;
}

void rc_ahead_see(struct snic_rc_resp *r, const struct snic_pkt *pkt)
{
	struct rc_ahead *a = &r->ahead;

	a->told = false;
	if (a->back && snic_psn_diff(pkt->psn, a->back_end) >= -1)
		a->back = false;
}

void rc_ahead_go_on(struct snic_qp *qp, uint32_t from)
{
	struct snic_rc_resp *r = qp->resp;
	struct rc_ahead *a = &r->ahead;

	do
		frames_drop_passed(qp, from, r->epsn);
	while (from = r->epsn, frame_execute(qp));
	if (!a->gap)
		return;			/* the QP is in ERR */
	a->gap = snic_psn_diff(a->end, r->epsn) > 0;
	if (!a->gap || r->rnr_sent)
		rc_ahead_flush(qp);
	else if (a->slot[SLOT(r->epsn)])
		snic_timer_cancel(qp->nic, &a->timer);
	else
		gap_watch(qp);
}

/* ---- set-up and tear-down --------------------------------------------------- */

void rc_ahead_flush(struct snic_qp *qp)
{
	struct rc_ahead *a = &qp->resp->ahead;

	frames_drop_all(qp);
	a->gap = false;
	snic_timer_cancel(qp->nic, &a->timer);
}

void rc_ahead_init(struct snic_qp *qp)
{
	struct rc_ahead *a = &qp->resp->ahead;

	snic_rc_of(qp->nic)->nr_qps++;
	a->qp = qp;
	snic_timer_init(&a->timer, gap_timer_fire);
}

void rc_ahead_fini(struct snic_qp *qp)
{
	struct snic_rc *rc = snic_rc_of(qp->nic);

	rc_ahead_flush(qp);
	if (!--rc->nr_qps)
		pool_free(rc);
}
