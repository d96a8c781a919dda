/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wrapper that reports each operation when it is posted and when it completes.
 *
 *	far_trace_new(inner, far_trace_ring_note, ring, &nic) ... ops->close(nic)
 */
#ifndef TESTS_LIB_NIC_TRACE_H
#define TESTS_LIB_NIC_TRACE_H

#include "../../../userspace/nic/nic.h"

enum far_trace_kind {
	FAR_TRACE_POST,		/* an operation; err: what post() has returned for its list */
	FAR_TRACE_DONE,		/* a completion; err: its status */
	FAR_TRACE_CONNECT,	/* err: what connect() has returned */
};

struct far_trace_event {
	uint64_t at;		/* now() */
	uint64_t id;
	uint64_t remote;	/* POST only, as are arg and flags */
	uint64_t arg[2];
	uint32_t len;
	int32_t err;
	uint32_t qset;		/* number of the queue set, from 0, in the order of qset_new() */
	uint16_t peer;
	uint8_t kind;		/* enum far_trace_kind */
	uint8_t op;
	uint8_t flags;
};

/*
 * Called by the thread that posts, polls or connects, before that call returns. Threads
 * of different queue sets may call it at the same time.
 */
typedef void far_trace_fn(void *arg, const struct far_trace_event *event);

/*
 * Wraps inner. close() of the wrapper closes inner, too. -ENOMEM: inner is unchanged.
 */
int far_trace_new(struct far_nic *inner, far_trace_fn *fn, void *arg,
		  struct far_nic **ret_nic);

/*
 * Writes an event as text, without a newline: "q0 p1 READ 0x40+64 id 7 posted (0)".
 * Returns the length of the whole text, as snprintf() does.
 */
int far_trace_format(const struct far_trace_event *event, char *buf, size_t size);

/*
 * A ring of the last events. Any threads may note events at the same time; no thread may
 * note while another thread reads.
 */
struct far_trace_ring;

/* size: number of events to keep, a power of two. -EINVAL: it is not; -ENOMEM. */
int far_trace_ring_new(unsigned size, struct far_trace_ring **ret_ring);
/* ring may be NULL. */
void far_trace_ring_free(struct far_trace_ring *ring);
/* A far_trace_fn; arg is the ring. */
void far_trace_ring_note(void *arg, const struct far_trace_event *event);
/* How many events were noted in all. */
uint64_t far_trace_ring_count(const struct far_trace_ring *ring);
/* Event number nr, from 0 on; NULL: not noted yet, or overwritten. */
const struct far_trace_event *far_trace_ring_get(const struct far_trace_ring *ring,
						 uint64_t nr);

#endif
