/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages over a connection that carries nothing else: that of the handshake.
 */
#ifndef _ODRP_MSG_H
#define _ODRP_MSG_H

#include <linux/types.h>

struct odrp_conn;

#define ODRP_MSG_MAX	256	/* most bytes of a message */

/* msg.c */
int odrp_msgs_new(struct odrp_conn *conn);
int odrp_msgs_post(struct odrp_conn *conn);
int odrp_msg_send(struct odrp_conn *conn, const void *p, u32 len,
		  unsigned int ms);
int odrp_msg_receive(struct odrp_conn *conn, unsigned int nth, void *ret_p,
		     u32 len, unsigned int ms);
void odrp_msgs_lost(struct odrp_conn *conn);
void odrp_msgs_event(struct odrp_conn *conn);
void odrp_msgs_unmap(struct odrp_conn *conn);
void odrp_msgs_free(struct odrp_conn *conn);

#endif /* _ODRP_MSG_H */
