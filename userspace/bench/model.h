/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The model of sim against what smart-framework measured: points that its parameters
 * were fitted on, and points that only check it.
 */
#ifndef FAR_BENCH_MODEL_H
#define FAR_BENCH_MODEL_H

#include <stddef.h>

/* A line of smart.csv. */
struct model_point {
	const char *figure;	/* "3", "4", "13a", "13b" */
	const char *op, *policy;	/* names, as of far bench micro */
	unsigned threads, depth;
	int throttle, fitted;
	double mops;		/* paper */
};

/* All of them, ended by one without figure. */
extern const struct model_point model_points[];

/*
 * What the model says of a point, in Mop/s; nic as --nic. Errors as micro_run().
 */
int model_run(const struct model_point *point, const char *nic, char *why,
	      size_t why_len, double *ret_mops);

/* What throttling makes of READs of a depth, beside the best that is always the same. */
struct model_throttled {
	unsigned depth, best_depth;
	double mops, best_mops;
};

/* 96 threads, that depth. Errors as micro_run(). */
int model_throttling(const char *nic, unsigned depth, char *why, size_t why_len,
		     struct model_throttled *ret_throttled);
/* 36 to 96 threads, another number 16 times in an epoch of throttling. */
int model_changing(const char *nic, char *why, size_t why_len,
		   struct model_throttled *ret_throttled);

/* Errors of a set of points: |model / paper - 1|. */
struct model_errors {
	unsigned nr, within_25, within_40;	/* points; those within 25 and 40 % */
	double median, worst;
};

/* error[nr] is sorted. */
void model_errors(double *error, unsigned nr, struct model_errors *ret_errors);

#endif
