// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp.ko: a block device for swap whose pages live on a memory node and are
 * moved by work request chains in its NIC.  Module parameters, init and exit;
 * devices are made and removed by ctl.c.
 */
#include <linux/init.h>
#include <linux/module.h>
#include "odrp.h"

unsigned int odrp_poll_us = 10;
module_param_named(poll_us, odrp_poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us,
		 "us a reader polls before it sleeps; 0: never (default 10)");

unsigned int odrp_free_batch;
module_param_named(free_batch, odrp_free_batch, uint, 0644);
MODULE_PARM_DESC(free_batch,
		 "freed slots that wait for reuse; 0: half of the lease left (default)");

unsigned int odrp_free_delay_ms = 1000;
module_param_named(free_delay_ms, odrp_free_delay_ms, uint, 0644);
MODULE_PARM_DESC(free_delay_ms,
		 "how long a freed slot waits for a store that reuses it (default 1000)");

unsigned int odrp_ack_timeout = 14;
module_param_named(ack_timeout, odrp_ack_timeout, uint, 0444);
MODULE_PARM_DESC(ack_timeout,
		 "RC resends after 4.096 us * 2^n; 8 to 20 (default 14: 67 ms)");

unsigned int odrp_connect_ms = 5000;
module_param_named(connect_ms, odrp_connect_ms, uint, 0644);
MODULE_PARM_DESC(connect_ms,
		 "how long each step of connecting may take (default 5000)");

struct workqueue_struct *odrp_wq;

static int __init odrp_init(void)
{
	int err;

	if (odrp_ack_timeout < 8 || odrp_ack_timeout > 20) {
		pr_err("ack_timeout=%u: expected 8 to 20\n", odrp_ack_timeout);
		return -EINVAL;
	}
	odrp_wq = alloc_workqueue("odrp", WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	if (!odrp_wq)
		return -ENOMEM;
	err = odrp_blk_init();
	if (err)
		goto destroy_wq;
	err = odrp_pm_init();
	if (err)
		goto exit_blk;
	odrp_debug_init();
	err = odrp_ctl_init();
	if (err)
		goto exit_debug;
	return 0;

exit_debug:
	odrp_debug_exit();
	odrp_pm_exit();
exit_blk:
	odrp_blk_exit();
destroy_wq:
	destroy_workqueue(odrp_wq);
	return err;
}

static void __exit odrp_exit(void)
{
	odrp_pm_exit();	/* it looks at devices */
	odrp_ctl_exit();
	odrp_debug_exit();
	odrp_blk_exit();
	destroy_workqueue(odrp_wq);
}

module_init(odrp_init);
module_exit(odrp_exit);

MODULE_DESCRIPTION("Swap to a memory node over RDMA work request chains");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1");
