// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks other agents for handshakes; see knock.h. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "knock.h"

void knock_init(struct knock *knock, struct nic *nic, uint32_t pdn)
{
	*knock = (struct knock){ .nic = nic, .pdn = pdn };
}

static void hang_up(struct knock *knock)
{
	if (knock->conn) {
		knock->nic->ops->disconnect(knock->nic, knock->conn);
		knock->nic->ops->release(knock->nic, knock->conn);
	}
	knock->conn = 0;
	far_mail_free(&knock->mail);
}

void knock_drop(struct knock *knock)
{
	hang_up(knock);
	knock->state = KNOCK_NONE;
	explicit_bzero(knock->secret, sizeof(knock->secret));
	explicit_bzero(&knock->ask, sizeof(knock->ask));
}

static void refused(struct knock *knock)
{
	knock_drop(knock);
	knock->refused = true;
}

static int connect_again(struct knock *knock)
{
	int r = far_mail_new(knock->nic, knock->pdn, &knock->mail);

	if (r)
		return r;
	r = knock->nic->ops->connect(knock->nic, knock->ip, ODRP_FAR_PORT,
				     knock->mail.qpn, &knock->knock,
				     sizeof(knock->knock), &knock->conn);
	if (r) {
		far_mail_free(&knock->mail);
		knock->conn = 0;
		return r;
	}
	knock->state = KNOCK_ASKED;
	return 0;
}

int knock_begin(struct knock *knock, __be32 ip, const char *name,
		const uint8_t secret[ODRP_AUTH_SECRET], uint64_t now)
{
	int r;

	if (knock_under_way(knock))
		return 0;
	knock_drop(knock);
	knock->refused = knock->timed_out = false;
	r = auth_knock(NULL, &knock->knock);
	if (r)
		return r;
	knock->ip = ip;
	knock->until = now + KNOCK_NS;
	knock->tries = KNOCK_TRIES;
	snprintf(knock->name, sizeof(knock->name), "%s", name);
	memcpy(knock->secret, secret, sizeof(knock->secret));
	r = connect_again(knock);
	if (r)
		knock_drop(knock);
	return r;
}

/* ---- messages -------------------------------------------------------------------- */

static void say_hello(struct knock *knock, const struct nic_event *ev)
{
	knock->ends = (struct auth_ends){
		.cnode_ip = ev->local_ip, .mnode_ip = knock->ip,
		.cnode_qpn = knock->mail.qpn, .mnode_qpn = ev->peer_qpn,
	};
	if (auth_ask_hello(&knock->ask, knock->name, &knock->ends) ||
	    far_mail_send(&knock->mail, &knock->ask.hello, sizeof(knock->ask.hello)))
		refused(knock);
	else
		knock->state = KNOCK_HELLO;
}

static void turned_away(struct knock *knock, const struct nic_event *ev)
{
	uint8_t cookie[ODRP_AUTH_MAC];
	bool again = ev->reason == NIC_REJECTED && --knock->tries &&
		     auth_is_cookie(ev->priv, ev->priv_len, cookie);

	hang_up(knock);
	knock->state = KNOCK_NONE;
	if (!again || auth_knock(cookie, &knock->knock) || connect_again(knock))
		knock_drop(knock);
}

bool knock_event(struct knock *knock, const struct nic_event *ev)
{
	if (!knock->conn || knock->conn != ev->id)
		return false;
	if (ev->type == NIC_ESTABLISHED && knock->state == KNOCK_ASKED)
		say_hello(knock, ev);
	else if (ev->type == NIC_GONE && knock->state == KNOCK_ASKED)
		turned_away(knock, ev);
	else if (ev->type == NIC_GONE)
		refused(knock);
	return true;
}

static void take_challenge(struct knock *knock, const void *bytes, size_t len)
{
	struct auth_ask *ask = &knock->ask;
	int r = auth_ask_response(ask, bytes, len, knock->secret, &knock->ends, 0);

	explicit_bzero(knock->secret, sizeof(knock->secret));
	if (r || far_mail_send(&knock->mail, &ask->response, sizeof(ask->response)))
		refused(knock);
	else
		knock->state = KNOCK_RESPONSE;
}

static void take_done(struct knock *knock, const void *bytes, size_t len)
{
	if (auth_ask_done(&knock->ask, bytes, len, &knock->handle)) {
		refused(knock);
		return;
	}
	hang_up(knock);
	knock->state = KNOCK_PASSED;
	knock->counter = 0;
}

void knock_work(struct knock *knock, uint64_t now)
{
	uint8_t bytes[FAR_MAIL_MAX];
	size_t len;
	int r;

	if (knock_under_way(knock) && now > knock->until) {
		knock_drop(knock);
		knock->timed_out = true;
		return;
	}
	if (!knock_awaits_mail(knock))
		return;
	r = far_mail_take(&knock->mail, bytes, &len);
	if (r == -EAGAIN)
		return;
	if (r)
		refused(knock);
	else if (knock->state == KNOCK_HELLO)
		take_challenge(knock, bytes, len);
	else
		take_done(knock, bytes, len);
}

/* ---- signed requests ------------------------------------------------------------- */

void knock_sign(struct knock *knock, const struct odrp_far_hello *hello, uint32_t qpn,
		struct odrp_auth_far *ret_req)
{
	*ret_req = (struct odrp_auth_far){
		.magic = htobe32(ODRP_AUTH_FAR_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.role = hello->role,
		.rights = hello->rights,
		.number = hello->number,
		.counter = htobe32(++knock->counter),
		.attach = hello->attach,
		.handle = htobe64(knock->handle),
	};
	auth_space(hello->name, sizeof(hello->name), ret_req->space);
	auth_sign_far(&knock->ask.key, auth_bound(&knock->ends, qpn), ret_req);
}

int knock_check(const struct knock *knock, const void *answer, size_t len,
		const uint8_t mac[ODRP_AUTH_MAC])
{
	struct odrp_auth_bound bound = auth_bound(&knock->ends, 0);

	bound.what = ODRP_AUTH_REJ;
	bound.counter = htobe64(knock->counter);
	return auth_check_answer(&knock->ask.key, bound, answer, len, mac);
}
