// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The agent's work by the clock: it looks at heartbeats, and plans leases. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "log.h"
#include "manager.h"

/* ---- heartbeats ------------------------------------------------------------------ */

/* Evicts a compute node that owes pages for longer than it may be silent: no request
 * takes that long, so it uses pages that it was not given, or does not take its answers. */
static void debt_check(struct manager *m, struct sess *s,
		       uint32_t elapsed_ms)
{
	if (!s->nr_taken && !s->held.waiting &&
	    lend_about(s) <= lend_goal(s)) {
		s->owing_ms = 0;
		return;
	}
	/* Pages that wait for the lender, which asks a few queues in a turn, or for its fence
	 * are no debt of the compute node. */
	if (s->held.waiting && (!s->held.marked || m->lender.fence.settled < s->ended))
		return;
	s->owing_ms += elapsed_ms;
	if (s->owing_ms <= sess_dead_ms(s, m->conf))
		return;
	log_warning("session %" PRIu64 ": the compute node still uses more "
		    "pages than the lease that it has confirmed; evicting it", s->id);
	manager_kill(m, s, WHY_EVICTED);
}

/* A store has met an empty ring position: the compute node has used more than it was
 * lent, or invalidates have overtaken each other too often.  Stops all chains of the
 * session; its ring is put in order when it is resumed. */
static void order_check(struct manager *m, struct sess *s)
{
	if (s->damage != DAMAGE_RING || s->state != SESS_ATTACHED)
		return;
	log_notice("session %" PRIu64 ": the free ring is empty; all chains "
		   "of the session stop until the compute node resumes it", s->id);
	manager_detach(m, s);
}

/* One wrong MAC may be a torn read.  Two in a row are a forgery. */
static void macs_check(struct sess *s)
{
	if (s->wrong_macs < 2 || !log_first(&s->logged, SESS_LOG_FORGED))
		return;
	log_warning("session %" PRIu64 ": a heartbeat has a wrong MAC, and stays so: "
		    "somebody else has written it; it counts for nothing", s->id);
}

static void beat_check(struct manager *m, struct sess *s, uint32_t elapsed_ms)
{
	if (sess_look(s, elapsed_ms))
		sess_setup(s, SETUP_EV_SEEN);
	sess_keep_changes(s);
	if (s->damage == DAMAGE_TABLE) {
		log_warning("session %" PRIu64 ": the compute node sent two requests "
			    "for one slot at the same time; evicting it", s->id);
		manager_kill(m, s, WHY_EVICTED);
		return;
	}
	if (s->slabs.failed) {
		log_error("session %" PRIu64 ": this NIC does not destroy the key of a slab "
			  "that the compute node has given back (%s); evicting it", s->id,
			  strerror(-s->slabs.failed));
		manager_kill(m, s, WHY_EVICTED);
		return;
	}
	if (s->silent_ms > sess_dead_ms(s, m->conf)) {
		manager_kill(m, s, WHY_DEAD);
		return;
	}
	if (!sess_attached(s))
		return;
	if (sess_poll_ctl(s)) {
		manager_lost(m, s);
		return;
	}
	macs_check(s);
	if (s->lease.overdrawn && log_first(&s->logged, SESS_LOG_OVERDRAWN))
		log_warning("session %" PRIu64 ": reports %" PRIu64 " pages in "
			    "use and a lease of %" PRIu64 ", but was granted %"
			    PRIu64, s->id, s->lease.used, s->lease.held,
			    s->lease.ceiling);
	debt_check(m, s, elapsed_ms);
	order_check(m, s);
}

/* ---- passes ------------------------------------------------------------------------ */

static int handle_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void handles_add(struct manager *m, uint64_t handle)
{
	if (handle)
		m->handles[m->nr_handles++] = handle;
}

/* Lists the passes of the sessions: each pass is then looked for among them. */
static void handles_list(struct manager *m)
{
	unsigned int i;

	m->nr_handles = 0;
	for (i = 0; i < m->nr_sess; i++) {
		const struct sess *s = m->sess[i];

		if (s->state == SESS_ENDING)
			continue;
		handles_add(m, s->handle);
		if (s->waiting)
			handles_add(m, s->waiting->handle);
	}
	qsort(m->handles, m->nr_handles, sizeof(*m->handles), handle_compare);
}

static bool pass_needed(void *arg, const struct pass *pass)
{
	const struct manager *m = arg;

	return bsearch(&pass->handle, m->handles, m->nr_handles, sizeof(*m->handles),
		       handle_compare) ||
	       spaces_go_by(&m->spaces, pass->handle);
}

/* ---- ticks and looks ----------------------------------------------------------------- */

/* Logs whom the NIC has refused. */
static void refusals_note(struct manager *m)
{
	bool (*take)(struct nic *nic, struct nic_refusal *r) = m->nic->node->ops->refusal;
	struct nic_refusal r;

	while (take && take(m->nic, &r))
		if (!r.heard)
			audit_refused(&m->audit, &(struct audit_peer){ .ip = r.ip }, r.why);
}

/* Counts the pages of sessions that were there for so long. */
static void use_tick(struct manager *m, uint32_t elapsed_ms)
{
	uint64_t used = 0;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		sess_count_use(m->sess[i], elapsed_ms);
		used += m->sess[i]->use.used;
	}
	if (m->nr_sess)
		use_count(&m->use, used, manager_held_pages(m), elapsed_ms);
}

/* Does the plan of leases depend on what the heartbeat has changed? */
static bool look_one(struct sess *s)
{
	const struct lease *l = &s->lease, before = *l;

	if (!sess_look(s, 0))
		return false;
	sess_setup(s, SETUP_EV_SEEN);
	return l->used != before.used || l->want != before.want || l->held != before.held ||
	       l->ceiling != before.ceiling || l->promised != before.promised ||
	       l->reachable != before.reachable;
}

bool manager_look(struct manager *m)
{
	bool changes = false, any = false, writes;
	unsigned int i;

	if (check_runs(m) || manager_health_silent(m))
		return false;
	for (i = 0; i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];

		if (!sess_is_live(s) || !sess_attached(s) || !s->lease.asks)
			continue;
		any = true;
		writes = s->lease.writing;
		m->stirred |= writes;
		if (writes && sess_poll_ctl(s)) {
			manager_lost(m, s);
			continue;
		}
		/* Requests that came meanwhile could not be planned, and are not answered yet. */
		changes |= writes && !s->lease.writing;
		if (sess_has_news(s)) {
			m->stirred = true;
			changes |= look_one(s);
		}
	}
	if (changes)
		manager_plan_leases(m);
	return any;
}

void manager_tick(struct manager *m, uint32_t elapsed_ms)
{
	/* If the agent itself slept, that time is not the compute nodes' silence. */
	uint32_t most = 2 * m->conf->beat_ms;
	/* Time in which the agent cannot give the card anything to do is no silence either. */
	bool silent = manager_health_silent(m);
	unsigned int i;

	use_tick(m, elapsed_ms);
	/* Nobody is heard while pages are counted, so that time is nobody's silence. */
	if (check_runs(m))
		return;
	if (elapsed_ms > most)
		elapsed_ms = most;
	audit_tick(&m->audit, elapsed_ms);
	refusals_note(m);
	if (!silent)
		responder_tick(&m->responder, elapsed_ms);
	handles_list(m);
	idents_tick(&m->idents, elapsed_ms, pass_needed, m);
	manager_tick_shares(m, elapsed_ms);
	for (i = 0; i < m->nr_sess; i++) {
		manager_tick_conns(m, m->sess[i]);
		if (sess_is_live(m->sess[i]))
			beat_check(m, m->sess[i], silent ? 0 : elapsed_ms);
	}
	manager_health_tick(m, elapsed_ms);
	m->stirred = true;
	manager_plan_leases(m);
	manager_send_grants(m);
}
