// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What each identity may have of the memory node: pages, sessions, connections,
 * bandwidth. lease-plan.c and shares.c have the rules; this file applies them to the
 * sessions.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "log.h"
#include "manager.h"

static void list_leases(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		m->leases[i] = &m->sess[i]->lease;
}

/* An ended session counts only while one of its chains does not stop. */
static bool counts(const struct sess *s, const struct share *share)
{
	return s->share == share && (s->state != SESS_DYING || sess_unstopped(s));
}

unsigned int manager_sessions_of(const struct manager *m, const struct share *share)
{
	unsigned int i, nr = 0;

	for (i = 0; i < m->nr_sess; i++)
		nr += counts(m->sess[i], share);
	return nr;
}

uint64_t manager_connections_of(const struct manager *m, const struct share *share)
{
	uint64_t nr = spaces_connections_of(&m->spaces, &m->who, share->limits.name);
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		if (counts(m->sess[i], share))
			nr += manager_connections(m->sess[i]->nr_queues);
	return nr;
}

uint64_t manager_claims_of(const struct manager *m, const struct share *share)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		if (m->sess[i]->share == share)
			sum += m->sess[i]->claim;
	return sum;
}

uint64_t manager_claims_kept(const struct manager *m, const struct share *but)
{
	uint64_t kept = 0, unnamed = but->named ? STOCK_LEAST : 0, has;
	const struct share *share;

	for (share = m->shares.list; share; share = share->next) {
		has = manager_claims_of(m, share);
		if (!share->named)
			unnamed -= has < unnamed ? has : unnamed;
		else if (share != but && has < STOCK_LEAST)
			kept += STOCK_LEAST - has;
	}
	return kept + unnamed;
}

static bool is_absent(const struct manager *m, const struct share *share)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		if (m->sess[i]->share == share)
			return false;
	return true;
}

/* Pages that may be leased, without the guaranteed pages of shares that have no session,
 * except those of @but.  lease.c keeps what shares with sessions are guaranteed. */
static uint64_t budget_for(const struct manager *m, const struct share *but)
{
	const struct share *share;
	uint64_t kept = 0;

	for (share = m->shares.list; share; share = share->next)
		if (share != but && share->lease.least && is_absent(m, share))
			kept += share->lease.least + m->slack;
	return kept < m->budget ? m->budget - kept : 0;
}

/* Each share that is guaranteed pages also has a reserved place. */
bool manager_has_place(const struct manager *m, const struct share *but)
{
	unsigned int nr = m->nr_sess + m->nr_old;
	const struct share *share;

	for (share = m->shares.list; share; share = share->next)
		nr += share != but && share->lease.least && is_absent(m, share);
	return nr < m->conf->max_sessions;
}

void manager_plan_leases(struct manager *m)
{
	list_leases(m);
	lease_plan(m->leases, m->nr_sess, budget_for(m, NULL));
}

/* Logs this once, until the limit is set anew. */
static void say_unlimited(struct share *share, int r)
{
	if (share->rate_said)
		return;
	share->rate_said = true;
	log_warning("client %s: max-bandwidth of %" PRIu64 " bytes a second is not kept: "
		    "%s", share->limits.name, share->limits.max_bandwidth,
		    r == -EOPNOTSUPP ? "this NIC has no such limit" :
		    r == -ENOMEM ? "the NIC has no memory for it" : strerror(-r));
}

static void limit_share(struct manager *m, struct share *share)
{
	int r = share_set_rate(&m->shares, share);

	share->rate_said = false;
	if (r)
		say_unlimited(share, r);
}

static void share_limit_qp(struct manager *m, struct share *share, const struct queue *q)
{
	int r = m->nic->node->ops->qp_limit(m->nic, q->client_qpn, share->rate);

	if (r)
		say_unlimited(share, r);
}

/* Also limits the queues that were connected while the NIC could not make the limit. */
static void share_limit_known(struct manager *m, struct share *share)
{
	unsigned int i, n, c;
	struct queue *q;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->share != share)
			continue;
		sess_for_each_queue(m->sess[i], n, c, q)
			if (q->cm_id)
				share_limit_qp(m, share, q);
	}
}

static void share_make_rate(struct manager *m, struct share *share)
{
	int r = share_set_rate(&m->shares, share);

	/* limit_all() has already warned of a NIC without limits. */
	if (r && r != -EOPNOTSUPP)
		say_unlimited(share, r);
	if (!share->rate)
		return;
	share->rate_said = false;
	share_limit_known(m, share);
}

void manager_limit_queue(struct manager *m, const struct sess *s,
			 const struct queue *q)
{
	struct share *share = s->share;

	if (!share->rate)
		share_make_rate(m, share);
	if (share->rate)
		share_limit_qp(m, share, q);
}

static void limit_all(struct manager *m)
{
	struct share *share;
	struct queue *q;
	unsigned int i, n, c;

	for (share = m->shares.list; share; share = share->next)
		limit_share(m, share);
	if (m->shares.others.max_bandwidth && !m->nic->node->ops->rate_set)
		log_warning("client *: max-bandwidth counts for nothing with this NIC");
	for (i = 0; i < m->nr_sess; i++)
		sess_for_each_queue(m->sess[i], n, c, q)
			manager_limit_queue(m, m->sess[i], q);
}

int manager_set_clients(struct manager *m, const struct conf *conf,
			char why[CONF_WHY_MAX])
{
	uint64_t sum = 0;
	unsigned int i;
	int r;

	for (i = 0; i < conf->nr_clients; i++)
		if (conf->clients[i].guaranteed_pages)
			sum += conf->clients[i].guaranteed_pages + m->slack;
	if (sum > m->budget) {
		snprintf(why, CONF_WHY_MAX, "clients: guaranteed-pages, with %" PRIu64
			 " more for each: %" PRIu64 " in all: expected at most %" PRIu64
			 ", the pages to lend", m->slack, sum, m->budget);
		return -EINVAL;
	}
	r = shares_set(&m->shares, conf);
	if (r)
		snprintf(why, CONF_WHY_MAX, "clients: %s", strerror(-r));
	else
		limit_all(m);
	return r;
}

static bool share_needed(void *arg, const struct share *share)
{
	const struct manager *m = arg;

	return !is_absent(m, share) ||
	       spaces_connections_of(&m->spaces, &m->who, share->limits.name);
}

unsigned int manager_share_far(void *arg, const char *name, bool proved, bool connects)
{
	struct manager *m = arg;
	struct share *share;
	uint64_t most;

	/* An unproved address may be anybody's: it gets a share only when it connects. */
	if (!proved && !connects && !shares_find(&m->shares, name))
		return ODRP_FAR_OK;
	if (shares_get(&m->shares, name, &share))
		return ODRP_FAR_E_NOMEM;
	most = share->limits.max_connections;
	if (share_take_request(share) &&
	    (!connects || !most || manager_connections_of(m, share) < most))
		return ODRP_FAR_OK;
	share->refused++;
	if (!proved)
		manager_tick_shares(m, 0);
	return ODRP_FAR_E_LIMIT;
}

void manager_tick_shares(struct manager *m, uint32_t elapsed_ms)
{
	shares_tick(&m->shares, elapsed_ms, share_needed, m);
}

int manager_lease(struct manager *m, struct share *share, uint64_t nr_slots,
		  struct lease *ret_lease)
{
	uint64_t cap = m->slack < m->budget ? m->budget - m->slack : 0;

	list_leases(m);
	if (nr_slots < cap)
		cap = nr_slots;
	if (m->conf->max_pages && m->conf->max_pages < cap)
		cap = m->conf->max_pages;
	return lease_open((const struct lease *const *)m->leases, m->nr_sess,
			  budget_for(m, share), cap, m->slack, &share->lease, ret_lease);
}

void manager_keep_lease(struct manager *m, struct sess *s, uint64_t pages)
{
	list_leases(m);
	lease_keep((const struct lease *const *)m->leases, m->nr_sess,
		   budget_for(m, NULL), pages, &s->lease);
}
