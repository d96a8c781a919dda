/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Traced events: a ring of the last ones, and an event as text. */
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct far_trace_ring {
	pthread_mutex_t lock;	/* protects count and event */
	uint64_t count;
	unsigned mask;
	struct far_trace_event event[];
};

int far_trace_ring_new(unsigned size, struct far_trace_ring **ret_ring)
{
	struct far_trace_ring *ring;

	if (!size || size & (size - 1))
		return -EINVAL;
	ring = calloc(1, sizeof(*ring) + size * sizeof(ring->event[0]));
	if (!ring)
		return -ENOMEM;
	pthread_mutex_init(&ring->lock, NULL);
	ring->mask = size - 1;
	*ret_ring = ring;
	return 0;
}

void far_trace_ring_free(struct far_trace_ring *ring)
{
	if (!ring)
		return;
	pthread_mutex_destroy(&ring->lock);
	free(ring);
}

void far_trace_ring_note(void *arg, const struct far_trace_event *event)
{
	struct far_trace_ring *ring = arg;

	pthread_mutex_lock(&ring->lock);
	ring->event[ring->count++ & ring->mask] = *event;
	pthread_mutex_unlock(&ring->lock);
}

uint64_t far_trace_ring_count(const struct far_trace_ring *ring)
{
	return ring->count;
}

const struct far_trace_event *far_trace_ring_get(const struct far_trace_ring *ring,
						 uint64_t nr)
{
	uint64_t count = far_trace_ring_count(ring);

	if (nr >= count || count - nr > ring->mask + UINT64_C(1))
		return NULL;
	return &ring->event[nr & ring->mask];
}

static const char *op_name(unsigned op)
{
	static const char *const name[FAR_NIC_NR_OPS] = {
		[FAR_NIC_READ] = "READ",
		[FAR_NIC_WRITE] = "WRITE",
		[FAR_NIC_WRITE_IMM] = "WRITE_IMM",
		[FAR_NIC_CAS] = "CAS",
		[FAR_NIC_FAA] = "FAA",
		[FAR_NIC_SEND] = "SEND",
		[FAR_NIC_RECV] = "RECV",
	};

	return op < FAR_NIC_NR_OPS ? name[op] : "?";
}

int far_trace_format(const struct far_trace_event *event, char *buf, size_t size)
{
	switch (event->kind) {
	case FAR_TRACE_POST:
		return snprintf(buf, size, "q%u p%u %s 0x%" PRIx64 "+%u id %" PRIu64
				" %s (%d)", event->qset, event->peer,
				op_name(event->op), event->remote, event->len,
				event->id, event->err ? "refused" : "posted",
				event->err);
	case FAR_TRACE_DONE:
		return snprintf(buf, size, "q%u p%u %s id %" PRIu64 " %s (%d)",
				event->qset, event->peer, op_name(event->op),
				event->id, event->err ? "failed" : "done",
				event->err);
	default:
		return snprintf(buf, size, "q%u p%u connect (%d)", event->qset,
				event->peer, event->err);
	}
}
