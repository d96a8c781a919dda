// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The transition table of a connection; conn.c sends the events and does the actions. */
#include "conn-state.h"

/* A cell that is not written here cannot happen: test-states.c says why. */
static const struct fsm_cell cells[CONN_NR_STATES][CONN_NR_EVENTS] = {
	[CONN_ARMING] = {
		[CONN_EV_ARMED]	    = FSM_GO(CONN_ARMED, CONN_DO_NOTHING),
		[CONN_EV_FAILED]    = FSM_GO(CONN_STOPPING, CONN_DO_STOP),
		[CONN_EV_GONE]	    = FSM_GO(CONN_STOPPING, CONN_DO_STOP),
		[CONN_EV_CLOSE]	    = FSM_GO(CONN_CLOSING, CONN_DO_REJECT),
		[CONN_EV_TICK]	    = FSM_IGNORE,
	},
	[CONN_ARMED] = {
		[CONN_EV_ACCEPTED]  = FSM_GO(CONN_OPEN, CONN_DO_NOTHING),
		[CONN_EV_FAILED]    = FSM_GO(CONN_STOPPING, CONN_DO_STOP),
	},
	[CONN_OPEN] = {
		[CONN_EV_GONE]	    = FSM_GO(CONN_STOPPING, CONN_DO_STOP),
		[CONN_EV_CLOSE]	    = FSM_GO(CONN_CLOSING, CONN_DO_NOTHING),
		[CONN_EV_TICK]	    = FSM_IGNORE,
	},
	[CONN_CLOSING] = {
		[CONN_EV_GONE]	    = FSM_GO(CONN_STOPPING, CONN_DO_STOP),
		[CONN_EV_CLOSE]	    = FSM_IGNORE,
		[CONN_EV_TICK]	    = FSM_IGNORE,
		[CONN_EV_TURN]	    = FSM_GO(CONN_STOPPING, CONN_DO_STOP),
	},
	[CONN_STOPPING] = {
		[CONN_EV_STOPPED]   = FSM_GO(CONN_FREED, CONN_DO_FREE),
		[CONN_EV_UNSTOPPED] = FSM_GO(CONN_UNSTOPPED, CONN_DO_NOTHING),
	},
	[CONN_UNSTOPPED] = {
		[CONN_EV_CLOSE]	    = FSM_GO(CONN_RETRYING, CONN_DO_NOTHING),
		[CONN_EV_TICK]	    = FSM_GO(CONN_RETRYING, CONN_DO_NOTHING),
	},
	[CONN_RETRYING] = {
		[CONN_EV_CLOSE]	    = FSM_IGNORE,
		[CONN_EV_TICK]	    = FSM_IGNORE,
		[CONN_EV_TURN]	    = FSM_GO(CONN_STOPPING, CONN_DO_STOP),
	},
};

static const char *const states[CONN_NR_STATES] = {
	[CONN_ARMING]	 = "arming",
	[CONN_ARMED]	 = "armed",
	[CONN_OPEN]	 = "open",
	[CONN_CLOSING]	 = "closing",
	[CONN_STOPPING]	 = "stopping",
	[CONN_UNSTOPPED] = "unstopped",
	[CONN_RETRYING]	 = "retrying",
	[CONN_FREED]	 = "freed",
};

static const char *const events[CONN_NR_EVENTS] = {
	[CONN_EV_ARMED]	    = "armed",
	[CONN_EV_ACCEPTED]  = "accepted",
	[CONN_EV_FAILED]    = "failed",
	[CONN_EV_GONE]	    = "gone",
	[CONN_EV_CLOSE]	    = "close",
	[CONN_EV_TICK]	    = "tick",
	[CONN_EV_TURN]	    = "turn",
	[CONN_EV_STOPPED]   = "stopped",
	[CONN_EV_UNSTOPPED] = "unstopped",
};

const struct fsm conn_fsm = {
	.name = "connection", .states = states, .events = events,
	.nr_states = CONN_NR_STATES, .nr_events = CONN_NR_EVENTS, .cells = cells[0],
};

enum conn_action conn_step(enum conn_state *state, enum conn_event event, uint64_t sess)
{
	unsigned int action;

	*state = fsm_next(&conn_fsm, sess, *state, event, &action);
	return action;
}
