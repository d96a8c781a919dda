// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ends of I/O connections: events, by the table of conn-state.c, and their actions.
 * listen.c has the beginning: it arms the chains and accepts the requests.
 */
#include <inttypes.h>
#include <string.h>
#include "log.h"
#include "manager.h"

/* Queues that manager_close_some() stops per call. */
#define CLOSE_STEP	4

void manager_hang_up(struct manager *m, uint32_t cm_id)
{
	if (!cm_id)
		return;
	m->nic->ops->disconnect(m->nic, cm_id);
	m->nic->ops->release(m->nic, cm_id);
}

/* ---- actions --------------------------------------------------------------------- */

static void conn_nothing(struct manager *m, struct sess *s, unsigned int number,
			 unsigned int chain)
{
}

static void conn_reject(struct manager *m, struct sess *s, unsigned int number,
			unsigned int chain)
{
	manager_put_off(m, s, &s->queues[number][chain]->asked);
}

static void log_unstopped(struct manager *m, struct sess *s, const char *chain,
			  unsigned int number, int r)
{
	if (!log_first(&s->logged, SESS_LOG_UNSTOPPED))
		return;
	log_error("session %" PRIu64 ": this NIC neither stops nor destroys the "
		  "queue pairs of chain %s of queue %u (%s); the session keeps its "
		  "pages until it does", s->id, chain, number,
		  *m->nic->ops->last_error(m->nic) ? m->nic->ops->last_error(m->nic) :
		  strerror(-r));
}

static void conn_stop(struct manager *m, struct sess *s, unsigned int number,
		      unsigned int chain)
{
	struct queue *q = s->queues[number][chain];
	int r;

	manager_hang_up(m, q->cm_id);
	q->cm_id = 0;
	r = queue_stop(q);
	/* The chain may run on, so the pages that it holds stay with it. */
	if (r)
		log_unstopped(m, s, m->progs[chain].name, number, r);
	manager_conn(m, s, number, chain, r ? CONN_EV_UNSTOPPED : CONN_EV_STOPPED);
}

/* Takes over what the stopped chain held. */
static void take_over(struct manager *m, struct sess *s, unsigned int number,
		      unsigned int chain)
{
	int r = lend_stopped(&m->lender, s, s->queues[number][chain]);

	if (r == -EPIPE)
		damage_step(&s->damage, DAMAGE_EV_RING, s->id);
	else if (r == -EXDEV)
		damage_step(&s->damage, DAMAGE_EV_TABLE, s->id);
	else if (r)
		log_error("session %" PRIu64 ": the agent cannot find which "
			  "pages chain %s of queue %u held: %s", s->id,
			  m->progs[chain].name, number, strerror(-r));
}

static void conn_free(struct manager *m, struct sess *s, unsigned int number,
		      unsigned int chain)
{
	struct queue *q = s->queues[number][chain];

	take_over(m, s, number, chain);
	s->executed[chain] += q->executed;
	manager_health_forget(m, s);
	queue_free(sess_take_queue(s, number, chain));
	lend_gone(&m->lender, s);
}

/* ---- events ---------------------------------------------------------------------- */

void manager_conn(struct manager *m, struct sess *s, unsigned int number,
		  unsigned int chain, enum conn_event event)
{
	static void (*const actions[CONN_NR_ACTIONS])(struct manager *m, struct sess *s,
						      unsigned int number,
						      unsigned int chain) = {
		[CONN_DO_NOTHING] = conn_nothing,
		[CONN_DO_REJECT] = conn_reject,
		[CONN_DO_STOP] = conn_stop,
		[CONN_DO_FREE] = conn_free,
	};
	enum conn_action action = sess_conn_event(s, s->queues[number][chain], event);

	m->stirred = true;
	actions[action](m, s, number, chain);
}

void manager_close_queue(struct manager *m, struct sess *s,
			 unsigned int number, unsigned int chain)
{
	manager_conn(m, s, number, chain, CONN_EV_GONE);
}

bool manager_close_some(struct manager *m)
{
	unsigned int i, n, c, left = CLOSE_STEP;
	struct queue *q;

	for (i = 0; m->tally.closing && i < m->nr_sess && left; i++) {
		if (!m->sess[i]->nr_closing)
			continue;
		sess_for_each_queue(m->sess[i], n, c, q) {
			if (!conn_is_closing(q->state) || !left)
				continue;
			manager_conn(m, m->sess[i], n, c, CONN_EV_TURN);
			left--;
		}
	}
	/* A request to resume may wait for the last one. */
	return left < CLOSE_STEP;
}

void manager_tick_conns(struct manager *m, struct sess *s)
{
	unsigned int n, c;
	struct queue *q;

	if (!s->nr_unstopped)
		return;
	sess_for_each_queue(s, n, c, q)
		manager_conn(m, s, n, c, CONN_EV_TICK);
}

bool manager_hangs_up(const struct manager *m)
{
	unsigned int i, n, c;
	struct queue *q;

	for (i = 0; i < m->nr_sess; i++)
		sess_for_each_queue(m->sess[i], n, c, q)
			if (q->state == CONN_CLOSING && q->cm_id)
				return true;
	return false;
}
