/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency histogram: buckets of a quarter octave, so that a percentile is
 * right to within 25 %.  Pure code, also compiled in user space.
 *
 * A live histogram is shared by all CPUs.  A queue has one for loads and one for stores.
 * Mostly one CPU handles the completions of a queue, so the few cache lines in use stay
 * with that CPU.  Both take 2.5 KB: a pair per CPU and queue would multiply that.
 * The counters are atomic, because a polling reader and the softirq may count at once,
 * and the histogram has to count each answered request.
 */
#ifndef _ODRP_HIST_H
#define _ODRP_HIST_H

#include <linux/atomic.h>
#include <linux/types.h>

#define ODRP_HIST_SUB_BITS	2
#define ODRP_HIST_MAX_LOG	40	/* 2^40 ns are 18 minutes */
#define ODRP_HIST_NR	((ODRP_HIST_MAX_LOG - ODRP_HIST_SUB_BITS + 1) << \
			 ODRP_HIST_SUB_BITS)

/* A histogram that is counted in. */
struct odrp_hist_live {
	atomic64_t	n[ODRP_HIST_NR];
	atomic64_t	max;
};

/* A sum of histograms, for reading. */
struct odrp_hist {
	u64	n[ODRP_HIST_NR];
	u64	max;
};

unsigned int odrp_hist_index(u64 ns);
u64 odrp_hist_lower(unsigned int idx);
u64 odrp_hist_upper(unsigned int idx);
void odrp_hist_count(struct odrp_hist_live *h, u64 ns);
void odrp_hist_add(struct odrp_hist *sum, const struct odrp_hist_live *h);
u64 odrp_hist_percentile(const struct odrp_hist *h, unsigned int percent);

#endif /* _ODRP_HIST_H */
