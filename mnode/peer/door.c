// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Handshakes with peers that connect to this agent; see door.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <odrp/wire.h>
#include "door.h"
#include "hello.h"

#define MS_PER_MINUTE	60000
/* Most places of one address when half of all places are taken. */
#define PLACES_EACH	8

/* ---- places ---------------------------------------------------------------------- */

static struct door_place *place_find_free(struct door *door)
{
	unsigned int i;

	for (i = 0; i < DOOR_PLACES; i++)
		if (door->place[i].state == DOOR_FREE && door->place[i].mail.dev)
			return &door->place[i];
	return NULL;
}

/* Ends the handshake. say: disconnect, too. A queue pair serves one connection, so
 * door_work() creates another one. */
static void place_leave(struct door *door, struct door_place *place, bool say)
{
	if (say)
		door->nic->ops->disconnect(door->nic, place->conn);
	door->nic->ops->release(door->nic, place->conn);
	far_mail_free(&place->mail);
	explicit_bzero(&place->answer, sizeof(place->answer));
	place->state = DOOR_FREE;
	door->nr_taken--;
}

/* ---- eviction ---------------------------------------------------------------------- */

static bool place_is_taken(const struct door_place *place)
{
	return place->state != DOOR_FREE;
}

static unsigned int peer_places(const struct door *door, __be32 ip)
{
	unsigned int i, nr = 0;

	for (i = 0; i < DOOR_PLACES; i++)
		nr += place_is_taken(&door->place[i]) &&
		      door->place[i].ends.cnode_ip == ip;
	return nr;
}

/* Places that count against an address. A few do not if the address has a session: that is
 * lost if its compute node cannot connect in time. But it is not to keep others out. */
static unsigned int peer_weight(const struct door *door, __be32 ip)
{
	unsigned int nr = peer_places(door, ip);

	return nr <= PLACES_EACH && door->known(door->arg, ip) ? 0 : nr;
}

/*
 * A random place of the addresses with the most places; without random numbers, one of
 * these places. has: the weight of the address that asks. NULL: each other address would
 * have fewer places afterwards than the one that asks; if has is 0, no place counts
 * against any address.
 */
static struct door_place *place_of_most(struct door *door, unsigned int has)
{
	struct door_place *found = NULL;
	unsigned int i, weight, most = has ? has + 1 : 0, nr = 0;
	uint32_t random = 0;

	for (i = 0; i < DOOR_PLACES; i++) {
		if (!place_is_taken(&door->place[i]))
			continue;
		weight = peer_weight(door, door->place[i].ends.cnode_ip);
		if (weight < most || !weight || (weight == most && !nr && has))
			continue;
		nr = weight > most ? 1 : nr + 1;
		most = weight;
		if (nr == 1 ||
		    (getrandom(&random, sizeof(random), 0) == sizeof(random) &&
		     random % nr == 0))
			found = &door->place[i];
	}
	return found;
}

/* Whoever has sent a response has said a name. */
static void place_fail(struct door *door, struct door_place *place, const char *why)
{
	const struct audit_peer peer = {
		.name = place->state == DOOR_RESPONSE ?
			(const char *)place->answer.hello.cnode : NULL,
		.ip = place->ends.cnode_ip,
	};

	door->failed++;
	audit_refused(door->audit, &peer, why);
	place_leave(door, place, true);
}

/* ---- requests -------------------------------------------------------------------- */

static void cookie_make(const struct door *door, const struct nic_event *ev,
			__be64 id, uint64_t minute, uint8_t ret_cookie[ODRP_AUTH_MAC])
{
	const struct auth_ends ends = {
		.cnode_ip = ev->peer_ip, .mnode_ip = ev->local_ip,
	};
	const uint64_t what[2] = { id, minute };

	auth_sign_answer(&door->cookie_key, auth_bound(&ends, 0), what, sizeof(what),
			 ret_cookie);
}

/* Accepts cookies of this minute and of the one before. */
static bool cookie_ok(const struct door *door, const struct nic_event *ev,
		      const struct odrp_auth_knock *knock)
{
	const struct auth_ends ends = {
		.cnode_ip = ev->peer_ip, .mnode_ip = ev->local_ip,
	};
	uint64_t what[2] = { knock->id, door->now_ms / MS_PER_MINUTE };
	unsigned int i;

	for (i = 0; i < 2; i++, what[1]--)
		if (!auth_check_answer(&door->cookie_key, auth_bound(&ends, 0), what,
				       sizeof(what), knock->cookie))
			return true;
	return false;
}

static void request_reject(struct door *door, const struct nic_event *ev,
			   const void *priv, size_t len)
{
	door->nic->ops->reject(door->nic, ev->id, priv, len);
	door->nic->ops->release(door->nic, ev->id);
}

static void request_ask_cookie(struct door *door, const struct nic_event *ev,
			       const struct odrp_auth_knock *knock)
{
	struct odrp_auth_cookie rej = {
		.magic = htobe32(ODRP_AUTH_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.status = htobe16(ODRP_WIRE_E_BUSY),
	};

	cookie_make(door, ev, knock->id, door->now_ms / MS_PER_MINUTE, rej.cookie);
	door->cookies++;
	request_reject(door, ev, &rej, sizeof(rej));
}

static void request_refuse(struct door *door, const struct nic_event *ev,
			   enum odrp_wire_status status)
{
	const struct odrp_wire_reject rej = {
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.status = htobe16(status),
	};

	const struct audit_peer peer = { .ip = ev->peer_ip };

	door->full += status == ODRP_WIRE_E_BUSY;
	audit_refused(door->audit, &peer, status == ODRP_WIRE_E_BUSY ?
		      "too many handshakes" : hello_status_name(status));
	request_reject(door, ev, &rej, sizeof(rej));
}

/* A free place. If no more than DOOR_SPARE are free, another handshake is evicted first.
 * NULL: none may be evicted, or no free place has a queue pair yet. */
static struct door_place *place_take(struct door *door, const struct nic_event *ev)
{
	struct door_place *evicted;

	if (door->nr_taken >= DOOR_PLACES - DOOR_SPARE) {
		evicted = place_of_most(door, peer_weight(door, ev->peer_ip));
		if (!evicted)
			return NULL;
		place_leave(door, evicted, true);
		door->evicted++;
	}
	return place_find_free(door);
}

static void request_accept(struct door *door, const struct nic_event *ev)
{
	struct door_place *place = place_take(door, ev);

	if (!place) {
		request_refuse(door, ev, ODRP_WIRE_E_BUSY);
		return;
	}
	if (door->nic->ops->accept(door->nic, ev->id, place->mail.qpn, NULL, 0)) {
		/* The queue pair's state may have changed: door_work() creates another. */
		far_mail_free(&place->mail);
		request_refuse(door, ev, ODRP_WIRE_E_BUSY);
		return;
	}
	place->state = DOOR_HELLO;
	place->conn = ev->id;
	place->age_ms = DOOR_NEW;
	place->ends = (struct auth_ends){
		.cnode_ip = ev->peer_ip, .mnode_ip = ev->local_ip,
		.cnode_qpn = ev->peer_qpn, .mnode_qpn = place->mail.qpn,
	};
	door->nr_taken++;
}

bool door_request(struct door *door, const struct nic_event *ev)
{
	struct odrp_auth_knock knock;

	if (ev->priv_len < sizeof(knock))
		return false;
	memcpy(&knock, ev->priv, sizeof(knock));
	if (be32toh(knock.magic) != ODRP_AUTH_MAGIC ||
	    knock.role != ODRP_AUTH_HANDSHAKE)
		return false;
	if (be16toh(knock.version) != ODRP_AUTH_VERSION ||
	    knock.suite != ODRP_AUTH_HMAC_SHA256)
		request_refuse(door, ev, ODRP_WIRE_E_VERSION);
	else if (door->nr_taken >= DOOR_PLACES / 2 && !cookie_ok(door, ev, &knock))
		request_ask_cookie(door, ev, &knock);
	else if (door->nr_taken >= DOOR_PLACES / 2 &&
		 peer_places(door, ev->peer_ip) >= PLACES_EACH)
		request_refuse(door, ev, ODRP_WIRE_E_BUSY);
	else
		request_accept(door, ev);
	return true;
}

bool door_gone(struct door *door, uint32_t conn)
{
	unsigned int i;

	for (i = 0; i < DOOR_PLACES; i++) {
		struct door_place *place = &door->place[i];

		if (place->state == DOOR_FREE || place->conn != conn)
			continue;
		door->failed += place->state != DOOR_DONE;
		place_leave(door, place, false);
		return true;
	}
	return false;
}

/* ---- messages -------------------------------------------------------------------- */

static void place_take_hello(struct door *door, struct door_place *place,
			     const void *bytes, size_t len)
{
	struct auth_answer *answer = &place->answer;

	if (auth_answer_hello(answer, bytes, len, &place->ends) ||
	    far_mail_send(&place->mail, &answer->challenge, sizeof(answer->challenge)))
		place_fail(door, place, "malformed hello");
	else
		place->state = DOOR_RESPONSE;
}

/* An unknown name gets a random secret, so that an unknown name and a wrong secret fail at
 * the same step. */
static int door_secrets(const struct door *door, const char *name,
			struct secrets *ret_secrets)
{
	const struct ident *ident = who_find(door->who, name);

	if (ident) {
		*ret_secrets = ident->secrets;
		return 0;
	}
	ret_secrets->nr = 1;
	return getrandom(ret_secrets->secret[0], ODRP_AUTH_SECRET, 0) ==
	       ODRP_AUTH_SECRET ? 0 : -EIO;
}

/* The peer has proved its identity: it gets a pass, unless it asks for a session that it
 * does not have. */
static int place_answer_done(struct door *door, struct door_place *place,
			     const char *name, uint64_t session)
{
	bool there = !session || door->session(door->arg, name, session);
	struct odrp_auth_done done;
	struct pass *pass;
	int r;

	if (there) {
		r = who_pass_new(door->who, name, &place->answer.key, session, &pass);
		if (r)
			return r;
	}
	auth_answer_done(&place->answer, there ? ODRP_WIRE_OK : ODRP_WIRE_E_SESSION,
			 there ? pass->handle : 0, &done);
	return far_mail_send(&place->mail, &done, sizeof(done));
}

static void place_take_response(struct door *door, struct door_place *place,
				const void *bytes, size_t len)
{
	const char *name = (const char *)place->answer.hello.cnode;
	struct secrets secrets;
	uint64_t session;
	int r = door_secrets(door, name, &secrets);

	if (!r)
		r = auth_answer_response(&place->answer, bytes, len, &secrets,
					 &session);
	explicit_bzero(&secrets, sizeof(secrets));
	if (r) {
		place_fail(door, place, "unknown name, or another secret");
		return;
	}
	r = place_answer_done(door, place, name, session);
	if (r) {
		place_fail(door, place, strerror(-r));
		return;
	}
	door->done++;
	place->state = DOOR_DONE;
}

static void place_poll(struct door *door, struct door_place *place)
{
	uint8_t bytes[FAR_MAIL_MAX];
	size_t len;
	int r = far_mail_take(&place->mail, bytes, &len);

	if (r == -EAGAIN)
		return;
	if (place->state == DOOR_DONE)
		place_leave(door, place, true);
	else if (r)
		place_fail(door, place, "connection broken");
	else if (place->state == DOOR_HELLO)
		place_take_hello(door, place, bytes, len);
	else
		place_take_response(door, place, bytes, len);
}

/* Creates at most one queue pair, since each takes several calls of the NIC. */
static void place_make(struct door *door)
{
	unsigned int i;

	for (i = 0; i < DOOR_PLACES; i++) {
		struct door_place *place = &door->place[i];

		if (place->state == DOOR_FREE && !place->mail.dev) {
			far_mail_new(door->nic, door->pdn, &place->mail);
			return;
		}
	}
}

bool door_work(struct door *door)
{
	unsigned int i;

	for (i = 0; i < DOOR_PLACES && door->nr_taken; i++)
		if (door->place[i].state != DOOR_FREE)
			place_poll(door, &door->place[i]);
	place_make(door);
	return door->nr_taken;
}

static uint32_t place_limit_ms(const struct door *door, const struct door_place *place)
{
	return place->state == DOOR_HELLO && door->nr_taken >= DOOR_PLACES / 2 ?
		       DOOR_HELLO_MS : DOOR_MS;
}

void door_tick(struct door *door, uint32_t elapsed_ms)
{
	unsigned int i;

	door->now_ms += elapsed_ms;
	for (i = 0; i < DOOR_PLACES; i++) {
		struct door_place *place = &door->place[i];

		if (place->state == DOOR_FREE)
			continue;
		place->age_ms = place->age_ms == DOOR_NEW ? 0 : place->age_ms + elapsed_ms;
		if (place->age_ms <= place_limit_ms(door, place))
			continue;
		if (place->state == DOOR_DONE)
			place_leave(door, place, true);
		else
			place_fail(door, place, "it has taken too long");
	}
}

/* ---- life ------------------------------------------------------------------------ */

int door_init(struct door *door)
{
	unsigned int i;
	int r;

	if (getrandom(&door->cookie_key, sizeof(door->cookie_key), 0) !=
	    sizeof(door->cookie_key))
		return -EIO;
	r = door->nic->ops->pd_alloc(door->nic, &door->pdn);
	if (r)
		return r;
	for (i = 0; !r && i < DOOR_PLACES; i++)
		r = far_mail_new(door->nic, door->pdn, &door->place[i].mail);
	if (r)
		door_fini(door);
	return r;
}

void door_fini(struct door *door)
{
	unsigned int i;

	for (i = 0; i < DOOR_PLACES; i++) {
		if (door->place[i].state != DOOR_FREE)
			place_leave(door, &door->place[i], true);
		far_mail_free(&door->place[i].mail);
	}
	door->nic->ops->pd_free(door->nic, door->pdn);
}
