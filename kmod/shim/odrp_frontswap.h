/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface between odrp_frontswap.ko and odrp.ko: see odrp_frontswap.c.
 * odrp_frontswap.ko stays loaded when odrp.ko is replaced by a newer one, so this interface
 * has a version.
 */
#ifndef _ODRP_FRONTSWAP_H
#define _ODRP_FRONTSWAP_H

#include <linux/mm_types.h>
#include <linux/types.h>

#define ODRP_FRONTSWAP_ABI	1u

/*
 * struct odrp_frontswap_ops - what the driver, odrp.ko, does
 * @store, @load:	as in frontswap; may sleep.  0, or -errno: not stored, not loaded
 * @invalidate_page:	any context; the slot's data will not be loaded again
 * @invalidate_area:	the swap area is no more; may sleep
 */
struct odrp_frontswap_ops {
	int  (*store)(unsigned int type, u64 slot, struct page *page);
	int  (*load)(unsigned int type, u64 slot, struct page *page);
	void (*invalidate_page)(unsigned int type, u64 slot);
	void (*invalidate_area)(unsigned int type);
};

/* Attaches the driver.  -EINVAL: another version; -EBUSY: a driver is attached already. */
int odrp_frontswap_attach(const struct odrp_frontswap_ops *ops,
			  unsigned int abi);
/* Detaches the driver; returns when no call to it is under way any more.  Sleeps. */
void odrp_frontswap_detach(void);

#endif /* _ODRP_FRONTSWAP_H */
