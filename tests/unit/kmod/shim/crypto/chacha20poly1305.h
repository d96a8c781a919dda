/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ChaCha20-Poly1305 (RFC 8439) as the kernel calls it, by nettle.  The kernel's nonce of
 * 64 bits is the end of the RFC's of 96.  A list is a page and a tag.
 */
#ifndef _SHIM_CRYPTO_CHACHA20POLY1305_H
#define _SHIM_CRYPTO_CHACHA20POLY1305_H

#include <nettle/chacha-poly1305.h>
#include <nettle/memops.h>

#include "../kernel.h"

#define ODRP_HAVE_AEAD	true
#define ODRP_AEAD_KEY	CHACHA_POLY1305_KEY_SIZE

struct scatterlist {
	u8		*at;
	unsigned int	len;
};

#define sg_init_table(sg, nr)	memset(sg, 0, (nr) * sizeof(*(sg)))

static inline void sg_set_page(struct scatterlist *sg, struct page *page,
			       unsigned int len, unsigned int off)
{
	if (off + len > PAGE_SIZE)
		abort();
	sg->at = (u8 *)page->bytes + off;
	sg->len = len;
}

static inline void shim_aead_begin(struct chacha_poly1305_ctx *ctx, const u8 *ad,
				   size_t ad_len, u64 nonce, const u8 *key)
{
	u8 n[CHACHA_POLY1305_NONCE_SIZE] = { 0 };
	__le64 le = cpu_to_le64(nonce);

	memcpy(n + 4, &le, sizeof(le));
	chacha_poly1305_set_key(ctx, key);
	chacha_poly1305_set_nonce(ctx, n);
	chacha_poly1305_update(ctx, ad_len, ad);
}

static inline bool chacha20poly1305_encrypt_sg_inplace(struct scatterlist *sg,
		size_t len, const u8 *ad, size_t ad_len, u64 nonce, const u8 *key)
{
	struct chacha_poly1305_ctx ctx;

	if (sg[0].len != len || sg[1].len != CHACHA_POLY1305_DIGEST_SIZE)
		abort();
	shim_aead_begin(&ctx, ad, ad_len, nonce, key);
	chacha_poly1305_encrypt(&ctx, len, sg[0].at, sg[0].at);
	chacha_poly1305_digest(&ctx, sg[1].len, sg[1].at);
	return true;
}

static inline bool chacha20poly1305_decrypt_sg_inplace(struct scatterlist *sg,
		size_t len, const u8 *ad, size_t ad_len, u64 nonce, const u8 *key)
{
	struct chacha_poly1305_ctx ctx;
	u8 tag[CHACHA_POLY1305_DIGEST_SIZE];

	if (sg[0].len + sg[1].len != len || sg[1].len != sizeof(tag))
		abort();
	shim_aead_begin(&ctx, ad, ad_len, nonce, key);
	chacha_poly1305_decrypt(&ctx, sg[0].len, sg[0].at, sg[0].at);
	chacha_poly1305_digest(&ctx, sizeof(tag), tag);
	return memeql_sec(tag, sg[1].at, sizeof(tag));
}

#endif /* _SHIM_CRYPTO_CHACHA20POLY1305_H */
