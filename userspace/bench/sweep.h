/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the model's conclusions depend on each parameter of its profile. */
#ifndef FAR_BENCH_SWEEP_H
#define FAR_BENCH_SWEEP_H

#include <stddef.h>

/* The conclusions: READs at these points, in Mop/s. */
enum { SWEEP_SHARED, SWEEP_THREAD_QP, SWEEP_DOORBELL, SWEEP_DEEP, SWEEP_NR };

extern const char *const sweep_titles[SWEEP_NR];

/*
 * Calls report() for the profile as it is (param NULL), then for half and twice each
 * parameter; those that the profile does not allow are left out. Errors as
 * model_run().
 */
int sweep_run(const char *profile,
	      void (*report)(void *arg, const char *param, double value, double factor,
			     const double *mops),
	      void *arg, char *why, size_t why_len);

#endif
