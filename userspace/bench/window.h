/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Windows: parts of a run that follow one another without a gap. Each has what its
 * operations did; two of them tell whether the run has reached its steady state.
 */
#ifndef FAR_BENCH_WINDOW_H
#define FAR_BENCH_WINDOW_H

#include <stdint.h>

#include <far/stats.h>

#include "../base/hist.h"
#include "ycsb.h"

/* Two windows agree if no figure of one differs by more from the other's. */
#define WINDOW_AGREE		0.05
/* Fewer operations than this say nothing about a share of 5 %. */
#define WINDOW_LEAST_OPS	10000u

struct window {
	uint64_t ns;
	uint64_t ops;			/* that ended in it */
	uint64_t by_kind[YCSB_NR_OPS];
	uint64_t least;			/* operations of the task that had fewest */
	uint64_t longest_wait_ns;	/* of an operation that was under way at its end */
	struct far_stats stats;		/* of all clients */
	uint64_t written;		/* payload of WRITEs, of all clients */
	uint64_t partial;		/* far_stats_partial() */
	struct far_hist latency;	/* ns from intent to return */
};

/* What is compared of a window. */
struct window_brief {
	double mops;
	double attempts;		/* per operation of the structure, at least 1 */
	double p50_us;
};

void window_init(struct window *window);
struct window_brief window_brief(const struct window *window);
/* Whether all three figures agree. Windows without operations do not. */
int window_agree(const struct window_brief *a, const struct window_brief *b);

#endif
