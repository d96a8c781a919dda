// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of size classes.
 */
#include "class.h"

/*
 * In words of 8 bytes. Up to 64 bytes a block is at most 7 bytes larger than what it is
 * for, if that has 16: 17 bytes get 24. From 26 bytes to 1 KiB it is at most a quarter
 * larger: 257 bytes get 320. Above, these are the largest sizes of which a given number
 * fits into a page of 64 KiB: at most a third of a block is lost to its class, and little of
 * such a page.
 */
static const uint16_t words[FAR_NR_CLASSES] = {
	0, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 72, 80, 88,
	96, 104, 112, 120, 128,
	144, 160, 176, 192, 208, 224, 240, 256, 272, 288, 312, 336, 368, 408, 448, 512,
	584, 680, 816, 1024, 1168, 1360, 1632, 2048, 2728, 4096,
};

static_assert(8 * 2 == FAR_LEAST, "the map of a page has a bit for each block");

uint32_t far_class_size(unsigned class)
{
	return class < FAR_NR_CLASSES ? 8 * (uint32_t)words[class] : 0;
}

unsigned far_class_of(const struct far_sb *sb, uint64_t size)
{
	uint64_t need = size / 8 + !!(size % 8);
	unsigned lo = 1, hi = FAR_NR_CLASSES - 1;

	if (size > far_page_size(sb) / 2)
		return 0;
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (words[mid] >= need)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}
