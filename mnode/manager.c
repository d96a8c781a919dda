// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ends of sessions, grants, and the work of each turn.  manager-init.c has the set-up,
 * manager-beat.c what is done by the clock. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "adopt.h"
#include "check.h"
#include "log.h"
#include "manager.h"

/* Steps of lending per call of manager_work(). */
#define WORK_STEPS	4

static const char *ip_name(__be32 ip, char buf[INET_ADDRSTRLEN])
{
	struct in_addr in = { .s_addr = ip };

	return inet_ntop(AF_INET, &in, buf, INET_ADDRSTRLEN);
}

/* ---- sessions ------------------------------------------------------------------ */

const struct wrc_prog *manager_prog(const struct manager *m,
				    const struct sess *s, unsigned int chain)
{
	return slabs_exist(&s->slabs) ? &m->bare[chain] :
	       keys_exist(&s->keys) ? &m->keyed[chain] : &m->progs[chain];
}

struct sess *manager_find(struct manager *m, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (m->sess[i]->id == id && sess_is_live(m->sess[i]))
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
	uint64_t sum = m->pool.nr_withheld;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		const struct sess *s = m->sess[i];

		if (s->state == SESS_ENDING && sess_unstopped(s))
			sum += s->lent;
	}
	return sum;
}

/* Unused pages of a session.  If the head has overtaken the tail, the ring counts as empty. */
static uint64_t free_of(const struct sess *s)
{
	uint64_t there = ring_pages(&s->ring);

	return s->held.nr + s->nr_taken + (there <= s->lent ? there : 0);
}

uint64_t manager_free_pages(const struct manager *m)
{
	uint64_t sum = m->pool.nr_free;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		if (sess_is_live(m->sess[i]))
			sum += free_of(m->sess[i]);
	}
	return sum;
}

uint64_t manager_held_pages(const struct manager *m)
{
	return m->pool.pages - m->spaces.nr_pages - lend_pages(&m->lender);
}

/* Closes the connections; manager_work() stops the chains: see sess_has_no_chains(). */
static void disconnect(struct manager *m, struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	manager_forget_waiting(m, s);
	sess_for_each_queue(s, n, c, q)
		manager_conn(m, s, n, c, CONN_EV_CLOSE);
	manager_hang_up(m, s->cm_id);
	s->cm_id = 0;
}

static void sess_nothing(struct manager *m, struct sess *s, enum sess_event event)
{
}

/* The session is not made: nobody needs the connection's number and key material. */
static void sess_forget(struct manager *m, struct sess *s, enum sess_event event)
{
	explicit_bzero(&s->signer, sizeof(s->signer));
	s->cm_id = 0;
}

static void sess_part(struct manager *m, struct sess *s, enum sess_event event)
{
	uint32_t dead_ms = sess_dead_ms(s, m->conf);
	char ip[INET_ADDRSTRLEN];

	disconnect(m, s);
	sess_detach(s);
	manager_health_forget(m, s);
	log_info("session %" PRIu64 ", %s: connection lost; waiting %"
		 PRIu32 " ms for the compute node", s->id, ip_name(s->peer_ip, ip),
		 dead_ms > s->silent_ms ? dead_ms - s->silent_ms : 0);
}

static void sess_disconnect(struct manager *m, struct sess *s, enum sess_event event)
{
	disconnect(m, s);
}

static void sess_end(struct manager *m, struct sess *s, enum sess_event event)
{
	static const char *const text[SESS_NR_EVENTS] = {
		[SESS_EV_LEFT] = "left", [SESS_EV_DEAD] = "dead: no heartbeat",
		[SESS_EV_EVICTED] = "evicted",
		[SESS_EV_PAUSE] = "not accepted: the agent ends",
	};
	char ip[INET_ADDRSTRLEN];

	keep_drop(&m->keep, s->owner);
	disconnect(m, s);
	m->nic->ops->qp_error(m->nic, s->ctl.qpn);
	m->sess_left += event == SESS_EV_LEFT;
	m->sess_dead += event == SESS_EV_DEAD;
	m->sess_evicted += event == SESS_EV_EVICTED;
	log_info("session %" PRIu64 ", %s%s%s: %s; taking its pages back", s->id, s->name,
		 s->name[0] ? " at " : "", ip_name(s->peer_ip, ip), text[event]);
}

static void sess_refuse(struct manager *m, struct sess *s, enum sess_event event)
{
	manager_refuse(m, s, -EBUSY);
	sess_forget(m, s, event);
	sess_end(m, s, event);
}

static void sess_retire(struct manager *m, struct sess *s, enum sess_event event)
{
	unsigned int i, c;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		m->executed[c] += s->executed[c];
	for (i = 0; m->sess[i] != s; i++)
		;
	sess_leave(s);
	memmove(&m->sess[i], &m->sess[i + 1],
		(--m->nr_sess - i) * sizeof(m->sess[0]));
	log_info("session %" PRIu64 ": all pages are back, %" PRIu64 " free",
		 s->id, manager_free_pages(m));
	stock_unclaim(&m->stock, s->claim);
	s->next_old = m->old;
	m->old = s;
	m->nr_old++;
}

void manager_sess(struct manager *m, struct sess *s, enum sess_event event)
{
	static void (*const actions[SESS_NR_ACTIONS])(struct manager *m, struct sess *s,
						      enum sess_event event) = {
		[SESS_DO_NOTHING] = sess_nothing,
		[SESS_DO_FORGET] = sess_forget,
		[SESS_DO_DETACH] = sess_part,
		[SESS_DO_DISCONNECT] = sess_disconnect,
		[SESS_DO_END] = sess_end,
		[SESS_DO_FREE] = sess_retire,
		[SESS_DO_REFUSE] = sess_refuse,
	};

	m->stirred = true;
	actions[sess_event(s, event)](m, s, event);
}

void manager_detach(struct manager *m, struct sess *s)
{
	manager_sess(m, s, SESS_EV_LOST);
}

void manager_kill(struct manager *m, struct sess *s, enum manager_why why)
{
	static const enum sess_event events[] = {
		[WHY_LEFT] = SESS_EV_LEFT, [WHY_DEAD] = SESS_EV_DEAD,
		[WHY_EVICTED] = SESS_EV_EVICTED,
	};

	manager_sess(m, s, events[why]);
}

/* A session that never had a queue has stored nothing, so there is nothing to resume: its
 * device could not be added, and it could not send BYE. */
void manager_lost(struct manager *m, struct sess *s)
{
	if (sess_has_left(s) || !s->had_queue)
		manager_kill(m, s, WHY_LEFT);
	else
		manager_detach(m, s);
}

void manager_drain(struct manager *m, bool on)
{
	unsigned int i;

	log_notice("%s, as the operator asks; sessions: %u", on ? "draining" :
		   "not draining any more", m->nr_sess);
	m->draining = on;
	m->stirred = true;
	keep_draining(&m->keep, on);
	for (i = 0; i < m->nr_sess; i++)
		m->sess[i]->drain = on;
}

void manager_evict_all(struct manager *m)
{
	unsigned int i;

	m->ending = true;
	check_end(m);
	for (i = 0; i < m->nr_sess; i++)
		manager_kill(m, m->sess[i], WHY_EVICTED);
}

void manager_pause(struct manager *m)
{
	unsigned int i;

	m->ending = true;
	check_end(m);
	for (i = 0; i < m->nr_sess; i++)
		if (m->sess[i]->state == SESS_OPENING ||
		    (sess_is_live(m->sess[i]) && m->sess[i]->had_queue))
			manager_sess(m, m->sess[i], SESS_EV_PAUSE);
}

/* ---- grants --------------------------------------------------------------------- */

/* True if a grant is to be written now.  A larger lease is granted only when its pages
 * are in the ring.  A slab that was made later than its lease was granted needs another
 * grant: the compute node does not look for it else.  While slabs are wanted back, no grant
 * repeats a lease: each puts off the moment when they can be taken.  May lower the target of
 * a session that waits for a grant. */
static bool may_be_granted(const struct manager *m, struct sess *s)
{
	struct lease *l = &s->lease;

	if (!sess_is_live(s) || !l->reachable || l->writing ||
	    (!lease_differs(l) && s->drain == s->drain_sent && !s->slabs.untold &&
	     (!s->unanswered || (slabs_exist(&s->slabs) && lend_about(s) > lend_goal(s)))))
		return false;
	/* prepare() will keep or correct the promise first. */
	if (lease_promise_stands(l) && s->setup != SETUP_BLOCKED)
		return false;
	if (l->target <= l->ceiling ||
	    (m->lender.sess != s && lend_about(s) >= l->target + l->slack))
		return true;
	/* The session waits for this grant: write it, whatever number of pages there is. */
	if (lease_promise_stands(l))
		l->target = l->ceiling;
	return lease_promise_stands(l);
}

void manager_send_grants(struct manager *m)
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

/* ---- identities -------------------------------------------------------------------- */

static void key_file_bad(void *arg, const char *why)
{
	log_error("%s; this name is not let in", why);
}

int manager_read_keys(struct manager *m, char why[CONF_WHY_MAX])
{
	return idents_read(&m->idents, m->conf->keys, key_file_bad, NULL, why);
}

/* The name has or had a secret, or has a session of before a restart. */
static bool name_is_known(const struct manager *m, const char *name)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		if (!strcmp(m->sess[i]->name, name))
			return true;
	return idents_had(&m->idents, name);
}

int manager_revoke(struct manager *m, const char *name, char why[CONF_WHY_MAX])
{
	unsigned int i;
	int nr = manager_read_keys(m, why);

	if (nr)
		return nr;
	if (idents_find(&m->idents, name)) {
		snprintf(why, CONF_WHY_MAX, "'%.40s' has a secret still; expected its "
			 "file to be removed before", name);
		return -EEXIST;
	}
	if (!*name || !name_is_known(m, name)) {
		snprintf(why, CONF_WHY_MAX, "no compute node or client is known by the "
			 "name '%.40s'", name);
		return -ENOENT;
	}
	/* By name: a session that was resumed has another pass than before, and so an
	 * attachment may have one that is gone. */
	spaces_cut_name(&m->spaces, name);
	idents_drop_passes(&m->idents, name);
	for (i = 0; i < m->nr_sess; i++) {
		if (strcmp(m->sess[i]->name, name) || m->sess[i]->state == SESS_ENDING)
			continue;
		manager_kill(m, m->sess[i], WHY_EVICTED);
		nr++;
	}
	log_notice("client %s: revoked; %d sessions end", name, nr);
	return nr;
}

/* ---- lending and other work ------------------------------------------------------- */

/* An ended session whose chains all stand still. */
static struct sess *next_dying(struct manager *m)
{
	unsigned int i;

	for (i = 0; m->tally.state[SESS_ENDING] && i < m->nr_sess; i++) {
		if (m->sess[i]->state == SESS_ENDING &&
		    sess_has_no_chains(m->sess[i]))
			return m->sess[i];
	}
	return NULL;
}

/* Takes pages of an ended session back.  True: there may be more to do. */
static bool collect(struct manager *m)
{
	struct sess *s = next_dying(m);

	/* No other session may get a page that still has a translation. */
	if (!s || m->lender.sess == s || sess_has_keys(s) ||
	    !lend_fenced(&m->lender, s))
		return false;
	if (lend_collect(&m->lender, s))
		manager_sess(m, s, SESS_EV_RETURNED);
	return true;
}

/* True: an ended session has more keys to drop. */
static bool drop_keys(struct manager *m)
{
	struct sess *s = next_dying(m);
	uint64_t withheld = m->pool.nr_withheld;
	bool gone;

	if (!s || !sess_has_keys(s))
		return false;
	gone = sess_drop_keys(s);
	withheld = m->pool.nr_withheld - withheld;
	if (withheld) {
		log_error("session %" PRIu64 ": this NIC does not destroy keys; %" PRIu64
			  " pages that they open are lent to nobody until the agent restarts",
			  s->id, withheld);
		manager_budget(m);
	}
	return !gone;
}

/* Frees a piece of an old session.  True: there is more to free. */
static bool free_old(struct manager *m)
{
	struct sess *s = m->old, *next;
	struct share *share;

	if (!s)
		return false;
	next = s->next_old;
	share = s->share;
	if (sess_free_some(s)) {
		m->old = next;
		m->nr_old--;
		share->places--;
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
	manager_keep_lease(m, s);
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

/* The key map needs keys that exist, so an adopted session is restored first.  The ring of a
 * session that is to be resumed is put in order first. */
static bool may_prepare(const struct sess *s)
{
	return (s->state == SESS_ATTACHED || s->state == SESS_DETACHED) &&
	       (s->setup == SETUP_PREPARING || s->setup == SETUP_BLOCKED);
}

/* True: there is more to do at once. */
static bool prepare_some(struct manager *m)
{
	enum setup_event event;
	unsigned int i;
	int r;

	for (i = 0; tally_preparing(&m->tally) && i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];

		if (!may_prepare(s))
			continue;
		r = prepare(m, s);
		event = !r ? SETUP_EV_DONE :
			r == -EBUSY && m->lender.sess != s ? SETUP_EV_BLOCKED : SETUP_EV_MORE;
		if (sess_setup(s, event) == SETUP_DO_SERVE)
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
	if (s->state != SESS_STOPPING)
		return lend_settle(&m->lender, s);
	if (sess_has_no_chains(s))
		return make_tables(m, s) ? -EAGAIN : lend_settle(&m->lender, s);
	if (s->nr_closing)
		return -EBUSY;
	/* Nobody knows when the chain will stop: end the wait, so that the peer is told. */
	manager_sess(m, s, SESS_EV_STUCK);
	return -EDEADLK;
}

/* True: there is more to do at once. */
static bool settle_some(struct manager *m)
{
	unsigned int i;
	int r;

	for (i = 0; tally_settling(&m->tally) && i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];

		if (!sess_state_settles(s->state))
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
		manager_close_some, manager_open_some, manager_arm_some, adopt_some,
		settle_some, prepare_some, drop_keys, free_old, manager_health_some,
	};
	const unsigned int nr = sizeof(jobs) / sizeof(jobs[0]);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		bool (*job)(struct manager *m) = jobs[m->next_job++ % nr];

		if (!job(m))
			continue;
		m->stirred |= job != manager_health_some;
		return true;
	}
	return false;
}

/* Moves pages between the pool and sessions, as far as something has happened, or goes on. */
static enum lend_todo lend_some(struct manager *m)
{
	enum lend_todo todo = LEND_NOTHING;
	unsigned int i;

	if (!m->stirred && !m->lender.fence.covers && !m->tally.state[SESS_ENDING])
		return LEND_NOTHING;
	m->stirred = false;
	for (i = 0; i < WORK_STEPS; i++) {
		todo = lend_run(&m->lender, m->sess, m->nr_sess);
		if (collect(m))
			todo = LEND_MORE;
		else if (todo != LEND_MORE)
			break;
	}
	manager_send_grants(m);
	m->stirred |= todo != LEND_NOTHING;
	return todo;
}

enum lend_todo manager_work(struct manager *m)
{
	bool shaking, fencing, more;
	enum lend_todo todo;

	if (manager_health_silent(m))
		manager_health_some(m);
	if (manager_health_silent(m))
		return LEND_NOTHING;
	if (check_runs(m))
		return check_some(m);
	shaking = responder_work(&m->responder);
	more = work_some(m);
	/* Whoever waits for the READ looks again, also if lend_run() takes its completion. */
	fencing = m->lender.fence.covers;
	todo = lend_some(m);
	if ((shaking || fencing || m->lender.fence.covers) && todo == LEND_NOTHING)
		todo = LEND_WAIT;
	return more ? LEND_MORE : todo;
}
