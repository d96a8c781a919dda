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

static void candidate_start(struct far_credit *credit, unsigned candidate, uint64_t now)
{
	unsigned target = candidates[candidate];

	credit->candidate = candidate;
	credit->since = now;
	credit->done = 0;
	c_max_set(credit, target ? target : credit->unlimited);
}

/* What was done in the time of this candidate decides whether it leads. */
static void candidate_judge(struct far_credit *credit, uint64_t now)
{
	double rate = (double)credit->done / (now - credit->since);
	double gain = candidates[credit->candidate] ? 1 : UNLIMITED_GAIN;

	if (credit->candidate > 0 && rate <= credit->best_rate * gain)
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
	};
	candidate_start(credit, 0, now);
}

void far_credit_tick(struct far_credit *credit, uint64_t now)
{
	int rests = credit->candidate == FAR_CREDIT_CANDIDATES;

	if (now - credit->since <= (rests ? credit->rest_ns : credit->probe_ns))
		return;
	if (rests) {
		candidate_start(credit, 0, now);
		return;
	}
	candidate_judge(credit, now);
	if (credit->candidate + 1 < FAR_CREDIT_CANDIDATES) {
		candidate_start(credit, credit->candidate + 1, now);
		return;
	}
	credit->candidate = FAR_CREDIT_CANDIDATES;
	credit->since = now;
	c_max_set(credit, credit->best);
}
