// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Looking up slots that are UNKNOWN.
 *
 * A slot is UNKNOWN after a store or an invalidate that failed while the session was
 * FAILING: the memory node may have executed it or not.  Before the session is live again,
 * the table entries of these slots are read, many at a time.  After that no slot is
 * UNKNOWN, and the lease counts exactly the slots that have a page.
 */
#include <linux/sched.h>
#include <linux/string.h>
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

/* With slabs, a slot keeps its place whatever has become of the store. */
static int read_mapped(struct odrp_dev *dev, const struct looking *l, bool *ret_mapped)
{
	if (!dev->places.max)
		return odrp_sync_read(&dev->sess, l->slot, l->nr, ret_mapped);
	memset(ret_mapped, true, l->nr * sizeof(*ret_mapped));
	return 0;
}

static int look_batch(struct odrp_dev *dev, struct looking *l)
{
	bool mapped[ODRP_SYNC_BATCH];
	unsigned int i;
	int err;

	if (!l->nr)
		return 0;
	err = odrp_state_is_lost(odrp_sess_state(&dev->sess)) ?
	      read_mapped(dev, l, mapped) : -ECONNRESET;
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
 * odrp_lookup() - look up all slots that are UNKNOWN
 *
 * The session has connections, no chain of the old connections runs any more, and no
 * request is posted.  Sleeps.  Looks at each slot of the device, if a request has failed.
 *
 * Does nothing for a device with a backing device.  There, requests fail only when the
 * session is dead, and then the slots tell what the backing device has (backing.c).
 *
 * Return: 0, or -errno: slots whose entries could not be read are still UNKNOWN.
 */
int odrp_lookup(struct odrp_dev *dev)
{
	struct looking l = { .nr = 0 };
	u64 slot;
	int err = 0;

	if (dev->backing || !READ_ONCE(dev->some_unknown))
		return 0;
	/* Requests that fail meanwhile set some_unknown again. */
	WRITE_ONCE(dev->some_unknown, false);
	smp_mb();	/* pairs with done.c:end_slot() */
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
	if (err)
		WRITE_ONCE(dev->some_unknown, true);
	return err;
}
