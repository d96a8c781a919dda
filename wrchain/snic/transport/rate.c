// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rate limits: the queue pairs of one limit together move at most so many bytes
 * of payload a second, sent and received.  Each limit is a bucket of tokens;
 * both directions take from it, and time fills it.  While the bucket is empty,
 * its queue pairs get no turn: they send no request, no answer to a READ, no
 * acknowledgement.  So a peer that has to wait for answers or acknowledgements,
 * as with a queue of bounded depth, is limited, whatever it asks for.  A WRITE
 * that a peer sends without waiting is executed when it arrives; its bytes are
 * paid for later.
 */
#include <stdlib.h>
#include "transport-priv.h"

#define SECOND_NS	1000000000ull
/* Burst: the tokens of 2 ms, or of some packets. */
#define BURST_PART	500
#define MIN_BURST	(64 * 1024)

/**
 * struct snic_rate - a rate limit
 * @next:	the NIC's list of rate limits
 * @nr:		number of the limit
 * @bytes_per_s: 0: no limit
 * @tokens:	bytes that may be moved now; below 0: bytes moved too early
 * @at:		when tokens were last added, in ns
 * @rest:	a part of a byte that is still to be added, in 1 / SECOND_NS
 * @parked:	first queue pair that waits for tokens, in order of arrival
 * @parked_tail: the last one
 * @timer:	gives the parked queue pairs a turn
 */
struct snic_rate {
	struct snic_rate *next;
	uint32_t nr;
	uint64_t bytes_per_s;
	int64_t tokens;
	uint64_t at, rest;
	struct snic_qp *parked, *parked_tail;
	struct snic_timer timer;
};

static struct snic_rate **rate_at(struct snic *nic, uint32_t nr)
{
	struct snic_rate **at = &snic_rc_of(nic)->rates;

	while (*at && (*at)->nr != nr)
		at = &(*at)->next;
	return at;
}

static int64_t burst_of(const struct snic_rate *rate)
{
	uint64_t part = rate->bytes_per_s / BURST_PART;

	return part > MIN_BURST ? part : MIN_BURST;
}

/* No overflow: SNIC_RATE_MAX * SECOND_NS fits in 64 bits. */
static void rate_fill(struct snic_rate *rate, uint64_t now)
{
	uint64_t ns = now - rate->at;

	if (ns > SECOND_NS)
		ns = SECOND_NS;
	rate->at = now;
	rate->rest += ns * rate->bytes_per_s;
	rate->tokens += rate->rest / SECOND_NS;
	rate->rest %= SECOND_NS;
	if (rate->tokens > burst_of(rate)) {
		rate->tokens = burst_of(rate);
		rate->rest = 0;
	}
}

static void unpark_all(struct snic_rate *rate)
{
	struct snic_qp *qp;

	while ((qp = rate->parked)) {
		rate->parked = qp->rate_next;
		qp->rate_parked = false;
		rc_want_turn(qp);
	}
	rate->parked_tail = NULL;
}

static void rate_fire(struct snic *nic, struct snic_timer *t)
{
	struct snic_rate *rate = (struct snic_rate *)
		((char *)t - offsetof(struct snic_rate, timer));

	(void)nic;
	/* Queue pairs that find the bucket empty again queue up behind the
	 * others. */
	unpark_all(rate);
}

static void park(struct snic_qp *qp)
{
	struct snic_rate *rate = qp->rate;
	uint64_t lack = 1 - rate->tokens;
	uint64_t ns = lack > rate->bytes_per_s ? SECOND_NS :
		      lack * SECOND_NS / rate->bytes_per_s + 1;

	qp->rate_parked = true;
	qp->rate_next = NULL;
	if (rate->parked_tail)
		rate->parked_tail->rate_next = qp;
	else
		rate->parked = qp;
	rate->parked_tail = qp;
	if (rate->timer.when == SNIC_NEVER)
		snic_timer_set(qp->nic, &rate->timer, snic_now(qp->nic) + ns);
}

bool rc_rate_waits(struct snic_qp *qp)
{
	struct snic_rate *rate = qp->rate;

	if (!rate || !rate->bytes_per_s)
		return false;
	rate_fill(rate, snic_now(qp->nic));
	if (rate->tokens > 0)
		return false;
	park(qp);
	return true;
}

void rc_rate_pay(struct snic_qp *qp, uint32_t len)
{
	if (qp->rate && qp->rate->bytes_per_s)
		qp->rate->tokens -= len;
}

void rc_rate_unpark(struct snic_qp *qp)
{
	struct snic_rate *rate = qp->rate;
	struct snic_qp **at = &rate->parked, *prev = NULL;

	while (*at != qp) {
		prev = *at;
		at = &prev->rate_next;
	}
	*at = qp->rate_next;
	if (rate->parked_tail == qp)
		rate->parked_tail = prev;
	qp->rate_parked = false;
}

/* ---- the interface of snic.h ------------------------------------------------------- */

int snic_rate_new(struct snic *nic, uint64_t bytes_per_s, uint32_t *ret_rate)
{
	struct snic_rc *rc = snic_rc_of(nic);
	struct snic_rate *rate;
	int r;

	if (bytes_per_s > SNIC_RATE_MAX)
		return -ERANGE;
	rate = calloc(1, sizeof(*rate));
	if (!rate)
		return -ENOMEM;
	r = snic_timer_reserve(nic, 1);
	if (r) {
		free(rate);
		return r;
	}
	snic_timer_init(&rate->timer, rate_fire);
	rate->bytes_per_s = bytes_per_s;
	rate->at = snic_now(nic);
	rate->tokens = burst_of(rate);
	rate->nr = ++rc->nr_rates;
	rate->next = rc->rates;
	rc->rates = rate;
	*ret_rate = rate->nr;
	return 0;
}

int snic_rate_set(struct snic *nic, uint32_t nr, uint64_t bytes_per_s)
{
	struct snic_rate *rate = *rate_at(nic, nr);

	if (!rate)
		return -ENOENT;
	if (bytes_per_s > SNIC_RATE_MAX)
		return -ERANGE;
	rate_fill(rate, snic_now(nic));
	rate->bytes_per_s = bytes_per_s;
	if (rate->tokens > burst_of(rate))
		rate->tokens = burst_of(rate);
	snic_timer_cancel(nic, &rate->timer);
	unpark_all(rate);
	return 0;
}

int snic_rate_free(struct snic *nic, uint32_t nr)
{
	struct snic_rate **at = rate_at(nic, nr), *rate = *at;

	if (!rate)
		return -ENOENT;
	unpark_all(rate);
	snic_qps_forget_rate(nic, rate);
	snic_timer_cancel(nic, &rate->timer);
	snic_timer_unreserve(nic, 1);
	*at = rate->next;
	free(rate);
	return 0;
}

int snic_qp_limit(struct snic *nic, uint32_t qpn, uint32_t nr)
{
	struct snic_qp *qp = snic_qp_lookup(nic, qpn);
	struct snic_rate *rate = nr ? *rate_at(nic, nr) : NULL;

	if (!qp || (nr && !rate))
		return -ENOENT;
	if (qp->rate_parked) {
		rc_rate_unpark(qp);
		rc_want_turn(qp);
	}
	qp->rate = rate;
	return 0;
}

void rc_rates_fini(struct snic *nic)
{
	while (snic_rc_of(nic)->rates)
		snic_rate_free(nic, snic_rc_of(nic)->rates->nr);
}
