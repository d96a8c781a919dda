// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC requester: how long it waits for an answer, and what it does then.
 *
 * The connection's time-out counts as a retry, and too many retries end the
 * connection.  It is hundreds of times longer than an answer takes.  So the
 * requester sends probes long before: after a little more than the measured
 * round trip, then with doubling pauses.  A probe is no retry and does not
 * start the time-out anew.  Without probes, a time-out would pass for each
 * packet that is lost at the end of a burst or lost twice, and for each lost
 * NAK.
 */
#include "transport-priv.h"

/* A shorter time-out would repeat packets whose ACK is on its way. */
#define MIN_TIMEOUT_NS	1000000ull
/* Consecutive time-outs double, at most so many times. */
#define MAX_BACKOFF	2
/* The first probe: not before PROBE_MIN_NS; PROBE_START_NS if no round trip is
 * known. */
#define PROBE_MIN_NS	4000000ull
#define PROBE_START_NS	10000000ull
#define MAX_PROBES	16

static void req_timer_fire(struct snic *nic, struct snic_timer *t);

void rc_time_init(struct snic_rc_req *req)
{
	req->deadline = SNIC_NEVER;
	req->due = SNIC_NEVER;
	snic_timer_init(&req->timer, req_timer_fire);
}

/* ---- round trips ---------------------------------------------------------- */

void rc_time_answer(struct snic_rc_req *req)
{
	if (req->timing)
		return;
	req->timing = true;
	req->timed_psn = req->asked;
	req->timed_at = snic_now(req->qp->nic);
}

/* Smoothed as in RFC 6298: mean and mean deviation. */
static void rtt_update(struct snic_rc_req *req)
{
	uint64_t ns = snic_now(req->qp->nic) - req->timed_at, dev;

	req->timing = false;
	if (!req->rtt) {
		req->rtt = ns;
		req->rtt_dev = ns / 2;
		return;
	}
	dev = ns > req->rtt ? ns - req->rtt : req->rtt - ns;
	req->rtt_dev = req->rtt_dev - req->rtt_dev / 4 + dev / 4;
	req->rtt = req->rtt - req->rtt / 8 + ns / 8;
}

/* Pause before the next probe. */
static uint64_t probe_ns(const struct snic_rc_req *req)
{
	uint64_t ns = req->rtt ? req->rtt + 4 * req->rtt_dev : PROBE_START_NS;

	return (ns < PROBE_MIN_NS ? PROBE_MIN_NS : ns) << req->probes;
}

static uint64_t timeout_ns(const struct snic_rc_req *req)
{
	unsigned int backoff = rc_min(req->retries, MAX_BACKOFF);
	uint64_t ns = 4096ull << req->qp->conn.timeout;

	return (ns < MIN_TIMEOUT_NS ? MIN_TIMEOUT_NS : ns) << backoff;
}

/* ---- waiting --------------------------------------------------------------- */

/* A timer that fires before the deadline is left as it is; it is set again when
 * it fires. */
void rc_set_deadline(struct snic_rc_req *req, uint64_t when)
{
	req->deadline = when;
	if (when < req->timer.when)
		snic_timer_set(req->qp->nic, &req->timer, when);
}

bool rc_answer_due(const struct snic_rc_req *req)
{
	return snic_psn_diff(req->asked, req->una) >= 0;
}

void rc_start_timeout(struct snic_rc_req *req)
{
	uint64_t now = snic_now(req->qp->nic), probe;

	if (!rc_answer_due(req)) {
		rc_set_deadline(req, now + RC_LAZY_NS);
		return;
	}
	if (!req->qp->conn.timeout) {
		rc_set_deadline(req, SNIC_NEVER);
		return;
	}
	if (req->due == SNIC_NEVER)
		req->due = now + timeout_ns(req);
	probe = now + probe_ns(req);
	rc_set_deadline(req, probe < req->due ? probe : req->due);
}

void rc_stop_timeout(struct snic_rc_req *req)
{
	req->due = SNIC_NEVER;
	req->probes = 0;
	if (!req->rnr_wait)
		req->deadline = SNIC_NEVER;
}

void rc_restart_timeout(struct snic_rc_req *req)
{
	if (req->timing && snic_psn_diff(req->una, req->timed_psn) > 0)
		rtt_update(req);
	rc_stop_timeout(req);
	if (!req->rnr_wait && req->una != req->snd)
		rc_start_timeout(req);
}

/* ---- probes and time-outs ------------------------------------------------------ */

static void req_again(struct snic_rc_req *req, uint32_t window)
{
	req->rewound = false;
	req->window = window;
	rc_go_back(req);
}

static void req_timed_out(struct snic_rc_req *req)
{
	snic_stats(req->qp->nic)->timeouts++;
	if (req->retries >= req->qp->conn.retry_cnt) {
		rc_fail_head(req, WRC_SYND_RETRY_EXC);
		return;
	}
	req->retries++;
	rc_stop_timeout(req);
	req_again(req, RC_WINDOW_MIN);
	rc_start_timeout(req);
}

/*
 * Sends one packet: mostly the peer is only late and has received all packets.
 */
static void req_probe(struct snic_rc_req *req)
{
	snic_stats(req->qp->nic)->probes++;
	if (req->probes < MAX_PROBES)
		req->probes++;
	req_again(req, 1);
	rc_start_timeout(req);
}

/* No packet has asked for an answer: sends the last one again, to ask. */
static void req_ask_again(struct snic_rc_req *req)
{
	struct rc_slot *s;

	req->hurry = true;
	rc_want_turn(req->qp);
	if (req->snd != req->max || req->una == req->max)
		return;		/* the next packet asks */
	req->snd = snic_psn_add(req->max, -1);
	for (s = req->head; snic_psn_diff(req->snd, rc_last_psn(s)) > 0;)
		s = s->next;
	req->cur = s;
}

static void req_timer_fire(struct snic *nic, struct snic_timer *t)
{
	struct snic_rc_req *req = (struct snic_rc_req *)
		((char *)t - offsetof(struct snic_rc_req, timer));

	if (req->deadline == SNIC_NEVER)
		return;
	if (snic_now(nic) < req->deadline) {
		snic_timer_set(nic, t, req->deadline);
		return;
	}
	req->deadline = SNIC_NEVER;
	if (req->rnr_wait) {
		req->rnr_wait = false;
		rc_want_turn(req->qp);
	} else if (!req->head) {
		return;
	} else if (!rc_answer_due(req)) {
		req_ask_again(req);
	} else if (snic_now(nic) < req->due) {
		req_probe(req);
	} else {
		req_timed_out(req);
	}
}

void snic_rc_hurry(struct snic_qp *qp)
{
	struct snic_rc_req *req = qp->req;

	if (req && !rc_answer_due(req) && !req->rnr_wait)
		req_ask_again(req);
}
