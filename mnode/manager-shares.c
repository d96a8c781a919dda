// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits of each identity at the memory node: pages, sessions, connections, bandwidth.
 * lease-plan.c and shares.c have the rules; this file applies them to the sessions.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lease/bound.h"
#include "log.h"
#include "manager.h"

/* Each name can have so many attachments, queues of them, bytes of metadata of sessions. */
#define ATTACHES_LEAST	4
#define QUEUES_LEAST	64
#define METADATA_LEAST	(1ull << 20)
/* Metadata that all sessions may have however small the pool is. */
#define METADATA_SMALL	(64ull << 20)

static void list_leases(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		m->leases[i] = &m->sess[i]->lease;
}

/* An ended session counts only while one of its chains does not stop. */
static bool counts(const struct sess *s, const struct share *share)
{
	return s->share == share && (s->state != SESS_ENDING || sess_unstopped(s));
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
	struct spaces_use use = spaces_use_of(&m->spaces, share->limits.name);
	uint64_t nr = use.attaches + use.queues;
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

/* The amount of something that a share has. */
typedef uint64_t (*amount_fn)(const struct manager *m, const struct share *share);

/* The amount that others lack of the least that each name with a section can have, and all
 * names without one together. */
static uint64_t kept_for_others(const struct manager *m, const struct share *but,
				uint64_t least, amount_fn amount)
{
	uint64_t kept = 0, unnamed = but->named ? least : 0, has;
	const struct share *share;

	for (share = m->shares.list; share; share = share->next) {
		has = amount(m, share);
		if (!share->named)
			unnamed -= has < unnamed ? has : unnamed;
		else if (share != but && has < least)
			kept += least - has;
	}
	return kept + unnamed;
}

uint64_t manager_claims_kept(const struct manager *m, const struct share *but)
{
	return kept_for_others(m, but, STOCK_LEAST, manager_claims_of);
}

static uint64_t unnamed_amount(const struct manager *m, amount_fn amount)
{
	const struct share *share;
	uint64_t sum = 0;

	for (share = m->shares.list; share; share = share->next)
		sum += share->named ? 0 : amount(m, share);
	return sum;
}

static bool share_may_have(const struct manager *m, const struct share *share,
			   struct bound b, amount_fn amount, uint64_t more)
{
	if (bound_is_wide(&b, more))
		return true;
	b.has = amount(m, share);
	b.group = share->named ? b.has : unnamed_amount(m, amount);
	b.kept = kept_for_others(m, share, b.least, amount);
	return bound_admits(&b, more);
}

uint64_t manager_metadata_of(const struct manager *m, const struct share *share)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		if (!share || m->sess[i]->share == share)
			sum += m->sess[i]->metadata;
	return sum;
}

uint64_t manager_metadata_most(const struct manager *m)
{
	uint64_t half = m->pool.pages * ODRP_WIRE_PAGE_SIZE / 2;

	return m->conf->metadata ? m->conf->metadata :
	       half > METADATA_SMALL ? half : METADATA_SMALL;
}

bool manager_metadata_admits(const struct manager *m, const struct share *share,
			     uint64_t bytes)
{
	const struct bound b = {
		.total = manager_metadata_most(m), .least = METADATA_LEAST,
		.taken = manager_metadata_of(m, NULL),
	};

	return share_may_have(m, share, b, manager_metadata_of, bytes);
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

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t whole_slabs(uint64_t pages)
{
	return pages - pages % ODRP_WIRE_SLAB_PAGES;
}

/* Pages that the session may have to give to others: all of them when it has ended, but none
 * while one of its chains does not stop. Pages of slabs that are cut are on their way. */
static uint64_t idle_pages(const struct sess *s)
{
	uint64_t apart = s->armed + s->astray + s->lease.slack;

	if (!sess_is_live(s))
		return sess_unstopped(s) ? 0 : s->lent;
	return lease_idle(&s->lease, s->lent > apart ? s->lent - apart : 0);
}

/* Pages of the slabs that can be made now. */
static uint64_t slabs_free(const struct manager *m)
{
	return least_of(whole_slabs(lend_pages(&m->lender)),
			(uint64_t)m->pool.free.nr_whole * ODRP_WIRE_SLAB_PAGES);
}

/*
 * Slabs are whole blocks of the pool: a session can have those that are free, and those that
 * may come to be, because others do not ask for all that they have. Free pages in pieces are
 * for sessions with chains: if slabs laid claim to them, nobody would have them.
 */
static void limit_slabs(struct manager *m)
{
	uint64_t idle = 0, whole = slabs_free(m), room;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		idle += idle_pages(m->sess[i]);
	for (i = 0; i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];

		if (!slabs_exist(&s->slabs))
			continue;
		room = lend_about(s) + slabs_cut_pages(&s->slabs) + whole + idle - idle_pages(s);
		s->lease.lacking = room < s->lease.cap ? s->lease.cap - room : 0;
	}
}

void manager_plan_leases(struct manager *m)
{
	unsigned int i;

	list_leases(m);
	limit_slabs(m);
	lease_plan(m->leases, m->nr_sess, budget_for(m, NULL));
	for (i = 0; i < m->nr_sess; i++)
		if (slabs_exist(&m->sess[i]->slabs))
			m->leases[i]->target = whole_slabs(m->leases[i]->target);
}

/* Logs this once, until the limit is set anew. */
static void log_unlimited(struct share *share, int r)
{
	if (!log_first(&share->logged, SHARE_LOG_RATE))
		return;
	log_warning("client %s: max-bandwidth of %" PRIu64 " bytes a second is not kept: "
		    "%s", share->limits.name, share->limits.max_bandwidth,
		    r == -EOPNOTSUPP ? "this NIC has no such limit" :
		    r == -ENOMEM ? "the NIC has no memory for it" : strerror(-r));
}

static void limit_share(struct manager *m, struct share *share)
{
	int r = share_set_rate(&m->shares, share);

	share->logged = 0;
	if (r)
		log_unlimited(share, r);
}

static void share_limit_qp(struct manager *m, struct share *share, const struct queue *q)
{
	int r = m->nic->node->ops->qp_limit(m->nic, q->client_qpn, share->rate);

	if (r)
		log_unlimited(share, r);
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
		log_unlimited(share, r);
	if (!share->rate)
		return;
	share->logged = 0;
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

	return share->places ||
	       spaces_use_of(&m->spaces, share->limits.name).attaches;
}

static uint64_t attaches_of(const struct manager *m, const struct share *share)
{
	return spaces_use_of(&m->spaces, share->limits.name).attaches;
}

static uint64_t queues_of(const struct manager *m, const struct share *share)
{
	return spaces_use_of(&m->spaces, share->limits.name).queues;
}

/* May the share have one more of what the request adds? */
static bool share_may_add(const struct manager *m, const struct share *share,
			  enum spaces_adds adds)
{
	const struct bound attaches = {
		.total = FAR_HOST_ATTACHES, .taken = m->spaces.host.nr_attaches,
		.least = ATTACHES_LEAST,
	};
	const struct bound queues = {
		.total = FAR_HOST_QUEUES, .taken = m->spaces.host.nr_queues,
		.least = QUEUES_LEAST,
	};
	uint64_t most = share->limits.max_connections;

	if (adds == SPACES_NOTHING)
		return true;
	if (most && manager_connections_of(m, share) >= most)
		return false;
	return adds == SPACES_ATTACH ?
	       share_may_have(m, share, attaches, attaches_of, 1) :
	       share_may_have(m, share, queues, queues_of, 1);
}

unsigned int manager_share_far(void *arg, const char *name, bool proved,
			       enum spaces_adds adds)
{
	struct manager *m = arg;
	struct share *share;
	/* An unproved address may be anybody's: its requests count when it has something. */
	bool counts = proved || shares_find(&m->shares, name);

	if (manager_health_silent(m))
		return ODRP_FAR_E_BUSY;
	if (!counts && adds == SPACES_NOTHING)
		return ODRP_FAR_OK;
	if (shares_get(&m->shares, name, &share))
		return ODRP_FAR_E_NOMEM;
	if ((!counts || share_take_request(share)) && share_may_add(m, share, adds))
		return ODRP_FAR_OK;
	share->refused++;
	return ODRP_FAR_E_LIMIT;
}

void manager_tidy_share(struct manager *m, const char *name)
{
	shares_tidy(&m->shares, name, share_needed, m);
}

void manager_tick_shares(struct manager *m, uint32_t elapsed_ms)
{
	shares_tick(&m->shares, elapsed_ms, share_needed, m);
}

/* Pages of a newcomer that asks again when it needs more. */
#define FIRST_PAGES	ODRP_WIRE_SLAB_PAGES

static void lease_begin_small(struct lease *l)
{
	l->promised = least_of(l->promised, FIRST_PAGES);
	l->granted = least_of(l->granted, FIRST_PAGES);
	l->ceiling = least_of(l->ceiling, FIRST_PAGES);
	l->held = least_of(l->held, FIRST_PAGES);
	l->target = least_of(l->target, FIRST_PAGES);
}

/* A session with slabs gets whole ones, and needs no slack. */
static void lease_round(struct lease *l)
{
	l->promised = whole_slabs(l->promised);
	l->granted = whole_slabs(l->granted);
	l->ceiling = whole_slabs(l->ceiling);
	l->held = whole_slabs(l->held);
	l->target = whole_slabs(l->target);
}

int manager_lease(struct manager *m, struct share *share, const struct hello *hello,
		  struct lease *ret_lease)
{
	bool direct = manager_direct(m, hello);
	uint64_t slack = direct ? 0 : m->slack, nr = hello->nr_slots;
	uint64_t cap = slack < m->budget ? m->budget - slack : 0;
	int r;

	list_leases(m);
	if (direct)
		nr = (uint64_t)odrp_wire_max_slabs(nr) * ODRP_WIRE_SLAB_PAGES;
	if (nr < cap)
		cap = nr;
	if (m->conf->max_pages && m->conf->max_pages < cap)
		cap = m->conf->max_pages;
	if (direct)
		cap = whole_slabs(cap);
	r = lease_open((const struct lease *const *)m->leases, m->nr_sess,
		       budget_for(m, share), cap, slack,
		       direct ? ODRP_WIRE_SLAB_PAGES : 1, &share->lease, ret_lease);
	if (!r && hello->features & ODRP_WIRE_F_ASKS)
		lease_begin_small(ret_lease);
	if (!r && direct)
		lease_round(ret_lease);
	return r;
}

void manager_keep_lease(struct manager *m, struct sess *s)
{
	uint64_t more = slabs_exist(&s->slabs) ? slabs_free(m) : lend_pages(&m->lender);

	list_leases(m);
	lease_keep((const struct lease *const *)m->leases, m->nr_sess,
		   budget_for(m, NULL), lend_about(s) + more, &s->lease);
}
