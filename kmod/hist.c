// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Latency histogram: value to bucket, bucket to value, percentiles.
 * done.c counts in the histograms of its queue; sysfs.c shows percentiles over all queues
 * of a device, debug.c the buckets of each queue.
 */
#include <linux/bitops.h>
#include <linux/math64.h>
#include "hist.h"

#define SUB	(1u << ODRP_HIST_SUB_BITS)

/* Values below SUB have a bucket each; then SUB buckets per octave. */
unsigned int odrp_hist_index(u64 ns)
{
	unsigned int log, idx;

	if (ns < SUB)
		return ns;
	log = fls64(ns) - 1;
	idx = ((log - ODRP_HIST_SUB_BITS + 1) << ODRP_HIST_SUB_BITS) +
	      ((ns >> (log - ODRP_HIST_SUB_BITS)) & (SUB - 1));
	return idx < ODRP_HIST_NR ? idx : ODRP_HIST_NR - 1;
}

/* The smallest value that falls into a bucket. */
u64 odrp_hist_lower(unsigned int idx)
{
	return idx ? odrp_hist_upper(idx - 1) + 1 : 0;
}

/* The largest value that falls into a bucket; the last bucket has no limit. */
u64 odrp_hist_upper(unsigned int idx)
{
	unsigned int shift;

	if (idx < SUB)
		return idx;
	if (idx >= ODRP_HIST_NR - 1)
		return ~0ull;
	shift = (idx >> ODRP_HIST_SUB_BITS) - 1;
	return ((u64)(SUB + (idx & (SUB - 1)) + 1) << shift) - 1;
}

/* Count a value.  Any context; several CPUs may count at once. */
void odrp_hist_count(struct odrp_hist_live *h, u64 ns)
{
	s64 max = atomic64_read(&h->max);

	atomic64_inc(&h->n[odrp_hist_index(ns)]);
	while ((s64)ns > max && !atomic64_try_cmpxchg(&h->max, &max, ns))
		;
}

/* Add a histogram to a sum.  Not a snapshot: others may count meanwhile. */
void odrp_hist_add(struct odrp_hist *sum, const struct odrp_hist_live *h)
{
	u64 max = atomic64_read(&h->max);
	unsigned int i;

	for (i = 0; i < ODRP_HIST_NR; i++)
		sum->n[i] += atomic64_read(&h->n[i]);
	if (max > sum->max)
		sum->max = max;
}

/*
 * odrp_hist_percentile() - a value that at least @percent % of all values do not exceed
 *
 * Return: upper bound of the bucket, but never more than the largest value;
 * 0 when the histogram is empty.
 */
u64 odrp_hist_percentile(const struct odrp_hist *h, unsigned int percent)
{
	u64 total = 0, want, seen = 0, v;
	unsigned int i;

	for (i = 0; i < ODRP_HIST_NR; i++)
		total += h->n[i];
	if (!total)
		return 0;
	want = div_u64(total * percent + 99, 100);
	if (!want)
		want = 1;
	for (i = 0; i < ODRP_HIST_NR; i++) {
		seen += h->n[i];
		if (seen >= want) {
			v = odrp_hist_upper(i);
			return v < h->max ? v : h->max;
		}
	}
	return h->max;
}
