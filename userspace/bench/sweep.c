// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sweep over a profile's parameters. */
#include "sweep.h"

#include <errno.h>
#include <stdio.h>

#include "model.h"
#include "../nic/sim/profile.h"

const char *const sweep_titles[SWEEP_NR] = {
	[SWEEP_SHARED] = "shared",
	[SWEEP_THREAD_QP] = "qp",
	[SWEEP_DOORBELL] = "doorbell",
	[SWEEP_DEEP] = "deep",
};

static const struct model_point sweep_points[SWEEP_NR] = {
	[SWEEP_SHARED] = { .op = "read", .policy = "shared-qp", .threads = 96, .depth = 8 },
	[SWEEP_THREAD_QP] = { .op = "read", .policy = "per-thread-qp", .threads = 96,
			      .depth = 8 },
	[SWEEP_DOORBELL] = { .op = "read", .policy = "per-thread-doorbell", .threads = 96,
			     .depth = 8 },
	[SWEEP_DEEP] = { .op = "read", .policy = "per-thread-doorbell", .threads = 96,
			 .depth = 32 },
};

static int sweep_measure(const char *nic, char *why, size_t why_len, double *mops)
{
	unsigned i;
	int err = 0;

	for (i = 0; i < SWEEP_NR && !err; i++)
		err = model_run(&sweep_points[i], nic, why, why_len, &mops[i]);
	return err;
}

int sweep_run(const char *profile,
	      void (*report)(void *arg, const char *param, double value, double factor,
			     const double *mops),
	      void *arg, char *why, size_t why_len)
{
	static const double factors[] = { .5, 2 };
	double mops[SWEEP_NR], value;
	struct sim_profile p;
	const char *param;
	char nic[512];
	unsigned i, j;
	int err = sim_profile_load(profile, &p, why, why_len);

	if (err)
		return err;
	snprintf(nic, sizeof(nic), "sim:%s", profile);
	err = sweep_measure(nic, why, why_len, mops);
	if (!err)
		report(arg, NULL, 0, 1, mops);
	for (i = 0; !err && (param = sim_profile_param(i)); i++) {
		sim_profile_get(&p, param, &value);
		for (j = 0; j < 2 && value && !err; j++) {
			snprintf(nic, sizeof(nic), "sim:%s,%s=%.6g", profile, param,
				 value * factors[j]);
			err = sweep_measure(nic, why, why_len, mops);
			if (!err)
				report(arg, param, value, factors[j], mops);
			else if (err == -EINVAL)
				err = 0;	/* a value that cannot be */
		}
	}
	return err;
}
