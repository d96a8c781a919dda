/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Proofs and MACs of odrp/auth.h, over HMAC-SHA-256 of nettle, whose functions cannot
 * fail, allocate nothing and keep no state.  Pure: bytes in, bytes out.
 */
#ifndef MNODE_AUTH_H
#define MNODE_AUTH_H

#include <stddef.h>
#include <stdint.h>
#include <odrp/auth.h>

struct auth_key {
	uint8_t k[ODRP_AUTH_PROOF];
};

void auth_derive(const uint8_t secret[ODRP_AUTH_SECRET],
		 const struct odrp_auth_hello *hello,
		 const struct odrp_auth_challenge *challenge,
		 struct auth_key *ret_key);

/* Fill in the proof of a message that is otherwise complete. */
void auth_prove_response(const struct auth_key *key,
			 const struct odrp_auth_hello *hello,
			 const struct odrp_auth_challenge *challenge,
			 struct odrp_auth_response *response);
void auth_prove_done(const struct auth_key *key,
		     const struct odrp_auth_hello *hello,
		     const struct odrp_auth_challenge *challenge,
		     const struct odrp_auth_response *response,
		     struct odrp_auth_done *done);
/* -EKEYREJECTED: the other end has another secret, or something was changed. */
int auth_check_response(const struct auth_key *key,
			const struct odrp_auth_hello *hello,
			const struct odrp_auth_challenge *challenge,
			const struct odrp_auth_response *response);
int auth_check_done(const struct auth_key *key,
		    const struct odrp_auth_hello *hello,
		    const struct odrp_auth_challenge *challenge,
		    const struct odrp_auth_response *response,
		    const struct odrp_auth_done *done);

/* bound: what and counter are filled in; for a REQ the counter is the REQ's own. */
void auth_sign_req(const struct auth_key *key, struct odrp_auth_bound bound,
		   struct odrp_auth_req *req);
int auth_check_req(const struct auth_key *key, struct odrp_auth_bound bound,
		   const struct odrp_auth_req *req);
/* The same of a client of spaces. */
void auth_sign_far(const struct auth_key *key, struct odrp_auth_bound bound,
		   struct odrp_auth_far *req);
int auth_check_far(const struct auth_key *key, struct odrp_auth_bound bound,
		   const struct odrp_auth_far *req);
/* What stands for a space's name of len bytes, which is filled up with zeros. */
void auth_space(const uint8_t *name, size_t len, uint8_t ret_space[ODRP_AUTH_SPACE]);
/* Of the private data of a REP or REJ; what: ODRP_AUTH_REP or _REJ. */
void auth_sign_answer(const struct auth_key *key, struct odrp_auth_bound bound,
		      const void *p, size_t len, uint8_t ret_mac[ODRP_AUTH_MAC]);
int auth_check_answer(const struct auth_key *key, struct odrp_auth_bound bound,
		      const void *p, size_t len,
		      const uint8_t mac[ODRP_AUTH_MAC]);

/* Of heartbeats and grants; handle: of the handshake that made the key. */
void auth_sign_beat(const struct auth_key *key, uint64_t handle,
		    struct odrp_wire_beat *beat);
int auth_check_beat(const struct auth_key *key, uint64_t handle,
		    const struct odrp_wire_beat *beat);
void auth_sign_grant(const struct auth_key *key, uint64_t handle,
		     struct odrp_wire_signed_grant *grant);
int auth_check_grant(const struct auth_key *key, uint64_t handle,
		     const struct odrp_wire_signed_grant *grant);

/**
 * struct auth_window - which counters of a K have been seen; all zero: none
 * @top:	the highest
 * @seen:	a bit each, of the ODRP_AUTH_WINDOW up to it
 */
struct auth_window {
	uint64_t top;
	uint64_t seen[ODRP_AUTH_WINDOW / 64];
};

/* Of a REQ whose MAC is right.  -EALREADY: seen before; -ERANGE: 0, or too old to tell. */
int auth_window_take(struct auth_window *w, uint64_t counter);

#endif /* MNODE_AUTH_H */
