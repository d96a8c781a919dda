/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Freed slots: slots whose page is to be given back to the memory node.
 */
#ifndef _ODRP_FREE_H
#define _ODRP_FREE_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "fring.h"

struct odrp_dev;
struct odrp_queue;

struct odrp_free_cpu {
	struct odrp_fring	ring;
};

/* Why the worker of flush.c runs, or will run; the larger reason wins. */
enum odrp_free_why {
	ODRP_FREE_IDLE,		/* it will not run */
	ODRP_FREE_AGE,		/* the oldest slot has waited for free_delay_ms */
	ODRP_FREE_COUNT,	/* too many slots are pending: free down to half */
	ODRP_FREE_AGED,		/* a run for AGE had no request left: go on */
	ODRP_FREE_NOW,		/* the pages are needed */
};

/*
 * struct odrp_free - slots whose page is to be given back to the memory node
 * @overflow:	one bit per slot: the slot was freed while the ring of the CPU was full
 * @nr_overflow: bits set in @overflow
 * @overflow_hint: slot at which a search of @overflow begins
 * @pending:	slots that are FREE_PENDING or FREEING
 * @armed:	enum odrp_free_why: why the worker will run
 * @starved:	enum odrp_free_why: why the worker was running when it stopped because all
 *		invalidate requests were in use; ODRP_FREE_IDLE when it did not stop
 * @reuse_cpu:	CPU whose ring a store searches after the ring of its own CPU
 * @lock:	guards @wanting
 * @wanting:	bios of stores that found no page, and wait for a pending one
 * @nr_wanting:	number of bios in @wanting, or more
 * @on:		the worker may be armed
 */
struct odrp_free {
	struct odrp_free_cpu __percpu *cpu;
	unsigned long		*overflow;
	atomic_t		nr_overflow;
	u64			overflow_hint;
	atomic64_t		pending;
	atomic_t		armed;
	atomic_t		starved;
	int			reuse_cpu;
	spinlock_t		lock;
	struct bio_list		wanting;
	atomic_t		nr_wanting;
	bool			on;
	struct delayed_work	work;
};

/* free.c: freed slots */
int odrp_free_init(struct odrp_dev *dev, work_func_t work);
int odrp_free_add(struct odrp_dev *dev);
void odrp_free_exit(struct odrp_dev *dev);
void odrp_free_start(struct odrp_dev *dev);
void odrp_free_stop(struct odrp_dev *dev);
void odrp_free_arm(struct odrp_free *f, enum odrp_free_why why);
s64 odrp_free_most(struct odrp_dev *dev);
bool odrp_free_next(struct odrp_dev *dev, u64 *ret_slot);
void odrp_free_slot(struct odrp_dev *dev, u64 slot);
void odrp_free_queue(struct odrp_dev *dev, u64 slot);
void odrp_slot_do_more(struct odrp_queue *q, u64 slot, unsigned int more);
bool odrp_free_reuse(struct odrp_queue *q, u64 slot, bool any);
bool odrp_free_wait(struct odrp_dev *dev, struct bio *bio);
void odrp_free_less(struct odrp_queue *q);
bool odrp_free_wanted(struct odrp_dev *dev);
void odrp_free_release(struct odrp_queue *q);
void odrp_free_now(struct odrp_dev *dev);
void odrp_free_credit(struct odrp_dev *dev);
void odrp_free_drain(struct odrp_dev *dev, unsigned int ms);

/* Do what odrp_slot_end() has left to the caller: @more has ODRP_SLOT_END_* bits. */
static inline void odrp_slot_more(struct odrp_queue *q, u64 slot,
				  unsigned int more)
{
	if (more)
		odrp_slot_do_more(q, slot, more);
}

/* flush.c: pages given back */
void odrp_flush_work(struct work_struct *w);

#endif /* _ODRP_FREE_H */
