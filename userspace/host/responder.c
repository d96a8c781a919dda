// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Handshakes with peers that connect to this memory node; see responder.h. */
#include "responder.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <odrp/wire.h>

#define MS_PER_MINUTE	60000
/* Most places of one address when half of all places are taken. */
#define PLACES_EACH	8

/* ---- places ---------------------------------------------------------------------- */

static struct responder_place *place_find_free(struct responder *responder)
{
	unsigned int i;

	for (i = 0; i < RESPONDER_PLACES; i++) {
		struct responder_place *place = &responder->place[i];

		if (place->accept.state == FAR_ACCEPT_NONE && place->mail.dev)
			return place;
	}
	return NULL;
}

/* Ends the handshake. disconnect: the connection, too. A queue pair serves one connection, so
 * responder_work() creates another one. */
static void place_leave(struct responder *responder, struct responder_place *place, bool disconnect)
{
	if (disconnect)
		responder->nic->ops->disconnect(responder->nic, place->conn);
	responder->nic->ops->release(responder->nic, place->conn);
	far_mail_free(&place->mail);
	explicit_bzero(&place->accept, sizeof(place->accept));
	responder->nr_taken--;
}

/* ---- eviction ---------------------------------------------------------------------- */

static bool place_is_taken(const struct responder_place *place)
{
	return place->accept.state != FAR_ACCEPT_NONE;
}

static unsigned int peer_places(const struct responder *responder, __be32 ip)
{
	unsigned int i, nr = 0;

	for (i = 0; i < RESPONDER_PLACES; i++)
		nr += place_is_taken(&responder->place[i]) &&
		      responder->place[i].accept.ends.cnode_ip == ip;
	return nr;
}

/* Places that count against an address. A few do not if the address has a session: that is
 * lost if its compute node cannot connect in time. But it is not to keep others out. */
static unsigned int peer_weight(const struct responder *responder, __be32 ip)
{
	unsigned int nr = peer_places(responder, ip);

	return nr <= PLACES_EACH && responder->known(responder->arg, ip) ? 0 : nr;
}

/*
 * A random place of the addresses with the most places; without random numbers, one of
 * these places. has: the weight of the address that asks. NULL: each other address would
 * have fewer places afterwards than the one that asks; if has is 0, no place counts
 * against any address.
 */
static struct responder_place *place_of_most(struct responder *responder, unsigned int has)
{
	struct responder_place *found = NULL;
	unsigned int i, weight, most = has ? has + 1 : 0, nr = 0;
	uint32_t random = 0;

	for (i = 0; i < RESPONDER_PLACES; i++) {
		if (!place_is_taken(&responder->place[i]))
			continue;
		weight = peer_weight(responder, responder->place[i].accept.ends.cnode_ip);
		if (weight < most || !weight || (weight == most && !nr && has))
			continue;
		nr = weight > most ? 1 : nr + 1;
		most = weight;
		if (nr == 1 ||
		    (getrandom(&random, sizeof(random), 0) == sizeof(random) &&
		     random % nr == 0))
			found = &responder->place[i];
	}
	return found;
}

static void refusal_notify(const struct responder *responder, __be32 ip, const char *name,
			 const char *why)
{
	if (responder->refused)
		responder->refused(responder->arg, ip, name, why);
}

/* Whoever has sent a response has said a name. */
static void place_fail(struct responder *responder, struct responder_place *place, const char *why)
{
	const char *name = place->accept.state > FAR_ACCEPT_HELLO ?
			   (const char *)place->accept.answer.hello.cnode : NULL;

	responder->failed++;
	refusal_notify(responder, place->accept.ends.cnode_ip, name, why);
	place_leave(responder, place, true);
}

/* ---- requests -------------------------------------------------------------------- */

static void cookie_make(const struct responder *responder, const struct nic_event *ev,
			__be64 id, uint64_t minute, uint8_t ret_cookie[ODRP_AUTH_MAC])
{
	const struct auth_ends ends = {
		.cnode_ip = ev->peer_ip, .mnode_ip = ev->local_ip,
	};
	const uint64_t what[2] = { id, minute };

	auth_sign_answer(&responder->cookie_key, auth_bound(&ends, 0), what, sizeof(what),
			 ret_cookie);
}

/* Accepts cookies of this minute and of the one before. */
static bool cookie_ok(const struct responder *responder, const struct nic_event *ev,
		      const struct odrp_auth_initiation *initiation)
{
	const struct auth_ends ends = {
		.cnode_ip = ev->peer_ip, .mnode_ip = ev->local_ip,
	};
	uint64_t what[2] = { initiation->id, responder->now_ms / MS_PER_MINUTE };
	unsigned int i;

	for (i = 0; i < 2; i++, what[1]--)
		if (!auth_check_answer(&responder->cookie_key, auth_bound(&ends, 0), what,
				       sizeof(what), initiation->cookie))
			return true;
	return false;
}

static void request_reject(struct responder *responder, const struct nic_event *ev,
			   const void *priv, size_t len)
{
	responder->nic->ops->reject(responder->nic, ev->id, priv, len);
	responder->nic->ops->release(responder->nic, ev->id);
}

static void request_ask_cookie(struct responder *responder, const struct nic_event *ev,
			       const struct odrp_auth_initiation *initiation)
{
	struct odrp_auth_cookie rej = {
		.magic = htobe32(ODRP_AUTH_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.status = htobe16(ODRP_WIRE_E_BUSY),
	};

	cookie_make(responder, ev, initiation->id, responder->now_ms / MS_PER_MINUTE, rej.cookie);
	responder->cookies++;
	request_reject(responder, ev, &rej, sizeof(rej));
}

static void request_refuse(struct responder *responder, const struct nic_event *ev,
			   enum odrp_wire_status status)
{
	const struct odrp_wire_reject rej = {
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.status = htobe16(status),
	};

	responder->full += status == ODRP_WIRE_E_BUSY;
	refusal_notify(responder, ev->peer_ip, NULL, status == ODRP_WIRE_E_BUSY ?
		     "too many handshakes" : "other protocol version");
	request_reject(responder, ev, &rej, sizeof(rej));
}

/* A free place. If no more than RESPONDER_SPARE are free, another handshake is evicted first.
 * NULL: none may be evicted, or no free place has a queue pair yet. */
static struct responder_place *place_take(struct responder *responder, const struct nic_event *ev)
{
	struct responder_place *evicted;

	if (responder->nr_taken >= RESPONDER_PLACES - RESPONDER_SPARE) {
		evicted = place_of_most(responder, peer_weight(responder, ev->peer_ip));
		if (!evicted)
			return NULL;
		place_leave(responder, evicted, true);
		responder->evicted++;
	}
	return place_find_free(responder);
}

static void request_accept(struct responder *responder, const struct nic_event *ev)
{
	struct responder_place *place = place_take(responder, ev);

	if (!place) {
		request_refuse(responder, ev, ODRP_WIRE_E_BUSY);
		return;
	}
	if (responder->nic->ops->accept(responder->nic, ev->id, place->mail.qpn, NULL, 0)) {
		/* The queue pair's state may have changed: responder_work() creates another. */
		far_mail_free(&place->mail);
		request_refuse(responder, ev, ODRP_WIRE_E_BUSY);
		return;
	}
	place->accept.state = FAR_ACCEPT_HELLO;
	place->conn = ev->id;
	place->age_ms = RESPONDER_NEW;
	place->accept.ends = (struct auth_ends){
		.cnode_ip = ev->peer_ip, .mnode_ip = ev->local_ip,
		.cnode_qpn = ev->peer_qpn, .mnode_qpn = place->mail.qpn,
	};
	responder->nr_taken++;
}

bool responder_request(struct responder *responder, const struct nic_event *ev)
{
	struct odrp_auth_initiation initiation;

	if (ev->priv_len < sizeof(initiation))
		return false;
	memcpy(&initiation, ev->priv, sizeof(initiation));
	if (be32toh(initiation.magic) != ODRP_AUTH_MAGIC ||
	    initiation.role != ODRP_AUTH_HANDSHAKE)
		return false;
	if (be16toh(initiation.version) != ODRP_AUTH_VERSION ||
	    initiation.suite != ODRP_AUTH_HMAC_SHA256)
		request_refuse(responder, ev, ODRP_WIRE_E_VERSION);
	else if (responder->nr_taken >= RESPONDER_PLACES / 2 &&
		 !cookie_ok(responder, ev, &initiation))
		request_ask_cookie(responder, ev, &initiation);
	else if (responder->nr_taken >= RESPONDER_PLACES / 2 &&
		 peer_places(responder, ev->peer_ip) >= PLACES_EACH)
		request_refuse(responder, ev, ODRP_WIRE_E_BUSY);
	else
		request_accept(responder, ev);
	return true;
}

bool responder_gone(struct responder *responder, uint32_t conn)
{
	unsigned int i;

	for (i = 0; i < RESPONDER_PLACES; i++) {
		struct responder_place *place = &responder->place[i];

		if (place->accept.state == FAR_ACCEPT_NONE || place->conn != conn)
			continue;
		responder->failed += place->accept.state != FAR_ACCEPT_DONE;
		place_leave(responder, place, false);
		return true;
	}
	return false;
}

/* ---- messages -------------------------------------------------------------------- */

static int name_secrets(void *arg, const char *name, struct secrets *ret_secrets)
{
	const struct responder *responder = arg;
	const struct ident *ident = idents_find(responder->idents, name);

	if (!ident)
		return -ENOENT;
	*ret_secrets = ident->secrets;
	return 0;
}

/* The peer has proved its identity: it gets a pass, unless it asks for a session that it
 * does not have. */
static int name_admit(void *arg, const char *name, const struct auth_key *key,
		      uint64_t session, unsigned int *ret_status, uint64_t *ret_handle)
{
	struct responder *responder = arg;
	struct pass *pass;
	int r;

	if (session && !responder->session(responder->arg, name, session)) {
		*ret_status = ODRP_WIRE_E_SESSION;
		return 0;
	}
	r = idents_pass_new(responder->idents, name, key, session, &pass);
	if (!r)
		*ret_handle = pass->handle;
	return r;
}

static const struct far_accept_ops accept_ops = {
	.secrets = name_secrets, .admit = name_admit,
};

static void place_take_message(struct responder *responder, struct responder_place *place,
			       const void *bytes, size_t len)
{
	bool is_hello = place->accept.state == FAR_ACCEPT_HELLO;
	const void *reply;
	size_t reply_len;
	int r = far_accept_message(&place->accept, &accept_ops, responder, bytes, len, &reply,
				   &reply_len);

	if (!r)
		r = far_mail_send(&place->mail, reply, reply_len);
	if (!r)
		responder->done += !is_hello;
	else if (is_hello)
		place_fail(responder, place, "malformed hello");
	else
		place_fail(responder, place, r == -EKEYREJECTED || r == -EPROTO ?
			   "unknown name, or another secret" : strerror(-r));
}

static void place_poll(struct responder *responder, struct responder_place *place)
{
	uint8_t bytes[FAR_MAIL_MAX];
	size_t len;
	int r = far_mail_take(&place->mail, bytes, &len);

	if (r == -EAGAIN)
		return;
	if (place->accept.state == FAR_ACCEPT_DONE)
		place_leave(responder, place, true);
	else if (r)
		place_fail(responder, place, "connection broken");
	else
		place_take_message(responder, place, bytes, len);
}

/* Creates at most one queue pair, since each takes several calls of the NIC. */
static void place_make(struct responder *responder)
{
	unsigned int i;

	for (i = 0; i < RESPONDER_PLACES; i++) {
		struct responder_place *place = &responder->place[i];

		if (place->accept.state == FAR_ACCEPT_NONE && !place->mail.dev) {
			far_mail_new(responder->nic, responder->pdn, &place->mail);
			return;
		}
	}
}

bool responder_work(struct responder *responder)
{
	unsigned int i;

	for (i = 0; i < RESPONDER_PLACES && responder->nr_taken; i++)
		if (responder->place[i].accept.state != FAR_ACCEPT_NONE)
			place_poll(responder, &responder->place[i]);
	place_make(responder);
	return responder->nr_taken;
}

static uint32_t place_limit_ms(const struct responder *responder,
			       const struct responder_place *place)
{
	bool urgent = responder->nr_taken >= RESPONDER_PLACES / 2;

	return urgent && place->accept.state == FAR_ACCEPT_HELLO ? RESPONDER_HELLO_MS :
								   RESPONDER_MS;
}

void responder_tick(struct responder *responder, uint32_t elapsed_ms)
{
	unsigned int i;

	responder->now_ms += elapsed_ms;
	for (i = 0; i < RESPONDER_PLACES; i++) {
		struct responder_place *place = &responder->place[i];

		if (place->accept.state == FAR_ACCEPT_NONE)
			continue;
		place->age_ms = place->age_ms == RESPONDER_NEW ? 0 : place->age_ms + elapsed_ms;
		if (place->age_ms <= place_limit_ms(responder, place))
			continue;
		if (place->accept.state == FAR_ACCEPT_DONE)
			place_leave(responder, place, true);
		else
			place_fail(responder, place, "it has taken too long");
	}
}

/* ---- life ------------------------------------------------------------------------ */

int responder_init(struct responder *responder)
{
	unsigned int i;
	int r;

	if (getrandom(&responder->cookie_key, sizeof(responder->cookie_key), 0) !=
	    sizeof(responder->cookie_key))
		return -EIO;
	r = responder->nic->ops->pd_alloc(responder->nic, &responder->pdn);
	if (r)
		return r;
	for (i = 0; !r && i < RESPONDER_PLACES; i++)
		r = far_mail_new(responder->nic, responder->pdn, &responder->place[i].mail);
	if (r)
		responder_fini(responder);
	return r;
}

void responder_fini(struct responder *responder)
{
	unsigned int i;

	for (i = 0; i < RESPONDER_PLACES; i++) {
		if (responder->place[i].accept.state != FAR_ACCEPT_NONE)
			place_leave(responder, &responder->place[i], true);
		far_mail_free(&responder->place[i].mail);
	}
	responder->nic->ops->pd_free(responder->nic, responder->pdn);
}
