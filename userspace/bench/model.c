// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Points of the model, and their errors. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "micro.h"
#include "../nic/nic.h"

#define MIN_OPS		20000u
#define MIN_ROUNDS	20u	/* of all threads */
/* Epochs of throttling are shorter than the paper's, and one is measured in whole. */
#define THROTTLE_SCALE	.02
#define EPOCH_NS	520e6

int model_run(const struct model_point *point, const char *nic, char *why,
	      size_t why_len, double *ret_mops)
{
	struct micro micro = micro_default;
	struct micro_result result;
	int err;

	micro.nic = nic;
	micro.threads = point->threads;
	micro.depth = point->depth;
	micro.op = strcmp(point->op, "read") ? FAR_NIC_WRITE : FAR_NIC_READ;
	micro.ops = MIN_ROUNDS * point->threads * point->depth;
	if (micro.ops < MIN_OPS)
		micro.ops = MIN_OPS;
	if (point->throttle) {
		micro.throttle = THROTTLE_SCALE;
		micro.ops = point->mops * EPOCH_NS * THROTTLE_SCALE / 1e3;
	}
	micro_policy_parse(point->policy, &micro.policy, &micro.per_qp);
	err = micro_run(&micro, why, why_len, &result);
	if (err)
		return err;
	*ret_mops = result.mops;
	return 0;
}

/* The threads of table 1 change many times in an epoch, and whole epochs are measured. */
#define CHANGE_SCALE	.05
#define CHANGE_NS	UINT64_C(1600000)
#define CHANGE_OPS	3000000u
#define CHANGE_DEPTH	64u

static int changing_run(const char *nic, unsigned depth, double throttle, char *why,
			size_t why_len, double *ret_mops)
{
	struct micro micro = micro_default;
	struct micro_result result;
	int err;

	micro.nic = nic;
	micro.least_threads = 36;
	micro.threads = 96;
	micro.change_ns = CHANGE_NS;
	micro.depth = depth;
	micro.throttle = throttle;
	micro.ops = CHANGE_OPS;
	err = micro_run(&micro, why, why_len, &result);
	if (err)
		return err;
	*ret_mops = result.mops;
	return 0;
}

int model_changing(const char *nic, char *why, size_t why_len,
		   struct model_throttled *ret_throttled)
{
	static const unsigned fixed[] = { 8, 12, 16, 20, 24, 32 };
	struct model_throttled t = { .depth = CHANGE_DEPTH };
	double mops;
	unsigned i;
	int err = changing_run(nic, CHANGE_DEPTH, CHANGE_SCALE, why, why_len, &t.mops);

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]) && !err; i++) {
		err = changing_run(nic, fixed[i], 0, why, why_len, &mops);
		if (!err && mops > t.best_mops) {
			t.best_mops = mops;
			t.best_depth = fixed[i];
		}
	}
	*ret_throttled = t;
	return err;
}

int model_throttling(const char *nic, unsigned depth, char *why, size_t why_len,
		     struct model_throttled *ret_throttled)
{
	static const unsigned fixed[] = { 4, 6, 8, 12, 16, 24, 32, 64 };
	struct model_point point = {
		.op = "read", .policy = "per-thread-doorbell", .threads = 96,
		.mops = 110,	/* how many operations an epoch has */
	};
	struct model_throttled t = { .depth = depth };
	double mops;
	unsigned i;
	int err = 0;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]) && !err; i++) {
		point.depth = fixed[i];
		err = model_run(&point, nic, why, why_len, &mops);
		if (!err && mops > t.best_mops) {
			t.best_mops = mops;
			t.best_depth = fixed[i];
		}
	}
	point.depth = depth;
	point.throttle = 1;
	if (!err)
		err = model_run(&point, nic, why, why_len, &t.mops);
	*ret_throttled = t;
	return err;
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void model_errors(double *error, unsigned nr, struct model_errors *ret_errors)
{
	struct model_errors errors = { .nr = nr };
	unsigned i;

	qsort(error, nr, sizeof(error[0]), double_compare);
	for (i = 0; i < nr; i++) {
		errors.within_25 += error[i] <= .25;
		errors.within_40 += error[i] <= .40;
	}
	if (nr) {
		errors.median = (error[nr / 2] + error[(nr - 1) / 2]) / 2;
		errors.worst = error[nr - 1];
	}
	*ret_errors = errors;
}
