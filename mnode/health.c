// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Asks the NIC which queue pairs are broken, and how many requests chains have executed.
 * A card answers by firmware commands, so another thread asks (nic_node_ops.look), about
 * one queue at a time.  If the card does not answer, the agent gives it nothing to do that
 * would wait for it: see manager_health_silent().
 */
#include <inttypes.h>
#include <string.h>
#include "log.h"
#include "manager.h"

/* Answers that are taken per turn. */
#define HEALTH_STEP	4
/* A firmware command takes some 100 us, and Linux gives one up after 60 s. */
#define ANSWER_MS	5000

/* Position 0 of a session is its admin connection; then come its queues. */
static struct queue *queue_at(const struct sess *s, unsigned int at)
{
	at--;
	return s->queues[at / ODRP_WIRE_NR_CHAINS][at % ODRP_WIRE_NR_CHAINS];
}

static unsigned int positions_of(const struct sess *s)
{
	return 1 + s->nr_queues * ODRP_WIRE_NR_CHAINS;
}

/* False: there is nothing at this position. */
static bool position_look(const struct sess *s, unsigned int at, struct nic_look *ret_look)
{
	*ret_look = (struct nic_look){ .qpn = { at ? 0 : s->ctl.qpn } };
	if (at && queue_at(s, at))
		queue_look(queue_at(s, at), ret_look);
	return ret_look->qpn[0] || ret_look->qpn[1] || ret_look->cqn;
}

/* ---- answers ----------------------------------------------------------------------- */

/* Closes the connection of a broken chain: the compute node sees it and connects again. */
static void queue_check(struct manager *m, struct sess *s, unsigned int at,
			const struct nic_seen *seen)
{
	struct queue *q = queue_at(s, at);
	uint8_t syndrome = 0;
	bool broken = queue_seen(q, seen, &syndrome);

	if (q->state != CONN_OPEN || !broken)
		return;
	log_notice("session %" PRIu64 ": chain %s of queue %u stopped (syndrome %#x)",
		   s->id, q->prog->name, (at - 1) / ODRP_WIRE_NR_CHAINS,
		   (unsigned int)syndrome);
	m->queues_broken++;
	manager_conn(m, s, (at - 1) / ODRP_WIRE_NR_CHAINS, q->prog->chain, CONN_EV_CLOSE);
}

/* The session may be gone by now, or have other objects at that position. */
static void answer_use(struct manager *m, const struct nic_seen *seen)
{
	struct health *h = &m->health;
	struct sess *s = manager_find(m, h->id);
	struct nic_look look;

	if (!s || s->state != SESS_ATTACHED || !position_look(s, h->asked_at, &look) ||
	    memcmp(&look, &h->look, sizeof(look)))
		return;
	if (h->asked_at)
		queue_check(m, s, h->asked_at, seen);
	else if (seen->err || seen->qp[0].error)
		manager_lost(m, s);
}

void manager_health_forget(struct manager *m, const struct sess *s)
{
	if (m->health.id == s->id)
		m->health.id = 0;
}

/* True: no question is under way. */
static bool answer_take(struct manager *m)
{
	struct health *h = &m->health;
	struct nic_seen seen;

	if (!h->asked)
		return true;
	if (m->nic->node->ops->seen(m->nic, &seen))
		return false;
	if (h->silent)
		log_notice("the card answers again, after %" PRIu32 " ms", h->waited_ms);
	h->asked = h->silent = false;
	answer_use(m, &seen);
	return true;
}

/* ---- questions --------------------------------------------------------------------- */

/* Asks about the next object of this period.  False: there is none. */
static bool next_ask(struct manager *m)
{
	struct health *h = &m->health;

	for (; h->sess < m->nr_sess; h->sess++, h->at = 0) {
		const struct sess *s = m->sess[h->sess];

		if (s->state != SESS_ATTACHED)
			continue;
		while (h->at < positions_of(s)) {
			h->id = s->id;
			h->asked_at = h->at++;
			h->waited_ms = 0;
			h->asked = position_look(s, h->asked_at, &h->look) &&
				   !m->nic->node->ops->look(m->nic, &h->look);
			if (h->asked)
				return true;
		}
	}
	return false;
}

bool manager_health_some(struct manager *m)
{
	struct health *h = &m->health;
	unsigned int left = HEALTH_STEP;

	while (answer_take(m)) {
		if (!h->due || !left--)
			return h->due;
		if (!next_ask(m)) {
			*h = (struct health){ .due = false };
			return false;
		}
	}
	return false;
}

void manager_health_tick(struct manager *m, uint32_t elapsed_ms)
{
	struct health *h = &m->health;

	h->due = true;
	if (!h->asked)
		return;
	h->waited_ms += elapsed_ms;
	if (h->silent || h->waited_ms < ANSWER_MS)
		return;
	h->silent = true;
	log_error("the card does not answer a query since %" PRIu32 " ms: the agent neither "
		  "makes nor ends connections until it does", h->waited_ms);
}

bool manager_health_silent(const struct manager *m)
{
	return m->health.silent;
}
