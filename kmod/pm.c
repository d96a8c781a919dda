// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sleep and hibernation.  A machine that sleeps sends no heartbeats, and the
 * memory node gives away the pages of one that it does not hear of for its
 * dead-ms: after waking up all that had been swapped out would be an I/O error.
 * So a machine does not go to sleep while a device is in use or holds pages,
 * unless what it holds is on a local disk as well (backing=), or the memory node is
 * dead: then it is lost already.
 *
 * Reboot needs nothing (tests/vm/reboot.sh): who goes down in good order has
 * swapped off before, and who does not is given up when its heartbeats end.
 */
#include <linux/notifier.h>
#include <linux/suspend.h>
#include "odrp.h"

/* Its pages are there, and may be had again. */
static bool fails_for_now(const struct odrp_dev *dev)
{
	return odrp_sess_state(&dev->sess) == ODRP_FAILING;
}

static int may_sleep(struct odrp_dev *dev)
{
	s64 pages = odrp_dev_mapped(dev);
	bool used;

	if (dev->backing || !(odrp_dev_serves(dev) || fails_for_now(dev)))
		return 0;
	mutex_lock(&dev->lock);
	used = dev->openers;
	mutex_unlock(&dev->lock);
	if (!used && !pages)
		return 0;
	pr_err("odrp%d: no sleep while it %s (%lld pages there): %s first\n",
	       dev->id, used ? "is in use" : "holds pages", pages,
	       used ? "swapoff, or unmount it," : "discard them, or remove the device,");
	return -EBUSY;
}

/* May sleep; no lock is held. */
static int notified(struct notifier_block *nb, unsigned long event, void *data)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		return notifier_from_errno(odrp_ctl_each(may_sleep));
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block notifier = {
	.notifier_call = notified,
};

int odrp_pm_init(void)
{
	return register_pm_notifier(&notifier);
}

void odrp_pm_exit(void)
{
	unregister_pm_notifier(&notifier);
}
