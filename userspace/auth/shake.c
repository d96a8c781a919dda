// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The handshake of both ends; see shake.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <odrp/wire.h>
#include "shake.h"

static int random_draw(void *p, size_t len)
{
	return getrandom(p, len, 0) == (ssize_t)len ? 0 : -EIO;
}

static bool all_zero(const uint8_t *p, size_t len)
{
	while (len--)
		if (*p++)
			return false;
	return true;
}

static void address_of(__be32 ip, uint8_t ret_addr[ODRP_AUTH_ADDR])
{
	memset(ret_addr, 0, 10);
	memset(ret_addr + 10, 0xff, 2);
	memcpy(ret_addr + 12, &ip, sizeof(ip));
}

struct odrp_auth_bound auth_bound(const struct auth_ends *ends, uint32_t qpn)
{
	struct odrp_auth_bound bound = {
		.version = ODRP_AUTH_VERSION, .qpn = htobe32(qpn),
	};

	address_of(ends->cnode_ip, bound.cnode_addr);
	address_of(ends->mnode_ip, bound.mnode_addr);
	return bound;
}

/* ---- the initiator ---- */

int auth_initiate(const uint8_t *cookie, struct odrp_auth_initiation *initiation)
{
	if (cookie) {
		memcpy(initiation->cookie, cookie, sizeof(initiation->cookie));
		return 0;
	}
	*initiation = (struct odrp_auth_initiation){
		.magic = htobe32(ODRP_AUTH_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.role = ODRP_AUTH_HANDSHAKE,
		.suite = ODRP_AUTH_HMAC_SHA256,
	};
	return random_draw(&initiation->id, sizeof(initiation->id));
}

bool auth_is_cookie(const void *priv, size_t len,
		    uint8_t ret_cookie[ODRP_AUTH_MAC])
{
	struct odrp_auth_cookie rej;

	if (len < sizeof(rej))
		return false;
	memcpy(&rej, priv, sizeof(rej));
	if (be32toh(rej.magic) != ODRP_AUTH_MAGIC ||
	    be16toh(rej.version) != ODRP_AUTH_VERSION)
		return false;
	memcpy(ret_cookie, rej.cookie, sizeof(rej.cookie));
	return true;
}

int auth_ask_hello(struct auth_ask *ask, const char *name,
		   const struct auth_ends *ends)
{
	struct odrp_auth_hello *h = &ask->hello;
	size_t len = strlen(name);

	if (!len || len >= sizeof(h->cnode))
		return -EINVAL;
	*ask = (struct auth_ask){
		.hello.magic = htobe32(ODRP_AUTH_MAGIC),
		.hello.version = htobe16(ODRP_AUTH_VERSION),
		.hello.suite = ODRP_AUTH_HMAC_SHA256,
		.hello.qpn = htobe32(ends->cnode_qpn),
	};
	memcpy(h->cnode, name, len);
	address_of(ends->cnode_ip, h->cnode_addr);
	address_of(ends->mnode_ip, h->mnode_addr);
	return random_draw(h->nonce, sizeof(h->nonce));
}

int auth_ask_response(struct auth_ask *ask, const void *bytes, size_t len,
		      const uint8_t secret[ODRP_AUTH_SECRET],
		      const struct auth_ends *ends, uint64_t session)
{
	struct odrp_auth_challenge *c = &ask->challenge;

	if (len != sizeof(*c))
		return -EPROTO;
	memcpy(c, bytes, sizeof(*c));
	if (be32toh(c->magic) != ODRP_AUTH_MAGIC ||
	    be16toh(c->version) != ODRP_AUTH_VERSION ||
	    c->suite != ODRP_AUTH_HMAC_SHA256 ||
	    be32toh(c->qpn) != ends->mnode_qpn)
		return -EPROTO;
	auth_derive(secret, &ask->hello, c, &ask->key);
	ask->response = (struct odrp_auth_response){
		.magic = htobe32(ODRP_AUTH_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.session = htobe64(session),
	};
	auth_prove_response(&ask->key, &ask->hello, c, &ask->response);
	return 0;
}

int auth_ask_done(struct auth_ask *ask, const void *bytes, size_t len,
		  uint64_t *ret_handle)
{
	struct odrp_auth_done done;
	int r;

	if (len != sizeof(done))
		return -EPROTO;
	memcpy(&done, bytes, sizeof(done));
	r = auth_check_done(&ask->key, &ask->hello, &ask->challenge,
			    &ask->response, &done);
	if (r)
		return r;
	if (be16toh(done.status) == ODRP_WIRE_E_SESSION)
		return -ESTALE;
	if (be16toh(done.status) != ODRP_WIRE_OK || !done.handle)
		return -EPROTO;
	*ret_handle = be64toh(done.handle);
	return 0;
}

/* ---- the responder ---- */

/* Whether the name ends with a zero and has only zeros behind it. */
static bool name_ok(const uint8_t *name)
{
	size_t len = strnlen((const char *)name, ODRP_AUTH_NAME);

	return len < ODRP_AUTH_NAME && all_zero(name + len, ODRP_AUTH_NAME - len);
}

static bool hello_ok(const struct odrp_auth_hello *h, const struct auth_ends *ends)
{
	const struct odrp_auth_bound bound = auth_bound(ends, 0);

	return be32toh(h->magic) == ODRP_AUTH_MAGIC &&
	       be16toh(h->version) == ODRP_AUTH_VERSION &&
	       h->suite == ODRP_AUTH_HMAC_SHA256 && !h->resv0 &&
	       all_zero(h->resv1, sizeof(h->resv1)) && name_ok(h->cnode) &&
	       h->cnode[0] && name_ok(h->mnode) &&
	       be32toh(h->qpn) == ends->cnode_qpn &&
	       !memcmp(h->cnode_addr, bound.cnode_addr, sizeof(h->cnode_addr)) &&
	       !memcmp(h->mnode_addr, bound.mnode_addr, sizeof(h->mnode_addr));
}

int auth_answer_hello(struct auth_answer *answer, const void *bytes, size_t len,
		      const struct auth_ends *ends)
{
	struct odrp_auth_challenge *c = &answer->challenge;

	if (len != sizeof(answer->hello))
		return -EPROTO;
	*answer = (struct auth_answer){
		.challenge.magic = htobe32(ODRP_AUTH_MAGIC),
		.challenge.version = htobe16(ODRP_AUTH_VERSION),
		.challenge.suite = ODRP_AUTH_HMAC_SHA256,
		.challenge.qpn = htobe32(ends->mnode_qpn),
	};
	memcpy(&answer->hello, bytes, len);
	return hello_ok(&answer->hello, ends) ? random_draw(c->nonce, sizeof(c->nonce)) :
	       -EPROTO;
}

int auth_answer_response(struct auth_answer *answer, const void *bytes, size_t len,
			 const struct secrets *secrets, uint64_t *ret_session)
{
	struct odrp_auth_response *response = &answer->response;
	unsigned int i;
	int r = -EKEYREJECTED;

	if (len != sizeof(*response))
		return -EPROTO;
	memcpy(response, bytes, len);
	if (be32toh(response->magic) != ODRP_AUTH_MAGIC ||
	    be16toh(response->version) != ODRP_AUTH_VERSION)
		return -EPROTO;
	for (i = 0; r && i < secrets->nr; i++) {
		auth_derive(secrets->secret[i], &answer->hello,
			    &answer->challenge, &answer->key);
		r = auth_check_response(&answer->key, &answer->hello,
					&answer->challenge, response);
	}
	if (!r)
		*ret_session = be64toh(response->session);
	return r;
}

void auth_answer_done(const struct auth_answer *answer, unsigned int status,
		      uint64_t handle, struct odrp_auth_done *ret_done)
{
	*ret_done = (struct odrp_auth_done){
		.magic = htobe32(ODRP_AUTH_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.status = htobe16(status),
		.handle = htobe64(handle),
	};
	auth_prove_done(&answer->key, &answer->hello, &answer->challenge,
			&answer->response, ret_done);
}
