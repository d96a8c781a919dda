/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The states of a call, and the table of what each event does. Pure code. */
#ifndef FAR_PEER_CALL_STATE_H
#define FAR_PEER_CALL_STATE_H

#include <stdint.h>

enum far_call_state {
	FAR_CALL_SEEKING,	/* looks for a pass; another call may be making it */
	FAR_CALL_INITIATED,	/* the connection request of a handshake was sent */
	FAR_CALL_GREETED,	/* the hello of the handshake was sent */
	FAR_CALL_PROVED,	/* our proof was sent */
	FAR_CALL_ASKED,		/* the request was sent */
	FAR_CALL_DONE,		/* the peer has answered */
	FAR_CALL_FAILED,	/* it has not, or the handshake failed */
	FAR_CALL_NR_STATES,
};

enum far_call_event {
	FAR_CALL_EV_PASS,	/* there is a pass, or no key */
	FAR_CALL_EV_NO_PASS,	/* there is none, and this call is to make it */
	FAR_CALL_EV_ACCEPTED,	/* the connection request was accepted; with a pass, signed */
	FAR_CALL_EV_COOKIE,	/* a handshake was rejected with a cookie */
	FAR_CALL_EV_ANSWERED,	/* rejected with a status */
	FAR_CALL_EV_REFUSED,	/* rejected, and not by a memory node that serves spaces */
	FAR_CALL_EV_MESSAGE,	/* the next message of the handshake; it is right */
	FAR_CALL_EV_FORGED,	/* a message or an answer that is not right */
	FAR_CALL_EV_BROKEN,	/* the link has failed */
	FAR_CALL_EV_LATE,	/* no answer in time */
	FAR_CALL_EV_STUCK,	/* an action has failed */
	FAR_CALL_NR_EVENTS,
};

enum far_call_action {
	FAR_CALL_DO_NEVER,	/* nobody sends this event: the call fails */
	FAR_CALL_DO_NOTHING,
	FAR_CALL_DO_REQUEST,	/* send the request */
	FAR_CALL_DO_INITIATE,	/* send the connection request of a handshake */
	FAR_CALL_DO_REPEAT,	/* the same, with the cookie, on another connection */
	FAR_CALL_DO_GREET,	/* send the hello */
	FAR_CALL_DO_PROVE,	/* send our proof */
	FAR_CALL_DO_KEEP,	/* close the handshake's connection, and keep the pass */
	FAR_CALL_DO_RETRY,	/* close the connection, and count a try */
	FAR_CALL_DO_FORGET,	/* the same, and drop the pass */
	FAR_CALL_DO_CLOSE,	/* close the connection */
	FAR_CALL_NR_ACTIONS,
};

struct far_call_cell {
	uint8_t next, action;
};

/* The next state and the action; of an event that cannot happen, FAILED and DO_NEVER. */
struct far_call_cell far_call_cell(enum far_call_state state, enum far_call_event event);

#endif
