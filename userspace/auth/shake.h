/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The handshake of odrp/auth.h as both ends see it: which message follows which one,
 * and what has to be in it. Pure: bytes in, bytes out; who sends them is the caller's
 * affair. Random numbers come from the kernel.
 */
#ifndef AUTH_SHAKE_H
#define AUTH_SHAKE_H

#include <stdbool.h>
#include <linux/types.h>

#include "auth.h"
#include "secret.h"

/* Bytes of the longest message. */
#define AUTH_MESSAGE_MAX	sizeof(struct odrp_auth_hello)

/**
 * struct auth_ends - of a connection
 * @cnode_ip, @mnode_ip: IPv4 addresses, big endian
 * @cnode_qpn, @mnode_qpn: queue pairs
 */
struct auth_ends {
	__be32 cnode_ip, mnode_ip;
	uint32_t cnode_qpn, mnode_qpn;
};

/* In front of a MAC; what and counter are the caller's. qpn: of who makes it. */
struct odrp_auth_bound auth_bound(const struct auth_ends *ends, uint32_t qpn);

/* ---- who asks ---- */

struct auth_ask {
	struct odrp_auth_hello hello;
	struct odrp_auth_challenge challenge;
	struct odrp_auth_response response;
	struct auth_key key;
};

/* -EIO: the kernel gives no random number. cookie: of the REJ, or NULL: a new one. */
int auth_knock(const uint8_t *cookie, struct odrp_auth_knock *knock);
/* A REJ that asks for a knock with its cookie? Then it is in ret_cookie. */
bool auth_is_cookie(const void *priv, size_t len,
		    uint8_t ret_cookie[ODRP_AUTH_MAC]);
/* The first message is ask->hello. The memory node's queue pair does not count. */
int auth_ask_hello(struct auth_ask *ask, const char *name,
		   const struct auth_ends *ends);
/* The answer to it has come; the next message is ask->response. -EPROTO. */
int auth_ask_response(struct auth_ask *ask, const void *bytes, size_t len,
		      const uint8_t secret[ODRP_AUTH_SECRET],
		      const struct auth_ends *ends, uint64_t session);
/* The last one has come: ask->key counts. -EKEYREJECTED: whoever answers has another
 * secret; -ESTALE: he has it, and no such session; -EPROTO. */
int auth_ask_done(struct auth_ask *ask, const void *bytes, size_t len,
		  uint64_t *ret_handle);

/* ---- who is asked ---- */

struct auth_answer {
	struct odrp_auth_hello hello;
	struct odrp_auth_challenge challenge;
	struct odrp_auth_response response;
	struct auth_key key;
};

/* -EPROTO: not as auth.h has it, or not of these ends. Next is answer->challenge. */
int auth_answer_hello(struct auth_answer *answer, const void *bytes, size_t len,
		      const struct auth_ends *ends);
/* -EKEYREJECTED: with none of these secrets. */
int auth_answer_response(struct auth_answer *answer, const void *bytes, size_t len,
			 const struct secrets *secrets, uint64_t *ret_session);
void auth_answer_done(const struct auth_answer *answer, unsigned int status,
		      uint64_t handle, struct odrp_auth_done *ret_done);

#endif /* AUTH_SHAKE_H */
