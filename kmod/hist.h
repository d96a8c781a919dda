/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency histogram: buckets of a quarter octave, so that a percentile is
 * right to within 25 %.  Pure code, also compiled in user space.
 */
#ifndef _ODRP_HIST_H
#define _ODRP_HIST_H

#include <linux/types.h>

#define ODRP_HIST_SUB_BITS	2
#define ODRP_HIST_MAX_LOG	40	/* 2^40 ns are 18 minutes */
#define ODRP_HIST_NR	((ODRP_HIST_MAX_LOG - ODRP_HIST_SUB_BITS + 1) << \
			 ODRP_HIST_SUB_BITS)

struct odrp_hist {
	u64	n[ODRP_HIST_NR];
	u64	max;
};

unsigned int odrp_hist_index(u64 ns);
u64 odrp_hist_upper(unsigned int idx);
void odrp_hist_add(struct odrp_hist *sum, const struct odrp_hist *h);
u64 odrp_hist_percentile(const struct odrp_hist *h, unsigned int percent);

#endif /* _ODRP_HIST_H */
