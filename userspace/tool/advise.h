/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which of the trees is the better one for a program's scans: short runs of both by size
 * of the values, and what follows from them.
 */
#ifndef FAR_TOOL_ADVISE_H
#define FAR_TOOL_ADVISE_H

#include <stdint.h>

#define ADVISE_SIZES	5u

extern const uint32_t advise_size[ADVISE_SIZES];

struct advise {
	/* Mop/s of scans, by size */
	double btree[ADVISE_SIZES], art[ADVISE_SIZES];
};

/*
 * The index into advise_size from which on the radix tree is the faster one;
 * ADVISE_SIZES: it never is.
 */
unsigned advise_crossover(const struct advise *advise);
/* "btree" or "art", for values of that size. */
const char *advise_choice(const struct advise *advise, uint32_t value_size);
/* The table, and a sentence about values of value_size bytes. */
void advise_print(const struct advise *advise, uint32_t value_size);

#endif
