// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frontswap, on kernels that have it for modules: the kernel passes pages of swap areas on
 * our devices to this file, before it makes a bio of them.
 *
 * A page goes to the slot that its bio would go to, by the same path (issue.c).  When a
 * call here fails or does not take the page, the kernel submits a bio for the page to the
 * device.  The bio finds the page or an I/O error, never another page.
 *
 * A load is served here only if the last store to the slot came through here (dev->held):
 * the kernel asks all frontswap backends for a page that any backend has.  A load under a
 * plug is not served here: loads under a plug are readahead, a window of pages of which a
 * task needs one.  Served here, each page would wait for the page before.  So the kernel
 * makes bios for these loads, and the bios are issued together.
 *
 * The kernel invalidates a slot in use before it stores to the slot again.  It does not
 * call the free hook of the device for that, so the slot stays mapped and the store is a
 * mapped one.
 */
#include <linux/blkdev.h>
#include <linux/frontswap.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/swap.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "odrp.h"
#include "trace.h"
#include "shim/odrp_frontswap.h"

static DEFINE_MUTEX(attach_lock);
static unsigned int attached;		/* devices that use frontswap; under attach_lock */
/* The device of each swap area (type).  Stores set it, while the area is in use. */
static struct odrp_dev *types[MAX_SWAPFILES];

/* The device that the swap area of the page lies on; NULL: no device of ours uses it. */
static struct odrp_dev *page_dev(struct page *page,
				 struct block_device **ret_bdev)
{
	struct inode *inode = page_file_mapping(page)->host;
	struct odrp_dev *dev;

	if (!S_ISBLK(inode->i_mode))
		return NULL;
	*ret_bdev = I_BDEV(inode);
	dev = odrp_blk_dev(*ret_bdev);
	return dev && dev->held ? dev : NULL;
}

struct page_io {
	struct bio		bio;
	struct bio_vec		bv;
	struct completion	done;
};

static void page_end_io(struct bio *bio)
{
	complete(&container_of(bio, struct page_io, bio)->done);
}

/*
 * Load or store one page with a bio on the stack, and wait for the bio.  The memory node's
 * part of the wait ends at the latest when the session is dead.
 */
static int page_do(struct odrp_dev *dev, struct block_device *bdev, u64 slot,
		   struct page *page, unsigned int opf)
{
	struct bio_list bios;
	struct page_io io;
	struct bio *twin;
	int err;

	init_completion(&io.done);
	bio_init(&io.bio, &io.bv, 1);
	bio_set_dev(&io.bio, bdev);
	io.bio.bi_iter.bi_sector = slot * ODRP_BLOCK_SECTORS;
	io.bio.bi_opf = opf | REQ_SWAP;
	io.bio.bi_end_io = page_end_io;
	__bio_add_page(&io.bio, page, ODRP_BLOCK, 0);
	trace_odrp_bio(dev, &io.bio);
	bio_list_init(&bios);
	if (dev->backing) {
		twin = odrp_backing_twin(dev, &io.bio);
		if (!twin) {
			odrp_backing_want(dev, &io.bio);
		} else {
			bio_list_add(&bios, twin);
			bio_endio(&io.bio);	/* completes when the twin has ended */
		}
	} else {
		bio_list_add(&bios, &io.bio);
	}
	odrp_blk_issue(dev, &bios, true);
	wait_for_completion_io(&io.done);
	err = blk_status_to_errno(io.bio.bi_status);
	bio_uninit(&io.bio);
	return err;
}

/* The page is locked, in the swap cache, and being swapped out. */
static int page_store(unsigned int type, u64 slot, struct page *page)
{
	struct block_device *bdev;
	struct odrp_dev *dev = page_dev(page, &bdev);
	int err;

	if (!dev || slot >= dev->slots.nr)
		return -ENODEV;
	WRITE_ONCE(types[type], dev);
	clear_bit(slot, dev->held);
	/* Frontswap stores one slot; the kernel swaps a huge page out with one bio. */
	if (PageTransHuge(page))
		return -EINVAL;
	odrp_wait_room(dev);
	err = page_do(dev, bdev, slot, page, REQ_OP_WRITE);
	if (err)
		return err;
	set_bit(slot, dev->held);
	odrp_stat_inc(dev, frontswap_stores);
	return 0;
}

/* The page is locked; its contents are to be read. */
static int page_load(unsigned int type, u64 slot, struct page *page)
{
	struct block_device *bdev;
	struct odrp_dev *dev = page_dev(page, &bdev);
	int err;

	if (!dev || slot >= dev->slots.nr || !test_bit(slot, dev->held))
		return -ENODEV;
	if (current->plug) {
		odrp_stat_inc(dev, frontswap_passed);
		return -EAGAIN;
	}
	err = page_do(dev, bdev, slot, page, REQ_OP_READ | REQ_SYNC);
	if (!err)
		odrp_stat_inc(dev, frontswap_loads);
	return err;
}

static void slot_invalidate(unsigned int type, u64 slot)
{
	struct odrp_dev *dev = READ_ONCE(types[type]);

	if (dev && slot < dev->slots.nr)
		clear_bit(slot, dev->held);
}

static void area_invalidate(unsigned int type)
{
	WRITE_ONCE(types[type], NULL);
}

static const struct odrp_frontswap_ops frontswap_ops = {
	.store			= page_store,
	.load			= page_load,
	.invalidate_page	= slot_invalidate,
	.invalidate_area	= area_invalidate,
};

/* Looks the shim up by name, so that this module can be loaded without it. */
static int frontswap_attach(void)
{
	typeof(&odrp_frontswap_attach) fn;
	int err;

	fn = symbol_get(odrp_frontswap_attach);
	if (!fn) {
		request_module("odrp_frontswap");
		fn = symbol_get(odrp_frontswap_attach);
	}
	if (!fn) {
		pr_err("hot_add: backend=frontswap: the module odrp_frontswap cannot be loaded\n");
		return -ENOENT;
	}
	err = fn(&frontswap_ops, ODRP_FRONTSWAP_ABI);
	symbol_put(odrp_frontswap_attach);
	return err;
}

static void frontswap_detach(void)
{
	typeof(&odrp_frontswap_detach) fn = symbol_get(odrp_frontswap_detach);

	if (WARN_ON_ONCE(!fn))		/* an attached shim cannot be unloaded */
		return;
	fn();
	symbol_put(odrp_frontswap_detach);
}

/*
 * odrp_frontswap_add() - from now on the kernel passes pages of this device by frontswap
 *
 * Called before the device can be opened.  Sleeps.
 *
 * Return: 0 or -errno.
 */
int odrp_frontswap_add(struct odrp_dev *dev)
{
	int err = 0;

	dev->held = odrp_bitmap_alloc(dev->slots.nr);
	if (!dev->held)
		return -ENOMEM;
	mutex_lock(&attach_lock);
	if (!attached)
		err = frontswap_attach();
	if (!err)
		attached++;
	mutex_unlock(&attach_lock);
	if (err) {
		vfree(dev->held);
		dev->held = NULL;
	}
	return err;
}

/* Called when no swap area on the device is left.  Sleeps. */
void odrp_frontswap_del(struct odrp_dev *dev)
{
	if (!dev->held)
		return;
	mutex_lock(&attach_lock);
	if (!--attached)
		frontswap_detach();
	mutex_unlock(&attach_lock);
	vfree(dev->held);
	dev->held = NULL;
}
