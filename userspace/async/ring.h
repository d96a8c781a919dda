/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of a fixed number of pointers, that any thread puts into and takes out of, without
 * a lock. Each place has a lap number, which says whether it is full or free:
 *
 *	lap == 2 n	free for the n-th use		put -> lap = 2 n + 1
 *	lap == 2 n + 1	full in the n-th use		take -> lap = 2 n + 2
 *
 * A thread that stops in the middle of a put hides what others put behind it, until it goes
 * on: whoever puts tells those who take after that.
 */
#ifndef FAR_ASYNC_RING_H
#define FAR_ASYNC_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct async_place {
	_Atomic uint64_t lap;
	void *item;
};

struct async_ring {
	struct async_place *place;
	unsigned nr;		/* a power of two */
	_Alignas(64) _Atomic uint64_t put;
	_Alignas(64) _Atomic uint64_t take;
};

/* At least nr places. -ENOMEM. */
int async_ring_init(struct async_ring *ring, unsigned nr);
void async_ring_fini(struct async_ring *ring);
/*
 * False: it is full, or a thread that stopped in the middle of a take, a lap ago, has the
 * place still.
 */
bool async_ring_put(struct async_ring *ring, void *item);
/* True if the next async_ring_take() gets something, unless somebody else takes it. */
bool async_ring_has(struct async_ring *ring);
/* NULL: it is empty. */
void *async_ring_take(struct async_ring *ring);

#endif
