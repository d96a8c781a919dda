// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counters: one set per CPU.  The data path adds to the set of its own CPU; a reader adds
 * up all sets.  The times of loads and stores are counted by queue, see hist.h.
 */
#include <linux/string.h>
#include "odrp.h"

#define NR_COUNTERS	(sizeof(struct odrp_stats) / sizeof(u64))

/*
 * odrp_stats_sum() - add up all CPUs' counters
 *
 * Not a snapshot: counters move while they are read.
 */
void odrp_stats_sum(struct odrp_dev *dev, struct odrp_stats *sum)
{
	unsigned int i;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		struct odrp_stats *s = per_cpu_ptr(dev->stats, cpu);

		for (i = 0; i < NR_COUNTERS; i++)
			((u64 *)sum)[i] += READ_ONCE(((u64 *)s)[i]);
	}
}

/* odrp_times_sum() - add up the times of loads, or of stores, of all queues */
void odrp_times_sum(struct odrp_dev *dev, bool store, struct odrp_hist *sum)
{
	unsigned int i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < dev->sess.nr_queues; i++)
		odrp_hist_add(sum, store ? &dev->times[i].store :
					   &dev->times[i].load);
}

/*
 * odrp_dev_mapped() - number of pages on the memory node that hold contents of a slot
 *
 * The difference of two counters that change meanwhile: it may be wrong for a moment.
 */
s64 odrp_dev_mapped(const struct odrp_dev *dev)
{
	s64 n = odrp_lease_used(&dev->lease) -
		atomic64_read(&dev->free.pending);

	return max_t(s64, n, 0);
}
