/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handshakes with memory nodes elsewhere. One pass for each memory node serves all
 * requests to it; each request has a counter of its own.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "../host/mail.h"
#include "real.h"
#include "soft_priv.h"

#define SHAKE_NS	UINT64_C(5000000000)
#define LOOK_NS		200000
#define MAX_INITIATIONS	3

static bool is_local(const struct soft_nic *soft, __be32 ip)
{
	unsigned i;

	for (i = 0; i < soft->nodes.nr; i++)
		if (soft->nodes.node[i]->ip == ip)
			return true;
	return false;
}

/* ---- a handshake ---- */

/* Waits for a message. -EKEYREJECTED: the connection has ended, or no message came in time. */
static int message_wait(struct soft_nic *soft, struct far_mail *mail,
			struct soft_conn *conn, uint8_t *ret_bytes, size_t *ret_len)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t until = far_real_now(&soft->nodes.nic) + SHAKE_NS;
	bool over = false;
	int err;

	while ((err = far_mail_take(mail, ret_bytes, ret_len)) == -EAGAIN) {
		if (over || far_real_now(&soft->nodes.nic) > until)
			return -EKEYREJECTED;
		over = soft_conn_over(soft, conn);
		nanosleep(&pause, NULL);
	}
	return err ? -EKEYREJECTED : 0;
}

static int handshake_exchange(struct soft_nic *soft, struct far_mail *mail,
			      struct soft_conn *conn, struct far_pass *pass)
{
	uint8_t bytes[FAR_MAIL_MAX];
	struct auth_ask ask;
	size_t len;
	int err = auth_ask_hello(&ask, soft->key.name, &pass->ends);

	if (!err)
		err = far_mail_send(mail, &ask.hello, sizeof(ask.hello));
	if (!err)
		err = message_wait(soft, mail, conn, bytes, &len);
	if (!err)
		err = auth_ask_response(&ask, bytes, len, soft->key.secret, &pass->ends, 0);
	if (!err)
		err = far_mail_send(mail, &ask.response, sizeof(ask.response));
	if (!err)
		err = message_wait(soft, mail, conn, bytes, &len);
	if (!err)
		err = auth_ask_done(&ask, bytes, len, &pass->handle);
	pass->key = ask.key;
	explicit_bzero(&ask, sizeof(ask));
	return err;
}

/* One try. -EAGAIN: try again with *initiation, which has the memory node's cookie now. */
static int handshake_try(struct soft_nic *soft, __be32 ip,
			 struct odrp_auth_initiation *initiation, struct far_pass *pass)
{
	uint8_t cookie[ODRP_AUTH_MAC];
	struct soft_conn conn;
	struct far_mail mail;
	bool up;
	int err = far_mail_new(soft->dev, soft->pdn, &mail);

	if (err)
		return err;
	err = soft_conn_open(soft, ip, initiation, sizeof(*initiation), mail.qpn, &conn);
	if (err)
		goto free_mail;
	err = soft_conn_wait(soft, &conn, &up);
	pass->ends = (struct auth_ends){
		.cnode_ip = conn.local_ip, .mnode_ip = ip,
		.cnode_qpn = mail.qpn, .mnode_qpn = conn.peer_qpn,
	};
	if (!err && up)
		err = handshake_exchange(soft, &mail, &conn, pass);
	else if (!err && auth_is_cookie(conn.priv, conn.priv_len, cookie))
		err = auth_initiate(cookie, initiation) ? -EIO : -EAGAIN;
	else if (!err)
		err = far_hello_refusal(conn.priv, conn.priv_len) == -EINPROGRESS ?
		      -EINPROGRESS : -ECONNREFUSED;
	far_mail_free(&mail);
	soft_conn_end(soft, &conn);
	return err;

free_mail:
	far_mail_free(&mail);
	return err;
}

static int handshake_run(void *arg, __be32 ip, struct far_pass *pass)
{
	struct soft_nic *soft = arg;
	struct odrp_auth_initiation initiation;
	unsigned tries;
	int err = auth_initiate(NULL, &initiation);

	if (err)
		return err;
	err = -EAGAIN;
	for (tries = 0; tries < MAX_INITIATIONS && err == -EAGAIN; tries++)
		err = handshake_try(soft, ip, &initiation, pass);
	return err == -EAGAIN ? -ECONNREFUSED : err;
}

/* ---- passes ---- */

int soft_pass_get(struct soft_nic *soft, __be32 ip, struct far_pass *ret_pass)
{
	memset(ret_pass, 0, sizeof(*ret_pass));
	if (!soft->key.set || is_local(soft, ip))
		return 0;
	return far_passes_get(&soft->passes, ip, handshake_run, soft, ret_pass);
}
