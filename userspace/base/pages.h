/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that a NIC works in, in huge pages where it can be: a NIC has few translations
 * at hand, and one for 2 MB instead of 512. A wish: without them there is memory all the
 * same.
 */
#ifndef FAR_BASE_PAGES_H
#define FAR_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAR_HUGE_PAGE	((size_t)2 << 20)

struct far_pages {
	void *base;
	size_t mapped;
	bool huge;		/* of those that the system has set aside */
};

/*
 * len bytes of zeros. From 2 MB on, huge pages that the system has set aside; if it has
 * none, an aligned place that the kernel may fill with transparent ones. -ENOMEM.
 */
int far_pages_map(size_t len, struct far_pages *ret_pages);
void far_pages_unmap(struct far_pages *pages);

/* What the system has; -errno: it does not say. */
struct far_pages_info {
	uint64_t free, total;	/* huge pages of 2 MB that are set aside */
	char transparent[16];	/* "always", "madvise" or "never"; "": unknown */
};

int far_pages_info(struct far_pages_info *ret_info);

#endif
