// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Histograms of latencies: see hist.h.
 */
#include "hist.h"

#include <string.h>

void far_hist_init(struct far_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
	hist->min = UINT64_MAX;
}

/* Values below FAR_HIST_SUB have a bucket each; then FAR_HIST_SUB per power of two. */
static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < FAR_HIST_SUB)
		return value;
	shift = 63 - __builtin_clzll(value) - FAR_HIST_SUB_BITS;
	return (shift << FAR_HIST_SUB_BITS) + (value >> shift);
}

static uint64_t bucket_end(unsigned idx)
{
	unsigned shift;

	if (idx < FAR_HIST_SUB)
		return idx;
	shift = (idx >> FAR_HIST_SUB_BITS) - 1;
	return ((FAR_HIST_SUB + (uint64_t)(idx % FAR_HIST_SUB) + 1) << shift) - 1;
}

void far_hist_add(struct far_hist *hist, uint64_t value)
{
	hist->count++;
	hist->sum += value;
	if (value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->bucket[bucket_of(value)]++;
}

void far_hist_merge(struct far_hist *into, const struct far_hist *from)
{
	unsigned i;

	into->count += from->count;
	into->sum += from->sum;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	for (i = 0; i < FAR_HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint64_t far_hist_permille(const struct far_hist *hist, unsigned permille)
{
	uint64_t want, seen = 0, end;
	unsigned i;

	if (!hist->count)
		return 0;
	want = (uint64_t)(((unsigned __int128)hist->count * permille + 999) / 1000);
	if (!want)
		want = 1;
	for (i = 0; i < FAR_HIST_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen >= want)
			break;
	}
	end = bucket_end(i);
	return end < hist->max ? end : hist->max;
}
