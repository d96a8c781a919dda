// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writers sleep while too many blocks wait for requests or pages, or too many stores are
 * under way to the backing device, which may be slower.
 *
 * A writer sleeps within submit_bio(), where it holds a reference to the queue
 * (q_usage_counter).  A freeze of the queue waits until nobody holds a reference, and blocks
 * everybody else who comes to the device, also to read what needs no memory node.  The kernel
 * freezes a queue when somebody writes one of its attributes, such as the elevator or a
 * limit.  So a freeze ends the sleep: the bio is parked like others (issue.c), and the writer
 * leaves the queue.  No other writer comes while the queue is frozen.  The start of a freeze
 * wakes nobody, so sleeping writers look for it.
 */
#include <linux/blkdev.h>
#include <linux/percpu-refcount.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include "odrp.h"

/* Most stores under way to the backing device before writers sleep. */
#define MAX_STORES	1024

/* How often a sleeping writer looks whether the queue is being frozen. */
#define LOOK_MS		50

/*
 * How many blocks may be parked before writers sleep.  Blocks count, and not bios: a bio of a
 * huge page has 512 of them.
 */
static unsigned int room(const struct odrp_dev *dev)
{
	return dev->sess.nr_queues * dev->sess.depth;
}

/* A bio has been put on a list of parked bios, whose lock the caller still holds. */
void odrp_park(struct odrp_dev *dev, const struct bio *bio)
{
	atomic_add(odrp_bio_blocks(bio), &dev->parked);
}

/* Bios with as many blocks have been taken from the lists of parked bios. */
void odrp_unpark(struct odrp_dev *dev, unsigned int blocks)
{
	/* Fully ordered: pairs with the barrier in prepare_to_wait(). */
	if (atomic_sub_return(blocks, &dev->parked) <= room(dev) &&
	    waitqueue_active(&dev->room))
		wake_up_all(&dev->room);
}

/*
 * odrp_holds_up() - may the current task be made to wait for others' writes to end?
 *
 * Workers of workqueues may not while the session is lost, for some are needed to resume it:
 * ib_mad, for one, allocates for each packet that it receives, with GFP_KERNEL.  If such an
 * allocation had to reclaim memory and came here, the worker would wait for the session, and
 * the session for the worker.  kswapd may be held up: what it would go on sending takes
 * memory for each bio.
 */
bool odrp_holds_up(const struct odrp_dev *dev)
{
	return !(current->flags & PF_WQ_WORKER) ||
	       !odrp_state_is_lost(odrp_sess_state(&dev->sess));
}

/* The session is lost, failing or dead: sleeping writers check again. */
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

/* Is the queue frozen, or about to be as soon as nobody is within submit_bio()? */
static bool is_frozen(const struct odrp_dev *dev)
{
	return percpu_ref_is_dying(&dev->disk->queue->q_usage_counter);
}

static bool backing_has_room(const struct odrp_dev *dev)
{
	return atomic_read(&dev->backing_stores) <= MAX_STORES ||
	       !odrp_holds_up(dev) || is_frozen(dev);
}

static bool has_room(const struct odrp_dev *dev)
{
	return atomic_read(&dev->parked) <= room(dev) ||
	       !odrp_dev_serves(dev) || !odrp_holds_up(dev) || is_frozen(dev);
}

static void wait_for(struct odrp_dev *dev, wait_queue_head_t *head,
		     bool (*has)(const struct odrp_dev *dev))
{
	DEFINE_WAIT(wait);

	odrp_stat_inc(dev, waits_room);
	do {
		prepare_to_wait(head, &wait, TASK_UNINTERRUPTIBLE);
		if (!has(dev))
			io_schedule_timeout(msecs_to_jiffies(LOOK_MS));
	} while (!has(dev));
	finish_wait(head, &wait);
}

/*
 * odrp_wait_for_room() - odrp_wait_room() when something is waiting
 *
 * Without this, reclaim would send all of memory to a slower device, find nothing but pages
 * under writeback, and call the OOM killer.  A writer waits for completions, for the end of
 * the session, or for a freeze of the queue: never for memory.
 */
void odrp_wait_for_room(struct odrp_dev *dev)
{
	if (!backing_has_room(dev))
		wait_for(dev, &dev->backing_room, backing_has_room);
	if (!has_room(dev))
		wait_for(dev, &dev->room, has_room);
}
