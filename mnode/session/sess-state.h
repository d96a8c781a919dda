/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of a session, and the tables of what each event does.  Pure code.
 *
 *	OPENING --------------> ATTACHED <----+
 *	   |                       |          |
 *	   +--> RESTORING --> DETACHED -------+
 *	                      ^   |    ^
 *	                      |   v    |
 *	                      STOPPING |
 *	                          v    |
 *	                      SORTING  |
 *	                          v    |
 *	                      FILLING -+
 *
 *	(all of these) --> ENDING --> FREEING
 *
 * sess-state.c has the cells; tests/unit/mnode/test-states.c says who sends each event.
 *
 * A session is *live* from ATTACHED or RESTORING to FILLING: it has a heartbeat that must
 * not be silent for too long and, from its first I/O connection on, a record in the kept
 * files.
 *
 * LOST closes all I/O connections.  A request to resume waits in STOPPING until the NIC has
 * stopped them and their chains are freed; STOPPING itself closes nothing.
 *
 * STOPPING, SORTING and FILLING go on when the compute node gives the request up: the next
 * request to resume finds the ring in order, or the work under way.
 *
 * FREEING is the last state: the last piece that is freed is the session itself.
 *
 * What a session has to have before I/O connections are accepted (setup), and what is wrong
 * with its pages (damage), change beside that, by tables of their own.
 */
#ifndef MNODE_SESS_STATE_H
#define MNODE_SESS_STATE_H

#include <stdbool.h>
#include "fsm.h"

enum sess_state {
	SESS_OPENING,		/* keys are made in pieces; the request waits.  A session
				 * that is adopted leaves this state at once */
	SESS_ATTACHED,		/* the admin connection is accepted */
	SESS_RESTORING,		/* adopted: keys and translations are made in pieces */
	SESS_DETACHED,		/* no admin connection; the pages stay */
	SESS_STOPPING,		/* to be resumed: its closed chains are not all freed */
	SESS_SORTING,		/* to be resumed: the ring is sorted; nothing else uses it */
	SESS_FILLING,		/* to be resumed: pages are added or taken back */
	SESS_ENDING,		/* chains are stopped, keys dropped, pages collected */
	SESS_FREEING,		/* off the list, all pages are back: its objects of the NIC
				 * and its memory are freed in pieces */
	SESS_NR_STATES,
};

enum sess_event {
	SESS_EV_ACCEPTED,	/* the first request is accepted */
	SESS_EV_FAILED,		/* the session cannot be made; the sender has rejected its
				 * request */
	SESS_EV_GONE,		/* the connection ended before the accept */
	SESS_EV_ADOPTED,	/* made from the record of another agent */
	SESS_EV_RESTORED,	/* keys and translations are as before */
	SESS_EV_LOST,		/* the admin connection is lost; or the agent hangs up, to
				 * sort the ring, or for a request to resume */
	SESS_EV_PAUSE,		/* the agent ends, and leaves the session to the next one */
	SESS_EV_LEFT,		/* the compute node has said goodbye, or its connection is
				 * lost before the first I/O connection: it stored nothing */
	SESS_EV_DEAD,		/* the compute node is silent for too long */
	SESS_EV_EVICTED,	/* an operator or the agent ends the session */
	SESS_EV_RESUME,		/* a request to resume waits; a later one takes its place */
	SESS_EV_STUCK,		/* the NIC does not stop a chain: requests to resume are
				 * rejected as busy until it does */
	SESS_EV_STAND,		/* all chains are freed, the tables are made, the fence is
				 * over: sorting begins */
	SESS_EV_SORTED,		/* the ring is in order */
	SESS_EV_FILLED,		/* the ring has its pages; or the pool has no more, and the
				 * request is rejected */
	SESS_EV_RESUMED,	/* the request to resume is accepted */
	SESS_EV_RETURNED,	/* all pages are back in the pool */
	SESS_NR_EVENTS,
};

enum sess_action {
	SESS_DO_NOTHING,
	SESS_DO_FORGET,		/* forget the connection and its key material */
	SESS_DO_DETACH,		/* as SESS_DO_DISCONNECT, then forget heartbeat and key */
	SESS_DO_DISCONNECT,	/* close all connections; requests that wait are rejected */
	SESS_DO_END,		/* drop the record, then as SESS_DO_DISCONNECT */
	SESS_DO_FREE,		/* hand the memory to free_old() */
	SESS_DO_REFUSE,		/* reject the first request, then as SESS_DO_END */
	SESS_NR_ACTIONS,
};

/* True if the session has what it needs to store pages. */
enum sess_setup {
	SETUP_UNSEEN,		/* nothing shows that the peer has got the accept */
	SETUP_PREPARING,	/* lease, pages, key map and tables are made in pieces */
	SETUP_BLOCKED,		/* other sessions have to give or take pages first */
	SETUP_READY,		/* I/O connections are accepted */
	SETUP_NR_STATES,
};

enum setup_event {
	SETUP_EV_SEEN,		/* a heartbeat, the token or the pass: it has the accept */
	SETUP_EV_MORE,		/* a piece is made, there are more */
	SETUP_EV_BLOCKED,	/* nothing can be made now */
	SETUP_EV_DONE,		/* all is made */
	SETUP_NR_EVENTS,
};

enum setup_action {
	SETUP_DO_NOTHING,
	SETUP_DO_SERVE,		/* serve the request for the first I/O connection */
	SETUP_NR_ACTIONS,
};

/* Damage that stopped chains have left; the next tick acts on it. */
enum sess_damage {
	DAMAGE_NONE,
	DAMAGE_RING,		/* a store met an empty ring position: to be sorted */
	DAMAGE_TABLE,		/* a page has a translation that the table does not have:
				 * the session is evicted, and keeps the page until then */
	DAMAGE_NR_STATES,
};

enum damage_event {
	DAMAGE_EV_RING,
	DAMAGE_EV_TABLE,
	DAMAGE_EV_SORT,		/* sorting of the ring begins */
	DAMAGE_NR_EVENTS,
};

extern const struct fsm sess_fsm, setup_fsm, damage_fsm;

/*
 * The only functions that change these states.  id: of the session, for the log.  The caller
 * does the action: manager_sess() for events of a session.  ADOPTED, RESTORED, STAND,
 * SORTED, FILLED and RESUMED have none: those who send them do what there is to do.
 */
enum sess_action sess_step(enum sess_state *state, enum sess_event event, uint64_t id);
enum setup_action setup_step(enum sess_setup *state, enum setup_event event, uint64_t id);
void damage_step(enum sess_damage *state, enum damage_event event, uint64_t id);

static inline bool sess_state_is_live(enum sess_state s)
{
	return s >= SESS_ATTACHED && s <= SESS_FILLING;
}

/* Is the ring being put in order, or is that to begin? */
static inline bool sess_state_settles(enum sess_state s)
{
	return s >= SESS_STOPPING && s <= SESS_FILLING;
}

#endif /* MNODE_SESS_STATE_H */
