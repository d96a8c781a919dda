// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Freed slots: from the kernel's free hook to the invalidate chain.
 *
 * The hook runs under the swap device's lock with interrupts off: it marks
 * the slot, puts its number on this CPU's ring, or into the overflow bitmap
 * when the ring is full, and rings for the worker at most once.  The worker
 * (flush.c) sends the invalidates when enough slots have come together or the
 * oldest has waited long enough; a store to the slot that comes first cancels,
 * and one to an empty slot takes the page (slot.c).
 */
#include <linux/delay.h>
#include <linux/vmalloc.h>
#include "odrp.h"
#include "trace.h"

#define REUSE_LOOKS	8	/* rings that a store looks at for a page */

/* odrp_free_arm() - the worker is to run */
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

/* Give back all that is waiting, now. */
void odrp_free_now(struct odrp_dev *dev)
{
	if (atomic64_read(&dev->free.pending) > 0)
		odrp_free_arm(&dev->free, ODRP_FREE_NOW);
}

/*
 * odrp_free_most() - how many freed slots may wait to be reused
 *
 * By default half of what the lease has left.  They cost nobody anything while nobody
 * asks for them: at the latest free_delay_ms after they were freed they are given back.
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
 * odrp_free_queue() - a slot has become FREE_PENDING: see to it
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
 * odrp_free_slot() - the contents of a slot are not needed any more
 *
 * Any context, any lock held.
 */
void odrp_free_slot(struct odrp_dev *dev, u64 slot)
{
	if (odrp_slot_freed(&dev->slots, slot))
		odrp_free_queue(dev, slot);
	else if (dev->backing)
		odrp_slot_forget(&dev->slots, slot);
}

/* Do what odrp_slot_end() has left to do: ODRP_SLOT_END_* bits. */
void odrp_slot_more(struct odrp_queue *q, u64 slot, unsigned int more)
{
	if (more & ODRP_SLOT_END_QUEUE)
		odrp_free_queue(q->dev, slot);
	if (more & ODRP_SLOT_END_WAKE)
		odrp_wait_end(q, slot);
}

/* Others may look at the same time: a bit is theirs who cleared it. */
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

/* odrp_free_next() - the next slot that is still to be freed; taken (FREEING) */
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

/* odrp_free_release() - those that wait for a page look again */
void odrp_free_release(struct odrp_queue *q)
{
	struct odrp_free *f = &q->dev->free;
	struct bio_list bios;
	struct bio *bio;
	unsigned int n = 0;

	bio_list_init(&bios);
	spin_lock_bh(&f->lock);
	while ((bio = bio_list_pop(&f->wanting))) {
		bio_list_add(&bios, bio);
		n++;
	}
	spin_unlock_bh(&f->lock);
	atomic_sub(n, &f->nr_wanting);
	odrp_unpark(q->dev, n);
	odrp_release(q, &bios);
}

/*
 * odrp_free_less() - a page is not pending any more: given back, or used again
 *
 * Releases the bios that waited for one.  What it has become (of the lease, of a
 * slot) is to be seen before this.
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
 * odrp_free_wait() - a store has found no page: wait for one that is pending
 *
 * Return: false when none is, or nobody will bring it; the bio is still the
 * caller's.
 */
bool odrp_free_wait(struct odrp_dev *dev, struct bio *bio)
{
	struct odrp_free *f = &dev->free;
	bool waits;

	spin_lock_bh(&f->lock);
	atomic_inc(&f->nr_wanting);
	/* Either this sees that no page is pending, or the dead session, or
	 * those who make it so see nr_wanting, and come for the lock. */
	smp_mb__after_atomic();
	waits = atomic64_read(&f->pending) > 0 && odrp_dev_serves(dev);
	if (waits) {
		trace_odrp_wait(dev, bio, ODRP_TRACE_PAGE);
		bio_list_add(&f->wanting, bio);
		atomic_inc(&dev->parked);
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

/* odrp_free_wanted() - the session is dead: does anybody wait for a page? */
bool odrp_free_wanted(struct odrp_dev *dev)
{
	/* Pairs with odrp_free_wait(): the state has been set. */
	smp_mb();
	return atomic_read(&dev->free.nr_wanting);
}

/* Let the slot have the page of one that was freed; false: not of this one. */
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

/* This CPU's pages first, then those of some others, where some were last. */
static bool reuse_near(struct odrp_queue *q, u64 slot)
{
	struct odrp_free *f = &q->dev->free;
	/* Only where to look: an update that gets lost does not matter. */
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
 * odrp_free_reuse() - find a page for a slot that has none, of one that was freed
 * @slot:	the caller's, STORING_NEW; becomes STORING
 * @any:	look everywhere, not only where it takes no time
 *
 * Releases the bios that waited for the other slot.  Any context but hard interrupt.
 *
 * Return: false when there was none.
 */
bool odrp_free_reuse(struct odrp_queue *q, u64 slot, bool any)
{
	if (atomic64_read(&q->dev->free.pending) <= 0)
		return false;
	return any ? reuse_any(q, slot) : reuse_near(q, slot);
}

/* ---- the worker -------------------------------------------------------------- */

/* An invalidate request has become free: does the worker wait for it? */
void odrp_free_credit(struct odrp_dev *dev)
{
	struct odrp_free *f = &dev->free;
	int why;

	smp_mb();
	if (atomic_read(&f->starved) == ODRP_FREE_IDLE)
		return;
	why = atomic_xchg(&f->starved, ODRP_FREE_IDLE);
	if (why != ODRP_FREE_IDLE)
		odrp_free_arm(f, why == ODRP_FREE_AGE ? ODRP_FREE_AGED : why);
}

/* Wait, for at most so long, until no slot is waiting to be freed. */
void odrp_free_drain(struct odrp_dev *dev, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	while (atomic64_read(&dev->free.pending) > 0 && odrp_dev_serves(dev) &&
	       time_before(jiffies, end)) {
		odrp_free_now(dev);
		msleep(1);
	}
}

/* The worker calls @work; it is flush.c's. */
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

/* What there is for each slot. */
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
 * Slots that are waiting stay where they are.  To be called again when no
 * request is in flight any more: the end of one may just have seen the worker
 * on, and armed it.
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
