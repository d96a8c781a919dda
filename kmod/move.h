/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mover: pages go from slabs that come to be empty to the fullest ones.
 */
#ifndef _ODRP_MOVE_H
#define _ODRP_MOVE_H

#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct odrp_dev;
struct odrp_queue;
struct odrp_req;

#define ODRP_MOVES	64	/* most pages under way */

/*
 * struct odrp_move - the mover of a device
 * @on:		the worker may be queued
 * @next:	the slot that is looked at next
 * @left:	slots to look at until a round has seen all
 * @rest:	how many had the disk open when somebody else opened it, claimed as it was by a
 *		swap area: that may be a swapoff, and nothing moves until it is closed; 0: no
 *		such open.  Guarded by odrp_dev.lock
 * @lock:	guards the rest
 * @nr:		pages under way, and places in @unsure
 * @unsure:	places that a WRITE of unknown fate may still reach: nobody gets them before the
 *		queue pair of that WRITE is gone
 */
struct odrp_move {
	struct delayed_work	work;
	bool			on;
	u64			next;
	u64			left;
	unsigned int		rest;
	spinlock_t		lock;
	unsigned int		nr;
	u32			unsure[ODRP_MOVES];
	unsigned int		nr_unsure;
};

/* The disk, which others have open, has been opened once more. */
static inline void odrp_move_opened(struct odrp_move *m, unsigned int others, bool claimed)
{
	if (claimed && !m->rest)
		WRITE_ONCE(m->rest, others);
}

/* The disk has been closed; others still have it open. */
static inline void odrp_move_closed(struct odrp_move *m, unsigned int others)
{
	if (others <= m->rest)
		WRITE_ONCE(m->rest, 0);
}

/* move.c has one page, mover.c the worker: init, now, stop. */
void odrp_move_init(struct odrp_dev *dev);
void odrp_move_now(struct odrp_dev *dev);
void odrp_move_stop(struct odrp_dev *dev);
void odrp_move_resumed(struct odrp_dev *dev);
void odrp_move_done(struct odrp_req *req);
bool odrp_move_begin(struct odrp_queue *q, u64 slot);

#endif /* _ODRP_MOVE_H */
