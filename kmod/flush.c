// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The worker that gives pages back to the memory node: it sends an invalidate for each
 * freed slot (free.c), or puts the place of the slot back (place.c).
 */
#include <linux/sched.h>
#include "odrp.h"
#include "trace.h"

static struct odrp_dev *dev_of(struct odrp_free *f)
{
	return container_of(f, struct odrp_dev, free);
}

/*
 * Send at most *max invalidates on one queue, while the queue has free requests.
 * Subtracts from *max what was sent.
 *
 * Return: false when no slot is left to free, or *max is used up.
 */
static bool pump(struct odrp_dev *dev, struct odrp_queue *q, s64 *max)
{
	struct odrp_conn *conn = q->conn[ODRP_WIRE_INVALIDATE];
	struct odrp_batch b;
	struct odrp_req *req;
	bool more = true;
	u64 slot;

	odrp_batch_init(&b, q);
	while (*max > 0) {
		req = odrp_req_get(conn, NULL);
		if (IS_ERR_OR_NULL(req))
			break;
		if (!odrp_free_next(dev, &slot)) {
			odrp_req_put(req);
			more = false;
			break;
		}
		if (dev->backing)
			odrp_backing_forget(dev, slot);
		req->act = ODRP_SLOT_DO_FAIL;
		odrp_req_fill(req, slot);
		odrp_batch_add(&b, req);
		--*max;
	}
	odrp_batch_post(&b);
	if (b.refused)
		odrp_batch_abort(&b);
	odrp_issue_released(q);
	return more && *max > 0;
}

/* Put back the place of a slot that is FREEING. */
static void put_place(struct odrp_queue *q, u64 slot)
{
	struct odrp_dev *dev = q->dev;
	u32 place = dev->slots.entry[slot];

	if (dev->backing)
		odrp_backing_forget(dev, slot);
	dev->slots.entry[slot] = ODRP_PLACE_NONE;
	odrp_place_put(&dev->places, place);
	odrp_lease_put(&dev->lease);
	odrp_free_less(q);
	odrp_slot_more(q, slot, odrp_slot_end(&dev->slots, slot, ODRP_SLOT_OK));
}

/* With slabs there is nothing to send: at most *max places are put back at once. */
static bool put_places(struct odrp_dev *dev, struct odrp_queue *q, s64 *max)
{
	bool more = true;
	u64 slot;

	while (*max > 0 && (more = odrp_free_next(dev, &slot))) {
		put_place(q, slot);
		--*max;
		cond_resched();
	}
	odrp_issue_released(q);
	return more && *max > 0;
}

/*
 * How many slots to free in one run.  Invalidates that are under way still count as
 * pending, so the result includes them.
 */
static s64 how_many(struct odrp_dev *dev, enum odrp_free_why why)
{
	if (why != ODRP_FREE_COUNT)
		return S64_MAX;
	return atomic64_read(&dev->free.pending) - odrp_free_most(dev) / 2;
}

static void stats_count(struct odrp_dev *dev, enum odrp_free_why why, u64 nr)
{
	switch (why) {
	case ODRP_FREE_AGE:
	case ODRP_FREE_AGED:
		odrp_stat_add(dev, flushed_age, nr);
		break;
	case ODRP_FREE_COUNT:
		odrp_stat_add(dev, flushed_count, nr);
		break;
	default:
		odrp_stat_add(dev, flushed_now, nr);
		break;
	}
}

/* odrp_flush_work() - one run of the worker: the work item of struct odrp_free */
void odrp_flush_work(struct work_struct *w)
{
	struct odrp_free *f = container_of(to_delayed_work(w),
					   struct odrp_free, work);
	struct odrp_dev *dev = dev_of(f);
	enum odrp_free_why why;
	unsigned int i;
	bool more = true;
	s64 max, left;

	/* A slot that is freed from here on arms the worker again. */
	why = atomic_xchg(&f->armed, ODRP_FREE_IDLE);
	if (why == ODRP_FREE_IDLE)
		return;		/* an earlier run has done the work */
	if (!odrp_dev_serves(dev))
		return;		/* reconnect.c arms the worker when it has resumed the session */
	max = left = how_many(dev, why);

	/*
	 * Pairs with odrp_free_credit(): that function sees starved, or pump() sees the free
	 * request.
	 */
	atomic_set(&f->starved, why);
	smp_mb();
	for (i = 0; i < dev->sess.nr_queues && more; i++)
		more = dev->places.max ?
		       put_places(dev, &dev->sess.queues[i], &left) :
		       pump(dev, &dev->sess.queues[i], &left);
	if (!more)
		atomic_set(&f->starved, ODRP_FREE_IDLE);
	stats_count(dev, why, max - left);
	trace_odrp_free(dev->id, why, max - left, atomic64_read(&f->pending));

	/* Slots that are still pending: run again when they have aged. */
	if (atomic64_read(&f->pending) > 0)
		odrp_free_arm(f, ODRP_FREE_AGE);
}
