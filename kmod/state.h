/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of a session and the one table of what may follow what.  Pure.
 *
 *	INIT -> CONNECTING -> LIVE <-> LOST -> FAILING -> LIVE
 *	             |         |        |         |
 *	             +-------> +-> DEAD <---------+
 *	                       |    |
 *	        (all of these) +----+-> CLOSING -> CLOSED
 *
 * LOST: requests wait, those under way as well as new ones, while the session
 * is resumed on new connections (reconnect.c).  When they have waited for
 * io_fail_ms it is FAILING: they fail, and so does whoever comes, while the session is
 * still being resumed.  When that does not succeed in time it is DEAD, for ever: its
 * device fails all I/O until it is removed, or goes on with its backing device.  So is
 * one whose device is removed by force, until the last one has closed that.
 */
#ifndef _ODRP_STATE_H
#define _ODRP_STATE_H

#include <linux/types.h>

enum odrp_state {
	ODRP_INIT,		/* nothing is connected */
	ODRP_CONNECTING,	/* hot_add is at work */
	ODRP_LIVE,		/* requests are served */
	ODRP_LOST,		/* connections have broken: requests wait */
	ODRP_FAILING,		/* LOST for long: requests fail meanwhile */
	ODRP_DEAD,		/* failed: no request is served any more */
	ODRP_CLOSING,		/* hot_remove is at work */
	ODRP_CLOSED,		/* disconnected */
	ODRP_NR_STATES,
};

/* Its connections have broken, and it is being resumed. */
static inline bool odrp_state_is_lost(enum odrp_state s)
{
	return s == ODRP_LOST || s == ODRP_FAILING;
}

const char *odrp_state_name(enum odrp_state s);
bool odrp_state_may(enum odrp_state from, enum odrp_state to);

#endif /* _ODRP_STATE_H */
