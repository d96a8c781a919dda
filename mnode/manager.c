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
#include "log.h"
#include "manager.h"

/* Steps per call of manager_work() that need no waiting. */
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

/* What is left to us, by what is known of this NIC. */
static void settle(struct manager *m)
{
	const struct conf *conf = m->conf;
	/* What odrp-hwcheck has compared. */
	bool compared = conf->exchange && conf->node_recycles;

	m->waits = conf->order == CONF_ORDER_AUTO ?
		   !(compared && m->nic->keeps_fences) :
		   conf->order == CONF_ORDER_WAIT;
	m->nic_translates = conf->translate == CONF_TRANSLATE_AUTO ?
			    compared && m->nic->keeps_keys :
			    conf->translate == CONF_TRANSLATE_NIC;
	m->nic->fence_orders = !m->waits;
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
		.order = m->waits ? WRC_ORDER_WAIT : WRC_ORDER_FENCE,
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

/* Loads and mapped stores need none. */
static int build_keyed(struct manager *m, unsigned int c)
{
	struct wrc_opts opts = {
		.strict_index = m->nic->strict_index,
		.recycle = WRC_RECYCLE_NODE,
		.variant = WRC_V_KEYED,
		.order = m->waits ? WRC_ORDER_WAIT : WRC_ORDER_FENCE,
	};

	if (c == ODRP_WIRE_LOAD || c == ODRP_WIRE_MAPPED_STORE) {
		queue_bare_prog(&m->keyed[c], c, m->progs[c].name);
		return 0;
	}
	return wrc_prog_build(c, &opts, &m->keyed[c]);
}

static int build_progs(struct manager *m)
{
	unsigned int c;
	int r;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		r = build_prog(m, c);
		if (!r && m->nic_translates)
			r = build_keyed(m, c);
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
		if (!r && m->keyed[c].nr_insn)
			r = wrc_geom_init(&m->keyed[c], m->conf->depth, &geom);
		if (r)
			return r;
	}
	return 0;
}

/* Has this NIC what translate=nic needs? */
static int try_keys(struct manager *m)
{
	unsigned int len;
	uint32_t pdn, key;
	int r;

	if (!fits_nic(m, &m->keyed[ODRP_WIRE_UNMAPPED_STORE], &len))
		return -EOPNOTSUPP;
	r = m->nic->ops->pd_alloc(m->nic, &pdn);
	if (r)
		return r;
	r = m->nic->ops->ksm_create(m->nic, pdn, WRC_KEY_ENTRIES,
				    NIC_REMOTE_READ | NIC_REMOTE_WRITE,
				    WRC_KEY_VARIANT, &key);
	if (!r)
		m->nic->ops->mr_dereg(m->nic, key);
	m->nic->ops->pd_free(m->nic, pdn);
	return r;
}

static int say(char *why, int r, const char *what)
{
	snprintf(why, CONF_WHY_MAX, "%s: %s", what, strerror(-r));
	return r;
}

/* In the NIC's own words, if it has some. */
static int say_keys(const struct manager *m, char *why, int r)
{
	const char *said = m->nic->ops->said(m->nic);

	if (!*said)
		return say(why, r, "translate=nic: no keys of this NIC");
	snprintf(why, CONF_WHY_MAX, "translate=nic: %.300s", said);
	return r;
}

/* Found out before anybody comes.  Where it was left to us, chains will do. */
static int settle_keys(struct manager *m, char *why)
{
	int r = m->nic_translates ? try_keys(m) : 0;

	if (!r)
		return 0;
	say_keys(m, why, r);
	if (m->conf->translate != CONF_TRANSLATE_AUTO)
		return r;
	log_warning("%s; chains translate", why);
	m->nic_translates = false;
	memset(m->keyed, 0, sizeof(m->keyed));
	return 0;
}

/* Each instance of a store has a page that nobody else can have. */
static uint64_t stock_target(const struct manager *m)
{
	const struct conf *conf = m->conf;
	uint64_t most = (uint64_t)conf->max_sessions * conf->queues *
			STOCK_CHAINS * conf->depth;
	uint64_t half = (m->pool.pages - m->slack) / 2;

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
	if (!conf->exchange)
		log_warning("store=copy: INSECURE, a compute node that stores "
			    "between two entries of its table reaches the "
			    "pages of others");
	if (nic->known && *nic->known)
		log_notice("%s", nic->known);
	settle(m);
	if (conf->order == CONF_ORDER_FENCE && !nic->keeps_fences)
		log_warning("order=fence: documented for no card; a card that "
			    "does not keep it serves wrong pages. Only where "
			    "odrp-hwcheck says that it may be set");
	r = build_progs(m);
	if (r)
		return say(why, r, "cannot build the chain programs");
	r = check_depth(m);
	if (r)
		return say(why, r, "depth: the chains do not fit a send queue");
	r = settle_keys(m, why);
	if (r)
		return r;
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
	m->pool.scrub = !conf->node_recycles ||
			!wrc_has_register(&m->progs[ODRP_WIRE_UNMAPPED_STORE]);
	m->slack = conf->reserve == UINT64_MAX ?
		   lease_default_slack(m->pool.pages) : conf->reserve;
	m->stock.target = stock_target(m);
	m->budget = m->pool.pages - m->stock.target;
	r = lend_init(&m->lender, &m->pool, m->stock.target);
	if (r) {
		say(why, r, "cannot make the lender's queue");
		goto fini_pool;
	}
	r = nic->ops->listen(nic, conf->port);
	if (r) {
		say(why, r, "cannot listen");
		goto fini_lender;
	}
	return 0;

fini_lender:
	lend_fini(&m->lender);
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
	lend_fini(&m->lender);
	pool_fini(&m->pool);
	free(m->leases);
	free(m->sess);
}

/* ---- sessions ------------------------------------------------------------------ */

const struct wrc_prog *manager_prog(const struct manager *m,
				    const struct sess *s, unsigned int chain)
{
	return keys_exist(&s->keys) ? &m->keyed[chain] : &m->progs[chain];
}

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
	uint64_t cap = m->budget - m->slack;

	list_leases(m);
	if (nr_slots < cap)
		cap = nr_slots;
	if (m->conf->max_pages && m->conf->max_pages < cap)
		cap = m->conf->max_pages;
	return lease_open((const struct lease *const *)m->leases, m->nr_sess,
			  m->budget, cap, m->slack, ret_lease);
}

static bool owner_is_free(const struct manager *m, uint16_t owner)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->owner == owner)
			return false;
	}
	return true;
}

uint16_t manager_owner(const struct manager *m)
{
	uint16_t owner = POOL_NOBODY + 1;

	while (!owner_is_free(m, owner))
		owner++;
	return owner;
}

uint64_t manager_armed_pages(const struct manager *m)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		sum += m->sess[i]->armed;
	return sum;
}

/* A ring whose head has overtaken its tail has none. */
static uint64_t free_of(const struct sess *s)
{
	uint64_t there = ring_pages(&s->ring);

	return s->hand.nr + s->nr_taken + (there <= s->lent ? there : 0);
}

uint64_t manager_free_pages(const struct manager *m)
{
	uint64_t sum = m->pool.nr_free;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_LIVE)
			sum += free_of(m->sess[i]);
	}
	return sum;
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
	r = lend_stopped(&m->lender, s, s->queues[number][chain]);
	if (r == -EPIPE)
		s->disorder = true;
	else if (r == -EXDEV)
		s->doomed = true;
	else if (r)
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

/* One that never had a queue has stored nothing: there is nothing to come again
 * for.  Its device could not be added, and it could not say goodbye. */
void manager_lost(struct manager *m, struct sess *s)
{
	if (sess_said_bye(s) || !s->had_queue)
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
	/* Before anybody else may have a page: it has no translation then. */
	keys_fini(&s->keys);
	s->state = SESS_DYING;
	m->sess_left += why == WHY_LEFT;
	m->sess_dead += why == WHY_DEAD;
	m->sess_evicted += why == WHY_EVICTED;
	log_info("session %" PRIu64 ", %s: %s; its pages go back", s->id,
		 ip_name(s->peer_ip, ip), text[why]);
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
}

void manager_drain(struct manager *m, bool on)
{
	unsigned int i;

	m->draining = on;
	for (i = 0; i < m->nr_sess; i++)
		m->sess[i]->drain = on;
}

void manager_say_goodbye(struct manager *m)
{
	unsigned int i;

	m->ending = true;
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

/* It has confirmed the smaller lease, or has no request under way that would
 * need so long: so it has used what it was not given, or does not take its
 * answers. */
static void look_at_debt(struct manager *m, struct sess *s,
			 uint32_t elapsed_ms)
{
	if (!s->nr_taken && !s->hand.waiting &&
	    lend_about(s) <= lend_goal(s)) {
		s->owing_ms = 0;
		return;
	}
	s->owing_ms += elapsed_ms;
	if (s->owing_ms <= m->conf->dead_ms)
		return;
	log_warning("session %" PRIu64 ": does not give back pages of a lease "
		    "that it has given up", s->id);
	manager_kill(m, s, WHY_EVICTED);
}

/* A store has come to an empty slot: it has used what it was not lent, or its
 * frees have overtaken one of them too often.  All its chains stop; its ring is
 * put in order when it takes its session up again. */
static void look_at_order(struct manager *m, struct sess *s)
{
	if (!s->disorder || s->state != SESS_LIVE || !sess_attached(s))
		return;
	log_notice("session %" PRIu64 ": its ring was empty", s->id);
	manager_detach(m, s);
}

static void look_at(struct manager *m, struct sess *s, uint32_t elapsed_ms)
{
	sess_look(s, elapsed_ms);
	if (s->doomed) {
		log_warning("session %" PRIu64 ": did two things to one slot at "
			    "a time", s->id);
		manager_kill(m, s, WHY_EVICTED);
		return;
	}
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
	look_at_debt(m, s, elapsed_ms);
	look_at_order(m, s);
}

/* It is told of pages when they are in its ring. */
static bool may_be_told(const struct manager *m, const struct sess *s)
{
	const struct lease *l = &s->lease;

	if (s->state != SESS_LIVE || !l->reachable || l->writing ||
	    (l->target == l->granted && s->drain == s->drain_told))
		return false;
	return l->target <= l->ceiling ||
	       (m->lender.sess != s && lend_about(s) >= l->target + l->slack);
}

static void tell_leases(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];
		int r;

		if (!may_be_told(m, s))
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
	list_leases(m);
	lease_plan(m->leases, m->nr_sess, m->budget);
	tell_leases(m);
}

/* ---- pages to and fro ------------------------------------------------------------- */

static struct sess *next_dying(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_DYING)
			return m->sess[i];
	}
	return NULL;
}

/* True: there is more to be had from those that are gone. */
static bool collect(struct manager *m)
{
	struct sess *s = next_dying(m);

	if (!s || m->lender.sess == s)
		return false;
	if (lend_collect(&m->lender, s))
		bury(m, s);
	return true;
}

enum lend_todo manager_work(struct manager *m)
{
	enum lend_todo todo = LEND_NOTHING;
	unsigned int i;

	for (i = 0; i < WORK_STEPS; i++) {
		todo = lend_run(&m->lender, m->sess, m->nr_sess);
		if (collect(m))
			todo = LEND_MORE;
		else if (todo != LEND_MORE)
			break;
	}
	tell_leases(m);
	return todo;
}
