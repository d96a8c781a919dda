/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A state machine as a table: state and event give the next state and one action.
 * conn-state.c and sess-state.c have the tables.  An event that the table excludes changes
 * nothing: it is logged and counted, because it is a fault of the agent.
 */
#ifndef MNODE_FSM_H
#define MNODE_FSM_H

#include <stdint.h>

enum fsm_kind {
	FSM_NEVER,		/* nobody sends this event in this state */
	FSM_IGNORED,		/* the event changes nothing in this state */
	FSM_GOES,		/* to the state @next, with the action @action */
};

struct fsm_cell {
	uint8_t kind, next, action;
};

/**
 * struct fsm - a table
 * @name:	of the object, for the log
 * @states, @events: names
 * @cells:	[state][event]; action 0 does nothing
 */
struct fsm {
	const char *name;
	const char *const *states, *const *events;
	unsigned int nr_states, nr_events;
	const struct fsm_cell *cells;
};

#define FSM_GO(next_, action_)						\
	{ .kind = FSM_GOES, .next = (next_), .action = (action_) }
#define FSM_IGNORE		{ .kind = FSM_IGNORED }

/* Events since the start that came in a state where nobody sends them. */
extern unsigned int fsm_nr_impossible;

/* NULL: there is no such state or event. */
const struct fsm_cell *fsm_cell(const struct fsm *f, unsigned int state, unsigned int event);
/* Returns the next state.  An event that cannot happen is logged and counted; then it is
 * the same state, and *ret_action is 0.  sess: the number of the session, for the log. */
unsigned int fsm_next(const struct fsm *f, uint64_t sess, unsigned int state,
		      unsigned int event, unsigned int *ret_action);

#endif /* MNODE_FSM_H */
