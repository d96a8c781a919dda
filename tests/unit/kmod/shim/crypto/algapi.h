/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Comparing in constant time, as the kernel calls it; by nettle. */
#ifndef _SHIM_CRYPTO_ALGAPI_H
#define _SHIM_CRYPTO_ALGAPI_H

#include <nettle/memops.h>

#define crypto_memneq(a, b, len)	(!memeql_sec(a, b, len))

#endif /* _SHIM_CRYPTO_ALGAPI_H */
