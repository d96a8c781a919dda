// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages that cannot be read, on kernels whose swapoff does not look whether it
 * could (ODRP_SWAPOFF_SAFE): before 5.19 it maps such a page with whatever is in
 * the memory that it was to be read into.  Where one is known the device is not
 * opened for swapoff (blk.c), until it has been written again or is not needed.
 *
 * Those are: a page whose load has failed, by its checksum or on the backing
 * device; and, when the session is dead, each that has no other copy.  The first
 * are one bit per slot, which is changed by the owner of the slot only (slot.h).
 *
 * On kernels that look there is no memory for it, and nothing is ever marked.
 */
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "odrp.h"

int odrp_unreadable_add(struct odrp_dev *dev)
{
	if (ODRP_SWAPOFF_SAFE)
		return 0;
	dev->unreadable = odrp_bitmap_alloc(dev->slots.nr);
	return dev->unreadable ? 0 : -ENOMEM;
}

void odrp_unreadable_del(struct odrp_dev *dev)
{
	vfree(dev->unreadable);
	dev->unreadable = NULL;
}

/* A load has failed.  Any context; before the slot is given up. */
void odrp_unreadable_mark(struct odrp_dev *dev, u64 slot)
{
	if (!dev->unreadable)
		return;
	set_bit(slot, dev->unreadable);
	WRITE_ONCE(dev->some_unreadable, true);
}

/* odrp_unreadable_clear() where some have been marked. */
void odrp_unreadable_clear_bit(struct odrp_dev *dev, u64 slot)
{
	clear_bit(slot, dev->unreadable);
}

static bool is_lost(const struct odrp_dev *dev, u64 slot, bool dead)
{
	if (!odrp_slot_holds(&dev->slots, slot))
		return false;
	if (test_bit(slot, dev->unreadable))
		return true;
	return dead && !(dev->backing && !READ_ONCE(dev->forced) &&
			 odrp_backing_has(dev, slot));
}

/*
 * odrp_unreadable_any() - would swapoff of this device give somebody a wrong page?
 *
 * As far as is known: it may be the first to read one that comes back different.
 * May sleep, and takes time in proportion to the device if it is not well.
 */
bool odrp_unreadable_any(const struct odrp_dev *dev)
{
	bool dead = !odrp_dev_serves(dev);	/* or cannot be read for now */
	u64 slot;

	if (!dev->unreadable || !(dead || READ_ONCE(dev->some_unreadable)))
		return false;
	for (slot = 0; slot < dev->slots.nr; slot++) {
		if (is_lost(dev, slot, dead))
			return true;
		if (!(slot % 65536))
			cond_resched();
	}
	return false;
}
