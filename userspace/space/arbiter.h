/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arbiter of a space set: it advances the epoch word, notices clients that died,
 * fences them, and says what is safe to use again.
 *
 * Whoever calls far_arbiter_step() is the only one who does so at that time. All its
 * state is in the arbiter node's memory, so that the next caller may be another one.
 */
#ifndef FAR_SPACE_ARBITER_H
#define FAR_SPACE_ARBITER_H

#include <stdbool.h>

#include "layout.h"

#define FAR_BEAT_NS	UINT64_C(1000000000)	/* a client without a beat is dead */
#define FAR_EPOCH_NS	UINT64_C(1000000)	/* between two epochs */

struct far_arbiter {
	void *memory;			/* the arbiter node's, formatted */
	const struct far_sb *sb;	/* its superblock */
	uint64_t beat_ns, epoch_ns;	/* the times above, or shorter ones */
	void *arg;
	/* 1: that client's process has ended, whatever its beat; 0: not known. Or NULL. */
	int (*gone)(void *arg, unsigned number);
	/*
	 * Whether no operation of that client can reach node `node` any more, and
	 * nobody can connect as it: 0 confirmed, else not yet. Asked again and again
	 * until each node has confirmed in the same step; the arbiter's own node first, and
	 * the others when it has.
	 */
	int (*fence)(void *arg, unsigned node, unsigned number, unsigned incarnation);
	/*
	 * Is told the epoch, and the least one that a client has published which lives and is
	 * not being fenced (FAR_EPOCH_IDLE: no such client holds one). Whether the next epoch
	 * is needed, although clients that are being fenced hold it. Or NULL.
	 */
	bool (*published)(void *arg, uint64_t epoch, uint64_t least);
};

/* One step at time now (ns, any origin, never backwards). Returns the fences completed. */
unsigned far_arbiter_step(const struct far_arbiter *arbiter, uint64_t now);
/* When the next step has something to do at the soonest. */
uint64_t far_arbiter_due(const struct far_arbiter *arbiter);

#endif
