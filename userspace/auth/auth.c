// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Proofs, MACs, and the window of counters: see auth.h. */
#include <endian.h>
#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>
#include "auth.h"

static void hmac(const uint8_t *key, size_t key_len,
		 const struct odrp_auth_piece *piece, unsigned int nr,
		 size_t len, uint8_t *ret_mac)
{
	struct hmac_sha256_ctx ctx;
	unsigned int i;

	hmac_sha256_set_key(&ctx, key_len, key);
	for (i = 0; i < nr; i++)
		hmac_sha256_update(&ctx, piece[i].len, piece[i].p);
	hmac_sha256_digest(&ctx, len, ret_mac);
	explicit_bzero(&ctx, sizeof(ctx));
}

void auth_derive(const uint8_t secret[ODRP_AUTH_SECRET],
		 const struct odrp_auth_hello *hello,
		 const struct odrp_auth_challenge *challenge,
		 struct auth_key *ret_key)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;
	unsigned int i, nr;

	nr = odrp_auth_pack_nonces(hello, challenge, piece);
	sha256_init(&sha);
	for (i = 0; i < nr; i++)
		sha256_update(&sha, piece[i].len, piece[i].p);
	sha256_digest(&sha, sizeof(digest), digest);
	piece[0] = (struct odrp_auth_piece){ ODRP_AUTH_LABEL,
					     ODRP_AUTH_LABEL_LEN };
	piece[1] = (struct odrp_auth_piece){ digest, sizeof(digest) };
	hmac(secret, ODRP_AUTH_SECRET, piece, 2, sizeof(ret_key->k), ret_key->k);
}

static int mac_check(const uint8_t *a, const uint8_t *b, size_t len)
{
	return memeql_sec(a, b, len) ? 0 : -EKEYREJECTED;
}

/* ---- handshake ------------------------------------------------------------------ */

void auth_prove_response(const struct auth_key *key,
			 const struct odrp_auth_hello *hello,
			 const struct odrp_auth_challenge *challenge,
			 struct odrp_auth_response *response)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	struct odrp_auth_tag tag;
	unsigned int nr = odrp_auth_pack_response(hello, challenge, response,
						  &tag, piece);

	hmac(key->k, sizeof(key->k), piece, nr, sizeof(response->proof),
	     response->proof);
}

void auth_prove_done(const struct auth_key *key,
		     const struct odrp_auth_hello *hello,
		     const struct odrp_auth_challenge *challenge,
		     const struct odrp_auth_response *response,
		     struct odrp_auth_done *done)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	struct odrp_auth_tag tag;
	unsigned int nr = odrp_auth_pack_done(hello, challenge, response, done,
					      &tag, piece);

	hmac(key->k, sizeof(key->k), piece, nr, sizeof(done->proof), done->proof);
}

int auth_check_response(const struct auth_key *key,
			const struct odrp_auth_hello *hello,
			const struct odrp_auth_challenge *challenge,
			const struct odrp_auth_response *response)
{
	struct odrp_auth_response right = *response;

	auth_prove_response(key, hello, challenge, &right);
	return mac_check(right.proof, response->proof, sizeof(right.proof));
}

int auth_check_done(const struct auth_key *key,
		    const struct odrp_auth_hello *hello,
		    const struct odrp_auth_challenge *challenge,
		    const struct odrp_auth_response *response,
		    const struct odrp_auth_done *done)
{
	struct odrp_auth_done right = *done;

	auth_prove_done(key, hello, challenge, response, &right);
	return mac_check(right.proof, done->proof, sizeof(right.proof));
}

/* ---- other connections ---------------------------------------------------------- */

static void bound_sign(const struct auth_key *key, const struct odrp_auth_bound *bound,
		       const void *p, size_t len, uint8_t *ret_mac)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	unsigned int nr = odrp_auth_pack_bound(bound, p, len, piece);

	hmac(key->k, sizeof(key->k), piece, nr, ODRP_AUTH_MAC, ret_mac);
}

void auth_sign_req(const struct auth_key *key, struct odrp_auth_bound bound,
		   struct odrp_auth_req *req)
{
	bound.what = ODRP_AUTH_REQ;
	bound.counter = req->counter;
	bound_sign(key, &bound, req, offsetof(struct odrp_auth_req, mac), req->mac);
}

int auth_check_req(const struct auth_key *key, struct odrp_auth_bound bound,
		   const struct odrp_auth_req *req)
{
	struct odrp_auth_req right = *req;

	auth_sign_req(key, bound, &right);
	return mac_check(right.mac, req->mac, sizeof(right.mac));
}

static void far_bound(const struct odrp_auth_far *req, struct odrp_auth_bound *bound)
{
	bound->what = ODRP_AUTH_REQ;
	bound->counter = htobe64(be32toh(req->counter));
}

void auth_sign_far(const struct auth_key *key, struct odrp_auth_bound bound,
		   struct odrp_auth_far *req)
{
	far_bound(req, &bound);
	bound_sign(key, &bound, req, offsetof(struct odrp_auth_far, mac), req->mac);
}

int auth_check_far(const struct auth_key *key, struct odrp_auth_bound bound,
		   const struct odrp_auth_far *req)
{
	struct odrp_auth_far right = *req;

	auth_sign_far(key, bound, &right);
	return mac_check(right.mac, req->mac, sizeof(right.mac));
}

void auth_hash(const void *p, size_t len, uint8_t ret_hash[32])
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, len, p);
	sha256_digest(&sha, 32, ret_hash);
}

void auth_space(const uint8_t *name, size_t len, uint8_t ret_space[ODRP_AUTH_SPACE])
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, len, name);
	sha256_digest(&sha, ODRP_AUTH_SPACE, ret_space);
}

void auth_sign_answer(const struct auth_key *key, struct odrp_auth_bound bound,
		      const void *p, size_t len, uint8_t ret_mac[ODRP_AUTH_MAC])
{
	bound_sign(key, &bound, p, len, ret_mac);
}

int auth_check_answer(const struct auth_key *key, struct odrp_auth_bound bound,
		      const void *p, size_t len,
		      const uint8_t mac[ODRP_AUTH_MAC])
{
	uint8_t right[ODRP_AUTH_MAC];

	bound_sign(key, &bound, p, len, right);
	return mac_check(right, mac, sizeof(right));
}

/* ---- heartbeats and grants ------------------------------------------------------ */

void auth_sign_beat(const struct auth_key *key, uint64_t handle,
		    struct odrp_wire_beat *beat, uint32_t len)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	struct odrp_auth_prefix prefix;
	unsigned int nr = odrp_auth_pack_beat(htobe64(handle), beat, len, &prefix,
					      piece);

	hmac(key->k, sizeof(key->k), piece, nr, sizeof(beat->mac), beat->mac);
}

int auth_check_beat(const struct auth_key *key, uint64_t handle,
		    const struct odrp_wire_beat *beat, uint32_t len)
{
	struct odrp_wire_beat right = *beat;

	auth_sign_beat(key, handle, &right, len);
	return mac_check(right.mac, beat->mac, sizeof(right.mac));
}

void auth_sign_grant(const struct auth_key *key, uint64_t handle,
		     struct odrp_wire_signed_grant *grant)
{
	struct odrp_auth_piece piece[ODRP_AUTH_PIECES];
	struct odrp_auth_prefix prefix;
	unsigned int nr = odrp_auth_pack_grant(htobe64(handle), &grant->grant, &prefix,
					       piece);

	hmac(key->k, sizeof(key->k), piece, nr, sizeof(grant->mac), grant->mac);
}

int auth_check_grant(const struct auth_key *key, uint64_t handle,
		     const struct odrp_wire_signed_grant *grant)
{
	struct odrp_wire_signed_grant right = *grant;

	auth_sign_grant(key, handle, &right);
	return mac_check(right.mac, grant->mac, sizeof(right.mac));
}

/* ---- counters -------------------------------------------------------------------- */

static uint64_t *word_of(struct auth_window *w, uint64_t counter)
{
	return &w->seen[counter % ODRP_AUTH_WINDOW / 64];
}

/* Clears the bits of the new counters, which older counters have used. */
static void window_advance(struct auth_window *w, uint64_t counter)
{
	uint64_t n = counter - w->top;

	if (n >= ODRP_AUTH_WINDOW)
		memset(w->seen, 0, sizeof(w->seen));
	else
		while (n--)
			*word_of(w, counter - n) &= ~(1ull << (counter - n) % 64);
	w->top = counter;
}

int auth_window_take(struct auth_window *w, uint64_t counter)
{
	uint64_t bit = 1ull << counter % 64;

	if (!counter ||
	    (w->top >= ODRP_AUTH_WINDOW && counter <= w->top - ODRP_AUTH_WINDOW))
		return -ERANGE;
	if (counter > w->top)
		window_advance(w, counter);
	else if (*word_of(w, counter) & bit)
		return -EALREADY;
	*word_of(w, counter) |= bit;
	return 0;
}
