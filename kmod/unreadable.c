// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages that cannot be read, on kernels whose swapoff does not check that
 * (ODRP_SWAPOFF_SAFE): before 5.19 swapoff maps such a page with whatever is in the memory
 * that the page was to be read into.  While such a page is known the device is not opened
 * for swapoff (blk.c), until the page has been written, is read well, or is not needed.
 *
 * Such pages are: a page whose load has failed, by its checksum, by protect=aead or on the
 * backing device; a page that a failed store may have changed (lookup.c); and, while the
 * session is dead or FAILING, each page that has no other copy.  The first two kinds have a
 * bit per slot, which only the owner of the slot changes (slot.h).
 *
 * On kernels that check there is no bitmap, and nothing is ever marked.
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

/* The page of a slot cannot be read.  Any context; call before the slot is given up. */
void odrp_unreadable_mark(struct odrp_dev *dev, u64 slot)
{
	if (!dev->unreadable)
		return;
	set_bit(slot, dev->unreadable);
	WRITE_ONCE(dev->some_unreadable, true);
}

/* odrp_unreadable_clear() calls this if a bit has been set, once. */
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
 * odrp_unreadable_any() - would swapoff of this device give a program a wrong page?
 *
 * Knows only pages that were found to be unreadable: swapoff may be the first to find one.
 * May sleep.  Takes time in proportion to the device, if the session is not served or a page
 * was unreadable once.
 */
bool odrp_unreadable_any(const struct odrp_dev *dev)
{
	bool dead = !odrp_dev_serves(dev);	/* or FAILING: cannot be read for now */
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
