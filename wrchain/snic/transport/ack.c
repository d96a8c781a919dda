// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC responder: ACKs and NAKs.  One ACK or NAK is due at a time; it is sent
 * after the replies to READs and atomics.  An ACK of a message may be held
 * until this QP's answers have been sent.
 */
#include <stddef.h>

#include "transport-priv.h"

int rc_ack_now(struct snic_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct snic_stats *st = snic_stats(qp->nic);
	struct snic_pkt pkt = {
		.opcode = SNIC_OP_ACK,
		.psn = psn,
		.syndrome = syndrome,
		.msn = qp->resp->msn,
	};
	int err = rc_send(qp, &pkt, NULL, 0, 0);

	if (err)
		return err;
	if ((syndrome & SNIC_AETH_KIND) == SNIC_AETH_ACK)
		st->acks++;
	else if ((syndrome & SNIC_AETH_KIND) == SNIC_AETH_RNR)
		st->rnr_naks++;
	else
		st->naks++;
	return 0;
}

bool rc_positive_due(const struct snic_rc_resp *r)
{
	return r->ack_due &&
	       (r->ack_syndrome & SNIC_AETH_KIND) == SNIC_AETH_ACK;
}

void rc_ack(struct snic_qp *qp, uint32_t psn)
{
	struct snic_rc_resp *r = qp->resp;

	/* Keep a NAK, which acknowledges all earlier PSNs, or a later ACK. */
	if (r->ack_due && (!rc_positive_due(r) ||
			   snic_psn_diff(psn, r->ack_psn) < 0))
		return;
	r->ack_due = true;
	r->ack_held = false;
	r->ack_syndrome = SNIC_ACK_UNLIMITED;
	r->ack_psn = psn;
	rc_want_turn(qp);
}

void rc_ack_message(struct snic_qp *qp, uint32_t psn, bool small)
{
	struct snic_rc_resp *r = qp->resp;
	bool first = !r->ack_due, held = r->ack_held;

	rc_ack(qp, psn);
	if (first)
		r->nr_held = 0;
	if ((!first && !held) || ++r->nr_held >= RC_HOLD_MAX)
		return;
	if (first) {
		r->hold_end = snic_now(qp->nic) + RC_HOLD_NS;
		snic_timer_set(qp->nic, &r->hold, r->hold_end);
		r->all_small = true;
	}
	r->all_small &= small;
	r->ack_held = true;
}

void rc_ack_answered(struct snic_qp *qp)
{
	struct snic_rc_resp *r = qp->resp;
	uint64_t at = snic_now(qp->nic) + RC_HOLD_ON_NS;

	if (!r->all_small)
		r->ack_held = false;
	else if (r->ack_held)
		snic_timer_set(qp->nic, &r->hold,
			       at < r->hold_end ? at : r->hold_end);
}

static void hold_fire(struct snic *nic, struct snic_timer *t)
{
	struct snic_rc_resp *r = (struct snic_rc_resp *)
		((char *)t - offsetof(struct snic_rc_resp, hold));

	(void)nic;
	r->ack_held = false;
	if (r->ack_due)
		rc_want_turn(r->qp);
}

void rc_nak(struct snic_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct snic_rc_resp *r = qp->resp;

	r->ack_due = true;
	r->ack_held = false;
	r->ack_syndrome = syndrome;
	r->ack_psn = psn;
	rc_want_turn(qp);
}

int rc_ack_turn(struct snic_qp *qp)
{
	struct snic_rc_resp *r = qp->resp;
	int err;

	if (!r->ack_due || r->ack_held)
		return 0;
	err = rc_ack_now(qp, r->ack_syndrome, r->ack_psn);
	if (err)
		return err;
	r->ack_due = false;
	if (r->ack_syndrome == SNIC_NAK_SEQ)
		rc_ahead_nak_sent(r);
	return 0;
}

/* ---- set-up and tear-down ------------------------------------------------- */

void rc_ack_init(struct snic_qp *qp)
{
	struct snic_rc_resp *r = qp->resp;

	r->qp = qp;
	snic_timer_init(&r->hold, hold_fire);
}

void rc_ack_flush(struct snic_qp *qp)
{
	qp->resp->ack_due = false;
	snic_timer_cancel(qp->nic, &qp->resp->hold);
}
