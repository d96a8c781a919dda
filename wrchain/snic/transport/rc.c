// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RC transport: packets in and out of a queue pair, and scheduling of sends. */
#include <stdlib.h>

#include "transport-priv.h"

/* How long to wait before a full port is tried again. */
#define PORT_FULL_NS	20000

/* Payload up to this length is copied behind the headers: a separate piece
 * costs more in the ICRC and at the port. */
#define SHORT_PAYLOAD	128

/* ---- turns ---------------------------------------------------------------- */

static void pace_fire(struct snic *nic, struct snic_timer *t)
{
	/* The timer only starts a step; snic_rc_step_end() does the work. */
	(void)nic;
	(void)t;
}

void rc_want_turn(struct snic_qp *qp)
{
	struct snic_rc *rc = snic_rc_of(qp->nic);
	struct snic_rc_req *req = qp->req;

	if (!req || req->tx_listed || qp->rate_parked)
		return;
	req->tx_listed = true;
	req->tx_next = NULL;
	if (rc->tx_tail)
		rc->tx_tail->req->tx_next = qp;
	else
		rc->tx_head = qp;
	rc->tx_tail = qp;
	rc->nr_tx++;
}

static struct snic_qp *pop_turn(struct snic_rc *rc)
{
	struct snic_qp *qp = rc->tx_head;

	rc->tx_head = qp->req->tx_next;
	if (!rc->tx_head)
		rc->tx_tail = NULL;
	rc->nr_tx--;
	qp->req->tx_listed = false;
	return qp;
}

static void cancel_turn(struct snic_qp *qp)
{
	struct snic_rc *rc = snic_rc_of(qp->nic);
	struct snic_qp **p = &rc->tx_head, *prev = NULL;

	if (qp->rate_parked)
		rc_rate_unpark(qp);
	if (!qp->req->tx_listed)
		return;
	while (*p != qp) {
		prev = *p;
		p = &prev->req->tx_next;
	}
	*p = qp->req->tx_next;
	if (rc->tx_tail == qp)
		rc->tx_tail = prev;
	rc->nr_tx--;
	qp->req->tx_listed = false;
}

/* The requester goes first: an application waits for the answer, and the ACK of
 * its request can follow the answer. */
static int qp_turn(struct snic_qp *qp)
{
	int req = 0, resp = 0;

	if (qp->state == SNIC_QP_RTS)
		req = rc_req_turn(qp);
	if (req == -EAGAIN)
		return req;
	if (qp->state == SNIC_QP_RTS || qp->state == SNIC_QP_RTR)
		resp = rc_resp_turn(qp);
	return resp ? resp : req;
}

void snic_rc_step_end(struct snic *nic)
{
	struct snic_rc *rc = snic_rc_of(nic);
	unsigned int n = rc->nr_tx;
	bool more = false;

	/* A turn may take other queue pairs off the list. */
	while (n-- && rc->tx_head) {
		struct snic_qp *qp = pop_turn(rc);
		int r = rc_rate_waits(qp) ? 0 : qp_turn(qp);

		if (r)
			rc_want_turn(qp);
		if (r > 0)
			more = true;
	}
	if (rc->tx_head)
		snic_timer_set(nic, &rc->pace,
			       snic_now(nic) + (more ? 1 : PORT_FULL_NS));
}

/* ---- packets out ------------------------------------------------------------- */

/*
 * Copies a short payload behind the headers; returns the end.  One word, which threads of
 * this process may change meanwhile, is read whole.
 */
static uint8_t *append_short(uint8_t *to, const struct iovec *iov, int n)
{
	uint64_t word;

	for (; n--; iov++) {
		if (iov->iov_len == sizeof(word) && !((uintptr_t)iov->iov_base & 7)) {
			word = __atomic_load_n((const uint64_t *)iov->iov_base,
					       __ATOMIC_RELAXED);
			memcpy(to, &word, sizeof(word));
		} else {
			memcpy(to, iov->iov_base, iov->iov_len);
		}
		to += iov->iov_len;
	}
	return to;
}

static int send_packet(struct snic_qp *qp, struct snic_pkt *pkt,
		       const struct iovec *iov, int n, uint32_t len)
{
	static const uint8_t zeros[4];
	uint8_t hdr[SNIC_PKT_HDR_MAX + SHORT_PAYLOAD + 4], *end;
	struct iovec v[SNIC_NET_MAX_IOV];
	uint16_t flow = qp->qpn ^ qp->qpn >> 12 ^ qp->conn.dest_qpn << 4;

	pkt->pad = -len & 3;
	pkt->pkey = SNIC_PKEY_DEFAULT;
	pkt->qpn = qp->conn.dest_qpn;
	end = hdr + snic_pkt_build(pkt, hdr);
	if (len <= SHORT_PAYLOAD) {
		end = append_short(end, iov, n);
		memcpy(end, zeros, sizeof(zeros));
		end += pkt->pad;
		n = 1;
	} else {
		memcpy(v + 1, iov, n * sizeof(*iov));
		v[++n].iov_base = (void *)zeros;
		v[n++].iov_len = pkt->pad;
	}
	v[0].iov_base = hdr;
	v[0].iov_len = end - hdr;
	if (snic_net_send(qp->nic, qp->conn.dest_ip, 0xc000 | (flow & 0x3fff),
			  v, n) == -EAGAIN)
		return -EAGAIN;
	rc_rate_pay(qp, len);
	return 0;
}

/*
 * With forged packets: a repeated request takes a PSN of its own, so later
 * requests have other PSNs on the wire than in struct snic_rc_req (req->extra
 * is the difference).  This holds while no request from before the repeated one
 * has to be sent again; otherwise the connection breaks, as it may with any
 * forged packet.
 */
static int send_forged(struct snic_qp *qp, struct snic_pkt *pkt,
		      const struct iovec *iov, int n, uint32_t len)
{
	bool request = snic_op_flags(pkt->opcode) & SNIC_OPF_REQUEST;
	struct snic_rc_req *req = qp->req;
	bool fresh = request && pkt->psn == req->max;
	uint8_t data[4096];
	struct iovec v;
	int err;

	append_short(data, iov, n);
	if (request)
		pkt->psn = snic_psn_add(pkt->psn, req->extra);
	snic_forge_packet(qp->nic, pkt, data, &len, qp->conn.mtu);
	v = (struct iovec) { .iov_base = data, .iov_len = len };
	err = send_packet(qp, pkt, &v, 1, len);
	if (err || !fresh)
		return err;
	snic_forge_late(qp, pkt, data, len);
	if (!snic_forge_replay(qp, pkt, data, len))
		return 0;
	pkt->psn = snic_psn_add(pkt->psn, 1);
	req->extra++;
	send_packet(qp, pkt, &v, 1, len);
	return 0;
}

void rc_send_more(struct snic_qp *qp, struct snic_pkt *pkt, void *data,
		  uint32_t len)
{
	struct iovec v = { .iov_base = data, .iov_len = len };
	struct snic_rc_req *req = qp->req;

	if (req->snd != req->max)	/* packets are being sent again */
		return;
	pkt->psn = snic_psn_add(req->max, req->extra++);
	send_packet(qp, pkt, &v, 1, len);
}

int rc_send(struct snic_qp *qp, struct snic_pkt *pkt, const struct iovec *iov,
	    int n, uint32_t len)
{
	if (snic_rc_of(qp->nic)->forger.active)
		return send_forged(qp, pkt, iov, n, len);
	return send_packet(qp, pkt, iov, n, len);
}

/* ---- packets in --------------------------------------------------------------- */

/* A full member of the default partition talks to full and limited members. */
static bool pkey_ok(uint16_t pkey)
{
	return (pkey | 0x8000) == SNIC_PKEY_DEFAULT;
}

void snic_rc_receive(struct snic_qp *qp, const struct snic_rx *rx)
{
	struct snic_pkt pkt;

	if (!qp->req || snic_pkt_parse(rx->bth, rx->len, &pkt) ||
	    pkt.flags & SNIC_OPF_UD || !pkey_ok(pkt.pkey) ||
	    rx->src_ip != qp->conn.dest_ip) {
		snic_stats(qp->nic)->rx_malformed++;
		return;
	}
	if (qp->state != SNIC_QP_RTS &&
	    !(qp->state == SNIC_QP_RTR && pkt.flags & SNIC_OPF_REQUEST))
		return;
	if (pkt.flags & SNIC_OPF_REQUEST) {
		rc_resp_receive(qp, &pkt, rx->src_port);
		return;
	}
	pkt.psn = snic_psn_add(pkt.psn, -qp->req->extra);
	rc_req_receive(qp, &pkt);
}

/* ---- set-up and tear-down ------------------------------------------------------- */

int snic_rc_init(struct snic_rc **ret_rc)
{
	struct snic_rc *rc = calloc(1, sizeof(*rc));

	if (!rc)
		return -ENOMEM;
	snic_timer_init(&rc->pace, pace_fire);
	*ret_rc = rc;
	return 0;
}

void snic_rc_fini(struct snic *nic, struct snic_rc *rc)
{
	rc_forge_fini(nic);
	rc_rates_fini(nic);
	free(rc);
}

int snic_rc_attach(struct snic_qp *qp)
{
	const struct snic_qp_conn *c = &qp->conn;
	int err;

	if (c->mtu < 256 || c->mtu > 4096 || c->mtu & (c->mtu - 1))
		return -EINVAL;
	/* Three timers of this QP, and room for the NIC's `pace`. */
	err = snic_timer_reserve(qp->nic, 4);
	if (err)
		return err;
	err = rc_req_init(qp);
	if (err)
		goto err_timers;
	err = rc_resp_init(qp);
	if (err)
		goto err_req;
	return 0;

err_req:
	rc_req_fini(qp);
err_timers:
	snic_timer_unreserve(qp->nic, 4);
	return err;
}

void snic_rc_detach(struct snic_qp *qp)
{
	if (!qp->req)
		return;
	cancel_turn(qp);
	rc_resp_fini(qp);
	rc_req_fini(qp);
	snic_timer_unreserve(qp->nic, 4);
}

void snic_rc_flush(struct snic_qp *qp)
{
	if (!qp->req)
		return;
	cancel_turn(qp);
	rc_resp_flush(qp);
	rc_req_flush(qp);
}
