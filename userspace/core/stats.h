/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters: one writer, its thread, and readers that may see them a little late. What
 * each means is said at struct far_stats.
 */
#ifndef FAR_CORE_STATS_H
#define FAR_CORE_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#include <far/stats.h>

enum far_count {
	FAR_COUNT_READS, FAR_COUNT_WRITES, FAR_COUNT_CAS, FAR_COUNT_FAA,
	FAR_COUNT_SERVICE,
	FAR_COUNT_DOORBELLS,
	FAR_COUNT_PAYLOAD,
	FAR_COUNT_WRITTEN,	/* of these, WRITEs' */
	FAR_COUNT_WIRE,
	FAR_COUNT_ROUND_TRIPS,
	FAR_COUNT_OPS,
	FAR_COUNT_RETRIES,
	FAR_COUNT_COMBINED,
	FAR_COUNT_BATCHES,
	FAR_COUNT_CACHE_HITS, FAR_COUNT_CACHE_MISSES, FAR_COUNT_CACHE_PARTIAL,
	FAR_COUNT_CREDIT_WAITS,
	FAR_COUNT_RECONNECTS,
	FAR_COUNT_REPAIRED,
	FAR_COUNT_RETRY_HIST,		/* FAR_STATS_RETRIES of them */
	FAR_NR_COUNTS = FAR_COUNT_RETRY_HIST + FAR_STATS_RETRIES,
};

struct far_counts {
	_Atomic uint64_t count[FAR_NR_COUNTS];
};

static inline void far_counts_add(struct far_counts *counts, enum far_count what,
				  uint64_t n)
{
	uint64_t old = atomic_load_explicit(&counts->count[what], memory_order_relaxed);

	atomic_store_explicit(&counts->count[what], old + n, memory_order_relaxed);
}

/* Adds to a counter of the task's thread. */
void far_count(struct far_task *task, enum far_count what, uint64_t n);

/*
 * Payload of WRITEs alone, of all threads. Not in struct far_stats, whose size programs know.
 */
uint64_t far_stats_written(struct far *far);
/*
 * Counts, among the cache's hits, searches of radix trees that began at a cached node and
 * READ another one all the same. Not in struct far_stats either.
 */
uint64_t far_stats_partial(struct far *far);

/*
 * Bytes on the wire of one operation of len bytes, acknowledgement included: RoCEv2
 * over IPv4, path MTU 1,024, from the first byte of Ethernet to the last.
 */
#define FAR_WIRE_MTU	1024u
/* A packet without payload: Ethernet, IPv4, UDP, BTH, ICRC, FCS. */
#define FAR_WIRE_PACKET	(14u + 20u + 8u + 12u + 4u + 4u)
#define FAR_WIRE_RETH	16u	/* address, key and length: of requests */
#define FAR_WIRE_AETH	4u	/* of acknowledgements, the first and the last response */

static inline uint64_t far_wire_packets(uint32_t len)
{
	return len <= FAR_WIRE_MTU ? 1 : (len + FAR_WIRE_MTU - 1) / FAR_WIRE_MTU;
}

static inline uint64_t far_wire_read(uint32_t len)
{
	uint64_t nr = far_wire_packets(len);

	return FAR_WIRE_PACKET + FAR_WIRE_RETH + nr * FAR_WIRE_PACKET +
	       (nr > 1 ? 2 : 1) * FAR_WIRE_AETH + len;
}

static inline uint64_t far_wire_write(uint32_t len)
{
	return far_wire_packets(len) * FAR_WIRE_PACKET + FAR_WIRE_RETH + len +
	       FAR_WIRE_PACKET + FAR_WIRE_AETH;
}

#define FAR_WIRE_ATOMIC	UINT64_C(164)

#endif
