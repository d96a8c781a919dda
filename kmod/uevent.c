// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Uevents: what becomes of a session, and that the memory node asks to be left.
 *
 * Sending one allocates memory like anybody else, under a mutex of all uevents.
 * Whoever holds that may be in reclaim, waiting for this very device: so they are
 * sent by a work item that nothing waits for but the end of the device, which
 * nobody uses then.  When it is late, two of a kind may have become one; the last
 * of a run is the state that the session has.
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
 * Process context; waits for nobody.  Before there is a disk it is kept until
 * there is one.
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

/* There is a disk. */
void odrp_uevent_start(struct odrp_dev *dev)
{
	struct odrp_uevents *t = &dev->uevents;

	spin_lock(&t->lock);
	t->on = true;
	if (t->todo)
		queue_work(system_long_wq, &t->work);
	spin_unlock(&t->lock);
}

/* The disk is about to go: what is to be sent is sent before. */
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
