/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Searches and changes of bits, each one step. */
#ifndef _SHIM_LINUX_BITMAP_H
#define _SHIM_LINUX_BITMAP_H

#include <stdbool.h>

#include <linux/types.h>

#include "../shim.h"

#define SHIM_LONG		(8 * sizeof(long))
#define BIT_WORD(nr)		((nr) / SHIM_LONG)

static inline bool test_bit(unsigned long nr, const unsigned long *p)
{
	shim_step();
	return __atomic_load_n(&p[BIT_WORD(nr)], __ATOMIC_SEQ_CST) >> nr % SHIM_LONG & 1;
}

static inline void set_bit(unsigned long nr, unsigned long *p)
{
	shim_step();
	__atomic_or_fetch(&p[BIT_WORD(nr)], 1ul << nr % SHIM_LONG, __ATOMIC_SEQ_CST);
}

static inline void clear_bit(unsigned long nr, unsigned long *p)
{
	shim_step();
	__atomic_and_fetch(&p[BIT_WORD(nr)], ~(1ul << nr % SHIM_LONG), __ATOMIC_SEQ_CST);
}

static inline bool test_and_set_bit(unsigned long nr, unsigned long *p)
{
	unsigned long bit = 1ul << nr % SHIM_LONG;

	shim_step();
	return __atomic_fetch_or(&p[BIT_WORD(nr)], bit, __ATOMIC_SEQ_CST) & bit;
}

/* One step for all words: who changes a bit meanwhile came before or comes after. */
static inline unsigned long find_first_bit(const unsigned long *p, unsigned long nr)
{
	unsigned long i;

	shim_step();
	for (i = 0; i < nr && !(p[BIT_WORD(i)] >> i % SHIM_LONG & 1); i++)
		;
	return i;
}

static inline unsigned long find_first_zero_bit(const unsigned long *p, unsigned long nr)
{
	unsigned long i;

	shim_step();
	for (i = 0; i < nr && p[BIT_WORD(i)] >> i % SHIM_LONG & 1; i++)
		;
	return i;
}

#endif /* _SHIM_LINUX_BITMAP_H */
