// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A seed for who gives none.
 */
#include "rng.h"

#include <sys/random.h>
#include <time.h>

uint64_t far_rng_any_seed(void)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return far_rng_mix(now.tv_sec * UINT64_C(1000000000) + now.tv_nsec);
}
