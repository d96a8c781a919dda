// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The evolution strategy over the parameters of a profile. */
#include "fit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../base/rng.h"
#include "../nic/sim/profile.h"

#define MAX_PARAMS	32u
#define FIRST_STEP	.08
/* One success in five keeps the step as it is: Rechenberg's rule. */
#define STEP_UP		1.22
#define STEP_DOWN	.951

struct search {
	const struct fit *fit;
	unsigned nr;
	double value[MAX_PARAMS];
	double step;			/* standard deviation of a factor's logarithm */
	struct far_rng rng;
	double error;
	char *why;
	size_t why_len;
};

static void set_print(const struct search *search, char *set)
{
	size_t at = 0;
	unsigned i;

	set[0] = 0;
	for (i = 0; i < search->nr && at < FIT_SET_MAX; i++)
		at += snprintf(set + at, FIT_SET_MAX - at, "%s%s=%.4g", i ? "," : "",
			       search->fit->params[i], search->value[i]);
}

/* The error with the values as they are. */
static int search_measure(const struct search *search, double *ret_error)
{
	char nic[2 * FIT_SET_MAX + 256], set[FIT_SET_MAX];
	const struct model_point *point;
	double sum = 0, mops;
	unsigned nr = 0;
	int err;

	set_print(search, set);
	snprintf(nic, sizeof(nic), "sim:%s,%s", search->fit->profile, set);
	for (point = model_points; point->figure; point++) {
		if (!point->fitted || !search->fit->counts(point))
			continue;
		err = model_run(point, nic, search->why, search->why_len, &mops);
		if (err)
			return err;
		sum += log(mops / point->mops) * log(mops / point->mops);
		nr++;
	}
	*ret_error = nr ? sqrt(sum / nr) : 0;
	return 0;
}

/* Normally distributed (Box and Muller). */
static double search_normal(struct search *search)
{
	double u = 1 - far_rng_unit(&search->rng), v = far_rng_unit(&search->rng);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Tries other values. 1: they are better, and stay. */
static int search_try(struct search *search)
{
	double before[MAX_PARAMS], error;
	unsigned i;
	int err;

	memcpy(before, search->value, sizeof(before));
	for (i = 0; i < search->nr; i++)
		search->value[i] *= exp(search->step * search_normal(search));
	err = search_measure(search, &error);
	if (!err && error < search->error) {
		search->error = error;
		search->step *= STEP_UP;
		return 1;
	}
	memcpy(search->value, before, sizeof(before));
	search->step *= STEP_DOWN;
	/* A value that the profile does not allow is only no better. */
	return err == -EINVAL ? 0 : err;
}

static int search_init(struct search *search)
{
	const struct fit *fit = search->fit;
	struct sim_profile profile;
	int err = sim_profile_load(fit->profile, &profile, search->why, search->why_len);

	for (; !err && fit->params[search->nr]; search->nr++) {
		const char *name = fit->params[search->nr];

		if (search->nr == MAX_PARAMS)
			return -E2BIG;
		err = sim_profile_get(&profile, name, &search->value[search->nr]);
		if (err)
			snprintf(search->why, search->why_len, "%s: no parameter", name);
	}
	return err ? err : search_measure(search, &search->error);
}

int fit_run(const struct fit *fit, char *set, char *why, size_t why_len)
{
	struct search search = {
		.fit = fit,
		.step = FIRST_STEP,
		.why = why,
		.why_len = why_len,
	};
	unsigned round;
	int better = search_init(&search);

	far_rng_init(&search.rng, 1, 0);
	for (round = 1; round <= fit->rounds && better >= 0; round++) {
		better = search_try(&search);
		set_print(&search, set);
		if (better > 0 || round == fit->rounds)
			fit->report(fit->arg, round, search.error, set);
	}
	return better < 0 ? better : 0;
}
