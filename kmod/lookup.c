// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots that are UNKNOWN: of stores and frees that failed while the session was FAILING.
 * Before it is live again their entries are read, many at a time.  After that no slot is
 * UNKNOWN, and the lease counts what has a page.
 */
#include <linux/sched.h>
#include "odrp.h"

struct looking {
	u64		slot[ODRP_SYNC_BATCH];
	unsigned int	nr;
};

static void slot_found(struct odrp_dev *dev, u64 slot, bool mapped)
{
	struct odrp_queue *q = odrp_queue_here(dev);

	if (!mapped)
		odrp_lease_put(&dev->lease);
	if (odrp_slot_holds(&dev->slots, slot))
		odrp_unreadable_mark(dev, slot);
	odrp_slot_more(q, slot, odrp_slot_end_look(&dev->slots, slot, mapped));
	odrp_issue_released(q);
}

static void slot_left(struct odrp_dev *dev, u64 slot)
{
	struct odrp_queue *q = odrp_queue_here(dev);

	odrp_slot_more(q, slot, odrp_slot_abort_look(&dev->slots, slot));
	odrp_issue_released(q);
}

static int look_batch(struct odrp_dev *dev, struct looking *l)
{
	bool mapped[ODRP_SYNC_BATCH];
	unsigned int i;
	int err;

	if (!l->nr)
		return 0;
	err = odrp_state_is_lost(odrp_sess_state(&dev->sess)) ?
	      odrp_sync_read(&dev->sess, l->slot, l->nr, mapped) : -ECONNRESET;
	for (i = 0; i < l->nr; i++) {
		if (err)
			slot_left(dev, l->slot[i]);
		else
			slot_found(dev, l->slot[i], mapped[i]);
	}
	l->nr = 0;
	return err;
}

/*
 * odrp_lookup() - have no slot that is UNKNOWN
 *
 * The session has connections, on which no chain of before runs, and nothing is posted.
 * Takes time in proportion to the device if a request has failed.
 *
 * With a backing device requests fail when the session is dead, and then the slots say
 * what that device has (backing.c): none is EMPTY because the memory node says so.
 *
 * Return: 0, or -errno; what could not be read is UNKNOWN still.
 */
int odrp_lookup(struct odrp_dev *dev)
{
	struct looking l = { .nr = 0 };
	u64 slot;
	int err = 0;

	if (dev->backing || !READ_ONCE(dev->some_unknown))
		return 0;
	for (slot = 0; !err && slot < dev->slots.nr; slot++) {
		if (!(slot % 65536))
			cond_resched();
		if (!odrp_slot_begin_look(&dev->slots, slot))
			continue;
		l.slot[l.nr++] = slot;
		if (l.nr == ODRP_SYNC_BATCH)
			err = look_batch(dev, &l);
	}
	if (!err)
		err = look_batch(dev, &l);
	if (!err)
		WRITE_ONCE(dev->some_unknown, false);
	return err;
}
