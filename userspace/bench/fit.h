/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fitting of a profile: one parameter after the other is made larger or smaller while
 * that brings the model nearer to the points that are there to be fitted on.
 */
#ifndef FAR_BENCH_FIT_H
#define FAR_BENCH_FIT_H

#include <stddef.h>

#include "model.h"

struct fit {
	const char *profile;		/* where it begins */
	const char *const *params;	/* names, ended by NULL */
	/* Which points count: fitted ones for which it answers 1. */
	int (*counts)(const struct model_point *point);
	unsigned rounds;
	/* Called behind each round: the root of the mean square of log(model / paper). */
	void (*report)(void *arg, unsigned round, double error, const char *set);
	void *arg;
};

#define FIT_SET_MAX	1024u

/* set, of FIT_SET_MAX bytes, gets NAME=VALUE,... Errors as model_run(). */
int fit_run(const struct fit *fit, char *set, char *why, size_t why_len);

#endif
