/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a workload on an index: clients, threads and tasks, a time to warm up, a window
 * that is measured, and what came of it. On any back end; in sim all times are virtual.
 */
#ifndef FAR_BENCH_RUN_H
#define FAR_BENCH_RUN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <far/far.h>
#include <far/range.h>
#include <far/stats.h>

#include "../base/hist.h"
#include "ycsb.h"

#define RUN_SAID_MAX	256

/* What an index must be able to do; functions as those of <far/hash.h>. */
struct run_index {
	const char *name;
	int (*open)(struct far_task *task, const char *name, void **ret_index);
	void (*close)(void *index);
	int (*get)(struct far_task *task, void *index, const void *key, size_t key_len,
		   void *value, size_t value_size, size_t *ret_len);
	int (*update)(struct far_task *task, void *index, const void *key,
		      size_t key_len, const void *value, size_t value_len);
	int (*insert)(struct far_task *task, void *index, const void *key,
		      size_t key_len, const void *value, size_t value_len);
	/* NULL: it keeps no order */
	int (*scan)(struct far_task *task, void *index, const struct far_range *range,
		    int (*each)(void *arg, const void *key, size_t key_len,
				const void *value, size_t value_len),
		    void *arg);
};

struct run_conf {
	const struct run_index *index;
	const char *name;		/* of the structure in the space */
	const struct ycsb_mix *mix;
	struct ycsb_data data;
	uint64_t keys;			/* that are there at the beginning */
	double theta;
	unsigned threads_min, threads_max;	/* per client; equal: no changes */
	uint64_t change_ns;		/* between changes of the number of threads */
	unsigned tasks;			/* per thread */
	double rate;			/* operations a second of all; 0: as fast as can be */
	uint64_t warm_ns, run_ns;
	uint64_t max_ops;		/* of the window; 0: by time alone */
	uint64_t seed;
	/* Called for each client, when it has opened the structure; NULL: nobody. */
	int (*opened)(void *arg, struct far_task *task, void *index);
	void *opened_arg;
	atomic_uint *ret_percent;	/* of warming up and the window; or NULL */
	/* Into how many parts run_ns is cut; 0 and 1: it is not. */
	unsigned slices;
	/* Called after each part, with what the part has done; NULL: nobody. */
	int (*between)(void *arg, double mops, const struct far_stats *stats);
	void *between_arg;
};

struct run_result {
	uint64_t ops;			/* begun and ended within the window */
	uint64_t by_kind[YCSB_NR_OPS];
	uint64_t window_ns;
	uint64_t errors;		/* operations that failed, in the window and behind it */
	int first_error;		/* -errno of the first one */
	char said[RUN_SAID_MAX];	/* in words, of a connection's; or "" */
	uint64_t tasks;
	uint64_t least;			/* operations of the task that had fewest */
	double little;			/* throughput x mean latency / tasks: 1 */
	struct far_stats stats;		/* of the window, all clients */
	uint64_t written;		/* payload of WRITEs, likewise */
	struct far_hist latency;	/* ns from intent to return */
};

/*
 * Runs conf on nr clients at once (in sim: one per compute node). Called from outside
 * of any task. 0, or the error that kept it from beginning; errors of operations are in
 * the result.
 */
int run_workload(struct far *const *far, unsigned nr, const struct run_conf *conf,
		 struct run_result *ret_result);

/* Inserts keys [0, keys) from all clients at once. */
int run_load(struct far *const *far, unsigned nr, const struct run_conf *conf);

#endif
