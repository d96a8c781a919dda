/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fences. A destroyed queue pair executes nothing more, but data that it has written may
 * still be on the way into memory. A READ that this NIC starts afterwards completes only
 * when the data have arrived. Memory that queue pairs have written gets another owner only
 * behind such a READ.
 */
#ifndef FAR_FENCE_H
#define FAR_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

/**
 * struct far_fence - READs of a NIC from its own memory
 * @ended:	queue pairs whose data are fenced: how many have ended so far
 * @settled:	value of @ended when the last completed READ was posted
 * @covers:	value of @ended when the READ under way was posted; 0: none is under way
 * @pdn, @cqn, @loop: a domain, a completion queue and a queue pair that is connected to
 *		itself; the first fence makes them, and @loop.dev is NULL before
 * @key:	key of @loop's memory, source and target of the READs
 * @posted:	READs posted on @loop
 */
struct far_fence {
	struct nic *dev;
	uint64_t ended, settled, covers;
	uint32_t pdn, cqn;
	struct far_qp loop;
	uint32_t key, posted;
};

void far_fence_init(struct far_fence *fence, struct nic *dev);
void far_fence_fini(struct far_fence *fence);
/* Call after a queue pair was destroyed. The result is an argument of far_fence_settle(). */
static inline uint64_t far_fence_end(struct far_fence *fence)
{
	return ++fence->ended;
}

/*
 * 0: the data of all queue pairs up to that end have arrived; 0 is no end. -EBUSY: not yet:
 * a READ is under way, or could not be posted; call again after far_fence_poll().
 */
int far_fence_settle(struct far_fence *fence, uint64_t ended);
/* Takes the completion of the READ under way. */
void far_fence_poll(struct far_fence *fence);

#endif
