/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random numbers that a seed determines: splitmix64 (Steele, Lea and Flood, 2014).
 * Quick, 64 bits of state, equally distributed; not for secrets.
 */
#ifndef FAR_BASE_RNG_H
#define FAR_BASE_RNG_H

#include <stdint.h>

struct far_rng {
	uint64_t state;
};

/* A permutation of 64 bits in which each bit of x moves half of the result's. */
static inline uint64_t far_rng_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t far_rng_next(struct far_rng *rng)
{
	return far_rng_mix(rng->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* The stream'th of the sequences that a seed has: for threads that share a seed. */
static inline void far_rng_init(struct far_rng *rng, uint64_t seed, uint64_t stream)
{
	rng->state = far_rng_mix(seed + far_rng_mix(stream + 1));
}

/* A seed that the system makes up, and nobody gets again. */
uint64_t far_rng_any_seed(void);

/* 0 to n - 1, n at least 1; even to n / 2^64. */
static inline uint64_t far_rng_below(struct far_rng *rng, uint64_t n)
{
	return (unsigned __int128)far_rng_next(rng) * n >> 64;
}

/* [0, 1) */
static inline double far_rng_unit(struct far_rng *rng)
{
	return (far_rng_next(rng) >> 11) * 0x1p-53;
}

#endif
