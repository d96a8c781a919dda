/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The handshake of odrp/auth.h, for both ends: the order of the messages, and their
 * contents. These functions make and check messages; the caller sends and receives them.
 * Random numbers come from the kernel.
 */
#ifndef AUTH_SHAKE_H
#define AUTH_SHAKE_H

#include <stdbool.h>
#include <linux/types.h>

#include "auth.h"
#include "secret.h"

/* Length of the longest message, in bytes. */
#define AUTH_MESSAGE_MAX	sizeof(struct odrp_auth_hello)

/**
 * struct auth_ends - the two ends of a connection
 * @cnode_ip, @mnode_ip: IPv4 addresses, big endian
 * @cnode_qpn, @mnode_qpn: numbers of the queue pairs, host order
 */
struct auth_ends {
	__be32 cnode_ip, mnode_ip;
	uint32_t cnode_qpn, mnode_qpn;
};

/*
 * The bytes that are hashed in front of a signed message. The caller sets what and
 * counter. qpn is the queue pair of the end that makes the MAC.
 */
struct odrp_auth_bound auth_bound(const struct auth_ends *ends, uint32_t qpn);

/* ---- the initiator ---- */

struct auth_ask {
	struct odrp_auth_hello hello;
	struct odrp_auth_challenge challenge;
	struct odrp_auth_response response;
	struct auth_key key;
};

/*
 * Makes the private data of the handshake's REQ. cookie NULL: a new REQ, with a new id;
 * else the cookie of the REJ is put into *knock, which an earlier call has filled.
 * -EIO: the kernel gives no random number.
 */
int auth_initiate(const uint8_t *cookie, struct odrp_auth_initiation *initiation);
/* Whether these len bytes are a REJ with a cookie; if so, copies it to ret_cookie. */
bool auth_is_cookie(const void *priv, size_t len,
		    uint8_t ret_cookie[ODRP_AUTH_MAC]);
/*
 * Makes the first message, ask->hello. ends->mnode_qpn is not used. -EINVAL: name is
 * empty or too long; -EIO: the kernel gives no random number.
 */
int auth_ask_hello(struct auth_ask *ask, const char *name,
		   const struct auth_ends *ends);
/*
 * Checks the challenge that was received, and makes the next message, ask->response.
 * session: the one to resume, or 0. -EPROTO: the challenge is malformed.
 */
int auth_ask_response(struct auth_ask *ask, const void *bytes, size_t len,
		      const uint8_t secret[ODRP_AUTH_SECRET],
		      const struct auth_ends *ends, uint64_t session);
/*
 * Checks the last message. On 0 ask->key is K, and *ret_handle its handle. -EKEYREJECTED:
 * the memory node has another secret; -ESTALE: its proof is right, but it has no such
 * session; -EPROTO: the message is malformed.
 */
int auth_ask_done(struct auth_ask *ask, const void *bytes, size_t len,
		  uint64_t *ret_handle);

/* ---- the responder ---- */

struct auth_answer {
	struct odrp_auth_hello hello;
	struct odrp_auth_challenge challenge;
	struct odrp_auth_response response;
	struct auth_key key;
};

/*
 * Checks the hello that was received, and makes the answer, answer->challenge. -EPROTO:
 * the hello is malformed or names other ends; -EIO: the kernel gives no random number.
 */
int auth_answer_hello(struct auth_answer *answer, const void *bytes, size_t len,
		      const struct auth_ends *ends);
/*
 * Checks the response. On 0 answer->key is K, and *ret_session the session to resume, or
 * 0. -EKEYREJECTED: the proof fits none of the secrets; -EPROTO: malformed.
 */
int auth_answer_response(struct auth_answer *answer, const void *bytes, size_t len,
			 const struct secrets *secrets, uint64_t *ret_session);
/* Makes the last message. status: enum odrp_wire_status. */
void auth_answer_done(const struct auth_answer *answer, unsigned int status,
		      uint64_t handle, struct odrp_auth_done *ret_done);

#endif /* AUTH_SHAKE_H */
