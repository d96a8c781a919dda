/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a connection of a queue set remembers of its operations until their completions
 * have been taken, for back ends whose NIC executes them beside the caller.
 *
 * Places only go up:
 *
 *	freed <= run <= done <= posted <= freed + depth
 *
 * [done, posted) is under way. [run, done) waits for far_ring_take(): what lies before
 * flush_to was cancelled; at fail_at one has failed, and all behind it were cancelled.
 * [freed, run) completed silently, and gives up its room at the next completion.
 */
#ifndef FAR_NIC_RING_H
#define FAR_NIC_RING_H

#include <stdbool.h>

#include "nic.h"

struct far_ring_rec {
	uint64_t id;
	uint64_t remote;
	uint32_t len;
	uint8_t op, flags;
};

struct far_ring {
	struct far_ring_rec *rec;	/* mask + 1; NULL: not made yet */
	uint32_t mask;
	uint32_t freed, run, done, posted, flush_to;
	uint32_t fail_at;
	int fail_status;		/* 0: none has failed */
	uint32_t fail_syndrome;
	uint32_t flush_syndrome;	/* of those that are cancelled */
};

/* With at least depth places, a power of two. -ENOMEM. */
int far_ring_init(struct far_ring *ring, unsigned depth, uint32_t flush_syndrome);
void far_ring_fini(struct far_ring *ring);

static inline bool far_ring_has_room(const struct far_ring *ring, unsigned depth,
				     unsigned nr)
{
	return ring->posted - ring->freed + nr <= depth;
}

static inline struct far_ring_rec *far_ring_at(const struct far_ring *ring, uint32_t at)
{
	return &ring->rec[at & ring->mask];
}

/* Whether the operation at that place is under way. */
static inline bool far_ring_busy_at(const struct far_ring *ring, uint32_t at)
{
	return at - ring->done < ring->posted - ring->done;
}

static inline bool far_ring_takeable(const struct far_ring *ring)
{
	return ring->run != ring->done;
}

/* Notes the operation for place `at`; it counts when posted is moved behind it. */
void far_ring_put(struct far_ring *ring, const struct far_wr *wr, uint32_t at);
/* The one at this place has failed, and with it all that is under way behind it. */
void far_ring_fail(struct far_ring *ring, uint32_t at, int status, uint32_t syndrome);
/* All that is under way is cancelled, and nothing has failed. */
void far_ring_cancel(struct far_ring *ring);
/* Takes completions, at most max. */
unsigned far_ring_take(struct far_ring *ring, unsigned idx, struct far_wc *wc,
		       unsigned max);

#endif
