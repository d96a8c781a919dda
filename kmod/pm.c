// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sleep and hibernation.  A machine that sleeps sends no heartbeats.  The memory node frees
 * the pages of a compute node without heartbeats after its dead-ms: when the machine woke
 * up, loads of swapped pages would fail.  So this file refuses sleep while a device is in
 * use or holds pages.  It allows sleep when the pages are also on a local disk (backing=),
 * or when the session is dead: then the pages are lost already.
 *
 * Reboot needs no such check (tests/vm/reboot.sh): an orderly shutdown swaps off before,
 * and after any other the memory node gives up the session when the heartbeats end.
 */
#include <linux/notifier.h>
#include <linux/suspend.h>
#include "odrp.h"

/* Requests fail now, but the memory node has the pages, and the session may be resumed. */
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

/* Called in a context that may sleep, without locks. */
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
