// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp.ko: a block device for swap whose pages live on a memory node and are
 * moved by work request chains in its NIC.  Init and exit; devices are made and
 * removed by ctl.c.
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
	err = odrp_ctl_init();
	if (err)
		goto exit_debug;
	return 0;

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
	odrp_pm_exit();	/* it looks at devices */
	odrp_ctl_exit();
	odrp_debug_exit();
	odrp_end_exit();
	odrp_wq_exit();
}

module_init(odrp_init);
module_exit(odrp_exit);

MODULE_DESCRIPTION("Swap to a memory node over RDMA work request chains");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1.0");
