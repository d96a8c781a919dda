/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of a session and the one table of what may follow what.  Pure.
 *
 *	INIT -> CONNECTING -> LIVE <-> LOST
 *	             |         |        |
 *	             +-------> +-> DEAD <
 *	                       |    |
 *	        (all of these) +----+-> CLOSING -> CLOSED
 *
 * LOST: requests wait, those under way as well as new ones, while the session
 * is resumed on new connections (reconnect.c).  When that does not succeed in
 * time it is DEAD, for ever: its device fails all I/O until it is removed, or goes
 * on with its backing device.  So is one whose device is removed by force, until
 * the last one has closed that.
 */
#ifndef _ODRP_STATE_H
#define _ODRP_STATE_H

#include <linux/types.h>

enum odrp_state {
	ODRP_INIT,		/* nothing is connected */
	ODRP_CONNECTING,	/* hot_add is at work */
	ODRP_LIVE,		/* requests are served */
	ODRP_LOST,		/* connections have broken: requests wait */
	ODRP_DEAD,		/* failed: no request is served any more */
	ODRP_CLOSING,		/* hot_remove is at work */
	ODRP_CLOSED,		/* disconnected */
	ODRP_NR_STATES,
};

const char *odrp_state_name(enum odrp_state s);
bool odrp_state_may(enum odrp_state from, enum odrp_state to);

#endif /* _ODRP_STATE_H */
