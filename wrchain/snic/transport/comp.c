// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC requester, receiving: ACKs and responses complete WQEs in the order of
 * posting; NAKs and gaps make the requester go back.
 */
#include "transport-priv.h"

#define FOR_EVER	7	/* rnr_retry: no limit */

static void req_progress(struct snic_rc_req *req, uint32_t packets)
{
	req->retries = 0;
	req->rnr_retries = 0;
	req->rewound = false;
	req->window = rc_min(RC_WINDOW_MAX, req->window + packets);
	if (snic_psn_diff(req->snd, req->una) < 0) {
		/* The ACK covers packets that were to be sent again. */
		req->snd = req->una;
		req->cur = req->head;
	}
	if (req->cur)
		rc_want_turn(req->qp);
}

/* Everything before psn is acknowledged, but READs and atomics complete only
 * when their data arrives.  Returns whether una has reached psn. */
static bool req_ack_before(struct snic_rc_req *req, uint32_t psn)
{
	uint32_t old = req->una;

	while (req->head && snic_psn_diff(psn, req->una) > 0) {
		struct rc_slot *s = req->head;

		if (rc_is_rd(s))
			break;
		if (snic_psn_diff(psn, rc_last_psn(s)) <= 0) {
			req->una = psn;
			break;
		}
		req->una = snic_psn_add(rc_last_psn(s), 1);
		rc_complete_head(req);
	}
	if (req->una != old) {
		req_progress(req, snic_psn_diff(req->una, old));
		rc_restart_timeout(req);
	}
	return req->una == psn;
}

/* One packet of READ data, or the result of an atomic, has arrived. */
static void psn_answered(struct snic_rc_req *req)
{
	struct rc_slot *s = req->head;
	bool done = req->una == rc_last_psn(s);

	/* The last response to its request, unless the request is to be sent
	 * again. */
	if (rc_request_psns(s, req->una) == 1 && req->snd != req->una)
		req->rd_out--;
	req->una = snic_psn_add(req->una, 1);
	if (done)
		rc_complete_head(req);
	req_progress(req, 1);
	rc_restart_timeout(req);
}

static int slot_scatter(struct snic_rc_req *req, struct rc_slot *s, uint64_t off,
			const void *data, uint32_t len)
{
	struct snic_sge sges[SNIC_MAX_SGE];
	int n = rc_local_sges(req->qp, &s->w, s->kind, sges);

	if (n < 0) {
		rc_fail_head(req, WRC_SYND_LOCAL_PROT);
		return n;
	}
	snic_sges_scatter(sges, n, off, data, len);
	return 0;
}

/*
 * If a READ is resumed in the middle, some responders answer with FIRST or ONLY
 * and others with MIDDLE or LAST.  So only the PSN tells where the data
 * belongs; the opcode tells whether it is the end.
 */
static void read_receive(struct snic_rc_req *req, const struct snic_pkt *pkt)
{
	struct rc_slot *s = req->head;
	uint32_t mtu = req->qp->conn.mtu;
	uint64_t off = (uint64_t)snic_psn_diff(req->una, s->first_psn) * mtu;
	bool last = rc_request_psns(s, req->una) == 1;

	if (s->kind != RC_READ || pkt->len != rc_min(mtu, s->w.len - off) ||
	    last != !!(pkt->flags & SNIC_OPF_LAST)) {
		rc_fail_head(req, WRC_SYND_BAD_RESP);
		return;
	}
	if (!slot_scatter(req, s, off, pkt->payload, pkt->len))
		psn_answered(req);
}

static void atomic_receive(struct snic_rc_req *req, const struct snic_pkt *pkt)
{
	struct rc_slot *s = req->head;

	if (s->kind != RC_ATOMIC) {
		rc_fail_head(req, WRC_SYND_BAD_RESP);
		return;
	}
	if (!slot_scatter(req, s, 0, &pkt->orig, sizeof(pkt->orig)))
		psn_answered(req);
}

static void response_receive(struct snic_rc_req *req, const struct snic_pkt *pkt)
{
	if (pkt->flags & SNIC_OPF_AETH &&
	    (pkt->syndrome & SNIC_AETH_KIND) != SNIC_AETH_ACK) {
		snic_stats(req->qp->nic)->rx_malformed++;
		return;
	}
	/* The response acknowledges earlier requests.  If READ data before it
	 * is missing, that data is lost. */
	if (!req_ack_before(req, pkt->psn)) {
		rc_go_back_once(req);
		return;
	}
	if (!req->head)		/* the QP has failed meanwhile */
		return;
	if (pkt->flags & SNIC_OPF_READ_RESP)
		read_receive(req, pkt);
	else
		atomic_receive(req, pkt);
}

static void rnr_nak_receive(struct snic_rc_req *req, const struct snic_pkt *pkt)
{
	struct snic_qp *qp = req->qp;

	snic_stats(qp->nic)->rnr_received++;
	if (!req_ack_before(req, pkt->psn)) {
		rc_go_back_once(req);
		return;
	}
	if (!req->head || req->rnr_wait)
		return;
	if (qp->conn.rnr_retry != FOR_EVER) {
		if (req->rnr_retries >= qp->conn.rnr_retry) {
			rc_fail_head(req, WRC_SYND_RNR_EXC);
			return;
		}
		req->rnr_retries++;
	}
	rc_go_back(req);
	req->rnr_wait = true;
	req->retries = 0;	/* the peer is alive */
	rc_stop_timeout(req);
	rc_set_deadline(req, snic_now(qp->nic) +
			  snic_rnr_ns(pkt->syndrome & SNIC_AETH_VALUE));
}

static void nak_receive(struct snic_rc_req *req, const struct snic_pkt *pkt)
{
	enum wrc_cqe_syndrome syndrome;

	switch (pkt->syndrome) {
	case SNIC_NAK_SEQ:
		req_ack_before(req, pkt->psn);
		if (req->head && req->una != req->max)
			rc_go_back_once(req);
		return;
	case SNIC_NAK_INVALID_REQ:
		syndrome = WRC_SYND_REMOTE_INVAL;
		break;
	case SNIC_NAK_REMOTE_ACCESS:
		syndrome = WRC_SYND_REMOTE_ACCESS;
		break;
	case SNIC_NAK_REMOTE_OP:
		syndrome = WRC_SYND_REMOTE_OP;
		break;
	default:
		snic_stats(req->qp->nic)->rx_malformed++;
		return;
	}
	req_ack_before(req, pkt->psn);
	if (!req->head)
		return;
	/* READ data lost before the NAK will not come any more; the oldest WQE
	 * fails by its time-out then. */
	if (snic_psn_diff(pkt->psn, rc_last_psn(req->head)) > 0)
		rc_go_back_once(req);
	else
		rc_fail_head(req, syndrome);
}

static void ack_receive(struct snic_rc_req *req, const struct snic_pkt *pkt)
{
	/* An ACK does not replace READ data: if data is missing, it is lost. */
	if (!req_ack_before(req, snic_psn_add(pkt->psn, 1)))
		rc_go_back_once(req);
}

void rc_req_receive(struct snic_qp *qp, const struct snic_pkt *pkt)
{
	struct snic_rc_req *req = qp->req;
	bool is_nak = pkt->opcode == SNIC_OP_ACK &&
		      (pkt->syndrome & SNIC_AETH_KIND) == SNIC_AETH_NAK;

	/* Ignore old packets and answers to PSNs that were never sent.  A NAK
	 * may name max. */
	if (snic_psn_diff(pkt->psn, req->una) < 0 ||
	    snic_psn_diff(pkt->psn, req->max) >= (is_nak ? 1 : 0))
		return;
	if (pkt->opcode != SNIC_OP_ACK) {
		response_receive(req, pkt);
		return;
	}
	switch (pkt->syndrome & SNIC_AETH_KIND) {
	case SNIC_AETH_ACK:
		ack_receive(req, pkt);
		break;
	case SNIC_AETH_RNR:
		rnr_nak_receive(req, pkt);
		break;
	case SNIC_AETH_NAK:
		nak_receive(req, pkt);
		break;
	default:
		snic_stats(qp->nic)->rx_malformed++;
	}
}
