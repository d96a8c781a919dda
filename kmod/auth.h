/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Proofs and MACs of odrp/auth.h, the compute node's half.  The functions work on bytes.
 * They do not allocate or sleep, so resuming a session needs no memory for them.  Also
 * compiled in user space.
 */
#ifndef _ODRP_KMOD_AUTH_H
#define _ODRP_KMOD_AUTH_H

#include <linux/types.h>
#include <odrp/auth.h>

#define ODRP_HMAC_KEY_MAX	64	/* the block size of SHA-256 */

/* The key K that a handshake makes. */
struct odrp_auth_key {
	u8	k[ODRP_AUTH_PROOF];
};

void odrp_hmac(const u8 *key, unsigned int key_len,
	       const struct odrp_auth_piece *piece, unsigned int nr,
	       u8 ret_mac[ODRP_AUTH_PROOF]);

void odrp_auth_derive(const u8 secret[ODRP_AUTH_SECRET],
		      const struct odrp_auth_hello *hello,
		      const struct odrp_auth_challenge *challenge,
		      struct odrp_auth_key *ret_key);
void odrp_auth_prove(const struct odrp_auth_key *key,
		     const struct odrp_auth_hello *hello,
		     const struct odrp_auth_challenge *challenge,
		     struct odrp_auth_response *response);
int odrp_auth_check_done(const struct odrp_auth_key *key,
			 const struct odrp_auth_hello *hello,
			 const struct odrp_auth_challenge *challenge,
			 const struct odrp_auth_response *response,
			 const struct odrp_auth_done *done);

void odrp_auth_sign_req(const struct odrp_auth_key *key,
			struct odrp_auth_bound bound,
			struct odrp_auth_req *req);
int odrp_auth_check_answer(const struct odrp_auth_key *key,
			   const struct odrp_auth_bound *bound,
			   const void *p, unsigned int len,
			   const u8 mac[ODRP_AUTH_MAC]);

void odrp_auth_sign_beat(const struct odrp_auth_key *key, __be64 handle,
			 struct odrp_wire_beat *beat, u32 len);
int odrp_auth_check_grant(const struct odrp_auth_key *key, __be64 handle,
			  const struct odrp_wire_signed_grant *grant);

#endif /* _ODRP_KMOD_AUTH_H */
