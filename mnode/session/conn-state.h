/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of an I/O connection, and the table of what each event does.  Pure code.
 *
 *	ARMING -> ARMED -> OPEN -> CLOSING -> STOPPING -> FREED
 *	   |        |       |         ^        ^    |
 *	   +--------+-------+---------+--------+    v
 *	                            RETRYING <-- UNSTOPPED
 *
 * ARMED and STOPPING last no longer than the call that enters them: ARMED ends with the
 * accept or its failure, STOPPING with the NIC's answer.
 *
 * An UNSTOPPED chain may run on, so the session keeps all that the chain reaches.  Every
 * tick the agent tries again to stop it.
 */
#ifndef MNODE_CONN_STATE_H
#define MNODE_CONN_STATE_H

#include <stdbool.h>
#include "fsm.h"

enum conn_state {
	CONN_ARMING,		/* the request waits until the chain is armed */
	CONN_ARMED,		/* the request is being accepted */
	CONN_OPEN,		/* the compute node is connected */
	CONN_CLOSING,		/* waits for its turn to be disconnected and stopped */
	CONN_STOPPING,		/* the NIC is being told to stop the queue pairs */
	CONN_UNSTOPPED,		/* disconnected, but the NIC did not stop a queue pair */
	CONN_RETRYING,		/* UNSTOPPED, and waits for its turn to be stopped */
	CONN_FREED,
	CONN_NR_STATES,
};

enum conn_event {
	CONN_EV_ARMED,		/* the doorbell is rung, or there is no chain to arm */
	CONN_EV_ACCEPTED,	/* the request is accepted */
	CONN_EV_FAILED,		/* the chain cannot be armed, or the request accepted; the
				 * sender rejects it */
	CONN_EV_GONE,		/* the connection of this chain has ended */
	CONN_EV_CLOSE,		/* the session is disconnected, or the chain is broken */
	CONN_EV_TICK,		/* a heartbeat period has passed */
	CONN_EV_TURN,		/* manager_close_some(), which takes a few connections in
				 * a turn of the loop, has come to this one */
	CONN_EV_STOPPED,	/* both queue pairs stand still */
	CONN_EV_UNSTOPPED,	/* the NIC neither stops nor destroys a queue pair */
	CONN_NR_EVENTS,
};

enum conn_action {
	CONN_DO_NOTHING,
	CONN_DO_REJECT,		/* reject the waiting request */
	CONN_DO_STOP,		/* disconnect, stop the queue pairs, and send STOPPED or
				 * UNSTOPPED */
	CONN_DO_FREE,		/* take the chain's pages over and free the chain */
	CONN_NR_ACTIONS,
};

extern const struct fsm conn_fsm;

/* The only function that changes a connection's state.  The caller does the action. */
enum conn_action conn_step(enum conn_state *state, enum conn_event event, uint64_t sess);

/* Does manager_work() have to stop this chain? */
static inline bool conn_is_closing(enum conn_state s)
{
	return s == CONN_CLOSING || s == CONN_RETRYING;
}

/* Did the NIC not stop this chain when it was told to? */
static inline bool conn_is_unstopped(enum conn_state s)
{
	return s == CONN_UNSTOPPED || s == CONN_RETRYING;
}

#endif /* MNODE_CONN_STATE_H */
