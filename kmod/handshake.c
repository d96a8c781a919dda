// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The handshake: on a connection of its own, before each admin connection, the compute
 * node and the memory node prove to each other that they have the same secret
 * (odrp/auth.h).  The handshake yields a key K, which signs all other connections
 * (sign.c), and a handle that names K.  The compute node names the session to resume
 * within the handshake, so only a peer with the secret learns whether the session exists.
 *
 * An error is final only after the proof of the memory node has been verified: until then
 * a message may come from anybody.
 */
#include <linux/random.h>
#include <linux/string.h>
#include "auth.h"
#include "cm.h"
#include "msg.h"
#include "odrp.h"

/* How many connection requests one handshake may take: the memory node asks for cookies. */
#define MAX_INITIATIONS	4

/* All messages of one handshake, as they were sent, and its key. */
struct exchange {
	struct odrp_auth_hello		hello;
	struct odrp_auth_challenge	challenge;
	struct odrp_auth_response	response;
	struct odrp_auth_done		done;
	struct odrp_auth_key		key;
};

static_assert(sizeof(struct odrp_auth_hello) <= ODRP_MSG_MAX);

static int bad(struct odrp_conn *conn, const char *what)
{
	conn_err(conn, "handshake: %s\n", what);
	return -EBADMSG;
}

static int send_msg(struct odrp_conn *conn, const char *what, const void *p, u32 len)
{
	int err = odrp_msg_send(conn, p, len, odrp_cm_step_ms(conn));

	if (err && err != -ECONNRESET)
		conn_err(conn, "handshake: sending the %s: error %d\n", what, err);
	return err;
}

static int recv_msg(struct odrp_conn *conn, const char *what, unsigned int nth,
		    void *ret_p, u32 len)
{
	int err = odrp_msg_receive(conn, nth, ret_p, len, odrp_cm_step_ms(conn));

	if (err && err != -ECONNRESET)
		conn_err(conn, "handshake: waiting for the %s: error %d\n", what,
			 err);
	return err;
}

static void fill_hello(struct odrp_conn *conn, struct odrp_auth_hello *h)
{
	*h = (struct odrp_auth_hello) {
		.magic		= cpu_to_be32(ODRP_AUTH_MAGIC),
		.version	= cpu_to_be16(ODRP_AUTH_VERSION),
		.suite		= ODRP_AUTH_HMAC_SHA256,
		.qpn		= cpu_to_be32(conn->qp->qp_num),
	};
	memcpy(h->cnode, conn->sess->auth.name, sizeof(h->cnode));
	odrp_sign_addrs(conn->id, h->cnode_addr, h->mnode_addr);
	get_random_bytes(h->nonce, sizeof(h->nonce));
}

static int check_challenge(struct odrp_conn *conn,
			   const struct odrp_auth_challenge *c)
{
	if (be32_to_cpu(c->magic) != ODRP_AUTH_MAGIC ||
	    be16_to_cpu(c->version) != ODRP_AUTH_VERSION ||
	    c->suite != ODRP_AUTH_HMAC_SHA256)
		return bad(conn, "a challenge of another version");
	if (be32_to_cpu(c->qpn) != conn->peer_qpn)
		return bad(conn, "a challenge of another connection");
	return 0;
}

/*
 * Computes K from a copy of the secret.  When the secret is replaced at the same time, K
 * comes from the old or the new secret, and the memory node accepts it or not.
 */
static void derive(struct odrp_auth *a, struct exchange *x)
{
	u8 secret[ODRP_AUTH_SECRET];

	spin_lock(&a->lock);
	memcpy(secret, a->secret, sizeof(secret));
	spin_unlock(&a->lock);
	odrp_auth_derive(secret, &x->hello, &x->challenge, &x->key);
	memzero_explicit(secret, sizeof(secret));
}

static void fill_response(struct odrp_sess *s, struct exchange *x)
{
	x->response = (struct odrp_auth_response) {
		.magic		= cpu_to_be32(ODRP_AUTH_MAGIC),
		.version	= cpu_to_be16(ODRP_AUTH_VERSION),
		.session	= cpu_to_be64(s->id),
	};
	odrp_auth_prove(&x->key, &x->hello, &x->challenge, &x->response);
}

/* The memory node has proved its identity: its errors are final from here on. */
static int pass_keep(struct odrp_conn *conn, const struct exchange *x)
{
	struct odrp_auth *a = &conn->sess->auth;
	u16 status = be16_to_cpu(x->done.status);

	if (status == ODRP_WIRE_E_SESSION) {
		/* Not rate-limited: the error is final, so it is logged once. */
		pr_err("odrp%d: %pISpc: the memory node has no session %llu of '%s' any more\n",
		       conn->sess->dev->id, &conn->sess->addr.dst, conn->sess->id,
		       a->name);
		return -EACCES;
	}
	if (status != ODRP_WIRE_OK) {
		conn_err(conn, "handshake: status %u\n", status);
		return -EREMOTEIO;
	}
	a->key = x->key;
	a->handle = x->done.handle;
	a->counter = 0;
	return 0;
}

/* Sends the hello and receives the challenge. */
static int hello_exchange(struct odrp_conn *conn, struct exchange *x)
{
	int err;

	fill_hello(conn, &x->hello);
	err = send_msg(conn, "hello", &x->hello, sizeof(x->hello));
	if (!err)
		err = recv_msg(conn, "challenge", 0, &x->challenge,
			       sizeof(x->challenge));
	if (err == -ECONNRESET)
		conn_err(conn, "handshake: the memory node has ended the connection\n");
	return err ?: check_challenge(conn, &x->challenge);
}

/*
 * Sends the proof of the compute node and verifies that of the memory node.  A memory node
 * that refuses our proof ends the connection without a message.
 */
static int response_exchange(struct odrp_conn *conn, struct exchange *x)
{
	struct odrp_auth *a = &conn->sess->auth;
	int err;

	derive(a, x);
	fill_response(conn->sess, x);
	err = send_msg(conn, "response", &x->response, sizeof(x->response));
	if (!err)
		err = recv_msg(conn, "end", 1, &x->done, sizeof(x->done));
	if (err == -ECONNRESET) {
		conn_err(conn, "memory node refuses key '%s': no such name, or another secret\n",
			 a->name);
		return -EKEYREJECTED;
	}
	if (err)
		return err;
	if (odrp_auth_check_done(&x->key, &x->hello, &x->challenge, &x->response,
				 &x->done)) {
		conn_err(conn, "memory node has not proved to have the secret of key '%s'\n",
			 a->name);
		return -EKEYREJECTED;
	}
	return 0;
}

static int messages_exchange(struct odrp_conn *conn, struct exchange *x)
{
	int err = hello_exchange(conn, x);

	if (!err)
		err = response_exchange(conn, x);
	return err ?: pass_keep(conn, x);
}

static int initiation_send(struct odrp_conn *conn)
{
	struct exchange x;
	int err;

	err = odrp_cm_connect(conn);
	if (!err)
		err = messages_exchange(conn, &x);
	/* Closes the handshake's connection, whatever the result. */
	odrp_cm_drop(conn);
	memzero_explicit(&x, sizeof(x));
	return err;
}

static void initiation_begin(struct odrp_auth_initiation *k)
{
	*k = (struct odrp_auth_initiation) {
		.magic		= cpu_to_be32(ODRP_AUTH_MAGIC),
		.version	= cpu_to_be16(ODRP_AUTH_VERSION),
		.role		= ODRP_AUTH_HANDSHAKE,
		.suite		= ODRP_AUTH_HMAC_SHA256,
	};
	get_random_bytes(&k->id, sizeof(k->id));
}

/*
 * odrp_handshake() - prove our identity, and verify that of the memory node
 *
 * Called while the session has no connection, or has given up all connections.  The
 * handshake's own connection is closed on return.  Sleeps.
 *
 * Return: 0, with K and the handle set; also 0, without a handshake, for a session without
 * a key.  -EACCES: the memory node has proved its identity and has no such session any
 * more.  -EKEYREJECTED: the two nodes have different secrets.  Else another -errno.
 */
int odrp_handshake(struct odrp_sess *s)
{
	struct odrp_conn *conn = s->auth.conn;
	unsigned int n = 0;
	int err;

	if (!conn)
		return 0;
	initiation_begin(&s->auth.initiation);
	do {
		err = initiation_send(conn);
	} while (err == -EAGAIN && ++n < MAX_INITIATIONS);
	if (err == -EAGAIN) {
		conn_err(conn, "handshake: memory node asked for a cookie %d times\n",
			 MAX_INITIATIONS);
		err = -EBUSY;
	}
	return err;
}

/*
 * odrp_handshake_open() - make the first handshake of a new session
 *
 * Does nothing for a device without a key.
 *
 * Return: as odrp_handshake().  The session owns what was allocated, also after an error.
 */
int odrp_handshake_open(struct odrp_sess *s)
{
	struct odrp_conn *conn;
	int err;

	if (!s->auth.on)
		return 0;
	conn = odrp_conn_new(s, NULL, 0, odrp_conn_poll);
	if (!conn)
		return -ENOMEM;
	s->auth.conn = conn;
	err = odrp_msgs_new(conn);
	if (err)
		return err;
	err = odrp_handshake(s);
	return err ?: odrp_conn_stock(conn);
}
