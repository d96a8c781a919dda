// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A device from hot_add to hot_remove: this file makes its parts in order, and frees them
 * in reverse.  ctl.c calls the functions.  When odrp_dev_create() returns, all memory that
 * the data path needs is allocated.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "odrp.h"

static int make_slots(struct odrp_dev *dev)
{
	struct odrp_slots *s = &dev->slots;
	u64 i;

	s->st = odrp_table_alloc(s->nr, sizeof(*s->st));
	s->entry = odrp_table_alloc(s->nr, sizeof(*s->entry));
	if (!s->st || !s->entry)
		return -ENOMEM;
	for (i = 0; i < s->nr; i++) {
		s->entry[i] = dev->places.max ? ODRP_PLACE_NONE : i;
		if (!(i % 65536))
			cond_resched();
	}
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

	if (!dev)
		return NULL;
	dev->id = id;
	dev->slots.nr = opt->size / ODRP_BLOCK;
	dev->timeout_ms = opt->timeout_ms;
	dev->reconnect_delay_ms = opt->reconnect_delay_ms;
	dev->dead_after_ms = opt->dead_after_ms;
	dev->io_fail_ms = opt->io_fail_ms;
	mutex_init(&dev->lock);
	odrp_uevent_init(dev);
	init_waitqueue_head(&dev->room);
	init_waitqueue_head(&dev->backing_room);
	odrp_wait_init(dev);
	odrp_move_init(dev);
	dev->sess.dev = dev;
	dev->sess.addr = opt->addr;
	dev->sess.features = ODRP_WIRE_F_LONG_BEAT | ODRP_WIRE_F_KEPT |
			     ODRP_WIRE_F_ASKS |
			     (opt->direct ? ODRP_WIRE_F_KEYED | ODRP_WIRE_F_DIRECT : 0);
	if (opt->key) {
		strscpy(dev->sess.auth.name, opt->key,
			sizeof(dev->sess.auth.name));
		memcpy(dev->sess.auth.secret, opt->secret, ODRP_AUTH_SECRET);
		dev->sess.auth.on = true;
		dev->sess.features |= ODRP_WIRE_F_SIGNED;
	}
	return dev;
}

/* Free all parts of a device that have been made.  Its session is freed or was never opened. */
static void free_dev(struct odrp_dev *dev)
{
	odrp_backing_del(dev);
	odrp_unreadable_del(dev);
	odrp_protect_del(dev);
	odrp_sum_del(dev);
	odrp_free_exit(dev);
	free_slots(dev);
	kvfree(dev->times);
	free_percpu(dev->stats);
	memzero_explicit(&dev->sess.auth, sizeof(dev->sess.auth));
	if (!dev->sess.stuck)	/* else RDMA events may still point to the device */
		kfree(dev);
}

/* Make the tables with one entry per slot or queue.  The accept has set nr_queues. */
static int make_tables(struct odrp_dev *dev, const struct odrp_options *opt)
{
	int err;

	dev->times = odrp_alloc(kvcalloc(dev->sess.nr_queues,
					 sizeof(*dev->times), ODRP_GFP_CHOSEN));
	if (!dev->times)
		return -ENOMEM;
	err = make_slots(dev);
	if (!err)
		err = odrp_free_add(dev);
	if (!err && opt->checksum)
		err = odrp_sum_add(dev);
	if (!err && opt->protect)
		err = odrp_protect_add(dev);
	if (!err)
		err = odrp_unreadable_add(dev);
	if (!err && opt->backing)
		err = odrp_backing_add(dev, opt->backing);
	return err;
}

/* Called before and after the session is closed, see odrp_free_stop().  Sleeps. */
static void stop_workers(struct odrp_dev *dev)
{
	odrp_free_stop(dev);
	odrp_move_stop(dev);
}

static void close_sess(struct odrp_dev *dev)
{
	stop_workers(dev);
	odrp_sess_close(&dev->sess);
	stop_workers(dev);
	odrp_sess_free(&dev->sess);
}

/*
 * Make the rest of a device.  The admin connection of its session is up.
 * @needed: gets the bytes of memory that the device takes
 * @ret_logged: set to true if the reason of an error is in the log
 */
static int fill_dev(struct odrp_dev *dev, const struct odrp_options *opt,
		    u64 *needed, bool *ret_logged)
{
	int err;

	*needed = odrp_mem_needed(opt, dev->sess.nr_queues, dev->sess.depth);
	err = odrp_mem_check(dev->id, opt, *needed);
	if (err) {
		*ret_logged = true;
		return err;
	}
	err = make_tables(dev, opt);
	if (err)
		return err;
	err = odrp_sess_go_live(&dev->sess);
	if (err)
		return err;
	odrp_free_start(dev);
	WRITE_ONCE(dev->move.on, true);
	return 0;
}

static void log_not_added(int id, int err, u64 needed)
{
	if (err == -ENOMEM)
		pr_err("odrp%d: not added: error %d: there is no memory for it (%llu MiB in all)\n",
		       id, err, DIV_ROUND_UP_ULL(needed, 1 << 20));
	else
		pr_err("odrp%d: not added: error %d\n", id, err);
}

/*
 * odrp_dev_create() - make a device that is not visible yet
 *
 * The memory node first accepts a device of this size, and then the memory for the device
 * is allocated.  Sleeps as long as connecting takes; a fatal signal ends the waits.
 *
 * Return: 0; or -errno, with nothing left allocated and the reason in the log.
 */
int odrp_dev_create(const struct odrp_options *opt, int id,
		    struct odrp_dev **ret_dev)
{
	u64 needed = odrp_mem_needed(opt, 0, 0);
	struct odrp_dev *dev;
	bool logged = false;
	int err;

	err = odrp_mem_check(id, opt, needed);
	if (err)
		return err;
	dev = new_dev(opt, id);
	if (!dev) {
		err = -ENOMEM;
		goto log;
	}
	dev->stats = odrp_alloc(alloc_percpu(struct odrp_stats));
	err = dev->stats ? odrp_free_init(dev, odrp_flush_work) : -ENOMEM;
	if (!err)
		err = odrp_sess_open(&dev->sess, opt->queues, opt->depth);
	if (err)
		goto free_dev;
	err = fill_dev(dev, opt, &needed, &logged);
	if (err)
		goto close_sess;
	*ret_dev = dev;
	return 0;

close_sess:
	close_sess(dev);
free_dev:
	free_dev(dev);
log:
	if (!logged)
		log_not_added(id, err, needed);
	return err;
}

/*
 * odrp_dev_show() - make a device visible: frontswap, disk, uevents and debugfs
 *
 * Return: 0; or -errno, and the device is as before the call.
 */
int odrp_dev_show(struct odrp_dev *dev, const struct odrp_options *opt)
{
	int err = opt->frontswap ? odrp_frontswap_add(dev) : 0;

	if (!err) {
		err = odrp_blk_add(dev);
		if (err)
			odrp_frontswap_del(dev);
	}
	if (err) {
		log_not_added(dev->id, err, 0);
		return err;
	}
	odrp_uevent_start(dev);
	odrp_debug_add(dev);
	pr_info("odrp%d: %llu MiB on %pISpc, %u of %u queues, depth %u of %u, lease %lld pages%s\n",
		dev->id, opt->size >> 20, &opt->addr.dst, dev->sess.nr_queues,
		opt->queues, dev->sess.depth, opt->depth,
		(s64)atomic64_read(&dev->lease.limit),
		opt->key ? "" : ", insecure: auth=none");
	if (!ODRP_SEES_FREED)
		pr_warn("odrp%d: pages come back by discards alone, on this kernel\n", dev->id);
	odrp_sess_check_patience(&dev->sess);
	return 0;
}

/* odrp_dev_abandon() - free a device that has not become visible */
void odrp_dev_abandon(struct odrp_dev *dev)
{
	close_sess(dev);
	free_dev(dev);
}

/*
 * Refuse opens from now on, if nobody has the disk open or with @force.
 *
 * Return: 0 if nobody has the disk open.  Else, with @force, -EINPROGRESS for the first
 * time: the last close will take down the device.  Else -EBUSY.
 */
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
 * odrp_dev_shut() - refuse opens of the disk from now on, if nobody has it open
 *
 * Return: 0; or -EBUSY, and nothing has changed, while somebody has the disk open.
 */
int odrp_dev_shut(struct odrp_dev *dev)
{
	return shut(dev, false);
}

/*
 * odrp_dev_force() - odrp_dev_shut(), also if somebody has the disk open
 *
 * If somebody has the disk open, swapoff may still open it (blk.c:may_open()).  All I/O
 * fails from now on, also with a backing device, because the backing device is closed when
 * the odrp device is removed.  I/O in flight ends soon: requests without an answer fail, and
 * the backing device finishes the I/O that it has begun.
 *
 * The last close calls odrp_ctl_sweep().  The sweep waits for ctl.c's mutex, which the
 * caller holds, so it cannot run before this function returns.
 *
 * Return: 0 if nobody has the disk open; -EINPROGRESS if somebody has the disk open and
 * this is the first call; -EBUSY for later calls.
 */
int odrp_dev_force(struct odrp_dev *dev)
{
	int err = shut(dev, true);

	if (err == -EINPROGRESS) {
		odrp_sess_die(&dev->sess, "removed by force");
		odrp_reconnect_queue(&dev->sess);
	}
	return err;
}

/*
 * odrp_dev_destroy() - undo odrp_dev_show() and odrp_dev_create(), but keep the memory
 *
 * The device has been shut; odrp_dev_free() is called next.  Sleeps, and waits for an
 * attempt to resume the session to end, which may itself wait for other drivers.  Sends
 * the pending frees before the connections end, so that the memory node gets its pages
 * back by invalidates.
 */
void odrp_dev_destroy(struct odrp_dev *dev)
{
	/* The work item sends the uevent of a dead session: let it finish first. */
	if (odrp_sess_state(&dev->sess) == ODRP_DEAD)
		flush_work(&dev->sess.reconnect.work);
	odrp_debug_del(dev);
	odrp_uevent_stop(dev);
	odrp_blk_del(dev);
	odrp_frontswap_del(dev);
	odrp_free_drain(dev, min(dev->timeout_ms, 2000u));
	stop_workers(dev);
	odrp_sess_close(&dev->sess);
	stop_workers(dev);
	odrp_backing_del(dev);
	odrp_blk_free(dev);
	odrp_sess_free(&dev->sess);
	pr_info("odrp%d: removed\n", dev->id);
}

/* odrp_dev_free() - free the memory of a device that is not in ctl.c's set any more */
void odrp_dev_free(struct odrp_dev *dev)
{
	free_dev(dev);
}
