/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of a connection's operations, kept until their completions are taken. */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>

int far_ring_init(struct far_ring *ring, unsigned depth, uint32_t flush_syndrome)
{
	uint32_t size = 1;

	while (size < depth)
		size *= 2;
	*ring = (struct far_ring) {
		.rec = calloc(size, sizeof(ring->rec[0])),
		.mask = size - 1,
		.flush_syndrome = flush_syndrome,
	};
	return ring->rec ? 0 : -ENOMEM;
}

void far_ring_fini(struct far_ring *ring)
{
	free(ring->rec);
	ring->rec = NULL;
}

void far_ring_put(struct far_ring *ring, const struct far_wr *wr, uint32_t at)
{
	*far_ring_at(ring, at) = (struct far_ring_rec) {
		.id = wr->id, .remote = wr->remote, .len = wr->len, .op = wr->op,
		.flags = wr->flags,
	};
}

void far_ring_fail(struct far_ring *ring, uint32_t at, int status, uint32_t syndrome)
{
	ring->fail_at = at;
	ring->fail_status = status;
	ring->fail_syndrome = syndrome;
	ring->done = ring->posted;
}

void far_ring_cancel(struct far_ring *ring)
{
	ring->flush_to = ring->done = ring->posted;
	ring->fail_status = 0;
}

/* The status of the operation at place `at`, which is done. */
static int ring_status(const struct far_ring *ring, uint32_t at)
{
	if ((int32_t)(ring->flush_to - at) > 0)
		return -ECANCELED;
	if (!ring->fail_status || (int32_t)(ring->fail_at - at) > 0)
		return 0;
	return at == ring->fail_at ? ring->fail_status : -ECANCELED;
}

unsigned far_ring_take(struct far_ring *ring, unsigned idx, struct far_wc *wc,
		       unsigned max)
{
	unsigned nr = 0;

	while (nr < max && ring->run != ring->done) {
		const struct far_ring_rec *rec = far_ring_at(ring, ring->run);
		int status = ring_status(ring, ring->run);

		ring->run++;
		if (!status && !(rec->flags & FAR_WR_SIGNALED))
			continue;
		wc[nr++] = (struct far_wc) {
			.id = rec->id,
			.status = status,
			.syndrome = !status ? 0 : status == -ECANCELED ?
				    ring->flush_syndrome : ring->fail_syndrome,
			.len = status ? 0 : rec->len,
			.imm = status || rec->op != FAR_NIC_RECV ? 0 : rec->imm,
			.peer = idx,
			.op = rec->op,
		};
		ring->freed = ring->run;
	}
	return nr;
}
