// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory that is kept for the threads that resume a lost session.
 *
 * What the module allocates to resume may come from the kernel's reserves (reconnect.c).
 * But ib_mad, ib_cm and the network have work to do as well, and allocate with GFP_KERNEL,
 * for each packet of the connection manager.  When the device is the machine's swap, nobody
 * can free memory while the session is lost.  So their allocations would not succeed, and
 * the session would not be resumed.
 *
 * Therefore the module keeps some pages, and frees a part of them with each attempt.  By
 * then other tasks that would take the pages are waiting for the device already.  When the
 * session is live, each heartbeat collects some pages again, as far as that is possible
 * without waiting.
 *
 * There is no lock: creating a session, heartbeats, reconnecting and closing never run at
 * the same time.
 */
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include "odrp.h"

#define PAGES		512u
#define PER_BEAT	64u
#define PER_ATTEMPT	256u

static void reserve_fill(struct odrp_reserve *r, unsigned int max, gfp_t gfp)
{
	struct page *page;

	for (; max && r->nr < PAGES; max--) {
		page = alloc_page(gfp | __GFP_NOMEMALLOC | __GFP_NOWARN);
		if (!page)
			return;
		list_add(&page->lru, &r->pages);
		r->nr++;
	}
}

static void reserve_release(struct odrp_reserve *r, unsigned int max)
{
	struct page *page;

	for (; max && r->nr; max--) {
		page = list_first_entry(&r->pages, struct page, lru);
		list_del(&page->lru);
		r->nr--;
		__free_page(page);
	}
}

/* Takes as many pages as possible; heartbeats may collect the rest. */
void odrp_reserve_init(struct odrp_reserve *r)
{
	INIT_LIST_HEAD(&r->pages);
	r->nr = 0;
	reserve_fill(r, PAGES, GFP_KERNEL | __GFP_NORETRY);
}

/* With each heartbeat. */
void odrp_reserve_collect(struct odrp_reserve *r)
{
	reserve_fill(r, PER_BEAT, GFP_NOWAIT);
}

/* Before each attempt to resume the session. */
void odrp_reserve_spend(struct odrp_reserve *r)
{
	reserve_release(r, PER_ATTEMPT);
}

/* The session is dead or being closed. */
void odrp_reserve_drop(struct odrp_reserve *r)
{
	reserve_release(r, PAGES);
}
