// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Authenticates connections that are made: signs the REQ with K of the last handshake, and
 * checks the MAC of the answer.  A MAC is valid for one REQ, between two addresses, and for
 * the queue pair of its sender.
 */
#include <linux/string.h>
#include "auth.h"
#include "cm.h"
#include "odrp.h"

/* Are the connection's REQ and answer signed?  Those of the handshake's connection are not. */
bool odrp_sign_on(const struct odrp_conn *conn)
{
	return conn->sess->auth.conn && !conn->msgs;
}

/* Writes an IPv4 address as ::ffff:a.b.c.d. */
static void put_addr(const struct sockaddr_storage *from, u8 *ret)
{
	const struct sockaddr_in *in = (const void *)from;

	memset(ret, 0, ODRP_AUTH_ADDR);
	memset(ret + 10, 0xff, 2);
	memcpy(ret + 12, &in->sin_addr, 4);
}

/* odrp_sign_addrs() - get the addresses of a connection in the form that is signed */
void odrp_sign_addrs(const struct rdma_cm_id *id, u8 *ret_cnode, u8 *ret_mnode)
{
	put_addr(&id->route.addr.src_addr, ret_cnode);
	put_addr(&id->route.addr.dst_addr, ret_mnode);
}

static void fill_bound(const struct odrp_conn *conn, enum odrp_auth_what what,
		       u32 qpn, struct odrp_auth_bound *ret)
{
	*ret = (struct odrp_auth_bound) {
		.what		= what,
		.version	= ODRP_AUTH_VERSION,
		.qpn		= cpu_to_be32(qpn),
		.counter	= conn->counter,
	};
	odrp_sign_addrs(conn->id, ret->cnode_addr, ret->mnode_addr);
}

/*
 * odrp_sign_req() - fill in handle, counter and MAC of a REQ that is otherwise complete
 *
 * The connection's address is resolved, and it has its queue pair.
 */
void odrp_sign_req(struct odrp_conn *conn, struct odrp_auth_req *r)
{
	struct odrp_auth *a = &conn->sess->auth;
	struct odrp_auth_bound bound;

	conn->counter = cpu_to_be64(++a->counter);
	r->handle = a->handle;
	r->counter = conn->counter;
	fill_bound(conn, ODRP_AUTH_REQ, conn->qp->qp_num, &bound);
	odrp_auth_sign_req(&a->key, bound, r);
}

/*
 * odrp_sign_check() - does an answer have the right MAC, made with K?
 * @qpn: the memory node's queue pair, as the answer names it; 0 for a REJ
 * @p: the answer
 * @len: number of bytes that are signed; the MAC is behind them
 * @max: number of bytes received
 *
 * Return: 0, or -EKEYREJECTED.
 */
int odrp_sign_check(const struct odrp_conn *conn, enum odrp_auth_what what,
		    u32 qpn, const void *p, size_t len, size_t max)
{
	struct odrp_auth_bound bound;

	if (len + ODRP_AUTH_MAC > max)
		return -EKEYREJECTED;
	fill_bound(conn, what, qpn, &bound);
	return odrp_auth_check_answer(&conn->sess->auth.key, &bound, p, len,
				      p + len);
}
