// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What to recommend. See advise.h. */
#include "advise.h"

#include <stdio.h>

/* A value of the B+ tree has at most 256 bytes. */
const uint32_t advise_size[ADVISE_SIZES] = { 8, 32, 64, 128, 256 };

unsigned advise_crossover(const struct advise *advise)
{
	unsigned i = ADVISE_SIZES;

	while (i && advise->art[i - 1] > advise->btree[i - 1])
		i--;
	return i;
}

const char *advise_choice(const struct advise *advise, uint32_t value_size)
{
	unsigned from = advise_crossover(advise);

	if (value_size < 8 || value_size > advise_size[ADVISE_SIZES - 1])
		return "art";
	return from < ADVISE_SIZES && value_size >= advise_size[from] ? "art" : "btree";
}

void advise_print(const struct advise *advise, uint32_t value_size)
{
	const char *choice = advise_choice(advise, value_size);
	unsigned from = advise_crossover(advise), i;

	printf("scans of 1 to 100 keys, Mop/s:\n  value bytes      btree        art\n");
	for (i = 0; i < ADVISE_SIZES; i++)
		printf("  %11u %10.3f %10.3f\n", advise_size[i], advise->btree[i],
		       advise->art[i]);
	if (from == ADVISE_SIZES)
		printf("crossover: none up to %u bytes, the B+ tree is faster\n",
		       advise_size[ADVISE_SIZES - 1]);
	else if (!from)
		printf("crossover: none, the radix tree is faster from %u bytes on\n",
		       advise_size[0]);
	else
		printf("crossover: between values of %u and %u bytes\n",
		       advise_size[from - 1], advise_size[from]);
	if (value_size < 8 || value_size > advise_size[ADVISE_SIZES - 1])
		printf("values of %u bytes: take art; those of btree have 8 to 256\n", value_size);
	else
		printf("values of %u bytes, mostly scans: take %s\n", value_size, choice);
	printf("mostly single keys, or keys of many lengths: take art, which reads one leaf\n");
}
