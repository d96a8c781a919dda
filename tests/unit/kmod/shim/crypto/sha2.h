/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SHA-256 as the kernel calls it, by nettle, whose names are others behind its macros. */
#ifndef _SHIM_CRYPTO_SHA2_H
#define _SHIM_CRYPTO_SHA2_H

#include <nettle/sha2.h>

#define odrp_compat_sha256		struct sha256_ctx

#undef sha256_update
#define sha256_update(ctx, p, len)	nettle_sha256_update(ctx, len, p)
#define sha256_final(ctx, ret)		nettle_sha256_digest(ctx, SHA256_DIGEST_SIZE, ret)

#endif /* _SHIM_CRYPTO_SHA2_H */
