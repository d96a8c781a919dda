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
