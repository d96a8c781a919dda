// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counters: one set per CPU, added up when somebody looks.  The data path only
 * adds to its own CPU's.
 */
#include <linux/string.h>
#include "odrp.h"

/* Everything before the histograms is a u64 counter. */
#define NR_COUNTERS	(offsetof(struct odrp_stats, load_ns) / sizeof(u64))

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
		odrp_hist_add(&sum->load_ns, &s->load_ns);
		odrp_hist_add(&sum->store_ns, &s->store_ns);
	}
}

void odrp_stat_time(struct odrp_dev *dev, bool store, u64 ns)
{
	unsigned int idx = odrp_hist_index(ns);
	struct odrp_stats *s = get_cpu_ptr(dev->stats);
	struct odrp_hist *h = store ? &s->store_ns : &s->load_ns;

	this_cpu_inc(*(store ? &dev->stats->store_ns.n[idx] :
			       &dev->stats->load_ns.n[idx]));
	/* A softirq in between may set a larger one, which gets lost. */
	if (ns > READ_ONCE(h->max))
		WRITE_ONCE(h->max, ns);
	put_cpu_ptr(dev->stats);
}
