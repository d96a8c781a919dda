// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent's life: set-up, heartbeats, leases, deaths.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "log.h"
#include "manager.h"

/* Reclaim steps per call of manager_work() that need no waiting. */
#define WORK_STEPS	4

static const char *ip_name(__be32 ip, char buf[INET_ADDRSTRLEN])
{
	struct in_addr in = { .s_addr = ip };

	return inet_ntop(AF_INET, &in, buf, INET_ADDRSTRLEN);
}

/* ---- set-up ------------------------------------------------------------------ */

static bool is_store(unsigned int chain)
{
	return chain == ODRP_WIRE_MAPPED_STORE ||
	       chain == ODRP_WIRE_UNMAPPED_STORE;
}

/* Does the NIC take receive entries of so many segments? */
static bool fits_nic(const struct manager *m, const struct wrc_prog *prog,
		     unsigned int *ret_len)
{
	struct wrc_geom geom;

	if (!m->nic->max_recv_len ||
	    wrc_geom_init(prog, HELLO_MIN_DEPTH, &geom))
		return true;
	*ret_len = 1u << geom.log_rq_stride;
	return *ret_len <= m->nic->max_recv_len;
}

static int build_prog(struct manager *m, unsigned int c)
{
	struct wrc_opts opts = {
		.strict_index = m->nic->strict_index,
		.recycle = m->conf->node_recycles ? WRC_RECYCLE_NODE :
						    WRC_RECYCLE_CLIENT,
		.variant = m->conf->exchange && is_store(c) ?
			   WRC_V_EXCHANGE : WRC_V_OURS,
	};
	unsigned int len;
	int r;

	r = wrc_prog_build(c, &opts, &m->progs[c]);
	if (r || opts.variant == WRC_V_OURS ||
	    fits_nic(m, &m->progs[c], &len))
		return r;
	log_warning("chain %s copies: to exchange pages it needs receive "
		    "entries of %u bytes, and this NIC has %u",
		    m->progs[c].name, len, m->nic->max_recv_len);
	opts.variant = WRC_V_OURS;
	return wrc_prog_build(c, &opts, &m->progs[c]);
}

static int build_progs(struct manager *m)
{
	unsigned int c;
	int r;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		r = build_prog(m, c);
		if (r)
			return r;
	}
	return 0;
}

static int check_depth(struct manager *m)
{
	struct wrc_geom geom;
	unsigned int c;
	int r;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		r = wrc_geom_init(&m->progs[c], m->conf->depth, &geom);
		if (r)
			return r;
	}
	return 0;
}

static int say(char *why, int r, const char *what)
{
	snprintf(why, CONF_WHY_MAX, "%s: %s", what, strerror(-r));
	return r;
}

/* Each instance of a store has a page that nobody else can have. */
static uint64_t stock_target(const struct manager *m)
{
	const struct conf *conf = m->conf;
	uint64_t most = (uint64_t)conf->max_sessions * conf->queues *
			STOCK_CHAINS * conf->depth;
	uint64_t half = (m->pool.pages - m->reserve) / 2;

	if (!conf->exchange)
		return 0;
	if (conf->store_pages != UINT64_MAX)
		return conf->store_pages;
	return stock_default_target(m->pool.pages, most < half ? most : half);
}

int manager_init(struct manager *m, const struct conf *conf, struct nic *nic,
		 char why[CONF_WHY_MAX])
{
	int r;

	*m = (struct manager){ .conf = conf, .nic = nic, .next_id = 1 };
	m->limits = (struct hello_limits){
		.max_slots = conf->max_slots,
		.max_queues = conf->queues,
		.max_depth = conf->depth,
	};
	if (!conf->node_recycles)
		log_warning("recycle=client: INSECURE, a compute node that "
			    "lies reaches the pages of others");
	r = build_progs(m);
	if (r)
		return say(why, r, "cannot build the chain programs");
	r = check_depth(m);
	if (r)
		return say(why, r, "depth: the chains do not fit a send queue");
	m->sess = calloc(conf->max_sessions, sizeof(*m->sess));
	m->leases = calloc(conf->max_sessions, sizeof(*m->leases));
	if (!m->sess || !m->leases) {
		r = say(why, -ENOMEM, "sessions");
		goto free_sess;
	}
	r = pool_init(&m->pool, nic, conf->pool, conf->populate);
	if (r) {
		say(why, r, "cannot make the pool");
		goto free_sess;
	}
	m->swept = UINT64_MAX;
	m->reserve = conf->reserve == UINT64_MAX ?
		     lease_default_reserve(m->pool.pages) : conf->reserve;
	r = stock_init(&m->stock, &m->pool, stock_target(m));
	if (r) {
		say(why, r, "cannot set pages aside for the stores");
		goto fini_pool;
	}
	m->budget = m->pool.pages - m->stock.target - m->reserve;
	r = reclaim_init(&m->reclaim, &m->pool, &m->stock);
	if (r) {
		say(why, r, "cannot make the reclaim queue");
		goto fini_stock;
	}
	r = nic->ops->listen(nic, conf->port);
	if (r) {
		say(why, r, "cannot listen");
		goto fini_reclaim;
	}
	return 0;

fini_reclaim:
	reclaim_fini(&m->reclaim);
fini_stock:
	stock_fini(&m->stock);
fini_pool:
	pool_fini(&m->pool);
free_sess:
	free(m->leases);
	free(m->sess);
	return r;
}

void manager_fini(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		sess_free(m->sess[i]);
	reclaim_fini(&m->reclaim);
	stock_fini(&m->stock);
	pool_fini(&m->pool);
	free(m->leases);
	free(m->sess);
}

/* ---- sessions ------------------------------------------------------------------ */

struct sess *manager_find(struct manager *m, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->id == id && m->sess[i]->state == SESS_LIVE)
			return m->sess[i];
	}
	return NULL;
}

static void list_leases(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		m->leases[i] = &m->sess[i]->lease;
}

int manager_lease(struct manager *m, uint64_t nr_slots,
		  struct lease *ret_lease)
{
	uint64_t cap = m->budget;

	list_leases(m);
	if (nr_slots < cap)
		cap = nr_slots;
	if (m->conf->max_pages && m->conf->max_pages < cap)
		cap = m->conf->max_pages;
	return lease_open((const struct lease *const *)m->leases, m->nr_sess,
			  m->budget, cap, ret_lease);
}

static void hang_up(struct manager *m, uint32_t cm_id)
{
	if (!cm_id)
		return;
	m->nic->ops->disconnect(m->nic, cm_id);
	m->nic->ops->release(m->nic, cm_id);
}

static void stop_queue(struct manager *m, struct sess *s, unsigned int number,
		       unsigned int chain)
{
	int r;

	queue_stop(s->queues[number][chain]);
	r = reclaim_queue(&m->reclaim, s, number, chain);
	if (r)
		log_error("session %" PRIu64 ": cannot tell what chain %s of "
			  "queue %u held: %s", s->id,
			  m->progs[chain].name, number, strerror(-r));
}

static void free_queue(struct manager *m, struct sess *s, unsigned int number,
		       unsigned int chain)
{
	struct queue *q = s->queues[number][chain];

	s->executed[chain] += q->executed;
	s->queues[number][chain] = NULL;
	queue_free(q);
	if (chain == ODRP_WIRE_INVALIDATE)
		m->nr_free_queues--;
}

void manager_close_queue(struct manager *m, struct sess *s,
			 unsigned int number, unsigned int chain)
{
	struct queue *q = s->queues[number][chain];

	hang_up(m, q->cm_id);
	stop_queue(m, s, number, chain);
	free_queue(m, s, number, chain);
}

/* Its chains stand still when this returns. */
static void disconnect(struct manager *m, struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	sess_for_each_queue(s, n, c, q)
		manager_close_queue(m, s, n, c);
	hang_up(m, s->cm_id);
	s->cm_id = 0;
}

void manager_detach(struct manager *m, struct sess *s)
{
	uint32_t dead_ms = m->conf->dead_ms;
	char ip[INET_ADDRSTRLEN];

	disconnect(m, s);
	sess_detach(s);
	log_info("session %" PRIu64 ", %s: its connection is gone; waiting %"
		 PRIu32 " ms for it", s->id, ip_name(s->peer_ip, ip),
		 dead_ms > s->silent_ms ? dead_ms - s->silent_ms : 0);
}

void manager_lost(struct manager *m, struct sess *s)
{
	if (sess_said_bye(s))
		manager_kill(m, s, WHY_LEFT);
	else
		manager_detach(m, s);
}

void manager_kill(struct manager *m, struct sess *s, enum manager_why why)
{
	static const char *const text[] = {
		[WHY_LEFT] = "left", [WHY_DEAD] = "is dead: no heartbeat",
		[WHY_EVICTED] = "evicted",
	};
	char ip[INET_ADDRSTRLEN];

	if (s->state == SESS_DYING)
		return;
	disconnect(m, s);
	m->nic->ops->qp_error(m->nic, s->ctl.qpn);
	s->state = SESS_DYING;
	m->sess_left += why == WHY_LEFT;
	m->sess_dead += why == WHY_DEAD;
	m->sess_evicted += why == WHY_EVICTED;
	log_info("session %" PRIu64 ", %s: %s; its pages go back", s->id,
		 ip_name(s->peer_ip, ip), text[why]);
}

/*
 * Somebody may have dropped pages that its table does not show any more.  A NIC
 * that cannot be frozen cannot be swept.
 */
static void sweep(struct manager *m)
{
	uint64_t lost;
	int r = check_repair(m, &lost);

	if (r == -EOPNOTSUPP)
		log_debug("cannot look for lost pages");
	else if (r)
		log_warning("cannot look for lost pages: %s", strerror(-r));
	else if (lost)
		log_warning("%" PRIu64 " pages were in no place; they go back",
			    lost);
}

static void bury(struct manager *m, struct sess *s)
{
	unsigned int i, c;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		m->executed[c] += s->executed[c];
	for (i = 0; m->sess[i] != s; i++)
		;
	memmove(&m->sess[i], &m->sess[i + 1],
		(--m->nr_sess - i) * sizeof(m->sess[0]));
	log_info("session %" PRIu64 ": all pages are back, %" PRIu64 " free",
		 s->id, manager_free_pages(m));
	stock_unclaim(&m->stock, s->claim);
	sess_free(s);
	/* Even if it said goodbye: so does one that has dropped pages. */
	sweep(m);
}

void manager_drain(struct manager *m)
{
	unsigned int i;

	m->draining = true;
	for (i = 0; i < m->nr_sess; i++)
		m->sess[i]->drain = true;
}

void manager_say_goodbye(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		manager_kill(m, m->sess[i], WHY_EVICTED);
}

/* ---- heartbeats ------------------------------------------------------------------ */

/* All at once, so that the NIC is stopped once and not for each. */
static bool count_queues(struct manager *m, struct sess *s)
{
	bool frozen = !m->nic->ops->freeze(m->nic), any = false;
	uint8_t syndrome;
	unsigned int n, c;
	struct queue *q;

	sess_for_each_queue(s, n, c, q) {
		queue_count(q);
		any |= queue_broken(q, &syndrome);
	}
	if (frozen)
		m->nic->ops->thaw(m->nic);
	return any;
}

/* Chains that stand still break their connection, so that the CNode notices
 * and connects again. */
static void look_at_queues(struct manager *m, struct sess *s)
{
	uint8_t syndrome = 0;
	unsigned int n, c;
	struct queue *q;

	if (!count_queues(m, s))
		return;
	sess_for_each_queue(s, n, c, q) {
		if (!queue_broken(q, &syndrome))
			continue;
		log_notice("session %" PRIu64 ": chain %s of queue %u stopped "
			   "(syndrome %#x)", s->id, q->prog->name, n,
			   (unsigned int)syndrome);
		m->queues_broken++;
		manager_close_queue(m, s, n, c);
	}
}

static void look_at(struct manager *m, struct sess *s, uint32_t elapsed_ms)
{
	sess_look(s, elapsed_ms);
	if (s->silent_ms > m->conf->dead_ms) {
		manager_kill(m, s, WHY_DEAD);
		return;
	}
	if (!sess_attached(s))
		return;
	if (sess_poll_ctl(s)) {
		manager_lost(m, s);
		return;
	}
	if (s->lease.overdrawn && !s->overdrawn_said) {
		s->overdrawn_said = true;
		log_warning("session %" PRIu64 ": uses %" PRIu64 " pages and "
			    "keeps to a lease of %" PRIu64 ", but was given %"
			    PRIu64, s->id, s->lease.used, s->lease.held,
			    s->lease.ceiling);
	}
	look_at_queues(m, s);
}

static uint64_t mapped_by(const struct sess *s)
{
	uint64_t nr = 0, i;

	for (i = 0; i < s->tt.nr_slots; i++)
		nr += s->tt.entries[i] != 0;
	return nr;
}

/*
 * Nobody counts pages while there are enough.  When the reserve is being eaten,
 * somebody does not keep to his lease: find him.  Or he drops pages, and no
 * table shows whose they were: find those; not again before more are missing.
 */
static void police(struct manager *m)
{
	uint64_t mapped, free = pool_free_pages(&m->pool);
	bool found = false;
	unsigned int i;

	if (free >= m->reserve / 2) {
		m->swept = UINT64_MAX;
		return;
	}
	for (i = 0; i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];

		if (s->state != SESS_LIVE)
			continue;
		mapped = mapped_by(s);
		if (mapped <= s->lease.ceiling + s->nr_queues)
			continue;
		log_warning("session %" PRIu64 ": has %" PRIu64 " pages and "
			    "was given %" PRIu64, s->id, mapped,
			    s->lease.ceiling);
		manager_kill(m, s, WHY_EVICTED);
		found = true;
	}
	if (!found && m->reclaim.state == RECLAIM_IDLE && free < m->swept) {
		sweep(m);
		m->swept = pool_free_pages(&m->pool);
	}
}

static void give_leases(struct manager *m)
{
	unsigned int i;

	list_leases(m);
	lease_plan(m->leases, m->nr_sess, m->budget);
	for (i = 0; i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];
		int r;

		if (s->state != SESS_LIVE || !s->lease.reachable ||
		    s->lease.writing ||
		    (s->lease.target == s->lease.granted &&
		     s->drain == s->drain_told))
			continue;
		r = sess_grant(s);
		if (r)
			log_warning("session %" PRIu64 ": cannot write a lease: "
				    "%s", s->id, strerror(-r));
	}
}

void manager_tick(struct manager *m, uint32_t elapsed_ms)
{
	/* We may have been asleep ourselves: that is not the CNodes' silence. */
	uint32_t most = 2 * m->conf->beat_ms;
	unsigned int i;

	if (elapsed_ms > most)
		elapsed_ms = most;
	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_LIVE)
			look_at(m, m->sess[i], elapsed_ms);
	}
	police(m);
	give_leases(m);
}

/* ---- reclaim ---------------------------------------------------------------------- */

static struct sess *next_dying(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_DYING)
			return m->sess[i];
	}
	return NULL;
}

/* Fills the batch.  True: there is more to be found. */
static bool collect(struct manager *m)
{
	struct reclaim *rc = &m->reclaim;
	unsigned int i;

	if (reclaim_found(rc))
		return true;
	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_LIVE &&
		    !reclaim_collect(rc, m->sess[i]))
			return true;
	}
	if (!m->scanning) {
		m->scanning = next_dying(m);
		if (!m->scanning)
			return false;
		reclaim_begin_scan(rc);
		m->scanning->lease.reachable = false;
	}
	if (!reclaim_collect(rc, m->scanning))
		return true;
	if (!rc->nr) {
		bury(m, m->scanning);
		m->scanning = NULL;
	}
	return true;
}

enum reclaim_todo manager_work(struct manager *m)
{
	enum reclaim_todo todo = RECLAIM_NOTHING;
	unsigned int i;
	bool more;

	for (i = 0; i < WORK_STEPS; i++) {
		more = m->reclaim.state == RECLAIM_IDLE && collect(m);
		todo = reclaim_run(&m->reclaim);
		if (todo == RECLAIM_WAIT)
			break;
		if (todo == RECLAIM_NOTHING) {
			if (!more)
				break;
			todo = RECLAIM_MORE;
		}
	}
	return todo;
}
