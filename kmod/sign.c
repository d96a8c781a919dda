// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What authenticates a connection that is made: the REQ is signed with K of the last
 * handshake, and so is each answer that is believed.  The MAC counts for this REQ, between
 * these addresses, and for the queue pair of who made it.
 */
#include <linux/string.h>
#include "auth.h"
#include "cm.h"
#include "odrp.h"

/* Whether a connection is one that is signed; the handshake's own is not. */
bool odrp_sign_on(const struct odrp_conn *conn)
{
	return conn->sess->auth.conn && !conn->msgs;
}

/* IPv4 as ::ffff:a.b.c.d. */
static void put_addr(const struct sockaddr_storage *from, u8 *ret)
{
	const struct sockaddr_in *in = (const void *)from;

	memset(ret, 0, ODRP_AUTH_ADDR);
	memset(ret + 10, 0xff, 2);
	memcpy(ret + 12, &in->sin_addr, 4);
}

/* odrp_sign_addrs() - the ends of a connection, as its MACs and proofs have them */
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
 * odrp_sign_req() - what else a REQ has to say is there: handle, counter and MAC
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
 * odrp_sign_check() - is an answer from who has K?
 * @qpn: of the memory node, as the answer says; of a REJ 0
 * @len: bytes of it that are signed; the MAC is behind them
 * @max: bytes that came
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
