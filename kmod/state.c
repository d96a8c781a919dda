// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The transition table of a session.  Only odrp_sess_move() of fail.c changes the state;
 * other functions read it.
 */
#include <linux/compiler.h>
#include <linux/types.h>
#include "state.h"

#define FROM(s)	(1u << (s))

static const u8 from_mask[ODRP_NR_STATES] = {
	[ODRP_CONNECTING] = FROM(ODRP_INIT),
	[ODRP_LIVE]	  = FROM(ODRP_CONNECTING) | FROM(ODRP_LOST) |
			    FROM(ODRP_FAILING),
	[ODRP_LOST]	  = FROM(ODRP_LIVE),
	[ODRP_FAILING]	  = FROM(ODRP_LOST),
	[ODRP_DEAD]	  = FROM(ODRP_CONNECTING) | FROM(ODRP_LIVE) |
			    FROM(ODRP_LOST) | FROM(ODRP_FAILING),
	[ODRP_CLOSING]	  = FROM(ODRP_CONNECTING) | FROM(ODRP_LIVE) |
			    FROM(ODRP_LOST) | FROM(ODRP_FAILING) |
			    FROM(ODRP_DEAD),
	[ODRP_CLOSED]	  = FROM(ODRP_INIT) | FROM(ODRP_CLOSING),
};

static const char * const names[ODRP_NR_STATES] = {
	[ODRP_INIT]	  = "init",
	[ODRP_CONNECTING] = "connecting",
	[ODRP_LIVE]	  = "live",
	[ODRP_LOST]	  = "lost",
	[ODRP_FAILING]	  = "failing",
	[ODRP_DEAD]	  = "dead",
	[ODRP_CLOSING]	  = "closing",
	[ODRP_CLOSED]	  = "closed",
};

const char *odrp_state_name(enum odrp_state s)
{
	return s < ODRP_NR_STATES ? names[s] : "?";
}

bool odrp_state_may(enum odrp_state from, enum odrp_state to)
{
	return from < ODRP_NR_STATES && to < ODRP_NR_STATES &&
	       (from_mask[to] & FROM(from));
}
