// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Uevents: changes of a session's state, and the memory node's request to leave it.
 *
 * Sending a uevent allocates memory with GFP_KERNEL, under a mutex for all uevents.  The
 * holder of that mutex may be in reclaim, and wait for this very device.  So a work item
 * sends uevents.  Only the end of the device waits for the work item, when nobody uses the
 * device any more.  If the work item is late, it sends several uevents of one kind as one.
 * It sends that of the session's current state last.
 */
#include <linux/blkdev.h>
#include <linux/kobject.h>
#include <linux/workqueue.h>
#include "odrp.h"

static char * const words[ODRP_NR_UEVENTS] = {
	[ODRP_UEVENT_LOST]	= "ODRP_STATE=lost",
	[ODRP_UEVENT_LIVE]	= "ODRP_STATE=live",
	[ODRP_UEVENT_DEAD]	= "ODRP_STATE=dead",
	[ODRP_UEVENT_DRAIN]	= "ODRP_DRAIN=1",
};

static void uevent_send(struct odrp_dev *dev, enum odrp_uevent what)
{
	char *env[] = { words[what], NULL };

	kobject_uevent_env(&disk_to_dev(dev->disk)->kobj, KOBJ_CHANGE, env);
}

static enum odrp_uevent uevent_of_state(const struct odrp_dev *dev)
{
	switch (odrp_sess_state(&dev->sess)) {
	case ODRP_LOST:
	case ODRP_FAILING:
		return ODRP_UEVENT_LOST;
	case ODRP_LIVE:
		return ODRP_UEVENT_LIVE;
	default:
		return ODRP_UEVENT_DEAD;
	}
}

static void uevent_work(struct work_struct *w)
{
	struct odrp_uevents *t = container_of(w, struct odrp_uevents, work);
	struct odrp_dev *dev = container_of(t, struct odrp_dev, uevents);
	enum odrp_uevent last, what;
	unsigned long todo;

	spin_lock(&t->lock);
	todo = t->todo;
	t->todo = 0;
	spin_unlock(&t->lock);
	last = uevent_of_state(dev);
	for (what = 0; what < ODRP_NR_UEVENTS; what++) {
		if (what != last && (todo & BIT(what)))
			uevent_send(dev, what);
	}
	if (todo & BIT(last))
		uevent_send(dev, last);
}

/*
 * odrp_uevent() - have the disk send a uevent
 *
 * Process context; waits for nobody.  Before there is a disk the uevent is kept for
 * odrp_uevent_start().
 */
void odrp_uevent(struct odrp_dev *dev, enum odrp_uevent what)
{
	struct odrp_uevents *t = &dev->uevents;

	spin_lock(&t->lock);
	t->todo |= BIT(what);
	if (t->on)
		queue_work(system_long_wq, &t->work);
	spin_unlock(&t->lock);
}

/* The disk is there from now on: sends the uevents that were kept. */
void odrp_uevent_start(struct odrp_dev *dev)
{
	struct odrp_uevents *t = &dev->uevents;

	spin_lock(&t->lock);
	t->on = true;
	if (t->todo)
		queue_work(system_long_wq, &t->work);
	spin_unlock(&t->lock);
}

/* The disk is about to go: sends what is pending, and nothing later. */
void odrp_uevent_stop(struct odrp_dev *dev)
{
	struct odrp_uevents *t = &dev->uevents;

	spin_lock(&t->lock);
	t->on = false;
	spin_unlock(&t->lock);
	flush_work(&t->work);
}

void odrp_uevent_init(struct odrp_dev *dev)
{
	spin_lock_init(&dev->uevents.lock);
	INIT_WORK(&dev->uevents.work, uevent_work);
}
