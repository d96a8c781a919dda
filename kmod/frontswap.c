// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frontswap: pages of swap areas that lie on a device of ours come in here
 * before a bio is made of them, where the kernel still has that for modules.
 *
 * A page goes to the slot that its bio would go to, by the same way (issue.c).
 * So whatever is not taken here, or fails, the kernel does on the device, and
 * finds there what it must: the page, or an I/O error; never another page.
 *
 * Loads are answered only for slots that were stored here last (dev->held): the
 * kernel asks all backends for a page that any of them has.  And only one by one:
 * what comes under a plug is readahead, a window of pages of which somebody waits
 * for one.  Answered here each would wait for the one before; so the kernel is left
 * to make bios of them, which go together.
 *
 * That a store to a slot in use is preceded by an invalidation changes
 * nothing for the slot itself: the free hook of the device is not called then,
 * so it stays mapped and the store is a mapped one.
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
static unsigned int attached;		/* devices; guarded by attach_lock */
/* Whose area each type is.  Set by stores, while the area is in use. */
static struct odrp_dev *types[MAX_SWAPFILES];

/* The device that the page's swap area lies on; NULL: not one of ours. */
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
 * One page, by the way of all bios, and waited for: at most for the session's
 * time-out, after which it is dead and everything on it has ended.
 */
static int page_do(struct odrp_dev *dev, struct block_device *bdev, u64 slot,
		   struct page *page, unsigned int opf)
{
	struct bio_list bios;
	struct page_io io;
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
		bio_list_add(&bios, odrp_backing_twin(dev, &io.bio, 0));
		bio_endio(&io.bio);	/* when its twin has ended */
	} else {
		bio_list_add(&bios, &io.bio);
	}
	odrp_blk_issue(dev, &bios, true);
	wait_for_completion_io(&io.done);
	err = blk_status_to_errno(io.bio.bi_status);
	bio_uninit(&io.bio);
	return err;
}

/* The page is locked, in the swap cache, and on its way out. */
static int page_store(unsigned int type, u64 slot, struct page *page)
{
	struct block_device *bdev;
	struct odrp_dev *dev = page_dev(page, &bdev);
	int err;

	if (!dev || slot >= dev->slots.nr)
		return -ENODEV;
	WRITE_ONCE(types[type], dev);
	clear_bit(slot, dev->held);
	/* One slot is all that we are asked for: as a bio it goes whole. */
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

/* The page is locked and empty. */
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

/* The shim is asked for by name: without frontswap nobody needs it. */
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

	if (WARN_ON_ONCE(!fn))		/* it cannot be unloaded */
		return;
	fn();
	symbol_put(odrp_frontswap_detach);
}

/*
 * odrp_frontswap_add() - pages for this device come by frontswap from now on
 *
 * Before the device can be opened.  Return: 0 or -errno, told in the log.
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

/* After the last swap area on it has gone. */
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
