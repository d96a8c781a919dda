// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counters: the sum over all threads, and bytes on the wire.
 */
#include "stats.h"

#include "thread.h"

static uint64_t far_sum(struct far *far, unsigned what)
{
	struct far_thread *thread = atomic_load_explicit(&far->threads,
							 memory_order_acquire);
	uint64_t sum = 0;

	for (; thread; thread = thread->next)
		sum += atomic_load_explicit(&thread->counts.count[what],
					    memory_order_relaxed);
	return sum;
}

uint64_t far_stats_written(struct far *far)
{
	return far_sum(far, FAR_COUNT_WRITTEN);
}

uint64_t far_stats_partial(struct far *far)
{
	return far_sum(far, FAR_COUNT_CACHE_PARTIAL);
}

void far_stats_get(struct far *far, struct far_stats *ret_stats)
{
	unsigned i;

	*ret_stats = (struct far_stats) {
		.reads = far_sum(far, FAR_COUNT_READS),
		.writes = far_sum(far, FAR_COUNT_WRITES),
		.cas = far_sum(far, FAR_COUNT_CAS),
		.faa = far_sum(far, FAR_COUNT_FAA),
		.service = far_sum(far, FAR_COUNT_SERVICE),
		.doorbells = far_sum(far, FAR_COUNT_DOORBELLS),
		.payload_bytes = far_sum(far, FAR_COUNT_PAYLOAD),
		.wire_bytes = far_sum(far, FAR_COUNT_WIRE),
		.round_trips = far_sum(far, FAR_COUNT_ROUND_TRIPS),
		.ops = far_sum(far, FAR_COUNT_OPS),
		.retries = far_sum(far, FAR_COUNT_RETRIES),
		.combined = far_sum(far, FAR_COUNT_COMBINED),
		.batches = far_sum(far, FAR_COUNT_BATCHES),
		.cache_hits = far_sum(far, FAR_COUNT_CACHE_HITS),
		.cache_misses = far_sum(far, FAR_COUNT_CACHE_MISSES),
		.credit_waits = far_sum(far, FAR_COUNT_CREDIT_WAITS),
		.reconnects = far_sum(far, FAR_COUNT_RECONNECTS),
		.repaired = far_sum(far, FAR_COUNT_REPAIRED),
	};
	for (i = 0; i < FAR_STATS_RETRIES; i++)
		ret_stats->retry_hist[i] = far_sum(far, FAR_COUNT_RETRY_HIST + i);
}
