/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dividing active queue pairs among clients, and threads among queue pairs. */
#include "share.h"

#include <stdbool.h>
#include <stdlib.h>

/* What is left to divide among claims that have no result yet. */
struct rest {
	uint64_t use;
	unsigned nr, active;
};

/* Whole queue pairs of the claim's part, rounded down. */
static uint64_t part_of(const struct rpc_claim *claim, const struct rest *rest)
{
	return (unsigned __int128)claim->use * rest->active / rest->use;
}

/*
 * Returns what the claim's part has behind the whole ones, in units of 1 / rest->use, and a
 * quarter of a queue pair more if it has been rounded up before.
 */
static uint64_t remainder_of(const struct rpc_claim *claim, const struct rest *rest)
{
	bool has = claim->now > part_of(claim, rest);

	return (unsigned __int128)claim->use * rest->active % rest->use +
	       (has ? rest->use / 4 : 0);
}

static void claim_fix(struct rpc_claim *claim, unsigned active, struct rest *rest)
{
	claim->active = active;
	rest->use -= claim->use;
	rest->active -= active;
	rest->nr--;
}

/* Gives 1 to claims whose part is smaller. The parts of the others shrink: so it is repeated. */
static void small_fix(struct rpc_claim *claim, unsigned nr, struct rest *rest)
{
	bool again = true;
	unsigned i;

	while (again) {
		again = false;
		for (i = 0; i < nr; i++)
			if (!claim[i].active && !part_of(&claim[i], rest)) {
				claim_fix(&claim[i], 1, rest);
				again = true;
			}
	}
}

/* Gives claims whose part is above what they have all that they have. False: there are none. */
static bool full_fix(struct rpc_claim *claim, unsigned nr, const struct rest *rest,
		     struct rest *all)
{
	bool found = false;
	unsigned i;

	for (i = 0; i < nr; i++)
		if (!claim[i].active && part_of(&claim[i], rest) >= claim[i].most) {
			claim[i].full = found = true;
			claim_fix(&claim[i], claim[i].most, all);
		}
	return found;
}

/* Rounds the parts of the remaining claims. */
static void parts_round(struct rpc_claim *claim, unsigned nr, const struct rest *rest)
{
	unsigned i, best, left = rest->active;

	for (i = 0; i < nr; i++)
		if (!claim[i].active)
			left -= part_of(&claim[i], rest);
	for (; left; left--) {
		best = nr;
		for (i = 0; i < nr; i++)
			if (!claim[i].active && (best == nr ||
			    remainder_of(&claim[i], rest) > remainder_of(&claim[best], rest)))
				best = i;
		if (best == nr)
			break;
		claim[best].active = part_of(&claim[best], rest) + 1;
	}
	for (i = 0; i < nr; i++)
		if (!claim[i].active)
			claim[i].active = part_of(&claim[i], rest);
}

void rpc_share(struct rpc_claim *claim, unsigned nr, unsigned max)
{
	struct rest all = { .nr = nr, .active = max > nr ? max : nr }, rest;
	unsigned i;

	for (i = 0; i < nr; i++) {
		claim[i].full = false;
		all.use += claim[i].use;
	}
	do {
		for (i = 0; i < nr; i++)
			claim[i].active = claim[i].full ? claim[i].most : 0;
		rest = all;
		small_fix(claim, nr, &rest);
	} while (full_fix(claim, nr, &rest, &all));
	parts_round(claim, nr, &rest);
}

static int mover_compare(const void *a, const void *b)
{
	const struct rpc_mover *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

void rpc_assign(struct rpc_mover *mover, unsigned nr, unsigned nr_qps)
{
	uint64_t left = 0, quota, load = 0;
	unsigned i, qp = 0;

	qsort(mover, nr, sizeof(*mover), mover_compare);
	for (i = 0; i < nr; i++)
		left += mover[i].bytes;
	quota = left / nr_qps;
	for (i = 0; i < nr; i++) {
		/* The next queue pair, if that is nearer to the quota. */
		if (load && (load >= quota || load + mover[i].bytes / 2 > quota) &&
		    qp + 1 < nr_qps) {
			quota = left / (nr_qps - ++qp);
			load = 0;
		}
		mover[i].qp = qp;
		load += mover[i].bytes;
		left -= mover[i].bytes;
	}
}
