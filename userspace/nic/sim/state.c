// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cache of queue pair states that each NIC has. A request or an answer needs the state
 * of its queue pair, at both ends; if that is not there, an engine fetches it, and it takes
 * a random place. So of N queue pairs in equal use a share of 1 - qp_slots / N misses, as
 * with WQEs, and those that are not in use take no place for long.
 */
#include "cluster.h"

#include <stdlib.h>

/* Puts the state into the cache, in place of any other if it is full. */
static void cache_put(struct far_sim *sim, struct sim_cache *cache, struct sim_state *state)
{
	unsigned max = sim->profile.qp_slots, at = cache->nr;

	if (!cache->entry)
		cache->entry = calloc(max, sizeof(cache->entry[0]));
	if (!cache->entry)
		return;		/* it misses again */
	if (at < max) {
		cache->nr++;
	} else {
		at = far_rng_below(&sim->rng, max);
		cache->entry[at]->place = 0;
	}
	cache->entry[at] = state;
	state->place = at + 1;
}

uint64_t sim_state_ps(struct far_sim *sim, struct sim_cache *cache, struct sim_state *state)
{
	const struct sim_profile *p = &sim->profile;
	uint64_t now = sim->wheel.now * 1000;

	if (p->qp_slots < 1 || state->place)
		return now;
	cache->misses++;
	cache_put(sim, cache, state);
	return sim_serve(&cache->engine, now, sim_ps(p->qp_miss_op_ns)) + sim_ps(p->qp_miss_ns);
}

uint64_t sim_state_there_ps(struct sim_qp *qp)
{
	struct sim_qp *other = qp->link && qp->link->other ? qp->link->other->qp : NULL;

	if (other)
		return sim_state_ps(qp->sim, &other->cn->cache, &other->state_here);
	return sim_state_ps(qp->sim, &qp->mn->cache, &qp->state_there);
}

void sim_cache_fini(struct sim_cache *cache)
{
	free(cache->entry);
}
