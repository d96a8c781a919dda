// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The worker that gives pages back: freed slots (free.c) to the invalidate chain.
 */
#include "odrp.h"
#include "trace.h"

static struct odrp_dev *dev_of(struct odrp_free *f)
{
	return container_of(f, struct odrp_dev, free);
}

/*
 * Send invalidates on one queue while it has requests, at most max.  Return:
 * false when there is nothing more to free.
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

/* How many to free in one run, those that are on their way already included. */
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

/* odrp_flush_work() - what the worker does: the work item of struct odrp_free */
void odrp_flush_work(struct work_struct *w)
{
	struct odrp_free *f = container_of(to_delayed_work(w),
					   struct odrp_free, work);
	struct odrp_dev *dev = dev_of(f);
	enum odrp_free_why why;
	unsigned int i;
	bool more = true;
	s64 max, left;

	/* Whoever frees a slot from here on arms again. */
	why = atomic_xchg(&f->armed, ODRP_FREE_IDLE);
	if (why == ODRP_FREE_IDLE)
		return;		/* the run before has done it */
	if (!odrp_dev_serves(dev))
		return;		/* for good, or until it is resumed */
	max = left = how_many(dev, why);

	/* Pairs with odrp_free_credit(): it sees starved, or we a request. */
	atomic_set(&f->starved, why);
	smp_mb();
	for (i = 0; i < dev->sess.nr_queues && more; i++)
		more = pump(dev, &dev->sess.queues[i], &left);
	if (!more)
		atomic_set(&f->starved, ODRP_FREE_IDLE);
	stats_count(dev, why, max - left);
	trace_odrp_free(dev->id, why, max - left, atomic64_read(&f->pending));

	/* What stays behind is looked at again when it has aged. */
	if (atomic64_read(&f->pending) > 0)
		odrp_free_arm(f, ODRP_FREE_AGE);
}
