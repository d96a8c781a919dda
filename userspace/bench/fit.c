// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Coordinate descent over the parameters of a profile. */
#include "fit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../nic/sim/profile.h"

#define MAX_PARAMS	32u
#define FIRST_STEP	.15
#define LAST_STEP	.01

struct search {
	const struct fit *fit;
	unsigned nr;
	double value[MAX_PARAMS];
	double step[MAX_PARAMS];
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
	char nic[FIT_SET_MAX + 128], set[FIT_SET_MAX];
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

/* Tries a factor for parameter i. 1: it is better, and stays. */
static int search_try(struct search *search, unsigned i, double factor)
{
	double before = search->value[i], error;
	int err;

	search->value[i] *= factor;
	err = search_measure(search, &error);
	if (!err && error < search->error) {
		search->error = error;
		return 1;
	}
	search->value[i] = before;
	/* A value that the profile does not allow is only no better. */
	return err == -EINVAL ? 0 : err;
}

static int search_round(struct search *search)
{
	unsigned i;
	int better;

	for (i = 0; i < search->nr; i++) {
		if (search->step[i] < LAST_STEP)
			continue;
		better = search_try(search, i, 1 + search->step[i]);
		if (!better)
			better = search_try(search, i, 1 / (1 + search->step[i]));
		if (better < 0)
			return better;
		search->step[i] *= better ? 1.3 : .5;
	}
	return 0;
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
		search->step[search->nr] = FIRST_STEP;
	}
	return err ? err : search_measure(search, &search->error);
}

int fit_run(const struct fit *fit, char *set, char *why, size_t why_len)
{
	struct search search = { .fit = fit, .why = why, .why_len = why_len };
	unsigned round;
	int err = search_init(&search);

	for (round = 0; round < fit->rounds && !err; round++) {
		err = search_round(&search);
		set_print(&search, set);
		fit->report(fit->arg, round, search.error, set);
	}
	return err;
}
