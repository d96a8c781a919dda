/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fitting of a profile: an evolution strategy (Rechenberg's (1+1)) that changes all its
 * parameters at random, keeps what brings the model nearer to the points that are
 * there to be fitted on, and takes larger steps the more often that succeeds.
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
	unsigned rounds;		/* trials */
	/*
	 * Called when one was better, and behind the last. error is the root of the
	 * mean square of log(model / paper).
	 */
	void (*report)(const void *arg, unsigned round, double error, const char *set);
	const void *arg;
};

#define FIT_SET_MAX	1024u

/* set, of FIT_SET_MAX bytes, gets NAME=VALUE,... Errors as model_run(). */
int fit_run(const struct fit *fit, char *set, char *why, size_t why_len);

#endif
