// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Proofs and MACs, see auth.h.  This file builds HMAC-SHA-256 from the SHA-256 library
 * functions of the kernel, because an HMAC of the kernel's crypto API has to be allocated.
 * odrp_hmac() wipes its memory that has held key material.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <crypto/algapi.h>
#include "auth.h"
#include "compat.h"

/* The ipad and opad bytes of RFC 2104. */
#define INNER	0x36
#define OUTER	0x5c

static void pad_key(const u8 *key, unsigned int key_len, u8 with,
		    u8 ret_block[ODRP_HMAC_KEY_MAX])
{
	unsigned int i;

	for (i = 0; i < ODRP_HMAC_KEY_MAX; i++)
		ret_block[i] = (i < key_len ? key[i] : 0) ^ with;
}

/*
 * odrp_hmac() - HMAC-SHA-256
 * @key_len: at most ODRP_HMAC_KEY_MAX
 */
void odrp_hmac(const u8 *key, unsigned int key_len,
	       const struct odrp_auth_piece *piece, unsigned int nr,
	       u8 ret_mac[ODRP_AUTH_PROOF])
{
	odrp_compat_sha256 sha;
	u8 block[ODRP_HMAC_KEY_MAX];
	u8 inner[SHA256_DIGEST_SIZE];
	unsigned int i;

	pad_key(key, key_len, INNER, block);
	sha256_init(&sha);
	sha256_update(&sha, block, sizeof(block));
	for (i = 0; i < nr; i++)
		sha256_update(&sha, piece[i].p, piece[i].len);
	sha256_final(&sha, inner);

	pad_key(key, key_len, OUTER, block);
	sha256_init(&sha);
	sha256_update(&sha, block, sizeof(block));
	sha256_update(&sha, inner, sizeof(inner));
	sha256_final(&sha, ret_mac);

	memzero_explicit(&sha, sizeof(sha));
	memzero_explicit(block, sizeof(block));
	memzero_explicit(inner, sizeof(inner));
}

static int compare(const u8 *is, const u8 *right, size_t len)
{
	return crypto_memneq(is, right, len) ? -EKEYREJECTED : 0;
}

/* ---- handshake ----------------------------------------------------------------- */

/* odrp_auth_derive() - compute K, the key of the MACs that both nodes make from now on */
void odrp_auth_derive(const u8 secret[ODRP_AUTH_SECRET],
		      const struct odrp_auth_hello *hello,
		      const struct odrp_auth_challenge *challenge,
		      struct odrp_auth_key *ret_key)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	u8 digest[SHA256_DIGEST_SIZE];
	odrp_compat_sha256 sha;
	unsigned int i, nr;

	nr = odrp_auth_pack_nonces(hello, challenge, piece);
	sha256_init(&sha);
	for (i = 0; i < nr; i++)
		sha256_update(&sha, piece[i].p, piece[i].len);
	sha256_final(&sha, digest);
	piece[0].p = ODRP_AUTH_LABEL;
	piece[0].len = ODRP_AUTH_LABEL_LEN;
	piece[1].p = digest;
	piece[1].len = sizeof(digest);
	odrp_hmac(secret, ODRP_AUTH_SECRET, piece, 2, ret_key->k);
}

/* odrp_auth_prove() - fill in the proof of a response whose other fields are set */
void odrp_auth_prove(const struct odrp_auth_key *key,
		     const struct odrp_auth_hello *hello,
		     const struct odrp_auth_challenge *challenge,
		     struct odrp_auth_response *response)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	struct odrp_auth_tag tag;
	unsigned int nr;

	nr = odrp_auth_pack_response(hello, challenge, response, &tag, piece);
	odrp_hmac(key->k, sizeof(key->k), piece, nr, response->proof);
}

/*
 * odrp_auth_check_done() - check that the memory node has the same secret
 *
 * Return: 0; -EKEYREJECTED: the memory node has another secret, or a message of the
 * handshake was changed on the way.
 */
int odrp_auth_check_done(const struct odrp_auth_key *key,
			 const struct odrp_auth_hello *hello,
			 const struct odrp_auth_challenge *challenge,
			 const struct odrp_auth_response *response,
			 const struct odrp_auth_done *done)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	u8 right[ODRP_AUTH_PROOF];
	struct odrp_auth_tag tag;
	unsigned int nr;

	nr = odrp_auth_pack_done(hello, challenge, response, done, &tag, piece);
	odrp_hmac(key->k, sizeof(key->k), piece, nr, right);
	return compare(done->proof, right, sizeof(right));
}

/* ---- other connections --------------------------------------------------------- */

/* Compute the full HMAC.  A MAC is its first ODRP_AUTH_MAC bytes. */
static void make_mac(const struct odrp_auth_key *key,
		     const struct odrp_auth_bound *bound, const void *p,
		     unsigned int len, u8 ret_mac[ODRP_AUTH_PROOF])
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	unsigned int nr = odrp_auth_pack_bound(bound, p, len, piece);

	odrp_hmac(key->k, sizeof(key->k), piece, nr, ret_mac);
}

/*
 * odrp_auth_sign_req() - fill in the MAC of a REQ whose other fields are set
 * @bound: both addresses, and the queue pair of the compute node
 */
void odrp_auth_sign_req(const struct odrp_auth_key *key,
			struct odrp_auth_bound bound,
			struct odrp_auth_req *req)
{
	u8 mac[ODRP_AUTH_PROOF];

	bound.what = ODRP_AUTH_REQ;
	bound.version = ODRP_AUTH_VERSION;
	bound.counter = req->counter;
	make_mac(key, &bound, req, offsetof(struct odrp_auth_req, mac), mac);
	memcpy(req->mac, mac, sizeof(req->mac));
}

/*
 * odrp_auth_check_answer() - check that a REP or REJ answers this REQ and was signed with K
 * @bound: as for the REQ; what is ODRP_AUTH_REP or ODRP_AUTH_REJ, and qpn is the queue pair
 *	of the memory node, or 0 for a REJ
 * @mac: the MAC of the answer
 *
 * Return: 0, or -EKEYREJECTED.
 */
int odrp_auth_check_answer(const struct odrp_auth_key *key,
			   const struct odrp_auth_bound *bound,
			   const void *p, unsigned int len,
			   const u8 mac[ODRP_AUTH_MAC])
{
	u8 right[ODRP_AUTH_PROOF];

	make_mac(key, bound, p, len, right);
	return compare(mac, right, ODRP_AUTH_MAC);
}

/* ---- heartbeats and grants ------------------------------------------------------ */

/*
 * odrp_auth_sign_beat() - fill in the MAC of a heartbeat whose other fields are set
 * @handle: the handle of the handshake that made @key
 * @len: how many bytes of the heartbeat are written
 */
void odrp_auth_sign_beat(const struct odrp_auth_key *key, __be64 handle,
			 struct odrp_wire_beat *beat, u32 len)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	struct odrp_auth_prefix prefix;
	u8 mac[ODRP_AUTH_PROOF];
	unsigned int nr;

	nr = odrp_auth_pack_beat(handle, beat, len, &prefix, piece);
	odrp_hmac(key->k, sizeof(key->k), piece, nr, mac);
	memcpy(beat->mac, mac, sizeof(beat->mac));
}

/*
 * odrp_auth_check_grant() - check that a grant is complete and was signed with K
 *
 * Return: 0, or -EKEYREJECTED.
 */
int odrp_auth_check_grant(const struct odrp_auth_key *key, __be64 handle,
			  const struct odrp_wire_signed_grant *grant)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	struct odrp_auth_prefix prefix;
	u8 right[ODRP_AUTH_PROOF];
	unsigned int nr;

	nr = odrp_auth_pack_grant(handle, &grant->grant, &prefix, piece);
	odrp_hmac(key->k, sizeof(key->k), piece, nr, right);
	return compare(grant->mac, right, sizeof(grant->mac));
}
