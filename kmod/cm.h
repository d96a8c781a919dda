/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Making connections: what cm.c, sign.c, dial.c and handshake.c share.
 */
#ifndef _ODRP_CM_H
#define _ODRP_CM_H

#include <linux/printk.h>
#include <odrp/auth.h>
#include "unit.h"

/* Log an error.  While reconnecting, an attempt that fails is only a debug message. */
#define conn_err(conn, fmt, ...) do {					\
	if ((conn)->sess->reconnect.end)					\
		pr_debug("odrp%d: %pISpc: " fmt, (conn)->sess->dev->id,	\
			 &(conn)->sess->addr.dst, ##__VA_ARGS__);	\
	else								\
		pr_err("odrp%d: %pISpc: " fmt, (conn)->sess->dev->id,	\
		       &(conn)->sess->addr.dst, ##__VA_ARGS__);		\
} while (0)

/* cm.c */
unsigned long odrp_cm_step_ms(const struct odrp_conn *conn);

/* sign.c: MACs of REQs and of the answers to them */
bool odrp_sign_on(const struct odrp_conn *conn);
void odrp_sign_addrs(const struct rdma_cm_id *id, u8 *ret_cnode, u8 *ret_mnode);
void odrp_sign_req(struct odrp_conn *conn, struct odrp_auth_req *r);
int odrp_sign_check(const struct odrp_conn *conn, enum odrp_auth_what what,
		    u32 qpn, const void *p, size_t len, size_t max);

#endif /* _ODRP_CM_H */
