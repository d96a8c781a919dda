/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random numbers of the system, for NICs that untrusted peers can reach. */
#include <sys/random.h>
#include "../snic.h"

uint64_t snic_rt_random(void)
{
	uint64_t v;

	/*
	 * getrandom() returns up to 256 bytes at once and without interruption.
	 */
	while (getrandom(&v, sizeof(v), 0) != sizeof(v))
		;
	return v;
}
