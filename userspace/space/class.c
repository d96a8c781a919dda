// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of size classes.
 */
#include "class.h"

#define FINE	16u	/* up to so many units, each number is a class */

/*
 * Above FINE units, the largest sizes of which a given number fits into a page. At most
 * a third of a block is lost to its class, and little of the page.
 */
static const uint16_t units[FAR_NR_CLASSES] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 39, 42, 46, 51, 56, 64,
	73, 85, 102, 128, 146, 170, 204, 256, 341, 512,
};

unsigned far_class_units(unsigned class)
{
	return class < FAR_NR_CLASSES ? units[class] : 0;
}

unsigned far_class_of(uint64_t size)
{
	uint64_t need = (size + FAR_UNIT - 1) / FAR_UNIT;
	unsigned lo = FINE + 1, hi = FAR_NR_CLASSES - 1;

	if (need <= FINE)
		return need ? need : 1;
	if (need > units[hi])
		return 0;
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (units[mid] >= need)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}
