/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random numbers of the system, for NICs that strangers can reach.
 */
#include <sys/random.h>
#include "../snic.h"

uint64_t snic_rt_random(void)
{
	uint64_t v;

	/* So few bytes are given whole, and without an interruption. */
	while (getrandom(&v, sizeof(v), 0) != sizeof(v))
		;
	return v;
}
