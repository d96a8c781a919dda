/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The transition table of a call; call.c finds the events and does the actions. */
#include "call_state.h"

#define GO(next_, action_)	{ FAR_CALL_##next_, FAR_CALL_DO_##action_ }

/* A cell that is not written here cannot happen. */
static const struct far_call_cell cells[FAR_CALL_NR_STATES][FAR_CALL_NR_EVENTS] = {
	[FAR_CALL_SEEKING] = {
		[FAR_CALL_EV_PASS]	= GO(ASKED, REQUEST),
		[FAR_CALL_EV_NO_PASS]	= GO(INITIATED, INITIATE),
		[FAR_CALL_EV_STUCK]	= GO(FAILED, CLOSE),
	},
	[FAR_CALL_INITIATED] = {
		[FAR_CALL_EV_ACCEPTED]	= GO(GREETED, GREET),
		[FAR_CALL_EV_COOKIE]	= GO(INITIATED, REPEAT),
		[FAR_CALL_EV_ANSWERED]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_REFUSED]	= GO(SEEKING, RETRY),
		[FAR_CALL_EV_BROKEN]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_LATE]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_STUCK]	= GO(FAILED, CLOSE),
	},
	[FAR_CALL_GREETED] = {
		[FAR_CALL_EV_MESSAGE]	= GO(PROVED, PROVE),
		[FAR_CALL_EV_FORGED]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_BROKEN]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_LATE]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_STUCK]	= GO(FAILED, CLOSE),
	},
	[FAR_CALL_PROVED] = {
		[FAR_CALL_EV_MESSAGE]	= GO(SEEKING, KEEP),
		[FAR_CALL_EV_FORGED]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_BROKEN]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_LATE]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_STUCK]	= GO(FAILED, CLOSE),
	},
	[FAR_CALL_ASKED] = {
		[FAR_CALL_EV_ACCEPTED]	= GO(DONE, NOTHING),
		[FAR_CALL_EV_ANSWERED]	= GO(DONE, CLOSE),
		[FAR_CALL_EV_REFUSED]	= GO(SEEKING, RETRY),
		[FAR_CALL_EV_FORGED]	= GO(SEEKING, FORGET),
		[FAR_CALL_EV_BROKEN]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_LATE]	= GO(FAILED, CLOSE),
		[FAR_CALL_EV_STUCK]	= GO(FAILED, CLOSE),
	},
};

struct far_call_cell far_call_cell(enum far_call_state state, enum far_call_event event)
{
	static const struct far_call_cell never = GO(FAILED, NEVER);

	return cells[state][event].action ? cells[state][event] : never;
}
