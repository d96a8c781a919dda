/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a workload on an index: clients, threads and tasks, a time to warm up, and
 * windows that follow one another until two in a row agree (window.h): then the run has
 * reached its steady state, and the last window is its result. On any back end; in sim
 * all times are virtual.
 */
#ifndef FAR_BENCH_RUN_H
#define FAR_BENCH_RUN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <far/far.h>
#include <far/stats.h>

#include "index_ops.h"
#include "window.h"
#include "ycsb.h"

#define RUN_REASON_MAX	256

/* A run without two windows that agree ends after so many times run_ns. */
#define RUN_MOST		4u

struct run_conf {
	const struct index_ops *index;
	void (*prepare)(void *index);	/* called for each handle; NULL: nothing is to do */
	const char *name;		/* of the structure in the space */
	const struct ycsb_mix *mix;
	struct ycsb_data data;
	uint64_t keys;			/* that are there at the beginning */
	double theta;
	unsigned threads_min, threads_max;	/* per client; equal: no changes */
	uint64_t change_ns;		/* between changes of the number of threads */
	unsigned tasks;			/* per thread */
	double rate;			/* operations a second of all; 0: as fast as can be */
	uint64_t warm_ns;
	uint64_t run_ns;		/* two windows, unless cycle_ns makes them longer */
	uint64_t cycle_ns;		/* of throttling: the least window */
	/*
	 * An operation that is under way when the run ends is not awaited: where hundreds
	 * fight for a key, the last one has its turn after seconds. In sim alone.
	 */
	int cut;
	/* The run has one window, which ends after so many operations; 0: see above. */
	uint64_t max_ops;
	uint64_t seed;
	/* Called for each client, when it has opened the structure; NULL: nobody. */
	int (*opened)(void *arg, struct far_task *task, void *index);
	void *opened_arg;
	atomic_uint *ret_percent;	/* of warming up and run_ns; a run may go on; or NULL */
};

struct run_result {
	struct window last;
	struct window_brief before;	/* the window before the last; 0 if there was one only */
	unsigned nr_windows;
	int steady;			/* these two agree */
	uint64_t errors;		/* operations that failed once the first window had begun */
	int first_error;		/* -errno of the first one */
	char reason[RUN_REASON_MAX];	/* in words, of a connection's; or "" */
	uint64_t tasks;
	double fairness;		/* least of mean operations of a task */
	double little;			/* throughput x mean latency / tasks: 1 */
};

struct run;

/*
 * Opens the structure with nr clients (in sim: one per compute node). far and conf are
 * the caller's, and stay as long as the run. Called from outside of any task, as is all
 * that follows. -errno.
 */
int run_open(struct far *const *far, unsigned nr, const struct run_conf *conf,
	     struct run **ret_run);
/*
 * Runs the workload with all clients at once. 0, or the error that kept it from
 * beginning; errors of operations are in the result. May be called again.
 */
int run_measure(struct run *run, struct run_result *ret_result);
/* One window of that many ns after warm_ns, whatever conf says. */
int run_glance(struct run *run, uint64_t warm_ns, uint64_t ns,
	       struct run_result *ret_result);
void run_close(struct run *run);

/* Inserts keys [0, keys) from all clients at once. */
int run_load(struct far *const *far, unsigned nr, const struct run_conf *conf);

#endif
