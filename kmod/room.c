// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writers are held up while too many bios wait for requests, or too many stores are
 * under way to the backing device, which may be slower.
 */
#include <linux/sched.h>
#include <linux/wait.h>
#include "odrp.h"

/* Stores to a backing device. */
#define MAX_STORES	1024

/* How many bios may wait for requests before writers are made to sleep. */
static unsigned int room(const struct odrp_dev *dev)
{
	return dev->sess.nr_queues * dev->sess.depth;
}

/* Bios have been taken from the lists of those that wait for requests. */
void odrp_unpark(struct odrp_dev *dev, unsigned int nr)
{
	/* Fully ordered: pairs with the barrier in prepare_to_wait(). */
	if (atomic_sub_return(nr, &dev->parked) <= room(dev) &&
	    waitqueue_active(&dev->room))
		wake_up_all(&dev->room);
}

/*
 * odrp_holds_up() - may whoever writes be made to wait for others' writes to end?
 *
 * Workqueues may not while the session is lost, for some resume it: ib_mad,
 * for one, allocates for each packet that it receives, with GFP_KERNEL.  When that
 * has to reclaim memory and comes here, it would wait for the session, and the
 * session for it.  What kswapd would go on sending takes memory for each bio.
 */
bool odrp_holds_up(const struct odrp_dev *dev)
{
	return !(current->flags & PF_WQ_WORKER) ||
	       !odrp_state_is_lost(odrp_sess_state(&dev->sess));
}

/* The session is lost, or dead: whoever waits looks again. */
void odrp_wake_room(struct odrp_dev *dev)
{
	wake_up_all(&dev->room);
	wake_up_all(&dev->backing_room);
}

/* A store to the backing device has ended.  Any context but hard interrupt. */
void odrp_backing_stored(struct odrp_dev *dev)
{
	/* Fully ordered: pairs with the barrier in prepare_to_wait(). */
	if (atomic_dec_return(&dev->backing_stores) <= MAX_STORES &&
	    waitqueue_active(&dev->backing_room))
		wake_up_all(&dev->backing_room);
}

static bool backing_has_room(const struct odrp_dev *dev)
{
	return atomic_read(&dev->backing_stores) <= MAX_STORES ||
	       !odrp_holds_up(dev);
}

static bool has_room(const struct odrp_dev *dev)
{
	return atomic_read(&dev->parked) <= room(dev) ||
	       !odrp_dev_serves(dev) || !odrp_holds_up(dev);
}

/*
 * odrp_wait_room() - make a writer wait while too much is waiting already
 *
 * Reclaim that is never held up sends all of memory to a device that is slower,
 * finds nothing but pages under writeback, and kills somebody.  What is waited for
 * are completions, or the end of the session: never memory.
 */
void odrp_wait_room(struct odrp_dev *dev)
{
	if (!backing_has_room(dev)) {
		odrp_stat_inc(dev, waits_room);
		io_wait_event(dev->backing_room, backing_has_room(dev));
	}
	if (has_room(dev))
		return;
	odrp_stat_inc(dev, waits_room);
	io_wait_event(dev->room, has_room(dev));
}
