// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The transition tables of a session; see sess-state.h. */
#include "sess-state.h"

#define DETACH	FSM_GO(SESS_DETACHED, SESS_DO_DETACH)
#define END	FSM_GO(SESS_ENDING, SESS_DO_END)
#define FAIL	FSM_GO(SESS_ENDING, SESS_DO_FORGET)
#define REFUSE	FSM_GO(SESS_ENDING, SESS_DO_REFUSE)
/* The agent ends: what waits is rejected, and what is connected is disconnected. */
#define PAUSE(s)	FSM_GO(s, SESS_DO_DISCONNECT)
#define TO(s)	FSM_GO(s, 0)

/* A cell that is not written in these tables cannot happen: tests/unit/mnode/test-states.c
 * says why. */
static const struct fsm_cell sess_cells[SESS_NR_STATES][SESS_NR_EVENTS] = {
	[SESS_OPENING] = {
		[SESS_EV_ACCEPTED] = TO(SESS_ATTACHED),
		[SESS_EV_FAILED]   = FAIL,
		[SESS_EV_GONE]	   = FAIL,
		[SESS_EV_ADOPTED]  = TO(SESS_RESTORING),
		[SESS_EV_PAUSE]	   = REFUSE,
		[SESS_EV_EVICTED]  = REFUSE,
	},
	[SESS_ATTACHED] = {
		[SESS_EV_LOST]	   = DETACH,
		[SESS_EV_PAUSE]	   = PAUSE(SESS_DETACHED),
		[SESS_EV_LEFT]	   = END,
		[SESS_EV_DEAD]	   = END,
		[SESS_EV_EVICTED]  = END,
	},
	[SESS_RESTORING] = {
		[SESS_EV_RESTORED] = TO(SESS_DETACHED),
		[SESS_EV_PAUSE]	   = PAUSE(SESS_RESTORING),
		[SESS_EV_DEAD]	   = END,
		[SESS_EV_EVICTED]  = END,
	},
	[SESS_DETACHED] = {
		[SESS_EV_PAUSE]	   = PAUSE(SESS_DETACHED),
		[SESS_EV_DEAD]	   = END,
		[SESS_EV_EVICTED]  = END,
		[SESS_EV_RESUME]   = TO(SESS_STOPPING),
		[SESS_EV_RESUMED]  = TO(SESS_ATTACHED),
	},
	[SESS_STOPPING] = {
		[SESS_EV_PAUSE]	   = PAUSE(SESS_STOPPING),
		[SESS_EV_DEAD]	   = END,
		[SESS_EV_EVICTED]  = END,
		[SESS_EV_RESUME]   = FSM_IGNORE,
		[SESS_EV_STUCK]	   = TO(SESS_DETACHED),
		[SESS_EV_STAND]	   = TO(SESS_SORTING),
	},
	[SESS_SORTING] = {
		[SESS_EV_PAUSE]	   = PAUSE(SESS_SORTING),
		[SESS_EV_DEAD]	   = END,
		[SESS_EV_EVICTED]  = END,
		[SESS_EV_RESUME]   = FSM_IGNORE,
		[SESS_EV_SORTED]   = TO(SESS_FILLING),
	},
	[SESS_FILLING] = {
		[SESS_EV_PAUSE]	   = PAUSE(SESS_FILLING),
		[SESS_EV_DEAD]	   = END,
		[SESS_EV_EVICTED]  = END,
		[SESS_EV_RESUME]   = FSM_IGNORE,
		[SESS_EV_FILLED]   = TO(SESS_DETACHED),
	},
	[SESS_ENDING] = {
		[SESS_EV_EVICTED]  = FSM_IGNORE,
		[SESS_EV_RETURNED] = FSM_GO(SESS_FREEING, SESS_DO_FREE),
	},
};

static const char *const sess_states[SESS_NR_STATES] = {
	[SESS_OPENING]	 = "opening",
	[SESS_ATTACHED]	 = "attached",
	[SESS_RESTORING] = "restoring",
	[SESS_DETACHED]	 = "detached",
	[SESS_STOPPING]	 = "stopping",
	[SESS_SORTING]	 = "sorting",
	[SESS_FILLING]	 = "filling",
	[SESS_ENDING]	 = "ending",
	[SESS_FREEING]	 = "freeing",
};

static const char *const sess_events[SESS_NR_EVENTS] = {
	[SESS_EV_ACCEPTED] = "accepted",
	[SESS_EV_FAILED]   = "failed",
	[SESS_EV_GONE]	   = "gone",
	[SESS_EV_ADOPTED]  = "adopted",
	[SESS_EV_RESTORED] = "restored",
	[SESS_EV_LOST]	   = "lost",
	[SESS_EV_PAUSE]	   = "pause",
	[SESS_EV_LEFT]	   = "left",
	[SESS_EV_DEAD]	   = "dead",
	[SESS_EV_EVICTED]  = "evicted",
	[SESS_EV_RESUME]   = "resume",
	[SESS_EV_STUCK]	   = "stuck",
	[SESS_EV_STAND]	   = "stand",
	[SESS_EV_SORTED]   = "sorted",
	[SESS_EV_FILLED]   = "filled",
	[SESS_EV_RESUMED]  = "resumed",
	[SESS_EV_RETURNED] = "returned",
};

const struct fsm sess_fsm = {
	.name = "session", .states = sess_states, .events = sess_events,
	.nr_states = SESS_NR_STATES, .nr_events = SESS_NR_EVENTS, .cells = sess_cells[0],
};

static const struct fsm_cell setup_cells[SETUP_NR_STATES][SETUP_NR_EVENTS] = {
	[SETUP_UNSEEN] = {
		[SETUP_EV_SEEN]	   = TO(SETUP_PREPARING),
	},
	[SETUP_PREPARING] = {
		[SETUP_EV_SEEN]	   = FSM_IGNORE,
		[SETUP_EV_MORE]	   = FSM_IGNORE,
		[SETUP_EV_BLOCKED] = TO(SETUP_BLOCKED),
		[SETUP_EV_DONE]	   = FSM_GO(SETUP_READY, SETUP_DO_SERVE),
	},
	[SETUP_BLOCKED] = {
		[SETUP_EV_SEEN]	   = FSM_IGNORE,
		[SETUP_EV_MORE]	   = TO(SETUP_PREPARING),
		[SETUP_EV_BLOCKED] = FSM_IGNORE,
		[SETUP_EV_DONE]	   = FSM_GO(SETUP_READY, SETUP_DO_SERVE),
	},
	[SETUP_READY] = {
		[SETUP_EV_SEEN]	   = FSM_IGNORE,
	},
};

static const char *const setup_states[SETUP_NR_STATES] = {
	[SETUP_UNSEEN]	  = "unseen",
	[SETUP_PREPARING] = "preparing",
	[SETUP_BLOCKED]	  = "blocked",
	[SETUP_READY]	  = "ready",
};

static const char *const setup_events[SETUP_NR_EVENTS] = {
	[SETUP_EV_SEEN]	   = "seen",
	[SETUP_EV_MORE]	   = "more",
	[SETUP_EV_BLOCKED] = "blocked",
	[SETUP_EV_DONE]	   = "done",
};

const struct fsm setup_fsm = {
	.name = "setup", .states = setup_states, .events = setup_events,
	.nr_states = SETUP_NR_STATES, .nr_events = SETUP_NR_EVENTS, .cells = setup_cells[0],
};

static const struct fsm_cell damage_cells[DAMAGE_NR_STATES][DAMAGE_NR_EVENTS] = {
	[DAMAGE_NONE] = {
		[DAMAGE_EV_RING]  = TO(DAMAGE_RING),
		[DAMAGE_EV_TABLE] = TO(DAMAGE_TABLE),
		[DAMAGE_EV_SORT]  = FSM_IGNORE,
	},
	[DAMAGE_RING] = {
		[DAMAGE_EV_RING]  = FSM_IGNORE,
		[DAMAGE_EV_TABLE] = TO(DAMAGE_TABLE),
		[DAMAGE_EV_SORT]  = TO(DAMAGE_NONE),
	},
	[DAMAGE_TABLE] = {
		[DAMAGE_EV_RING]  = FSM_IGNORE,
		[DAMAGE_EV_TABLE] = FSM_IGNORE,
		[DAMAGE_EV_SORT]  = FSM_IGNORE,
	},
};

static const char *const damage_states[DAMAGE_NR_STATES] = {
	[DAMAGE_NONE]  = "whole",
	[DAMAGE_RING]  = "disordered",
	[DAMAGE_TABLE] = "damaged",
};

static const char *const damage_events[DAMAGE_NR_EVENTS] = {
	[DAMAGE_EV_RING]  = "ring",
	[DAMAGE_EV_TABLE] = "table",
	[DAMAGE_EV_SORT]  = "sort",
};

const struct fsm damage_fsm = {
	.name = "set of pages", .states = damage_states, .events = damage_events,
	.nr_states = DAMAGE_NR_STATES, .nr_events = DAMAGE_NR_EVENTS,
	.cells = damage_cells[0],
};

enum sess_action sess_step(enum sess_state *state, enum sess_event event, uint64_t id)
{
	unsigned int action;

	*state = fsm_next(&sess_fsm, id, *state, event, &action);
	return action;
}

enum setup_action setup_step(enum sess_setup *state, enum setup_event event, uint64_t id)
{
	unsigned int action;

	*state = fsm_next(&setup_fsm, id, *state, event, &action);
	return action;
}

void damage_step(enum sess_damage *state, enum damage_event event, uint64_t id)
{
	*state = fsm_next(&damage_fsm, id, *state, event, &(unsigned int){ 0 });
}
