/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys of test programs: a number of 64 bits, big-endian, and a tail that only it has.
 * The keys that are fought for lie evenly among all numbers, fillers anywhere between.
 */
#ifndef TEST_FAR_ORDERED_KEYS_H
#define TEST_FAR_ORDERED_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../../../userspace/base/rng.h"

/* The i'th of nr keys that are fought for; even. */
static inline uint64_t key_fought(unsigned i, unsigned nr)
{
	return (UINT64_MAX / (nr + 1) * (i + 1)) & ~UINT64_C(1);
}

/* Filler i; odd. */
static inline uint64_t key_filler(uint64_t i)
{
	return far_rng_mix(i + 1) | 1;
}

static inline uint64_t key_number(const void *key)
{
	uint64_t number;

	memcpy(&number, key, sizeof(number));
	return __builtin_bswap64(number);
}

/* Writes at most size bytes; how many: all of them if `fixed`. */
static inline size_t key_write(void *key, uint64_t number, size_t size, int fixed)
{
	uint64_t swapped = __builtin_bswap64(number);
	size_t len = size;

	if (!fixed && size > sizeof(number))
		len = sizeof(number) + far_rng_mix(~number) % (size - sizeof(number) + 1);
	memset(key, (int)(number & 0x7f), len);
	memcpy(key, &swapped, sizeof(swapped));
	return len;
}

#endif
