// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory that is put by for those who resume a lost session.
 *
 * What we allocate for that may come from the kernel's reserves (reconnect.c).  But
 * ib_mad, ib_cm and the network have work to do as well, and allocate like anybody
 * else, with GFP_KERNEL for each packet of the connection manager.  When the device
 * is the machine's swap, nobody can free memory while the session is lost; so they
 * would wait in vain, and so would the session.
 *
 * Therefore some pages are kept, and given to the machine a part with each attempt.
 * By then whoever would take them for himself waits for the device already.  When
 * the session lives they are collected again, some with each beat, as far as that
 * needs no waiting.
 *
 * Only one of those who create, beat, reconnect and destroy runs at a time, so there is
 * no lock.
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

/* As much as can be had; what is missing may come with the beats. */
void odrp_reserve_init(struct odrp_reserve *r)
{
	INIT_LIST_HEAD(&r->pages);
	r->nr = 0;
	reserve_fill(r, PAGES, GFP_KERNEL | __GFP_NORETRY);
}

/* The session lives. */
void odrp_reserve_collect(struct odrp_reserve *r)
{
	reserve_fill(r, PER_BEAT, GFP_NOWAIT);
}

/* It is lost, and tried again. */
void odrp_reserve_spend(struct odrp_reserve *r)
{
	reserve_release(r, PER_ATTEMPT);
}

/* It is dead, or the device goes. */
void odrp_reserve_drop(struct odrp_reserve *r)
{
	reserve_release(r, PAGES);
}
