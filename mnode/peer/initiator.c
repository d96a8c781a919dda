// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks other agents for handshakes; see initiator.h. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "initiator.h"

void initiator_init(struct initiator *initiator, struct nic *nic, uint32_t pdn)
{
	*initiator = (struct initiator){ .nic = nic, .pdn = pdn };
}

static void hang_up(struct initiator *initiator)
{
	if (initiator->conn) {
		initiator->nic->ops->disconnect(initiator->nic, initiator->conn);
		initiator->nic->ops->release(initiator->nic, initiator->conn);
	}
	initiator->conn = 0;
	far_mail_free(&initiator->mail);
}

void initiator_drop(struct initiator *initiator)
{
	hang_up(initiator);
	initiator->state = INITIATOR_NONE;
	explicit_bzero(initiator->secret, sizeof(initiator->secret));
	explicit_bzero(&initiator->ask, sizeof(initiator->ask));
}

static void refused(struct initiator *initiator)
{
	initiator_drop(initiator);
	initiator->refused = true;
}

static int connect_again(struct initiator *initiator)
{
	int r = far_mail_new(initiator->nic, initiator->pdn, &initiator->mail);

	if (r)
		return r;
	r = initiator->nic->ops->connect(initiator->nic, initiator->ip, ODRP_FAR_PORT,
					 initiator->mail.qpn, &initiator->initiation,
					 sizeof(initiator->initiation), &initiator->conn);
	if (r) {
		far_mail_free(&initiator->mail);
		initiator->conn = 0;
		return r;
	}
	initiator->state = INITIATOR_ASKED;
	return 0;
}

int initiator_begin(struct initiator *initiator, __be32 ip, const char *name,
		    const uint8_t secret[ODRP_AUTH_SECRET], uint64_t now)
{
	int r;

	if (initiator_under_way(initiator))
		return 0;
	initiator_drop(initiator);
	initiator->refused = initiator->timed_out = false;
	r = auth_initiate(NULL, &initiator->initiation);
	if (r)
		return r;
	initiator->ip = ip;
	initiator->until = now + INITIATOR_NS;
	initiator->tries = INITIATOR_TRIES;
	snprintf(initiator->name, sizeof(initiator->name), "%s", name);
	memcpy(initiator->secret, secret, sizeof(initiator->secret));
	r = connect_again(initiator);
	if (r)
		initiator_drop(initiator);
	return r;
}

/* ---- messages -------------------------------------------------------------------- */

static void hello_send(struct initiator *initiator, const struct nic_event *ev)
{
	initiator->ends = (struct auth_ends){
		.cnode_ip = ev->local_ip, .mnode_ip = initiator->ip,
		.cnode_qpn = initiator->mail.qpn, .mnode_qpn = ev->peer_qpn,
	};
	if (auth_ask_hello(&initiator->ask, initiator->name, &initiator->ends) ||
	    far_mail_send(&initiator->mail, &initiator->ask.hello, sizeof(initiator->ask.hello)))
		refused(initiator);
	else
		initiator->state = INITIATOR_HELLO;
}

static void turned_away(struct initiator *initiator, const struct nic_event *ev)
{
	uint8_t cookie[ODRP_AUTH_MAC];
	bool again = ev->reason == NIC_REJECTED && --initiator->tries &&
		     auth_is_cookie(ev->priv, ev->priv_len, cookie);

	hang_up(initiator);
	initiator->state = INITIATOR_NONE;
	if (!again || auth_initiate(cookie, &initiator->initiation) || connect_again(initiator))
		initiator_drop(initiator);
}

bool initiator_event(struct initiator *initiator, const struct nic_event *ev)
{
	if (!initiator->conn || initiator->conn != ev->id)
		return false;
	if (ev->type == NIC_ESTABLISHED && initiator->state == INITIATOR_ASKED)
		hello_send(initiator, ev);
	else if (ev->type == NIC_GONE && initiator->state == INITIATOR_ASKED)
		turned_away(initiator, ev);
	else if (ev->type == NIC_GONE)
		refused(initiator);
	return true;
}

static void take_challenge(struct initiator *initiator, const void *bytes, size_t len)
{
	struct auth_ask *ask = &initiator->ask;
	int r = auth_ask_response(ask, bytes, len, initiator->secret, &initiator->ends, 0);

	explicit_bzero(initiator->secret, sizeof(initiator->secret));
	if (r || far_mail_send(&initiator->mail, &ask->response, sizeof(ask->response)))
		refused(initiator);
	else
		initiator->state = INITIATOR_RESPONSE;
}

static void take_done(struct initiator *initiator, const void *bytes, size_t len)
{
	if (auth_ask_done(&initiator->ask, bytes, len, &initiator->handle)) {
		refused(initiator);
		return;
	}
	hang_up(initiator);
	initiator->state = INITIATOR_PASSED;
	initiator->counter = 0;
}

void initiator_work(struct initiator *initiator, uint64_t now)
{
	uint8_t bytes[FAR_MAIL_MAX];
	size_t len;
	int r;

	if (initiator_under_way(initiator) && now > initiator->until) {
		initiator_drop(initiator);
		initiator->timed_out = true;
		return;
	}
	if (!initiator_awaits_mail(initiator))
		return;
	r = far_mail_take(&initiator->mail, bytes, &len);
	if (r == -EAGAIN)
		return;
	if (r)
		refused(initiator);
	else if (initiator->state == INITIATOR_HELLO)
		take_challenge(initiator, bytes, len);
	else
		take_done(initiator, bytes, len);
}

/* ---- signed requests ------------------------------------------------------------- */

void initiator_sign(struct initiator *initiator, const struct odrp_far_hello *hello, uint32_t qpn,
		    struct odrp_auth_far *ret_req)
{
	*ret_req = (struct odrp_auth_far){
		.magic = htobe32(ODRP_AUTH_FAR_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.role = hello->role,
		.rights = hello->rights,
		.number = hello->number,
		.counter = htobe32(++initiator->counter),
		.attach = hello->attach,
		.handle = htobe64(initiator->handle),
	};
	auth_space(hello->name, sizeof(hello->name), ret_req->space);
	auth_sign_far(&initiator->ask.key, auth_bound(&initiator->ends, qpn), ret_req);
}

int initiator_check(const struct initiator *initiator, const void *answer, size_t len,
		    const uint8_t mac[ODRP_AUTH_MAC])
{
	struct odrp_auth_bound bound = auth_bound(&initiator->ends, 0);

	bound.what = ODRP_AUTH_REJ;
	bound.counter = htobe64(initiator->counter);
	return auth_check_answer(&initiator->ask.key, bound, answer, len, mac);
}
