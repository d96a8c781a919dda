// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A device from hot_add to hot_remove: its parts made in order, and unmade in
 * reverse.  ctl.c calls; everything that may fail on the data path has been
 * allocated when odrp_dev_create() returns.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "odrp.h"

static int make_slots(struct odrp_dev *dev, u64 nr)
{
	struct odrp_slots *s = &dev->slots;
	u64 i;

	s->st = odrp_alloc(vzalloc(nr));
	if (!s->st)
		return -ENOMEM;
	s->entry = odrp_alloc(vmalloc(array_size(nr, sizeof(*s->entry))));
	if (!s->entry) {
		vfree(s->st);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++)
		s->entry[i] = i;
	s->nr = nr;
	return 0;
}

static void free_slots(struct odrp_dev *dev)
{
	vfree(dev->slots.entry);
	vfree(dev->slots.st);
}

static struct odrp_dev *new_dev(const struct odrp_options *opt, int id)
{
	struct odrp_dev *dev = odrp_alloc(kzalloc(sizeof(*dev), GFP_KERNEL));
	unsigned int i;

	if (!dev)
		return NULL;
	dev->id = id;
	dev->timeout_ms = opt->timeout_ms;
	dev->reconnect_delay_ms = opt->reconnect_delay_ms;
	dev->dead_after_ms = opt->dead_after_ms;
	mutex_init(&dev->lock);
	odrp_tell_init(dev);
	init_waitqueue_head(&dev->room);
	for (i = 0; i < ODRP_NR_WAITS; i++) {
		spin_lock_init(&dev->waits[i].lock);
		bio_list_init(&dev->waits[i].bios);
	}
	dev->sess.dev = dev;
	dev->sess.addr = opt->addr;
	dev->sess.features = opt->keyed ? ODRP_WIRE_F_KEYED : 0;
	return dev;
}

/*
 * odrp_dev_create() - connect to the memory node and show the disk
 *
 * Return: 0 or -errno, with nothing left behind; the reason is in the log.
 */
int odrp_dev_create(const struct odrp_options *opt, int id,
		    struct odrp_dev **ret_dev)
{
	u64 nr = opt->size / ODRP_BLOCK;
	struct odrp_dev *dev;
	int err;

	dev = new_dev(opt, id);
	if (!dev)
		return -ENOMEM;
	dev->stats = odrp_alloc(alloc_percpu(struct odrp_stats));
	if (!dev->stats) {
		err = -ENOMEM;
		goto free_dev;
	}
	dev->times = odrp_alloc(kvcalloc(opt->queues, sizeof(*dev->times),
					 GFP_KERNEL));
	if (!dev->times) {
		err = -ENOMEM;
		goto free_stats;
	}
	err = make_slots(dev, nr);
	if (err)
		goto free_times;
	err = odrp_free_init(dev);
	if (err)
		goto free_slots;
	err = opt->checksum ? odrp_sum_add(dev) : 0;
	if (err)
		goto exit_free;
	err = odrp_unread_add(dev);
	if (err)
		goto del_sums;
	err = opt->backing ? odrp_backing_add(dev, opt->backing) : 0;
	if (err)
		goto del_unread;
	err = odrp_sess_open(&dev->sess, nr, opt->queues, opt->depth);
	if (err)
		goto del_backing;
	odrp_free_start(dev);
	err = opt->frontswap ? odrp_frontswap_add(dev) : 0;
	if (err)
		goto close_sess;
	err = odrp_blk_add(dev);
	if (err)
		goto del_frontswap;
	odrp_tell_start(dev);
	odrp_debug_add(dev);
	pr_info("odrp%d: %llu MiB on %pISpc, %u queues of depth %u, lease %lld pages\n",
		id, opt->size >> 20, &opt->addr.dst, dev->sess.nr_queues,
		dev->sess.depth, (s64)atomic64_read(&dev->lease.limit));
	*ret_dev = dev;
	return 0;

del_frontswap:
	odrp_frontswap_del(dev);
close_sess:
	odrp_free_stop(dev);
	odrp_sess_close(&dev->sess);
	odrp_free_stop(dev);
	odrp_sess_free(&dev->sess);
del_backing:
	odrp_backing_del(dev);
del_unread:
	odrp_unread_del(dev);
del_sums:
	odrp_sum_del(dev);
exit_free:
	odrp_free_exit(dev);
free_slots:
	free_slots(dev);
free_times:
	kvfree(dev->times);
free_stats:
	free_percpu(dev->stats);
free_dev:
	kfree(dev);
	return err;
}

/*
 * odrp_dev_mapped() - pages on the memory node that somebody may ask for
 *
 * The difference of two counters that move: it may be off for a moment.
 */
s64 odrp_dev_mapped(const struct odrp_dev *dev)
{
	s64 n = odrp_lease_used(&dev->lease) -
		atomic64_read(&dev->free.pending);

	return max_t(s64, n, 0);
}

/* Return: 0 if nobody has it open; -EINPROGRESS if it goes when it is closed. */
static int shut(struct odrp_dev *dev, bool force)
{
	bool before, used;

	mutex_lock(&dev->lock);
	used = dev->openers;
	before = dev->forced;
	if (used && force)
		WRITE_ONCE(dev->forced, true);
	if (!used || force)
		dev->removing = true;
	mutex_unlock(&dev->lock);
	if (!used)
		return 0;
	return force && !before ? -EINPROGRESS : -EBUSY;
}

/*
 * odrp_dev_shut() - no opens from now on
 *
 * Return: -EBUSY while somebody has the device open.
 */
int odrp_dev_shut(struct odrp_dev *dev)
{
	return shut(dev, false);
}

/*
 * odrp_dev_force() - as odrp_dev_shut(), and who has it open does without it
 *
 * It may still be opened by swapoff (blk.c).
 *
 * All I/O fails from now on, also with a backing device: one that goes with the
 * device cannot go on alone.  What is under way ends soon: what the memory node
 * has not answered fails, and what the backing device is doing it does.
 *
 * The last close calls odrp_ctl_sweep().  One that comes before this returns has
 * to wait there, for the caller has ctl.c's mutex.
 *
 * Return: 0 if nobody has it open; -EINPROGRESS if somebody has, and -EBUSY if
 * that is not for the first time.
 */
int odrp_dev_force(struct odrp_dev *dev)
{
	int err = shut(dev, true);

	if (err == -EINPROGRESS) {
		odrp_sess_die(&dev->sess, "removed by force");
		odrp_mend_queue(&dev->sess);
	}
	return err;
}

/*
 * odrp_dev_destroy() - the way back of odrp_dev_create()
 *
 * The device has been shut.  Frees that are pending are sent before the
 * connections go, so that the memory node need not clean up after us.
 */
void odrp_dev_destroy(struct odrp_dev *dev)
{
	/* That it is dead is told before it is gone. */
	if (odrp_sess_state(&dev->sess) == ODRP_DEAD)
		flush_work(&dev->sess.mend.work);
	odrp_debug_del(dev);
	odrp_tell_stop(dev);
	odrp_blk_del(dev);
	odrp_frontswap_del(dev);
	odrp_free_drain(dev, min(dev->timeout_ms, 2000u));
	odrp_free_stop(dev);
	odrp_sess_close(&dev->sess);
	odrp_free_stop(dev);
	odrp_backing_del(dev);
	odrp_blk_free(dev);
	odrp_sess_free(&dev->sess);
	odrp_unread_del(dev);
	odrp_sum_del(dev);
	odrp_free_exit(dev);
	free_slots(dev);
	kvfree(dev->times);
	free_percpu(dev->stats);
	pr_info("odrp%d: removed\n", dev->id);
	kfree(dev);
}
