// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp.ko: a block device for swap.  A memory node stores the pages, and chains of work
 * requests in its NIC move them.  This file has init and exit of the module; ctl.c adds
 * and removes devices.
 */
#include <linux/init.h>
#include <linux/module.h>
#include "odrp.h"

static int __init odrp_init(void)
{
	int err;

	err = odrp_wq_init();
	if (err)
		return err;
	err = odrp_end_init();
	if (err)
		goto exit_wq;
	odrp_blk_init(odrp_ctl_sweep);
	err = odrp_pm_init();
	if (err)
		goto exit_end;
	odrp_debug_init();
	err = odrp_card_init();
	if (err)
		goto exit_debug;
	err = odrp_ctl_init();
	if (err)
		goto exit_card;
	return 0;

exit_card:
	odrp_card_exit();
exit_debug:
	odrp_debug_exit();
	odrp_pm_exit();
exit_end:
	odrp_end_exit();
exit_wq:
	odrp_wq_exit();
	return err;
}

static void __exit odrp_exit(void)
{
	odrp_pm_exit();	/* first: its notifier uses devices */
	odrp_ctl_exit();
	odrp_card_exit();
	odrp_debug_exit();
	odrp_end_exit();
	odrp_wq_exit();
}

module_init(odrp_init);
module_exit(odrp_exit);

MODULE_DESCRIPTION("Swap to a memory node over RDMA work request chains");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1.0");
