// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The backing device: opened when a device is added, and closed when that device is
 * removed.  backing.c sends the I/O.
 */
#include <linux/blkdev.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "backing.h"
#include "compat.h"
#include "odrp.h"

static void done_work(struct work_struct *w)
{
	struct odrp_backing *b = container_of(w, struct odrp_backing,
					      done_work);
	struct odrp_queue *q = odrp_queue_here(b->dev);

	odrp_twins_done(b, q);
	odrp_twins_more(b, q);
	odrp_issue_released(q);
}

static int refuse(const char *path, const char *why, int err)
{
	pr_err("hot_add: backing=%s: %s\n", path, why);
	return err;
}

static int refuse_open(const char *path, int err)
{
	switch (err) {
	case -EBUSY:
		return refuse(path, "in use: expected a block device that nobody else has open",
			      err);
	case -EACCES:
	case -EROFS:
		return refuse(path, "read-only: expected a block device that can be written",
			      err);
	case -ENOTBLK:
		return refuse(path, "not a block device", err);
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		return refuse(path, "no such block device", err);
	default:
		pr_err("hot_add: backing=%s: cannot be opened: error %d\n",
		       path, err);
		return err;
	}
}

static int check_disk(struct odrp_dev *dev, struct block_device *bdev,
		      const char *path)
{
	u64 size = odrp_compat_bdev_size(bdev);
	u64 want = dev->slots.nr * ODRP_BLOCK;

	if (odrp_blk_dev(bdev))
		return refuse(path, "a device of our own: expected another", -EINVAL);
	if (bdev_read_only(bdev))
		return refuse_open(path, -EROFS);
	if (bdev_logical_block_size(bdev) > ODRP_BLOCK)
		return refuse(path, "its blocks are larger than 4096 bytes", -EINVAL);
	if (size < want) {
		pr_err("hot_add: backing=%s: has %llu bytes: expected %llu or more\n",
		       path, size, want);
		return -EINVAL;
	}
	return 0;
}

static int open_disk(struct odrp_dev *dev, struct odrp_backing *b)
{
	int err = odrp_compat_bdev_open(&b->disk, b->path, b);

	if (err)
		return refuse_open(b->path, err);
	err = check_disk(dev, b->disk.bdev, b->path);
	if (err)
		odrp_compat_bdev_close(&b->disk, b);
	return err;
}

static int make_memory(struct odrp_backing *b, u64 nr_slots)
{
	int err = -ENOMEM;

	b->dev->good = odrp_bitmap_alloc(nr_slots);
	if (!b->dev->good)
		return err;
	b->wq = odrp_alloc(alloc_workqueue("odrp%d_backing",
					   ODRP_WQ | WQ_HIGHPRI, 0, b->dev->id));
	if (!b->wq)
		goto free_good;
	err = odrp_alloc_int(odrp_twins_init(b));
	if (err)
		goto destroy_wq;
	return 0;

destroy_wq:
	destroy_workqueue(b->wq);
free_good:
	vfree(b->dev->good);
	b->dev->good = NULL;
	return err;
}

/*
 * odrp_backing_add() - open the backing device, and allocate what its I/O needs
 *
 * Call before the odrp device can be opened.
 *
 * Return: 0 or -errno.  The reason is in the log, except for -ENOMEM.
 */
int odrp_backing_add(struct odrp_dev *dev, const char *path)
{
	struct odrp_backing *b = odrp_alloc(kzalloc(sizeof(*b), GFP_KERNEL));
	int err = -ENOMEM;

	if (!b)
		return err;
	b->dev = dev;
	INIT_WORK(&b->done_work, done_work);
	b->path = odrp_alloc(kstrdup(path, GFP_KERNEL));
	if (!b->path)
		goto free_b;
	err = open_disk(dev, b);
	if (err)
		goto free_path;
	err = make_memory(b, dev->slots.nr);
	if (err)
		goto close_disk;
	dev->backing = b;
	return 0;

close_disk:
	odrp_compat_bdev_close(&b->disk, b);
free_path:
	kfree(b->path);
free_b:
	kfree(b);
	return err;
}

/* Call when the last bio has ended and no request is in flight. */
void odrp_backing_del(struct odrp_dev *dev)
{
	struct odrp_backing *b = dev->backing;

	if (!b)
		return;
	destroy_workqueue(b->wq);
	bioset_exit(&b->twins);
	vfree(dev->good);
	dev->good = NULL;
	odrp_compat_bdev_close(&b->disk, b);
	kfree(b->path);
	kfree(b);
	dev->backing = NULL;
}
