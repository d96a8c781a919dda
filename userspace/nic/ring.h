/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of the operations of a connection, kept until their completions are taken. For
 * back ends whose NIC executes operations beside the caller.
 *
 * Places are counters that only go up:
 *
 *	freed <= run <= done <= posted <= freed + depth
 *
 * [done, posted) is under way. [run, done) waits for far_ring_take(): operations before
 * flush_to were cancelled; the one at fail_at has failed, and all behind it were
 * cancelled. [freed, run) completed silently; the next completion frees these places.
 */
#ifndef FAR_NIC_RING_H
#define FAR_NIC_RING_H

#include <stdbool.h>

#include "nic.h"

struct far_ring_rec {
	uint64_t id;
	union {
		uint64_t remote;
		uint32_t imm;	/* of a RECV that is done */
	};
	uint32_t len;
	uint8_t op, flags;
};

struct far_ring {
	struct far_ring_rec *rec;	/* mask + 1 records; NULL: not made yet */
	uint32_t mask;
	uint32_t freed, run, done, posted, flush_to;
	uint32_t fail_at;
	int fail_status;		/* 0: no operation has failed */
	uint32_t fail_syndrome;
	uint32_t flush_syndrome;	/* of cancelled operations */
};

/* Makes a ring with at least depth places. -ENOMEM. */
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

/* True if the operation at place `at` is under way. */
static inline bool far_ring_busy_at(const struct far_ring *ring, uint32_t at)
{
	return at - ring->done < ring->posted - ring->done;
}

static inline bool far_ring_takeable(const struct far_ring *ring)
{
	return ring->run != ring->done;
}

/* Records the operation for place `at`. The caller then moves posted behind this place. */
void far_ring_put(struct far_ring *ring, const struct far_wr *wr, uint32_t at);
/* The operation at place `at` has failed, and with it all that are under way behind it. */
void far_ring_fail(struct far_ring *ring, uint32_t at, int status, uint32_t syndrome);
/* Cancels all operations that are under way, and forgets a failure. */
void far_ring_cancel(struct far_ring *ring);
/* Takes at most max completions. Returns how many. idx: the peer's index. */
unsigned far_ring_take(struct far_ring *ring, unsigned idx, struct far_wc *wc,
		       unsigned max);

#endif
