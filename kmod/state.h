/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of a session, and which state may follow which.  Pure code, also compiled in user
 * space.
 *
 *	INIT -> CONNECTING -> LIVE <-> LOST -> FAILING -> LIVE
 *	             |         |        |         |
 *	             +-------> +-> DEAD <---------+
 *	                       |    |
 *	        (all of these) +----+-> CLOSING -> CLOSED
 *
 * LOST: the session is being resumed on new connections (reconnect.c).  Requests in flight
 * and new ones wait.
 *
 * FAILING: requests have waited for io_fail_ms.  Requests in flight and new ones fail, while
 * the session is still being resumed.
 *
 * DEAD: the session was not resumed in time or cannot be resumed, or its device was removed
 * by force.  This is final: the device fails all I/O until it is removed, or continues with
 * its backing device alone.  A device that was removed by force fails all I/O until its last
 * user closes it.
 */
#ifndef _ODRP_STATE_H
#define _ODRP_STATE_H

#include <linux/types.h>

enum odrp_state {
	ODRP_INIT,		/* nothing is connected */
	ODRP_CONNECTING,	/* hot_add is making the connections */
	ODRP_LIVE,		/* requests are served */
	ODRP_LOST,		/* a connection has broken: requests wait */
	ODRP_FAILING,		/* LOST for io_fail_ms: requests fail meanwhile */
	ODRP_DEAD,		/* given up: no request is served any more */
	ODRP_CLOSING,		/* hot_remove, or a failed hot_add, is disconnecting */
	ODRP_CLOSED,		/* disconnected */
	ODRP_NR_STATES,
};

/* Has a connection broken, and is the session being resumed? */
static inline bool odrp_state_is_lost(enum odrp_state s)
{
	return s == ODRP_LOST || s == ODRP_FAILING;
}

const char *odrp_state_name(enum odrp_state s);
bool odrp_state_may(enum odrp_state from, enum odrp_state to);

#endif /* _ODRP_STATE_H */
