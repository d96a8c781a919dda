/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A bell: one thread sleeps until another thread rings, for back ends in real time. A
 * ring that comes before the wait is not lost: the next wait returns at once. A thread
 * that waits for descriptors, too, arms the bell instead, and gets a descriptor for it.
 */
#ifndef FAR_NIC_BELL_H
#define FAR_NIC_BELL_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros is the initial state. */
struct far_bell {
	uint32_t state;		/* BELL_*, see bell.c; atomic */
	int fd;			/* eventfd; 0: the bell has never been armed */
};

/* Closes the descriptor. */
void far_bell_fini(struct far_bell *bell);

/*
 * Waits for a ring, or until CLOCK_MONOTONIC is at `until` ns (UINT64_MAX: never).
 * 0: the bell has rung, or a spurious return; -ETIME: the time is up. Only one thread
 * may wait at a time.
 */
int far_bell_wait(struct far_bell *bell, uint64_t until);
/* Takes a ring, or ends what far_bell_arm() has begun without a look at the descriptor, which
 * may stay readable. Returns whether the bell has rung. */
bool far_bell_take(struct far_bell *bell);
/* The bell's descriptor, which far_bell_fini() closes. -EMFILE, ...: there is none. */
int far_bell_fd(struct far_bell *bell);
/*
 * Returns the bell's descriptor, which the next ring makes readable until
 * far_bell_disarm(). -EAGAIN: the bell has rung; -EMFILE, ...: there is no descriptor. Only
 * one thread may wait, or have armed the bell, at a time.
 */
int far_bell_arm(struct far_bell *bell);
void far_bell_disarm(struct far_bell *bell);
/* Any thread may call this, also in a signal handler. */
void far_bell_ring(struct far_bell *bell);

#endif
