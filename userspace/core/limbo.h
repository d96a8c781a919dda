/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Limbo: blocks that were retired and may not be used again yet. A queue with one
 * writer, the thread that retires, and one reader, the client's collector.
 */
#ifndef FAR_CORE_LIMBO_H
#define FAR_CORE_LIMBO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct far_retired {
	uint64_t addr;
	uint64_t size;
	uint64_t round;		/* of the client when it was retired */
};

#define FAR_LIMBO_SEG	170u	/* a segment has about a page */

struct far_limbo_seg {
	_Atomic(struct far_limbo_seg *) next;
	_Atomic uint32_t put;	/* the writer's */
	uint32_t got;		/* the reader's */
	struct far_retired item[FAR_LIMBO_SEG];
};

struct far_limbo {
	struct far_limbo_seg *tail;	/* the writer's */
	struct far_limbo_seg *head;	/* the reader's */
};

int far_limbo_init(struct far_limbo *limbo);
void far_limbo_fini(struct far_limbo *limbo);

/* The writer's. -ENOMEM. */
int far_limbo_put(struct far_limbo *limbo, const struct far_retired *item);
/* The reader's: the oldest, or NULL; and takes that one out. */
const struct far_retired *far_limbo_peek(struct far_limbo *limbo);
void far_limbo_drop(struct far_limbo *limbo);

#endif
