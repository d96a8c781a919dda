// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The disk, which takes bios from the kernel.  Bios of a task with a plug are collected
 * and issued together, so that the requests of each connection are posted with one
 * doorbell; issue.c issues them.
 *
 * The disk has a device number that the kernel allocates to disks without a major number
 * of their own ("blkext"), as NVMe disks do.  Programs that recognize disks by the names
 * in /proc/devices, such as LVM, accept these.
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "compat.h"
#include "odrp.h"
#include "trace.h"

static void (*disk_unused)(void);	/* see odrp_blk_init() */

#define PLUG_MAX	ODRP_POST_CHUNK

/* blk_check_plugged() allocates this, zeroed, for the first bio of a plug. */
struct plugged {
	struct blk_plug_cb	cb;
	struct bio_list		bios;
	unsigned int		nr;
};

/*
 * odrp_blk_issue() - issue bios of the device on this CPU's queue
 * @may_poll: the caller would sleep until the bios are done, and may poll for loads instead
 */
void odrp_blk_issue(struct odrp_dev *dev, struct bio_list *bios, bool may_poll)
{
	struct odrp_queue *q = odrp_queue_here(dev);
	struct odrp_mark load;

	/*
	 * The device stays while the bios are not done.  When they are done,
	 * only this count keeps the device (see odrp_blk_del()).
	 */
	atomic_inc(&q->users);
	load = odrp_issue(q, bios);
	if (load.req && may_poll)
		odrp_poll_load(q, load);
	smp_mb__before_atomic();
	atomic_dec(&q->users);
}

/*
 * The block core removes the callback from the task's list before it calls this function.
 * The callback has at least one bio, whose owner waits for it.  So the device is open, and
 * the module stays loaded.
 */
static void unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct plugged *p = container_of(cb, struct plugged, cb);

	odrp_blk_issue(cb->data, &p->bios, !from_schedule);
	kfree(p);
}

/* Add a bio to a plug.  If the plug is full, issue its bios first. */
static void plug_bio(struct odrp_dev *dev, struct plugged *p, struct bio *bio)
{
	struct bio_list full = p->bios;

	if (p->nr < PLUG_MAX) {
		bio_list_add(&p->bios, bio);
		p->nr++;
		return;
	}
	bio_list_init(&p->bios);
	bio_list_add(&p->bios, bio);
	p->nr = 1;
	odrp_blk_issue(dev, &full, false);
}

static void discard(struct odrp_dev *dev, struct bio *bio)
{
	u64 slot = bio->bi_iter.bi_sector / ODRP_BLOCK_SECTORS;
	u64 end = slot + bio->bi_iter.bi_size / ODRP_BLOCK;
	unsigned int sectors = bio_sectors(bio);
	unsigned long acct = odrp_acct_start(bio, sectors);

	for (; slot < end; slot++)
		odrp_free_slot(dev, slot);
	odrp_acct_end(bio, sectors, acct);
	bio_endio(bio);
}

static bool aligned(const struct bio *bio)
{
	return bio->bi_iter.bi_sector % ODRP_BLOCK_SECTORS == 0 &&
	       bio->bi_iter.bi_size % ODRP_BLOCK == 0;
}

static void take_bio(struct odrp_dev *dev, struct bio *bio)
{
	struct blk_plug_cb *cb;
	struct bio_list bios;

	/*
	 * Without a plug, or without memory for the callback, issue the bio at
	 * once.  (Newer kernels plug around every submit_bio().)
	 */
	cb = blk_check_plugged(unplug, dev, sizeof(struct plugged));
	if (cb) {
		plug_bio(dev, container_of(cb, struct plugged, cb), bio);
		return;
	}
	bio_list_init(&bios);
	bio_list_add(&bios, bio);
	odrp_blk_issue(dev, &bios, true);
}

/* With a backing device, issue a twin for each block of the bio (backing.c). */
static void take_blocks(struct odrp_dev *dev, struct bio *bio)
{
	struct bio *twin;

	while (bio->bi_iter.bi_size) {
		twin = odrp_backing_twin(dev, bio);
		if (!twin) {
			odrp_backing_want(dev, bio);
			return;
		}
		take_bio(dev, twin);
	}
	bio_endio(bio);
}

ODRP_SUBMIT_BIO(submit)
{
	struct odrp_dev *dev = odrp_bio_disk(bio)->private_data;

	if (!aligned(bio)) {
		odrp_stat_inc(dev, invalid_io);
		bio_io_error(bio);
		ODRP_SUBMIT_BIO_END;
	}
	trace_odrp_bio(dev, bio);
	switch (bio_op(bio)) {
	case REQ_OP_WRITE:
		odrp_wait_room(dev);
		fallthrough;
	case REQ_OP_READ:
		if (!bio->bi_iter.bi_size)
			bio_endio(bio);
		else if (dev->backing)
			take_blocks(dev, bio);
		else
			take_bio(dev, bio);
		break;
	case REQ_OP_DISCARD:
		if (READ_ONCE(dev->forced))
			bio_io_error(bio);
		else
			discard(dev, bio);
		break;
	default:
		bio->bi_status = BLK_STS_NOTSUPP;
		bio_endio(bio);
		break;
	}
	ODRP_SUBMIT_BIO_END;
}

/* The kernel calls this under the swap device's lock, mostly with interrupts off. */
static void __maybe_unused slot_free_notify(struct block_device *bdev,
					    unsigned long slot)
{
	struct odrp_dev *dev = bdev->bd_disk->private_data;

	if (WARN_ON_ONCE(slot >= dev->slots.nr))
		return;
	odrp_stat_inc(dev, notify_free);
	odrp_free_slot(dev, slot);
}

/*
 * May the disk be opened?  The caller holds dev->lock.
 *
 * After a removal by force the disk may be opened only while somebody has claimed the disk,
 * as a swap area does: swapoff has to open the disk that it swaps off.  Anybody else who
 * opens a claimed disk gets I/O errors, and delays the removal until the last close.
 *
 * During a removal without force the disk may not be opened.  Otherwise a claimed disk may
 * not be opened while a swapoff would give wrong bytes to programs.
 */
static int may_open(struct odrp_dev *dev, const struct block_device *bdev)
{
	bool claimed = READ_ONCE(bdev->bd_holder);

	if (dev->forced)
		return claimed ? 0 : -ENXIO;
	if (dev->removing)
		return -ENXIO;
	if (!claimed || !odrp_unreadable_any(dev))
		return 0;
	pr_warn_ratelimited(
		"odrp%d: not opened: swapoff would give wrong bytes (swapoff_corrupts)\n",
		dev->id);
	return -EIO;
}

ODRP_BLK_OPEN(open_disk, arg)
{
	struct odrp_dev *dev = ODRP_BLK_OPEN_DISK(arg)->private_data;
	const struct block_device *bdev = ODRP_BLK_OPEN_BDEV(arg);
	int err;

	mutex_lock(&dev->lock);
	err = may_open(dev, bdev);
	if (!err)
		odrp_move_opened(&dev->move, dev->openers++, READ_ONCE(bdev->bd_holder));
	mutex_unlock(&dev->lock);
	return err;
}

/*
 * The block layer holds locks here that del_gendisk() takes.  So disk_unused() queues a
 * work item to take down a device that was removed by force and has no user left.
 */
ODRP_BLK_RELEASE(release_disk, disk)
{
	struct odrp_dev *dev = disk->private_data;
	bool goes;

	mutex_lock(&dev->lock);
	goes = !--dev->openers && dev->forced;
	odrp_move_closed(&dev->move, dev->openers);
	mutex_unlock(&dev->lock);
	if (goes)
		disk_unused();
}

static const struct block_device_operations ops = {
	.owner			= THIS_MODULE,
	.open			= open_disk,
	.release		= release_disk,
	.submit_bio		= submit,
	ODRP_FREE_NOTIFY(slot_free_notify)
};

/* Return: the odrp device of a block device; NULL if it belongs to another driver. */
struct odrp_dev *odrp_blk_dev(struct block_device *bdev)
{
	return bdev->bd_disk->fops == &ops ? bdev->bd_disk->private_data : NULL;
}

int odrp_blk_add(struct odrp_dev *dev)
{
	struct gendisk *disk;
	int err;

	disk = odrp_alloc_ptr(odrp_compat_alloc_disk());
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	disk->flags |= ODRP_DISK_FLAGS;
	disk->fops = &ops;
	disk->private_data = dev;
	snprintf(disk->disk_name, sizeof(disk->disk_name), "odrp%d", dev->id);
	set_capacity(disk, dev->slots.nr * ODRP_BLOCK_SECTORS);
	err = odrp_alloc_int(odrp_compat_add_disk(disk, odrp_disk_groups));
	if (err) {
		odrp_compat_free_disk(disk);
		return err;
	}
	dev->disk = disk;
	return 0;
}

/* Remove the disk.  Afterwards no bio arrives, and no task is within odrp_blk_issue(). */
void odrp_blk_del(struct odrp_dev *dev)
{
	unsigned int i;

	del_gendisk(dev->disk);
	for (i = 0; i < dev->sess.nr_queues; i++) {
		while (atomic_read(&dev->sess.queues[i].users))
			usleep_range(50, 200);
	}
}

void odrp_blk_free(struct odrp_dev *dev)
{
	odrp_compat_free_disk(dev->disk);
}

/*
 * odrp_blk_init() - set the function that handles the last close
 * @unused: called when the last user closes the disk of a device that was removed by
 *	force; the caller holds locks of the block layer
 */
void odrp_blk_init(void (*unused)(void))
{
	disk_unused = unused;
}
