/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Between frontswap and odrp.ko: see odrp_frontswap.c.  The shim stays loaded
 * when odrp.ko is replaced by a newer one, so this interface has a number.
 */
#ifndef _ODRP_FRONTSWAP_H
#define _ODRP_FRONTSWAP_H

#include <linux/mm_types.h>
#include <linux/types.h>

#define ODRP_FRONTSWAP_ABI	1u

/*
 * struct odrp_frontswap_ops - the driver
 * @store, @load:	as in frontswap; may sleep.  0, or not taken: -errno
 * @invalidate_page:	any context; the slot's data will not be loaded again
 * @invalidate_area:	the swap area is no more; may sleep
 */
struct odrp_frontswap_ops {
	int  (*store)(unsigned int type, u64 slot, struct page *page);
	int  (*load)(unsigned int type, u64 slot, struct page *page);
	void (*invalidate_page)(unsigned int type, u64 slot);
	void (*invalidate_area)(unsigned int type);
};

/* -EINVAL: another number; -EBUSY: there is a driver. */
int odrp_frontswap_attach(const struct odrp_frontswap_ops *ops,
			  unsigned int abi);
/* Returns when nobody is inside any more.  Sleeps. */
void odrp_frontswap_detach(void);

#endif /* _ODRP_FRONTSWAP_H */
