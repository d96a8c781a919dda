/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a device counts, on each CPU by itself; stats.c adds it up, sysfs.c shows
 * it.  (What they mean to who reads them is in docs/ABI/sysfs-block-odrp.)
 */
#ifndef _ODRP_STATS_H
#define _ODRP_STATS_H

#include <linux/types.h>

/* One counter, one sentence. */
struct odrp_stats {
	u64	loads;			/* loads answered */
	u64	loads_zero;		/* loads of slots that hold nothing */
	u64	stores_mapped;		/* mapped stores answered */
	u64	stores_unmapped;	/* unmapped stores answered */
	u64	invalidates;		/* invalidates answered */
	u64	invalidates_cancelled;	/* frees that a store overtook */
	u64	stores_reused;		/* ... one to another slot */
	u64	load_errors;		/* blocks that could not be read */
	u64	store_errors;		/* blocks that could not be written */
	u64	bytes_in;		/* page bytes received */
	u64	bytes_out;		/* page bytes sent */
	u64	lease_denied;		/* stores refused: lease exhausted */
	u64	unknown_ids;		/* answers to nothing */
	u64	notify_free;		/* slots freed by the kernel */
	u64	free_overflows;		/* frees that went to the bitmap */
	u64	flushed_age;		/* invalidates of slots that had aged */
	u64	flushed_count;		/* ... when too many were waiting */
	u64	flushed_now;		/* ... when pages were needed */
	u64	invalid_io;		/* bios that were not aligned */
	u64	waits_credit;		/* blocks that waited for a request */
	u64	waits_room;		/* writers made to sleep */
	u64	waits_slot;		/* blocks that waited for their slot */
	u64	waits_page;		/* ... for a page that was coming back */
	u64	bounced;		/* stores copied, see issue.c:attach_store() */
	u64	polls;			/* reads polled for */
	u64	polls_hit;		/* ... and finished while polling */
	u64	doorbells;		/* posts, of one request or more */
	u64	beats;			/* heartbeats written */
	u64	frontswap_loads;	/* loads that came by frontswap */
	u64	frontswap_stores;	/* stores that came by frontswap */
	u64	frontswap_passed;	/* loads left to come as a bio, for readahead */
	u64	reconnects;		/* the session was resumed */
	u64	resent;			/* requests sent again after that */
	u64	backing_stores;		/* written to the backing device */
	u64	backing_loads;		/* read from it */
	u64	backing_errors;		/* ... that it failed */
	u64	checksum_errors;	/* loads that brought other contents */
	u64	protect_errors;		/* ... than protect=aead has sealed */
};

#endif /* _ODRP_STATS_H */
