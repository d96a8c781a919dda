// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The mover's worker: it looks at all slots in turn for those that have a place in a slab that
 * is closing, in small pieces, and moves no more than move_mbps (move.c).  It stops while the
 * session is not live, the memory node asks to swap off or a swapoff may run, and with the
 * device.
 */
#include "odrp.h"

/* How often the worker runs, and how many slots it looks at. */
#define RUN_MS		10
#define LOOK_SLOTS	65536

static u64 pages_per_run(void)
{
	return max_t(u64, READ_ONCE(odrp_move_mbps) * (u64)RUN_MS * 1000 / ODRP_BLOCK, 1);
}

static bool may_move(const struct odrp_dev *dev)
{
	const struct odrp_sess *s = &dev->sess;

	return odrp_sess_state(s) == ODRP_LIVE && odrp_move_mbps &&
	       READ_ONCE(dev->places.nr_closing) && !READ_ONCE(dev->move.rest) &&
	       !(READ_ONCE(s->ctl.flags) & ODRP_WIRE_GRANT_DRAIN);
}

/* Does a slot, as far as one can see without owning it, have a place in a closing slab? */
static bool slot_leaves(const struct odrp_dev *dev, u64 slot)
{
	u32 place = READ_ONCE(dev->slots.entry[slot]);

	return place != ODRP_PLACE_NONE && odrp_place_closes(&dev->places, place) &&
	       READ_ONCE(dev->slots.st[slot]) == ODRP_SLOT_MAPPED;
}

/* Look at some slots.  Return: false when no move can begin now. */
static bool move_some(struct odrp_dev *dev, struct odrp_queue *q)
{
	struct odrp_move *m = &dev->move;
	u64 most = pages_per_run();
	unsigned int looked;

	for (looked = 0; m->left && most && looked < LOOK_SLOTS; looked++) {
		if (slot_leaves(dev, m->next)) {
			if (!odrp_move_begin(q, m->next))
				return false;
			most--;
		}
		m->next = m->next + 1 < dev->slots.nr ? m->next + 1 : 0;
		m->left--;
	}
	return true;
}

static void move_work(struct work_struct *w)
{
	struct odrp_dev *dev = container_of(to_delayed_work(w), struct odrp_dev, move.work);
	struct odrp_queue *q = odrp_queue_here(dev);

	if (!may_move(dev))
		return;
	move_some(dev, q);
	odrp_issue_released(q);
	if (dev->move.left && READ_ONCE(dev->move.on))
		queue_delayed_work(odrp_wq, &dev->move.work, msecs_to_jiffies(RUN_MS));
}

/* odrp_move_now() - slabs have begun to close, or are not empty yet: look at all slots anew */
void odrp_move_now(struct odrp_dev *dev)
{
	if (!READ_ONCE(dev->move.on) || !may_move(dev))
		return;
	WRITE_ONCE(dev->move.left, dev->slots.nr);
	queue_delayed_work(odrp_wq, &dev->move.work, 0);
}

void odrp_move_init(struct odrp_dev *dev)
{
	INIT_DELAYED_WORK(&dev->move.work, move_work);
	spin_lock_init(&dev->move.lock);
}

/* Stop the worker.  Pages under way end with their requests.  Sleeps. */
void odrp_move_stop(struct odrp_dev *dev)
{
	WRITE_ONCE(dev->move.on, false);
	cancel_delayed_work_sync(&dev->move.work);
}
