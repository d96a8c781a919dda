// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Freed slots: from the kernel's free hook to the invalidate chain.
 *
 * The hook runs under the swap device's lock with interrupts off.  It marks the slot, puts
 * the slot number on the ring of this CPU, or into the overflow bitmap when the ring is
 * full, and arms the worker if the worker is not armed yet.  The worker (flush.c) sends
 * the invalidates when enough slots are pending or the oldest has waited for long enough.
 * A store to a pending slot cancels the free of that slot.  A store to an empty slot takes
 * the page of a pending slot (slot.c).
 */
#include <linux/delay.h>
#include <linux/vmalloc.h>
#include "odrp.h"
#include "trace.h"

#define REUSE_LOOKS	8	/* rings of other CPUs that a store searches for a page */

/*
 * odrp_free_arm() - have the worker run, for this reason
 *
 * Does nothing when the worker will run for a reason that is as large, or is stopped.
 * Any context.
 */
void odrp_free_arm(struct odrp_free *f, enum odrp_free_why why)
{
	int cur = atomic_read(&f->armed);

	if (!READ_ONCE(f->on))
		return;
	do {
		if (cur >= (int)why)
			return;
	} while (!atomic_try_cmpxchg(&f->armed, &cur, why));

	if (why == ODRP_FREE_AGE)
		queue_delayed_work(odrp_flush_wq, &f->work,
			msecs_to_jiffies(READ_ONCE(odrp_free_delay_ms)));
	else
		mod_delayed_work(odrp_flush_wq, &f->work, 0);
}

/* Have the worker give back all pending pages at once. */
void odrp_free_now(struct odrp_dev *dev)
{
	if (atomic64_read(&dev->free.pending) > 0)
		odrp_free_arm(&dev->free, ODRP_FREE_NOW);
}

/*
 * odrp_free_most() - how many freed slots may wait for reuse
 *
 * By default half of what the lease has left, and at least 1.  The worker gives a page back
 * free_delay_ms after the slot was freed, also when fewer slots wait.
 */
s64 odrp_free_most(struct odrp_dev *dev)
{
	unsigned int fixed = READ_ONCE(odrp_free_batch);
	s64 held = odrp_lease_used(&dev->lease) -
		   atomic64_read(&dev->free.pending);
	s64 left = atomic64_read(&dev->lease.limit) - held;

	return fixed ? fixed : max_t(s64, left / 2, 1);
}

static void remember(struct odrp_dev *dev, u64 slot)
{
	struct odrp_free *f = &dev->free;
	unsigned long flags;
	bool ok;

	local_irq_save(flags);
	ok = odrp_fring_push(&this_cpu_ptr(f->cpu)->ring, slot);
	local_irq_restore(flags);
	if (ok)
		return;
	odrp_stat_inc(dev, free_overflows);
	if (!test_and_set_bit(slot, f->overflow))
		atomic_inc(&f->nr_overflow);
}

/*
 * odrp_free_queue() - record a slot that has become FREE_PENDING, and arm the worker
 *
 * Any context.
 */
void odrp_free_queue(struct odrp_dev *dev, u64 slot)
{
	struct odrp_free *f = &dev->free;
	s64 pending = atomic64_inc_return(&f->pending);

	remember(dev, slot);
	odrp_free_arm(f, pending >= odrp_free_most(dev) ? ODRP_FREE_COUNT :
							  ODRP_FREE_AGE);
}

/*
 * odrp_free_slot() - the kernel does not need the contents of a slot any more
 *
 * Any context, with any lock held.
 */
void odrp_free_slot(struct odrp_dev *dev, u64 slot)
{
	if (odrp_slot_freed(&dev->slots, slot))
		odrp_free_queue(dev, slot);
	else if (dev->backing)
		odrp_slot_forget(&dev->slots, slot);
}

/* odrp_slot_do_more() - odrp_slot_more() when there is something to do */
void odrp_slot_do_more(struct odrp_queue *q, u64 slot, unsigned int more)
{
	if (more & ODRP_SLOT_END_QUEUE)
		odrp_free_queue(q->dev, slot);
	if (more & ODRP_SLOT_END_WAKE)
		odrp_wait_end(q, slot);
}

/* Several callers may search at once: the caller that clears a bit gets the slot. */
static bool pop_overflow(struct odrp_dev *dev, u64 *ret_slot)
{
	struct odrp_free *f = &dev->free;
	u64 slot;

	if (!atomic_read(&f->nr_overflow))
		return false;
	do {
		slot = find_next_bit(f->overflow, dev->slots.nr,
				     READ_ONCE(f->overflow_hint));
		if (slot >= dev->slots.nr)
			slot = find_first_bit(f->overflow, dev->slots.nr);
		if (slot >= dev->slots.nr)
			return false;
	} while (!test_and_clear_bit(slot, f->overflow));
	atomic_dec(&f->nr_overflow);
	WRITE_ONCE(f->overflow_hint, slot + 1);
	*ret_slot = slot;
	return true;
}

/*
 * odrp_free_next() - take the next slot that is to be freed; the slot becomes FREEING
 *
 * Return: false when no slot is to be freed.
 */
bool odrp_free_next(struct odrp_dev *dev, u64 *ret_slot)
{
	int cpu;
	u32 slot;

	for_each_possible_cpu(cpu) {
		struct odrp_fring *r = &per_cpu_ptr(dev->free.cpu, cpu)->ring;

		while (odrp_fring_pop(r, &slot)) {
			if (odrp_slot_begin_free(&dev->slots, slot)) {
				*ret_slot = slot;
				return true;
			}
		}
	}
	while (pop_overflow(dev, ret_slot)) {
		if (odrp_slot_begin_free(&dev->slots, *ret_slot))
			return true;
	}
	return false;
}

/* ---- pages that are wanted ---------------------------------------------------- */

/* odrp_free_release() - release all bios that wait for a page: each looks for one again */
void odrp_free_release(struct odrp_queue *q)
{
	struct odrp_free *f = &q->dev->free;
	struct bio_list bios;
	struct bio *bio;
	unsigned int n = 0, blocks = 0;

	bio_list_init(&bios);
	spin_lock_bh(&f->lock);
	while ((bio = bio_list_pop(&f->wanting))) {
		blocks += odrp_bio_blocks(bio);
		bio_list_add(&bios, bio);
		n++;
	}
	spin_unlock_bh(&f->lock);
	atomic_sub(n, &f->nr_wanting);
	odrp_unpark(q->dev, blocks);
	odrp_release(q, &bios);
}

/*
 * odrp_free_less() - a page is not pending any more: it was given back, or used again
 *
 * Releases the bios that wait for a page.  The caller makes its change to the lease, or to
 * the slot that uses the page, before this call.
 */
void odrp_free_less(struct odrp_queue *q)
{
	struct odrp_free *f = &q->dev->free;

	/* Fully ordered: pairs with odrp_free_wait(). */
	(void)atomic64_dec_return(&f->pending);
	if (atomic_read(&f->nr_wanting))
		odrp_free_release(q);
}

/*
 * odrp_free_wait() - park the bio of a store that has found no page
 *
 * Return: true when the bio is parked until a pending page is given back or used again, or
 * a grant has come, or has not come in time.  False when no page is pending and none may be
 * granted soon, or the session does not serve: the caller keeps the bio.
 */
bool odrp_free_wait(struct odrp_dev *dev, struct bio *bio)
{
	struct odrp_free *f = &dev->free;
	bool waits;

	odrp_ask_now(dev);
	spin_lock_bh(&f->lock);
	atomic_inc(&f->nr_wanting);
	/*
	 * Pairs with odrp_free_less() and odrp_free_wanted().  Either this task sees their
	 * change (fewer pages pending, no more quick heartbeats, the session does not serve),
	 * or they see nr_wanting and release the bio under the lock.
	 */
	smp_mb__after_atomic();
	waits = (atomic64_read(&f->pending) > 0 || odrp_ask_hopes(&dev->ask)) &&
		odrp_dev_serves(dev);
	if (waits) {
		trace_odrp_wait(dev, bio, ODRP_TRACE_PAGE);
		bio_list_add(&f->wanting, bio);
		odrp_park(dev, bio);
	} else {
		atomic_dec(&f->nr_wanting);
	}
	spin_unlock_bh(&f->lock);
	if (waits) {
		odrp_stat_inc(dev, waits_page);
		odrp_free_now(dev);
	}
	return waits;
}

/*
 * odrp_free_wanted() - the session does not serve, or a grant has come, or has not come in
 *			time: does any bio wait for a page?
 */
bool odrp_free_wanted(struct odrp_dev *dev)
{
	/* Pairs with odrp_free_wait(): the caller has made its change. */
	smp_mb();
	return atomic_read(&dev->free.nr_wanting);
}

/* Give the page of a freed slot to @slot.  Return: false when @freed has no page to give. */
static bool reuse(struct odrp_queue *q, u64 slot, u64 freed)
{
	struct odrp_dev *dev = q->dev;
	unsigned int more;

	if (!odrp_slot_reuse(&dev->slots, slot, freed, &more))
		return false;
	odrp_free_less(q);
	odrp_stat_inc(dev, stores_reused);
	if (dev->backing)
		odrp_backing_forget(dev, freed);
	odrp_slot_more(q, freed, more);
	return true;
}

static bool reuse_of(struct odrp_queue *q, u64 slot, int cpu)
{
	struct odrp_fring *r = &per_cpu_ptr(q->dev->free.cpu, cpu)->ring;
	u32 freed;

	while (odrp_fring_pop(r, &freed)) {
		if (reuse(q, slot, freed))
			return true;
	}
	return false;
}

/*
 * Search the ring of this CPU, then some rings of other CPUs, beginning with the ring where
 * a page was found last.
 */
static bool reuse_near(struct odrp_queue *q, u64 slot)
{
	struct odrp_free *f = &q->dev->free;
	/* A hint where to search: a lost update does no harm. */
	int cpu = READ_ONCE(f->reuse_cpu), i;

	if (reuse_of(q, slot, raw_smp_processor_id()))
		return true;
	for (i = 0; i < REUSE_LOOKS; i++) {
		if (reuse_of(q, slot, cpu)) {
			WRITE_ONCE(f->reuse_cpu, cpu);
			return true;
		}
		cpu = cpumask_next(cpu, cpu_possible_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_possible_mask);
	}
	WRITE_ONCE(f->reuse_cpu, cpu);
	return false;
}

static bool reuse_any(struct odrp_queue *q, u64 slot)
{
	u64 freed;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (reuse_of(q, slot, cpu))
			return true;
	}
	while (pop_overflow(q->dev, &freed)) {
		if (reuse(q, slot, freed))
			return true;
	}
	return false;
}

/*
 * odrp_free_reuse() - give a slot without a page the page of a freed slot
 * @slot:	owned by the caller, STORING_NEW; becomes STORING
 * @any:	search all rings and the overflow bitmap, not only a few rings
 *
 * Releases the bios that waited for the freed slot.  Any context but hard interrupt.
 *
 * Return: false when no page was found.
 */
bool odrp_free_reuse(struct odrp_queue *q, u64 slot, bool any)
{
	if (atomic64_read(&q->dev->free.pending) <= 0)
		return false;
	return any ? reuse_any(q, slot) : reuse_near(q, slot);
}

/* ---- the worker -------------------------------------------------------------- */

/* An invalidate request has become free: arm the worker if it has stopped for want of one. */
void odrp_free_credit(struct odrp_dev *dev)
{
	struct odrp_free *f = &dev->free;
	int why;

	smp_mb();	/* pairs with odrp_flush_work() */
	if (atomic_read(&f->starved) == ODRP_FREE_IDLE)
		return;
	why = atomic_xchg(&f->starved, ODRP_FREE_IDLE);
	if (why != ODRP_FREE_IDLE)
		odrp_free_arm(f, why == ODRP_FREE_AGE ? ODRP_FREE_AGED : why);
}

/* Have all pending pages given back, and wait until that is done, for @ms at most.  Sleeps. */
void odrp_free_drain(struct odrp_dev *dev, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (atomic64_read(&dev->free.pending) > 0 && odrp_dev_serves(dev) &&
	       time_before(jiffies, end)) {
		odrp_free_now(dev);
		msleep(1);
	}
}

/* @work: the work function, odrp_flush_work() */
int odrp_free_init(struct odrp_dev *dev, work_func_t work)
{
	struct odrp_free *f = &dev->free;

	f->cpu = odrp_alloc(alloc_percpu(struct odrp_free_cpu));
	if (!f->cpu)
		return -ENOMEM;
	INIT_DELAYED_WORK(&f->work, work);
	spin_lock_init(&f->lock);
	bio_list_init(&f->wanting);
	f->reuse_cpu = cpumask_first(cpu_possible_mask);
	return 0;
}

/* Allocates what has an element for each slot. */
int odrp_free_add(struct odrp_dev *dev)
{
	dev->free.overflow = odrp_bitmap_alloc(dev->slots.nr);
	return dev->free.overflow ? 0 : -ENOMEM;
}

void odrp_free_start(struct odrp_dev *dev)
{
	WRITE_ONCE(dev->free.on, true);
}

/*
 * Stop the worker.  Pending slots stay pending.  The caller calls this again when no
 * request is in flight any more: a request that ended meanwhile may have armed the worker
 * just before this cleared free.on.  Sleeps.
 */
void odrp_free_stop(struct odrp_dev *dev)
{
	WRITE_ONCE(dev->free.on, false);
	cancel_delayed_work_sync(&dev->free.work);
}

void odrp_free_exit(struct odrp_dev *dev)
{
	vfree(dev->free.overflow);
	free_percpu(dev->free.cpu);
}
