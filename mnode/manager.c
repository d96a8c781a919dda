// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Per-tick work: heartbeats, leases, ends of sessions.  manager-init.c has the set-up. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "adopt.h"
#include "log.h"
#include "manager.h"

/* Steps of lending per call of manager_work(). */
#define WORK_STEPS	4
/* Queues that close_some() stops per call. */
#define CLOSE_STEP	4

static const char *ip_name(__be32 ip, char buf[INET_ADDRSTRLEN])
{
	struct in_addr in = { .s_addr = ip };

	return inet_ntop(AF_INET, &in, buf, INET_ADDRSTRLEN);
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

uint64_t manager_wire_id(const struct manager *m, uint64_t id)
{
	return (uint64_t)m->keep.head->generation << 32 | id;
}

struct sess *manager_find_wire(struct manager *m, uint64_t wire_id)
{
	struct sess *s = manager_find(m, wire_id & UINT32_MAX);

	return s && s->wire_id == wire_id ? s : NULL;
}

/* ---- pages --------------------------------------------------------------------- */

/* A session that is still being freed keeps its owner number: its table has that number. */
static bool owner_is_free(const struct manager *m, uint16_t owner)
{
	const struct sess *old;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->owner == owner)
			return false;
	}
	for (old = m->old; old; old = old->next_old)
		if (old->owner == owner)
			return false;
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

uint64_t manager_withheld_pages(const struct manager *m)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		const struct sess *s = m->sess[i];

		if (s->state == SESS_DYING && sess_unstopped(s))
			sum += s->lent;
	}
	return sum;
}

/* Unused pages of a session.  If the head has overtaken the tail, the ring counts as empty. */
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

static void say_unstopped(struct manager *m, struct sess *s, const char *chain,
			  unsigned int number, int r)
{
	if (s->unstopped_said)
		return;
	s->unstopped_said = true;
	log_error("session %" PRIu64 ": this NIC neither stops nor destroys the "
		  "queue pairs of chain %s of queue %u (%s); the session keeps its "
		  "pages until it does", s->id, chain, number,
		  *m->nic->ops->said(m->nic) ? m->nic->ops->said(m->nic) :
		  strerror(-r));
}

/* -errno: the chain may run on, so the pages that it holds stay with it. */
static int stop_queue(struct manager *m, struct sess *s, unsigned int number,
		      unsigned int chain)
{
	int r;

	r = queue_stop(s->queues[number][chain]);
	if (r) {
		say_unstopped(m, s, m->progs[chain].name, number, r);
		return r;
	}
	r = lend_stopped(&m->lender, s, s->queues[number][chain]);
	if (r == -EPIPE)
		s->disorder = true;
	else if (r == -EXDEV)
		s->doomed = true;
	else if (r)
		log_error("session %" PRIu64 ": the agent cannot find which "
			  "pages chain %s of queue %u held: %s", s->id,
			  m->progs[chain].name, number, strerror(-r));
	return 0;
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

	s->nr_closing -= q->closing;
	q->closing = false;
	q->given_up = q->arming;
	hang_up(m, q->cm_id);
	q->cm_id = 0;
	if (!stop_queue(m, s, number, chain))
		free_queue(m, s, number, chain);
}

static void close_later(struct sess *s, struct queue *q)
{
	s->nr_closing += !q->closing;
	q->closing = true;
}

/* Closes the connections; manager_work() stops the chains: see sess_stands(). */
static void disconnect(struct manager *m, struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	manager_forget_waiting(m, s);
	sess_for_each_queue(s, n, c, q)
		close_later(s, q);
	hang_up(m, s->cm_id);
	s->cm_id = 0;
}

/* Stops up to CLOSE_STEP queues.  True: there may be more. */
static bool close_some(struct manager *m)
{
	unsigned int i, n, c, left = CLOSE_STEP;
	struct queue *q;

	for (i = 0; i < m->nr_sess && left; i++) {
		if (!m->sess[i]->nr_closing)
			continue;
		sess_for_each_queue(m->sess[i], n, c, q) {
			if (!q->closing || !left)
				continue;
			manager_close_queue(m, m->sess[i], n, c);
			left--;
		}
	}
	return !left;
}

void manager_detach(struct manager *m, struct sess *s)
{
	uint32_t dead_ms = m->conf->dead_ms;
	char ip[INET_ADDRSTRLEN];

	disconnect(m, s);
	sess_detach(s);
	log_info("session %" PRIu64 ", %s: connection lost; waiting %"
		 PRIu32 " ms for the compute node", s->id, ip_name(s->peer_ip, ip),
		 dead_ms > s->silent_ms ? dead_ms - s->silent_ms : 0);
}

/* A session that never had a queue has stored nothing, so there is nothing to resume: its
 * device could not be added, and it could not send BYE. */
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
		[WHY_LEFT] = "left", [WHY_DEAD] = "dead: no heartbeat",
		[WHY_EVICTED] = "evicted",
	};
	char ip[INET_ADDRSTRLEN];

	if (s->state == SESS_DYING)
		return;
	keep_drop(&m->keep, s->owner);
	s->state = SESS_DYING;
	disconnect(m, s);
	m->nic->ops->qp_error(m->nic, s->ctl.qpn);
	m->sess_left += why == WHY_LEFT;
	m->sess_dead += why == WHY_DEAD;
	m->sess_evicted += why == WHY_EVICTED;
	log_info("session %" PRIu64 ", %s: %s; taking its pages back", s->id,
		 ip_name(s->peer_ip, ip), text[why]);
}

static void teardown_sess(struct manager *m, struct sess *s)
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
	s->next_old = m->old;
	m->old = s;
	m->nr_old++;
}

void manager_drain(struct manager *m, bool on)
{
	unsigned int i;

	m->draining = on;
	keep_draining(&m->keep, on);
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

void manager_pause(struct manager *m)
{
	unsigned int i;

	m->ending = true;
	for (i = 0; i < m->nr_sess; i++)
		if (m->sess[i]->state == SESS_LIVE && m->sess[i]->had_queue)
			disconnect(m, m->sess[i]);
}

bool manager_hangs_up(const struct manager *m)
{
	unsigned int i, n, c;
	struct queue *q;

	for (i = 0; i < m->nr_sess; i++)
		sess_for_each_queue(m->sess[i], n, c, q)
			if (q->closing && q->cm_id)
				return true;
	return false;
}

/* ---- heartbeats ------------------------------------------------------------------ */

/* Counts all queues with the NIC frozen once.  True: a connected queue is broken. */
static bool count_queues(struct manager *m, struct sess *s)
{
	bool frozen = !m->nic->node->ops->freeze(m->nic), any = false;
	uint8_t syndrome;
	unsigned int n, c;
	struct queue *q;

	sess_for_each_queue(s, n, c, q) {
		queue_count(q);
		any |= q->cm_id && !q->closing && queue_broken(q, &syndrome);
	}
	if (frozen)
		m->nic->node->ops->thaw(m->nic);
	return any;
}

/* Closes the connections of broken chains: the compute node sees it and connects again. */
static void look_at_queues(struct manager *m, struct sess *s)
{
	uint8_t syndrome = 0;
	unsigned int n, c;
	struct queue *q;

	if (!count_queues(m, s))
		return;
	sess_for_each_queue(s, n, c, q) {
		if (!q->cm_id || q->closing || !queue_broken(q, &syndrome))
			continue;
		log_notice("session %" PRIu64 ": chain %s of queue %u stopped "
			   "(syndrome %#x)", s->id, q->prog->name, n,
			   (unsigned int)syndrome);
		m->queues_broken++;
		close_later(s, q);
	}
}

/* Evicts a compute node that owes pages for longer than dead_ms: no request takes that
 * long, so it uses pages that it was not given, or does not take its answers. */
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
	log_warning("session %" PRIu64 ": the compute node still uses more "
		    "pages than the lease that it has confirmed; evicting it", s->id);
	manager_kill(m, s, WHY_EVICTED);
}

/* A store has met an empty ring position: the compute node has used more than it was
 * lent, or invalidates have overtaken each other too often.  Stops all chains of the
 * session; its ring is put in order when it is resumed. */
static void look_at_order(struct manager *m, struct sess *s)
{
	if (!s->disorder || s->state != SESS_LIVE || !sess_attached(s))
		return;
	log_notice("session %" PRIu64 ": the free ring is empty; all chains "
		   "of the session stop until the compute node resumes it", s->id);
	manager_detach(m, s);
}

/* Tries again to stop the queues that did not stop. */
static void stop_again(struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	sess_for_each_queue(s, n, c, q) {
		if (!q->cm_id && (!q->arming || q->given_up))
			close_later(s, q);
	}
}

/* One wrong MAC may be a torn read.  Two in a row are a forgery. */
static void look_at_macs(struct sess *s)
{
	if (s->wrong_macs < 2 || s->forged_said)
		return;
	s->forged_said = true;
	log_warning("session %" PRIu64 ": a heartbeat has a wrong MAC, and stays so: "
		    "somebody else has written it; it counts for nothing", s->id);
}

static void look_at(struct manager *m, struct sess *s, uint32_t elapsed_ms)
{
	s->shown |= sess_look(s, elapsed_ms);
	sess_keep_lease(s);
	if (s->doomed) {
		log_warning("session %" PRIu64 ": the compute node sent two requests "
			    "for one slot at the same time; evicting it", s->id);
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
	look_at_macs(s);
	if (s->lease.overdrawn && !s->overdrawn_said) {
		s->overdrawn_said = true;
		log_warning("session %" PRIu64 ": reports %" PRIu64 " pages in "
			    "use and a lease of %" PRIu64 ", but was granted %"
			    PRIu64, s->id, s->lease.used, s->lease.held,
			    s->lease.ceiling);
	}
	look_at_queues(m, s);
	look_at_debt(m, s, elapsed_ms);
	look_at_order(m, s);
}

/* True if a grant is to be written now.  A larger lease is granted only when its pages
 * are in the ring.  May lower the target of a session that waits for a grant. */
static bool may_be_granted(const struct manager *m, struct sess *s)
{
	struct lease *l = &s->lease;

	if (s->state != SESS_LIVE || !l->reachable || l->writing ||
	    (!lease_differs(l) && s->drain == s->drain_sent))
		return false;
	/* prepare() will keep or correct the promise first. */
	if (lease_promise_stands(l) && !s->blocked)
		return false;
	if (l->target <= l->ceiling ||
	    (m->lender.sess != s && lend_about(s) >= l->target + l->slack))
		return true;
	/* The session waits for this grant: write it, whatever number of pages there is. */
	if (lease_promise_stands(l))
		l->target = l->ceiling;
	return lease_promise_stands(l);
}

static void send_grants(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];
		int r;

		if (!may_be_granted(m, s))
			continue;
		r = sess_grant(s);
		if (r)
			log_warning("session %" PRIu64 ": the agent cannot write a grant: "
				    "%s", s->id, strerror(-r));
	}
}

static bool pass_needed(void *arg, const struct pass *pass)
{
	const struct manager *m = arg;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		const struct sess *s = m->sess[i];

		if (s->state == SESS_DYING)
			continue;
		if (s->handle == pass->handle ||
		    (s->waiting && s->waiting->handle == pass->handle))
			return true;
	}
	return spaces_go_by(&m->spaces, pass->handle);
}

void manager_tick(struct manager *m, uint32_t elapsed_ms)
{
	/* If the agent itself slept, that time is not the compute nodes' silence. */
	uint32_t most = 2 * m->conf->beat_ms;
	unsigned int i;

	if (elapsed_ms > most)
		elapsed_ms = most;
	door_tick(&m->door, elapsed_ms);
	who_tick(&m->who, elapsed_ms, pass_needed, m);
	manager_tick_shares(m, elapsed_ms);
	for (i = 0; i < m->nr_sess; i++) {
		stop_again(m->sess[i]);
		if (m->sess[i]->state == SESS_LIVE)
			look_at(m, m->sess[i], elapsed_ms);
	}
	manager_plan_leases(m);
	send_grants(m);
}

/* ---- identities -------------------------------------------------------------------- */

static void key_file_bad(const char *why)
{
	log_error("%s; this name is not let in", why);
}

int manager_read_keys(struct manager *m, char why[CONF_WHY_MAX])
{
	return who_read(&m->who, m->conf->keys, key_file_bad, why);
}

/* The name has or had a secret, or has a session of before a restart. */
static bool name_is_known(const struct manager *m, const char *name)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		if (!strcmp(m->sess[i]->name, name))
			return true;
	return who_was_known(&m->who, name);
}

int manager_revoke(struct manager *m, const char *name, char why[CONF_WHY_MAX])
{
	const struct pass *pass;
	unsigned int i;
	int nr = manager_read_keys(m, why);

	if (nr)
		return nr;
	if (who_find(&m->who, name)) {
		snprintf(why, CONF_WHY_MAX, "'%.40s' has a secret still; expected its "
			 "file to be removed before", name);
		return -EEXIST;
	}
	if (!*name || !name_is_known(m, name)) {
		snprintf(why, CONF_WHY_MAX, "no compute node or client is known by the "
			 "name '%.40s'", name);
		return -ENOENT;
	}
	for (pass = m->who.passes; pass; pass = pass->next)
		if (!strcmp(pass->name, name))
			spaces_cut_pass(&m->spaces, pass->handle);
	who_drop_all(&m->who, name);
	for (i = 0; i < m->nr_sess; i++) {
		if (strcmp(m->sess[i]->name, name) || m->sess[i]->state == SESS_DYING)
			continue;
		manager_kill(m, m->sess[i], WHY_EVICTED);
		nr++;
	}
	return nr;
}

/* ---- spaces ----------------------------------------------------------------------- */

uint64_t manager_spaces(struct manager *m, uint64_t now)
{
	return spaces_step(&m->spaces, now);
}

void manager_budget(struct manager *m)
{
	uint64_t taken = m->spaces.nr_pages + m->stock.target;

	m->budget = taken < m->pool.pages ? m->pool.pages - taken : 0;
}

int manager_delete_space(struct manager *m, const char *name)
{
	struct space *space = spaces_find(&m->spaces, name);

	if (!space)
		return -ENOENT;
	spaces_delete(&m->spaces, space);
	manager_budget(m);
	return 0;
}

/* ---- lending and other work ------------------------------------------------------- */

/* An ended session whose chains all stand still. */
static struct sess *next_dying(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_DYING &&
		    sess_stands(m->sess[i]))
			return m->sess[i];
	}
	return NULL;
}

/* Takes pages of an ended session back.  True: there may be more to do. */
static bool collect(struct manager *m)
{
	struct sess *s = next_dying(m);

	/* No other session may get a page that still has a translation. */
	if (!s || m->lender.sess == s || keys_exist(&s->keys))
		return false;
	if (lend_collect(&m->lender, s))
		teardown_sess(m, s);
	return true;
}

/* True: an ended session has more keys to drop. */
static bool drop_keys(struct manager *m)
{
	struct sess *s = next_dying(m);

	return s && keys_exist(&s->keys) && !sess_drop_keys(s);
}

/* Frees a piece of an old session.  True: there is more to free. */
static bool free_old(struct manager *m)
{
	struct sess *s = m->old, *next;

	if (!s)
		return false;
	next = s->next_old;
	if (sess_free_some(s)) {
		m->old = next;
		m->nr_old--;
	}
	return m->old;
}

/* Makes a piece of the tables that arm a session's chains again, before the first chain
 * is connected.  Errors are ignored here: connecting the chain meets and reports them.
 * True: there is more to do. */
static bool make_tables(struct manager *m, const struct sess *s)
{
	char why[WRC_WHY_MAX];
	struct wrc_geom geom;
	unsigned int c;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		const struct wrc_prog *prog = manager_prog(m, s, c);

		if (prog->node && !wrc_geom_init(prog, s->instances, &geom) &&
		    tables_make_some(&m->pool.tables, m->nic, m->pool.pdn, prog, &geom,
				     why) == -EAGAIN)
			return true;
	}
	return false;
}

/* Prepares a piece of what a new session needs before it may store: lease, pages, key
 * map, tables.  -EAGAIN: there is more to do; -EBUSY: other sessions have to act first. */
static int prepare(struct manager *m, struct sess *s)
{
	int map = sess_make_map(s), fill;
	bool promised = s->lease.promised;

	sess_look(s, 0);
	manager_keep_lease(m, s, lend_about(s) + lend_pages(&m->lender));
	fill = s->had_queue ? 0 : lend_fill(&m->lender, s);
	if (map || fill == -EAGAIN || make_tables(m, s))
		return -EAGAIN;
	if (fill == -ENOMEM)
		lease_lower(&s->lease, lend_about(s));
	/* The plan of the other sessions depends on what this session has now. */
	if (lease_promise_stands(&s->lease) || (promised && !s->lease.promised))
		manager_plan_leases(m);
	return fill || s->lease.promised ? -EBUSY : 0;
}

/* True: there is more to do at once. */
static bool prepare_some(struct manager *m)
{
	unsigned int i;
	int r;

	for (i = 0; i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];

		/* The key map needs keys that exist, so a session is restored first. */
		if (s->state != SESS_LIVE || !s->shown || s->ready || s->restoring ||
		    s->settle)
			continue;
		r = prepare(m, s);
		s->ready = !r;
		s->blocked = r == -EBUSY && m->lender.sess != s;
		if (s->ready)
			manager_unwait(m, s);
		if (r != -EBUSY)
			return true;
	}
	return false;
}

/* Puts a piece of a detached session in order.  -EBUSY: the lender or others must act
 * first; -EDEADLK: a chain does not stop.  Else -EAGAIN, or lend_settle()'s result. */
static int settle_sess(struct manager *m, struct sess *s)
{
	if (s->settle != SETTLE_DUE)
		return lend_settle(&m->lender, s);
	if (sess_stands(s))
		return make_tables(m, s) ? -EAGAIN : lend_settle(&m->lender, s);
	if (s->nr_closing)
		return -EBUSY;
	/* Nobody knows when the chain will stop: end the wait, so that the peer is told. */
	s->settle = SETTLE_NOT;
	return -EDEADLK;
}

/* True: there is more to do at once. */
static bool settle_some(struct manager *m)
{
	unsigned int i;
	int r;

	for (i = 0; i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];

		if (s->state != SESS_LIVE || !s->settle)
			continue;
		r = settle_sess(m, s);
		if (r == -EBUSY)
			continue;
		if (r != -EAGAIN)
			manager_settled(m, s, r == -EDEADLK ? -EBUSY : r);
		return true;
	}
	return false;
}

/* Does one piece of one job, of some milliseconds; jobs take turns.  True: there is more
 * to do at once. */
static bool work_some(struct manager *m)
{
	static bool (*const jobs[])(struct manager *m) = {
		close_some, manager_open_some, manager_arm_some, adopt_some,
		settle_some, prepare_some, drop_keys, free_old,
	};
	const unsigned int nr = sizeof(jobs) / sizeof(jobs[0]);
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (jobs[m->next_job++ % nr](m))
			return true;
	return false;
}

enum lend_todo manager_work(struct manager *m)
{
	bool shaking = door_work(&m->door), more = work_some(m);
	enum lend_todo todo = LEND_NOTHING;
	unsigned int i;

	for (i = 0; i < WORK_STEPS; i++) {
		todo = lend_run(&m->lender, m->sess, m->nr_sess);
		if (collect(m))
			todo = LEND_MORE;
		else if (todo != LEND_MORE)
			break;
	}
	send_grants(m);
	if (shaking && todo == LEND_NOTHING)
		todo = LEND_WAIT;
	return more ? LEND_MORE : todo;
}
