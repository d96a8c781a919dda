/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots whose remote page is to be given back.
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

/* Why the worker that gives pages back runs, or will; the larger one wins. */
enum odrp_free_why {
	ODRP_FREE_IDLE,
	ODRP_FREE_AGE,		/* when the oldest slot has waited long enough */
	ODRP_FREE_COUNT,	/* too many are waiting: down to half */
	ODRP_FREE_AGED,		/* to go on with AGE, which had no request left */
	ODRP_FREE_NOW,		/* the pages are needed */
};

/*
 * struct odrp_free - slots whose remote page is to be given back
 * @pending:	slots FREE_PENDING or FREEING
 * @overflow:	one bit per slot: freed while the CPU's ring was full
 * @armed:	enum odrp_free_why: why the worker will run
 * @starved:	worker stopped because all invalidate requests were in use: why
 *		it was running, 0 otherwise
 * @reuse_cpu:	on whose ring stores look for a page after their own
 * @wanting:	bios that found no page, and wait for one that is pending; guarded
 *		by @lock
 * @nr_wanting:	their number, or more
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
void odrp_slot_more(struct odrp_queue *q, u64 slot, unsigned int more);
bool odrp_free_reuse(struct odrp_queue *q, u64 slot, bool any);
bool odrp_free_wait(struct odrp_dev *dev, struct bio *bio);
void odrp_free_less(struct odrp_queue *q);
bool odrp_free_wanted(struct odrp_dev *dev);
void odrp_free_release(struct odrp_queue *q);
void odrp_free_now(struct odrp_dev *dev);
void odrp_free_credit(struct odrp_dev *dev);
void odrp_free_drain(struct odrp_dev *dev, unsigned int ms);

/* flush.c: pages given back */
void odrp_flush_work(struct work_struct *w);

#endif /* _ODRP_FREE_H */
