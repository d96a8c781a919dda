// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The parameters of the module, and the workqueues that several files use.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>
#include "compat.h"
#include "odrp.h"

/* A numeric parameter, and its range. */
struct bounds {
	unsigned int	*val;
	unsigned int	min, max;
};

static int set_bounded(const char *val, const struct kernel_param *kp)
{
	const struct bounds *r = kp->arg;
	unsigned int n;

	if (kstrtouint(val, 0, &n) || n < r->min || n > r->max) {
		pr_err("%s=%.*s: expected %u to %u\n", kp->name,
		       (int)strcspn(val, "\n"), val, r->min, r->max);
		return -EINVAL;
	}
	WRITE_ONCE(*r->val, n);
	return 0;
}

static int get_bounded(char *buf, const struct kernel_param *kp)
{
	const struct bounds *r = kp->arg;

	return scnprintf(buf, PAGE_SIZE, "%u\n", READ_ONCE(*r->val));
}

static const struct kernel_param_ops bounded_ops = {
	.set = set_bounded,
	.get = get_bounded,
};

#define BOUNDED_PARAM(name, var, min, max, perm)				\
	static struct bounds name##_bounds = { &(var), min, max };	\
	module_param_cb(name, &bounded_ops, &name##_bounds, perm);		\
	__MODULE_PARM_TYPE(name, "uint")

unsigned int odrp_poll_us = 10;
BOUNDED_PARAM(poll_us, odrp_poll_us, 0, 10000, 0644);
MODULE_PARM_DESC(poll_us,
		 "us a reader polls before it sleeps, at most 10000; 0: never (default 10)");

unsigned int odrp_free_batch;
BOUNDED_PARAM(free_batch, odrp_free_batch, 0, UINT_MAX, 0644);
MODULE_PARM_DESC(free_batch,
		 "freed slots that wait for reuse; 0: half of the lease left (default)");

unsigned int odrp_free_delay_ms = 1000;
BOUNDED_PARAM(free_delay_ms, odrp_free_delay_ms, 1, ODRP_MAX_TIMEOUT_MS, 0644);
MODULE_PARM_DESC(free_delay_ms,
		 "ms a freed slot waits for a store that reuses it, 1 to 600000 (default 1000)");

unsigned int odrp_move_mbps = 16;
BOUNDED_PARAM(move_mbps, odrp_move_mbps, 0, 25, 0644);
MODULE_PARM_DESC(move_mbps,
		 "MB a second that move to fuller direct slabs, at most 25; 0: none (default 16)");

unsigned int odrp_ack_timeout = 14;
BOUNDED_PARAM(ack_timeout, odrp_ack_timeout, 8, 20, 0444);
MODULE_PARM_DESC(ack_timeout,
		 "RC resends after 4.096 us * 2^n; 8 to 20 (default 14: 67 ms)");

unsigned int odrp_connect_ms = 5000;
BOUNDED_PARAM(connect_ms, odrp_connect_ms, 1, ODRP_MAX_TIMEOUT_MS, 0644);
MODULE_PARM_DESC(connect_ms,
		 "ms each step of connecting may take, 1 to 600000 (default 5000)");

/*
 * Runs work that keeps sessions going and waits neither for the network nor for memory:
 * heartbeats, time-outs, the end of lost sessions.
 */
struct workqueue_struct *odrp_wq;

/* Runs the worker that gives pages back (flush.c). */
struct workqueue_struct *odrp_flush_wq;

/*
 * Makes spares (stock.c), and may wait for other tasks and for memory.  Only the end
 * of a session waits for this work.  The end of a session runs on a workqueue with
 * WQ_MEM_RECLAIM, so this workqueue needs the flag, too, or the kernel warns.
 */
struct workqueue_struct *odrp_stock_wq;

int odrp_wq_init(void)
{
	odrp_wq = alloc_workqueue("odrp", ODRP_WQ | WQ_HIGHPRI, 0);
	if (!odrp_wq)
		return -ENOMEM;
	odrp_flush_wq = alloc_workqueue("odrp_flush", ODRP_WQ | WQ_HIGHPRI, 0);
	if (!odrp_flush_wq)
		goto destroy_wq;
	odrp_stock_wq = alloc_workqueue("odrp_stock", ODRP_WQ, 0);
	if (!odrp_stock_wq)
		goto destroy_flush_wq;
	return 0;

destroy_flush_wq:
	destroy_workqueue(odrp_flush_wq);
destroy_wq:
	destroy_workqueue(odrp_wq);
	return -ENOMEM;
}

void odrp_wq_exit(void)
{
	destroy_workqueue(odrp_stock_wq);
	destroy_workqueue(odrp_flush_wq);
	destroy_workqueue(odrp_wq);
}
