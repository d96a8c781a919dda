/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handshakes with memory nodes elsewhere. One pass to each is enough, whatever is
 * asked of it; each request has another counter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../host/mail.h"
#include "real.h"
#include "soft_priv.h"

#define SHAKE_NS	UINT64_C(5000000000)
#define LOOK_NS		200000
#define MAX_KNOCKS	3

static bool is_local(const struct soft_nic *soft, __be32 ip)
{
	unsigned i;

	for (i = 0; i < soft->nr_nodes; i++)
		if (soft->node[i]->ip == ip)
			return true;
	return false;
}

/* ---- a handshake ---- */

/* -EKEYREJECTED: the memory node has ended the connection without a word. */
static int message_wait(struct soft_nic *soft, struct far_mail *mail,
			struct soft_conn *conn, uint8_t *ret_bytes, size_t *ret_len)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t until = far_real_now(&soft->nic) + SHAKE_NS;
	bool over = false;
	int err;

	while ((err = far_mail_take(mail, ret_bytes, ret_len)) == -EAGAIN) {
		if (over || far_real_now(&soft->nic) > until)
			return -EKEYREJECTED;
		over = soft_conn_over(soft, conn);
		nanosleep(&pause, NULL);
	}
	return err ? -EKEYREJECTED : 0;
}

static int messages(struct soft_nic *soft, struct far_mail *mail, struct soft_conn *conn,
		    struct far_pass *pass)
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

/* -EAGAIN: with what is in the knock now. */
static int knock(struct soft_nic *soft, __be32 ip, struct odrp_auth_knock *say,
		 struct far_pass *pass)
{
	uint8_t cookie[ODRP_AUTH_MAC];
	struct soft_conn conn;
	struct far_mail mail;
	bool up;
	int err = far_mail_new(soft->dev, soft->pdn, &mail);

	if (err)
		return err;
	err = soft_conn_open(soft, ip, say, sizeof(*say), mail.qpn, &conn);
	if (err)
		goto free_mail;
	err = soft_conn_wait(soft, &conn, &up);
	pass->ends = (struct auth_ends){
		.cnode_ip = conn.local_ip, .mnode_ip = ip,
		.cnode_qpn = mail.qpn, .mnode_qpn = conn.peer_qpn,
	};
	if (!err && up)
		err = messages(soft, &mail, &conn, pass);
	else if (!err && auth_is_cookie(conn.priv, conn.priv_len, cookie))
		err = auth_knock(cookie, say) ? -EIO : -EAGAIN;
	else if (!err)
		err = -ECONNREFUSED;
	far_mail_free(&mail);
	soft_conn_end(soft, &conn);
	return err;

free_mail:
	far_mail_free(&mail);
	return err;
}

static int shake(struct soft_nic *soft, __be32 ip, struct far_pass *pass)
{
	struct odrp_auth_knock say;
	unsigned tries;
	int err = auth_knock(NULL, &say);

	if (err)
		return err;
	err = -EAGAIN;
	for (tries = 0; tries < MAX_KNOCKS && err == -EAGAIN; tries++)
		err = knock(soft, ip, &say, pass);
	return err == -EAGAIN ? -ECONNREFUSED : err;
}

/* ---- passes ---- */

static struct far_pass **pass_at(struct soft_nic *soft, __be32 ip)
{
	struct far_pass **at = &soft->passes;

	while (*at && (*at)->ends.mnode_ip != ip)
		at = &(*at)->next;
	return at;
}

/* False: there is none. */
static bool pass_copy(struct soft_nic *soft, __be32 ip, struct far_pass *ret_pass)
{
	struct far_pass *pass;

	pthread_mutex_lock(&soft->lock);
	pass = *pass_at(soft, ip);
	if (pass) {
		pass->counter++;
		*ret_pass = *pass;
	}
	pthread_mutex_unlock(&soft->lock);
	return pass;
}

static int pass_make(struct soft_nic *soft, __be32 ip)
{
	struct far_pass *pass = calloc(1, sizeof(*pass));
	int err;

	if (!pass)
		return -ENOMEM;
	err = shake(soft, ip, pass);
	if (err) {
		free(pass);
		return err;
	}
	pthread_mutex_lock(&soft->lock);
	pass->next = soft->passes;
	soft->passes = pass;
	pthread_mutex_unlock(&soft->lock);
	return 0;
}

int soft_pass_get(struct soft_nic *soft, __be32 ip, struct far_pass *ret_pass)
{
	int err = 0;

	memset(ret_pass, 0, sizeof(*ret_pass));
	if (!soft->key.set || is_local(soft, ip) || pass_copy(soft, ip, ret_pass))
		return 0;
	pthread_mutex_lock(&soft->shaking);
	if (!pass_copy(soft, ip, ret_pass)) {
		err = pass_make(soft, ip);
		if (!err && !pass_copy(soft, ip, ret_pass))
			err = -ECONNREFUSED;
	}
	pthread_mutex_unlock(&soft->shaking);
	return err;
}

static void pass_free(struct far_pass *pass)
{
	explicit_bzero(pass, sizeof(*pass));
	free(pass);
}

void soft_pass_drop(struct soft_nic *soft, const struct far_pass *pass)
{
	struct far_pass **at, *gone;

	pthread_mutex_lock(&soft->lock);
	at = pass_at(soft, pass->ends.mnode_ip);
	gone = *at && (*at)->handle == pass->handle ? *at : NULL;
	if (gone)
		*at = gone->next;
	pthread_mutex_unlock(&soft->lock);
	if (gone)
		pass_free(gone);
}

void soft_passes_free(struct soft_nic *soft)
{
	struct far_pass *pass;

	while ((pass = soft->passes)) {
		soft->passes = pass->next;
		pass_free(pass);
	}
}
