// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queues of pointers without a lock. */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>

int async_ring_init(struct async_ring *ring, unsigned nr)
{
	ring->nr = 1;
	while (ring->nr < nr)
		ring->nr *= 2;
	ring->place = calloc(ring->nr, sizeof(*ring->place));
	return ring->place ? 0 : -ENOMEM;
}

void async_ring_fini(struct async_ring *ring)
{
	free(ring->place);
}

/*
 * The place of the next use of *side, whose lap is `state` then, is the caller's after that.
 * NULL: it is not so far.
 */
static struct async_place *place_claim(struct async_ring *ring, _Atomic uint64_t *side,
				       unsigned state, uint64_t *ret_lap)
{
	uint64_t at = atomic_load(side);

	for (;;) {
		struct async_place *place = &ring->place[at & (ring->nr - 1)];
		uint64_t want = at / ring->nr * 2 + state;
		uint64_t lap = atomic_load(&place->lap);

		if (lap < want)
			return NULL;
		if (lap > want) {
			at = atomic_load(side);
		} else if (atomic_compare_exchange_weak(side, &at, at + 1)) {
			*ret_lap = want;
			return place;
		}
	}
}

bool async_ring_put(struct async_ring *ring, void *item)
{
	uint64_t lap;
	struct async_place *place = place_claim(ring, &ring->put, 0, &lap);

	if (!place)
		return false;
	place->item = item;
	/* pairs with the load in place_claim(): who sees the lap sees the item */
	atomic_store(&place->lap, lap + 1);
	return true;
}

bool async_ring_has(struct async_ring *ring)
{
	uint64_t at = atomic_load(&ring->take);

	return atomic_load(&ring->place[at & (ring->nr - 1)].lap) == at / ring->nr * 2 + 1;
}

void *async_ring_take(struct async_ring *ring)
{
	uint64_t lap;
	struct async_place *place = place_claim(ring, &ring->take, 1, &lap);
	void *item;

	if (!place)
		return NULL;
	item = place->item;
	atomic_store(&place->lap, lap + 1);
	return item;
}
