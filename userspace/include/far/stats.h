/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client has done, counted exactly and always. A number of events unless said
 * otherwise, since far_open(); the sum over all threads, those that have ended too.
 */
#ifndef FAR_STATS_H
#define FAR_STATS_H

#include <far/far.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define FAR_STATS_RETRIES	16

struct far_stats {
	uint64_t reads, writes, cas, faa;	/* operations posted by tasks */
	uint64_t service;	/* operations of libfar itself: epochs, beats, chunks */
	uint64_t doorbells;
	uint64_t payload_bytes;
	uint64_t wire_bytes;	/* by formula: RoCEv2 over IPv4, path MTU 1,024 */
	uint64_t round_trips;	/* far_sync() calls that had to wait: dependent ones */
	uint64_t ops;		/* far_stats_op(): operations of structures that ended */
	uint64_t retries;	/* CAS that lost, of far_backoff_cas() */
	uint64_t retry_hist[FAR_STATS_RETRIES];	/* ops by retries; the last has "or more" */
	uint64_t combined;	/* operations that another one carried */
	uint64_t batches;	/* operations that carried others, or could have */
	/* searches that began at what the cache knew, and was right; that did not */
	uint64_t cache_hits, cache_misses;
	uint64_t credit_waits;	/* posts that waited for credits */
	uint64_t reconnects;
	uint64_t repaired;	/* things of dead clients that this one put in order */
};

/* Any thread; a sum of counters that others may be changing. */
void far_stats_get(struct far *far, struct far_stats *ret_stats);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
