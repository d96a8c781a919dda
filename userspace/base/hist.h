/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A histogram of 64-bit values with a bounded relative error: each power of two is
 * cut into FAR_HIST_SUB equal parts, so that a percentile is at most 1/64 above the
 * value. Smallest, largest and sum are exact. One writer; merge when it is done.
 */
#ifndef FAR_BASE_HIST_H
#define FAR_BASE_HIST_H

#include <stdint.h>

#define FAR_HIST_SUB_BITS	6
#define FAR_HIST_SUB		(1u << FAR_HIST_SUB_BITS)
#define FAR_HIST_BUCKETS	((64 - FAR_HIST_SUB_BITS + 1) * FAR_HIST_SUB)

struct far_hist {
	uint64_t count;
	uint64_t sum;		/* of all values; wraps */
	uint64_t min, max;	/* meaningless while count is 0 */
	uint64_t bucket[FAR_HIST_BUCKETS];
};

void far_hist_init(struct far_hist *hist);
void far_hist_add(struct far_hist *hist, uint64_t value);
void far_hist_merge(struct far_hist *into, const struct far_hist *from);

/*
 * The smallest value v such that at least permille/1000 of the values are at most v,
 * rounded up to the end of its bucket and never above max. 0 when there are none.
 */
uint64_t far_hist_permille(const struct far_hist *hist, unsigned permille);

#endif
