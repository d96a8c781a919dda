// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Work request throttling: the search for C_max.
 */
#include "credit.h"

/* smart-framework, Algorithm 1 line 17; the last stands for "none". */
static const unsigned candidates[FAR_CREDIT_CANDIDATES] = { 4, 6, 8, 10, 12, 0 };

/* How much better "none" must be than the best of the others. */
#define UNLIMITED_GAIN	1.05

/* Algorithm 1, UPDATECMAX. */
static void c_max_set(struct far_credit *credit, unsigned target)
{
	credit->credit += (int64_t)target - credit->c_max;
	credit->c_max = target;
}

static uint64_t epoch_ns(const struct far_credit *credit)
{
	return FAR_CREDIT_CANDIDATES * credit->probe_ns + credit->rest_ns;
}

/* Enters the phase that the clock is in: its epoch, and the candidate or the rest. */
static void phase_enter(struct far_credit *credit, uint64_t now)
{
	uint64_t epoch = now / epoch_ns(credit), begin = epoch * epoch_ns(credit);
	uint64_t idx = (now - begin) / credit->probe_ns;
	unsigned target;

	if (epoch != credit->epoch)
		credit->best_rate = 0;
	credit->epoch = epoch;
	credit->since = now;
	credit->done = 0;
	if (idx >= FAR_CREDIT_CANDIDATES) {
		credit->candidate = FAR_CREDIT_CANDIDATES;
		credit->until = begin + epoch_ns(credit);
		c_max_set(credit, credit->best);
		return;
	}
	target = candidates[idx];
	credit->candidate = idx;
	credit->until = begin + (idx + 1) * credit->probe_ns;
	c_max_set(credit, target ? target : credit->unlimited);
}

/* "None" leads: 1 if it did so in the epoch before, too. */
static int none_leads(struct far_credit *credit)
{
	int again = credit->none_led && credit->none_led == credit->epoch - 1;

	credit->none_led = credit->epoch;
	return again;
}

/*
 * What was done in the time of this candidate decides whether it leads. A thread that
 * came late, or slept beyond the end, has not seen what the candidate is worth.
 */
static void candidate_judge(struct far_credit *credit, uint64_t now)
{
	uint64_t time = now - credit->since;
	double rate = (double)credit->done / time;
	int none = !candidates[credit->candidate];

	if (time < credit->probe_ns / 2 || time > credit->probe_ns * 2)
		return;
	if (none && !credit->best_rate)
		return;		/* there is nothing to compare it with */
	if (rate <= credit->best_rate * (none ? UNLIMITED_GAIN : 1))
		return;
	if (none && !none_leads(credit))
		return;
	credit->best_rate = rate;
	credit->best = credit->c_max;
}

void far_credit_init(struct far_credit *credit, unsigned unlimited, double scale,
		     uint64_t now)
{
	*credit = (struct far_credit) {
		.unlimited = unlimited,
		.probe_ns = FAR_CREDIT_PROBE_NS * scale,
		.rest_ns = FAR_CREDIT_REST_NS * scale,
		.best = FAR_CREDIT_FIRST,
	};
	phase_enter(credit, now);
}

void far_credit_tick(struct far_credit *credit, uint64_t now)
{
	if (now < credit->until)
		return;
	if (credit->candidate < FAR_CREDIT_CANDIDATES)
		candidate_judge(credit, now);
	phase_enter(credit, now);
}
