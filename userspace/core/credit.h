/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work request throttling (smart-framework, Algorithm 1): a thread has C_max credits
 * over all its queue pairs, and each operation that is outstanding holds one. C_max
 * follows the throughput: in each epoch the candidates are tried one after the other,
 * and the best stays.
 *
 *	4, 6, 8, 10, 12, none: PROBE ns each  ->  the best: REST ns  ->  again
 *
 * Epochs begin at multiples of their length on the clock, for all threads of a machine
 * alike: threads that share a NIC try the same candidate at the same time. Else each
 * would measure what it gains from a larger share of a NIC that the others leave as it
 * is; all of them would find that more is better, and be worse off. The paper's threads
 * are in step because they start together, and fall out of it when one of them rests.
 *
 * "None" is what the paper's program has and the paper does not tell: as many as the
 * queues hold, taken only when it does at least 5 % better than the best of the others.
 * It has to do so in two epochs in a row: where the load changes, a moment of few threads
 * flatters it, and with many it costs half of the throughput until the next epoch.
 *
 * Always: credit + outstanding == c_max, also right after c_max has changed; credit
 * is negative then until enough has completed.
 *
 * Knows no task and no NIC, so that a loop of bare verbs can use it. One thread.
 */
#ifndef FAR_CORE_CREDIT_H
#define FAR_CORE_CREDIT_H

#include <stdint.h>

#define FAR_CREDIT_PROBE_NS	UINT64_C(8000000)
#define FAR_CREDIT_REST_NS	UINT64_C(480000000)
#define FAR_CREDIT_CANDIDATES	6	/* with "none" */
#define FAR_CREDIT_CYCLE_NS	\
	(FAR_CREDIT_CANDIDATES * FAR_CREDIT_PROBE_NS + FAR_CREDIT_REST_NS)
#define FAR_CREDIT_FIRST	12	/* C_max until a candidate was judged */

struct far_credit {
	int64_t credit;
	unsigned c_max;
	unsigned unlimited;		/* C_max of the candidate "none" */
	unsigned candidate;		/* that is being tried; FAR_CREDIT_CANDIDATES: rest */
	uint64_t probe_ns, rest_ns;
	uint64_t epoch;			/* its number on the clock */
	uint64_t since;			/* when this thread entered the phase */
	uint64_t done;			/* operations completed since then */
	uint64_t until;			/* when the phase ends */
	double best_rate;		/* of this epoch's candidates before, per ns; 0: none */
	unsigned best;			/* C_max of the last one that led */
	uint64_t none_led;		/* the last epoch in which "none" did; 0: no epoch */
};

/* unlimited: what the queues hold. scale multiplies both times; from 1e-6 to 1. */
void far_credit_init(struct far_credit *credit, unsigned unlimited, double scale,
		     uint64_t now);

/* How many of nr operations may go in one list: a longer one would wait for ever. */
static inline unsigned far_credit_piece(const struct far_credit *credit, unsigned nr)
{
	return nr < credit->c_max ? nr : credit->c_max;
}

/* Takes nr credits, and returns 1; or takes none and returns 0: wait for completions. */
static inline int far_credit_take(struct far_credit *credit, unsigned nr)
{
	if (credit->credit < (int64_t)nr)
		return 0;
	credit->credit -= nr;
	return 1;
}

/* nr operations have completed; with success or not. */
static inline void far_credit_give(struct far_credit *credit, unsigned nr)
{
	credit->credit += nr;
	credit->done += nr;
}

/* nr operations were not posted after all. */
static inline void far_credit_untake(struct far_credit *credit, unsigned nr)
{
	credit->credit += nr;
}

/* Goes on to the phase that the clock is in. To be called after each poll. */
void far_credit_tick(struct far_credit *credit, uint64_t now);

#endif
