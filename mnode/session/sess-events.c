// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes the states of a session and of its connections, and keeps the counts of them. */
#include "sess.h"

static void state_count(const struct sess *s, int by)
{
	if (!s->tally)
		return;
	s->tally->state[s->state] += by;
	s->tally->setup[s->setup] += by;
}

enum sess_action sess_event(struct sess *s, enum sess_event event)
{
	enum sess_action action;

	state_count(s, -1);
	action = sess_step(&s->state, event, s->id);
	state_count(s, 1);
	return action;
}

enum setup_action sess_setup(struct sess *s, enum setup_event event)
{
	enum setup_action action;

	state_count(s, -1);
	action = setup_step(&s->setup, event, s->id);
	state_count(s, 1);
	return action;
}

void sess_join(struct sess *s, struct tally *tally)
{
	s->tally = tally;
	state_count(s, 1);
}

void sess_leave(struct sess *s)
{
	state_count(s, -1);
	s->tally = NULL;
}

static void conn_count(struct sess *s, enum conn_state state, int by)
{
	int arming = state == CONN_ARMING ? by : 0;
	int closing = conn_is_closing(state) ? by : 0;

	s->nr_arming += arming;
	s->nr_closing += closing;
	s->nr_unstopped += conn_is_unstopped(state) ? by : 0;
	if (!s->tally)
		return;
	s->tally->arming += arming;
	s->tally->closing += closing;
}

void sess_add_queue(struct sess *s, unsigned int number, unsigned int chain,
		    struct queue *q)
{
	s->queues[number][chain] = q;
	s->nr_conns++;
	conn_count(s, q->state, 1);
}

enum conn_action sess_conn_event(struct sess *s, struct queue *q, enum conn_event event)
{
	enum conn_action action;

	conn_count(s, q->state, -1);
	action = conn_step(&q->state, event, s->id);
	conn_count(s, q->state, 1);
	return action;
}

struct queue *sess_take_queue(struct sess *s, unsigned int number, unsigned int chain)
{
	struct queue *q = s->queues[number][chain];

	conn_count(s, q->state, -1);
	s->queues[number][chain] = NULL;
	s->nr_conns--;
	return q;
}
