// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Conflict avoidance: the delay, and what the retry rate moves.
 */
#include "backoff.h"

#include <far/far.h>

void far_backoff_init(struct far_backoff *backoff, unsigned without, unsigned nr_tasks,
		      uint64_t now)
{
	*backoff = (struct far_backoff) {
		.without = without,
		.nr_tasks = nr_tasks,
		.t_max = without & FAR_WITHOUT_LIMIT ? FAR_BACKOFF_TM_NS
						     : FAR_BACKOFF_T0_NS,
		.c_max = nr_tasks,
		.credit = nr_tasks,
		.since = now,
	};
}

uint64_t far_backoff_delay(const struct far_backoff *backoff, unsigned attempt,
			   struct far_rng *rng)
{
	uint64_t t = FAR_BACKOFF_TM_NS;

	if (backoff->without & FAR_WITHOUT_BACKOFF)
		return 0;
	if (attempt < 10)
		t = FAR_BACKOFF_T0_NS << attempt;
	if (t > backoff->t_max)
		t = backoff->t_max;
	return t + far_rng_below(rng, FAR_BACKOFF_T0_NS + 1);
}

static void c_max_set(struct far_backoff *backoff, unsigned target)
{
	backoff->credit += (int64_t)target - backoff->c_max;
	backoff->c_max = target;
}

/* Fewer operations at a time; longer delays when it is one already. */
static void backoff_calm(struct far_backoff *backoff)
{
	if (backoff->c_max > 1 && !(backoff->without & FAR_WITHOUT_TASKS))
		c_max_set(backoff, backoff->c_max / 2);
	else if (backoff->t_max < FAR_BACKOFF_TM_NS)
		backoff->t_max *= 2;
}

static void backoff_hurry(struct far_backoff *backoff)
{
	unsigned more = backoff->c_max * 2;

	if (backoff->c_max < backoff->nr_tasks)
		c_max_set(backoff, more < backoff->nr_tasks ? more : backoff->nr_tasks);
	else if (backoff->t_max > FAR_BACKOFF_T0_NS &&
		 !(backoff->without & FAR_WITHOUT_LIMIT))
		backoff->t_max /= 2;
}

void far_backoff_tick(struct far_backoff *backoff, uint64_t now)
{
	if (now - backoff->since < FAR_BACKOFF_EPOCH_NS)
		return;
	if (backoff->retries > backoff->ops * FAR_BACKOFF_HIGH)
		backoff_calm(backoff);
	else if (backoff->retries < backoff->ops * FAR_BACKOFF_LOW)
		backoff_hurry(backoff);
	backoff->since = now;
	backoff->ops = 0;
	backoff->retries = 0;
}
