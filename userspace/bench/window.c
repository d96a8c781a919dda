// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Windows of a run: see window.h.
 */
#include "window.h"

#include <math.h>
#include <string.h>

void window_init(struct window *window)
{
	memset(window, 0, sizeof(*window));
	window->least = UINT64_MAX;
	far_hist_init(&window->latency);
}

struct window_brief window_brief(const struct window *window)
{
	const struct far_stats *s = &window->stats;

	return (struct window_brief){
		.mops = window->ns ? (double)window->ops * 1e3 / (double)window->ns : 0,
		.attempts = 1 + (s->ops ? (double)s->retries / (double)s->ops : 0),
		.p50_us = (double)far_hist_permille(&window->latency, 500) / 1000,
	};
}

static int figures_agree(double a, double b)
{
	return fabs(a - b) <= WINDOW_AGREE * fmax(a, b);
}

int window_agree(const struct window_brief *a, const struct window_brief *b)
{
	return a->mops > 0 && b->mops > 0 && figures_agree(a->mops, b->mops) &&
	       figures_agree(a->attempts, b->attempts) &&
	       figures_agree(a->p50_us, b->p50_us);
}
