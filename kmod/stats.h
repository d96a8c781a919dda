/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of a device, a set for each CPU: stats.c adds them up, and sysfs.c shows
 * them.  docs/ABI/sysfs-block-odrp describes them for users.
 */
#ifndef _ODRP_STATS_H
#define _ODRP_STATS_H

#include <linux/types.h>

struct odrp_stats {
	u64	loads;			/* loads answered */
	u64	loads_zero;		/* loads of slots that hold nothing */
	u64	stores_mapped;		/* mapped stores answered */
	u64	stores_unmapped;	/* unmapped stores answered */
	u64	invalidates;		/* invalidates answered */
	u64	invalidates_cancelled;	/* frees that a store cancelled */
	u64	stores_reused;		/* ... a store to another slot */
	u64	load_errors;		/* blocks that could not be read */
	u64	store_errors;		/* blocks that could not be written */
	u64	bytes_in;		/* page bytes received */
	u64	bytes_out;		/* page bytes sent */
	u64	lease_denied;		/* stores refused: lease exhausted */
	u64	unknown_ids;		/* answers that match no request */
	u64	notify_free;		/* slots freed by the kernel */
	u64	free_overflows;		/* frees noted in the bitmap: the ring was full */
	u64	flushed_age;		/* invalidates of slots that had aged */
	u64	flushed_count;		/* ... when too many were waiting */
	u64	flushed_now;		/* ... when pages were needed */
	u64	invalid_io;		/* bios that were not aligned */
	u64	waits_credit;		/* blocks that waited for a request */
	u64	waits_room;		/* writers made to sleep */
	u64	waits_slot;		/* blocks that waited for their slot */
	u64	waits_page;		/* ... for a page that was being given back */
	u64	bounced;		/* stores copied, see issue.c:req_attach_store() */
	u64	polls;			/* reads polled for */
	u64	polls_hit;		/* ... that finished meanwhile */
	u64	doorbells;		/* posts, each of one request or more */
	u64	beats;			/* heartbeats written */
	u64	frontswap_loads;	/* loads that came by frontswap */
	u64	frontswap_stores;	/* stores that came by frontswap */
	u64	frontswap_passed;	/* loads left to readahead, which sends bios */
	u64	reconnects;		/* times that the session was resumed */
	u64	resent;			/* requests sent again on resuming */
	u64	backing_stores;		/* pages written to the backing device */
	u64	backing_loads;		/* pages read from the backing device */
	u64	backing_errors;		/* reads and writes that the backing device failed */
	u64	checksum_errors;	/* loads with a wrong checksum */
	u64	moved;			/* pages moved to another slab */
	u64	protect_errors;		/* loads that protect=aead rejected */
};

#endif /* _ODRP_STATS_H */
