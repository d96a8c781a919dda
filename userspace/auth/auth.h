/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Proofs and MACs of odrp/auth.h, made with nettle's HMAC-SHA-256.  All functions
 * depend on their arguments alone, and allocate nothing.
 */
#ifndef MNODE_AUTH_H
#define MNODE_AUTH_H

#include <stddef.h>
#include <stdint.h>
#include <odrp/auth.h>

struct auth_key {
	uint8_t k[ODRP_AUTH_PROOF];
};

/* Derives K of a handshake from the secret and the nonces of both sides. */
void auth_derive(const uint8_t secret[ODRP_AUTH_SECRET],
		 const struct odrp_auth_hello *hello,
		 const struct odrp_auth_challenge *challenge,
		 struct auth_key *ret_key);

/* Fill in the proof of a message whose other fields are complete. */
void auth_prove_response(const struct auth_key *key,
			 const struct odrp_auth_hello *hello,
			 const struct odrp_auth_challenge *challenge,
			 struct odrp_auth_response *response);
void auth_prove_done(const struct auth_key *key,
		     const struct odrp_auth_hello *hello,
		     const struct odrp_auth_challenge *challenge,
		     const struct odrp_auth_response *response,
		     struct odrp_auth_done *done);
/* 0, or -EKEYREJECTED: the peer has another secret, or a message was changed. */
int auth_check_response(const struct auth_key *key,
			const struct odrp_auth_hello *hello,
			const struct odrp_auth_challenge *challenge,
			const struct odrp_auth_response *response);
int auth_check_done(const struct auth_key *key,
		    const struct odrp_auth_hello *hello,
		    const struct odrp_auth_challenge *challenge,
		    const struct odrp_auth_response *response,
		    const struct odrp_auth_done *done);

/*
 * Sign a REQ, and check the MAC of one: 0 or -EKEYREJECTED.  Both functions set what
 * and counter of bound themselves; the counter is the one in the REQ.
 */
void auth_sign_req(const struct auth_key *key, struct odrp_auth_bound bound,
		   struct odrp_auth_req *req);
int auth_check_req(const struct auth_key *key, struct odrp_auth_bound bound,
		   const struct odrp_auth_req *req);
/* The same for a REQ of a client of spaces. */
void auth_sign_far(const struct auth_key *key, struct odrp_auth_bound bound,
		   struct odrp_auth_far *req);
int auth_check_far(const struct auth_key *key, struct odrp_auth_bound bound,
		   const struct odrp_auth_far *req);
/* SHA-256 of len bytes. */
void auth_hash(const void *p, size_t len, uint8_t ret_hash[32]);
/* Hashes the name of a space: len bytes, which include the zeros behind the name. */
void auth_space(const uint8_t *name, size_t len, uint8_t ret_space[ODRP_AUTH_SPACE]);
/*
 * Sign the len bytes of private data of a REP or REJ, and check their MAC: 0 or
 * -EKEYREJECTED.  The caller sets bound.what (ODRP_AUTH_REP or _REJ) and bound.counter.
 */
void auth_sign_answer(const struct auth_key *key, struct odrp_auth_bound bound,
		      const void *p, size_t len, uint8_t ret_mac[ODRP_AUTH_MAC]);
int auth_check_answer(const struct auth_key *key, struct odrp_auth_bound bound,
		      const void *p, size_t len,
		      const uint8_t mac[ODRP_AUTH_MAC]);

/*
 * Sign heartbeats and grants, and check their MACs: 0 or -EKEYREJECTED.  handle is that
 * of the handshake that made the key, in host order.  len: odrp_wire_beat_len() of the
 * session.
 */
void auth_sign_beat(const struct auth_key *key, uint64_t handle,
		    struct odrp_wire_beat *beat, uint32_t len);
int auth_check_beat(const struct auth_key *key, uint64_t handle,
		    const struct odrp_wire_beat *beat, uint32_t len);
void auth_sign_grant(const struct auth_key *key, uint64_t handle,
		     struct odrp_wire_signed_grant *grant);
int auth_check_grant(const struct auth_key *key, uint64_t handle,
		     const struct odrp_wire_signed_grant *grant);

/**
 * struct auth_window - which counters of a K have been seen; all zero: none
 * @top:	the highest counter seen
 * @seen:	one bit for each of the last ODRP_AUTH_WINDOW counters up to @top
 */
struct auth_window {
	uint64_t top;
	uint64_t seen[ODRP_AUTH_WINDOW / 64];
};

/*
 * Marks a counter as seen.  Call this only after the MAC has been checked.  -EALREADY:
 * the counter was seen before; -ERANGE: it is 0, or lies before the window.
 */
int auth_window_take(struct auth_window *w, uint64_t counter);

#endif /* MNODE_AUTH_H */
