// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp_frontswap.ko: the module that frontswap calls.  Frontswap has no way to unregister,
 * so a module that registers must stay for ever.  This module registers in place of odrp.ko:
 * it has no policy and hardly any code, and calls odrp.ko by one pointer while odrp.ko is
 * attached.
 */
#include <linux/frontswap.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/srcu.h>
#include "odrp_frontswap.h"

static const struct odrp_frontswap_ops __rcu *driver;
static DEFINE_MUTEX(driver_lock);
static struct srcu_struct sleepers;	/* readers in store, load and area, which may sleep */

static int shim_store(unsigned int type, pgoff_t offset, struct page *page)
{
	const struct odrp_frontswap_ops *ops;
	int idx, ret = -ENODEV;

	idx = srcu_read_lock(&sleepers);
	ops = srcu_dereference(driver, &sleepers);
	if (ops)
		ret = ops->store(type, offset, page);
	srcu_read_unlock(&sleepers, idx);
	return ret;
}

static int shim_load(unsigned int type, pgoff_t offset, struct page *page)
{
	const struct odrp_frontswap_ops *ops;
	int idx, ret = -ENODEV;

	idx = srcu_read_lock(&sleepers);
	ops = srcu_dereference(driver, &sleepers);
	if (ops)
		ret = ops->load(type, offset, page);
	srcu_read_unlock(&sleepers, idx);
	return ret;
}

/* The swap area's lock is held, mostly with interrupts off. */
static void shim_invalidate_page(unsigned int type, pgoff_t offset)
{
	const struct odrp_frontswap_ops *ops;

	rcu_read_lock();
	ops = rcu_dereference(driver);
	if (ops)
		ops->invalidate_page(type, offset);
	rcu_read_unlock();
}

static void shim_invalidate_area(unsigned int type)
{
	const struct odrp_frontswap_ops *ops;
	int idx;

	idx = srcu_read_lock(&sleepers);
	ops = srcu_dereference(driver, &sleepers);
	if (ops)
		ops->invalidate_area(type);
	srcu_read_unlock(&sleepers, idx);
}

/* Nothing to do: the driver takes an area with its first store. */
static void shim_init(unsigned int type)
{
}

static struct frontswap_ops shim_ops = {
	.init			= shim_init,
	.store			= shim_store,
	.load			= shim_load,
	.invalidate_page	= shim_invalidate_page,
	.invalidate_area	= shim_invalidate_area,
};

int odrp_frontswap_attach(const struct odrp_frontswap_ops *ops,
			  unsigned int abi)
{
	int err = 0;

	if (abi != ODRP_FRONTSWAP_ABI) {
		pr_err("the driver speaks version %u: expected %u; a reboot replaces this module\n",
		       abi, ODRP_FRONTSWAP_ABI);
		return -EINVAL;
	}
	mutex_lock(&driver_lock);
	if (rcu_access_pointer(driver))
		err = -EBUSY;
	else
		rcu_assign_pointer(driver, ops);
	mutex_unlock(&driver_lock);
	return err;
}
EXPORT_SYMBOL_GPL(odrp_frontswap_attach);

void odrp_frontswap_detach(void)
{
	mutex_lock(&driver_lock);
	RCU_INIT_POINTER(driver, NULL);
	mutex_unlock(&driver_lock);
	synchronize_srcu(&sleepers);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(odrp_frontswap_detach);

/* There is no module_exit(), so this module cannot be unloaded. */
static int __init shim_module_init(void)
{
	int err = init_srcu_struct(&sleepers);

	if (!err)
		frontswap_register_ops(&shim_ops);
	return err;
}
module_init(shim_module_init);

MODULE_DESCRIPTION("What frontswap calls for odrp.ko; stays loaded");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1.0");
