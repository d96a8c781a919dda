/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A server's scheduling of queue pairs (FLOCK, section 3.4.1). Of the queue pairs of all
 * clients about max are active: only these get credits, each of which is a request that the
 * client may send.
 *
 * They are divided in proportion to what clients ask: requests that are not answered yet, those
 * that wait to be sent among them. FLOCK's equation 3.1 divides by what clients have sent. But
 * this follows from the queue pairs that they had: a client with more sends more, and gets more
 * again. A client with fewer queue pairs than it needs has more requests that wait: so this
 * division comes to rest.
 *
 * Any thread of the server may call; the lock is held for a moment.
 */
#ifndef FAR_RPC_SCHED_H
#define FAR_RPC_SCHED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "share.h"

#define RPC_ACTIVE_MAX	256u			/* active queue pairs, unless it is set */
#define RPC_INTERVAL_NS	UINT64_C(1000000)	/* between two divisions */

/**
 * struct rpc_seat - a queue pair of a client; all zeros: none
 * @active:	atomic; written with the lock
 * @ran:	requests that have come; written by the session's thread, atomic
 * @seen:	@ran as of the last division
 * @last:	requests of the last interval
 * @owner:	to whom `changed` is reported
 */
struct rpc_seat {
	struct rpc_sender *sender;
	struct rpc_seat *next;		/* of the sender */
	uint32_t active, ran, seen, last;
	void *owner;
};

/**
 * struct rpc_sender - a client
 * @report:	its last report, until a division: depth << 16 | threads; 0: none; atomic
 * @use:	what it asks: the mean of its reports, of which the last ones count most; 0: none
 * @threads:	of it that ask, as it has reported; 0: not yet
 * @runs:	it is functioning
 * @fresh:	intervals for which it counts as functioning, since it is new
 */
struct rpc_sender {
	struct rpc_sender *next;
	struct rpc_seat *seats;
	uint64_t id, use;
	uint32_t report;
	unsigned nr, nr_active, threads;
	unsigned fresh;
	bool runs;
};

struct rpc_sched {
	pthread_mutex_t lock;
	unsigned max;
	uint64_t begun;			/* of the interval; atomic */
	struct rpc_sender *senders;
	unsigned nr_senders, nr_seats;
	struct rpc_claim *claim;	/* room for nr_senders */
	/* A seat has become active or inactive. Called with the lock. */
	void (*changed)(struct rpc_seat *seat);
};

/* A queue pair of client number `id` is connected. -ENOMEM. */
int rpc_sched_join(struct rpc_sched *sched, struct rpc_seat *seat, uint64_t id);
void rpc_sched_leave(struct rpc_sched *sched, struct rpc_seat *seat);
/* Divides active queue pairs anew if the interval is over. */
void rpc_sched_look(struct rpc_sched *sched, uint64_t now);

static inline bool rpc_seat_active(const struct rpc_seat *seat)
{
	return __atomic_load_n(&seat->active, __ATOMIC_ACQUIRE);
}

/* Notes that requests have come. The session's thread. */
static inline void rpc_seat_ran(struct rpc_seat *seat, unsigned nr)
{
	__atomic_store_n(&seat->ran, seat->ran + nr, __ATOMIC_RELAXED);
}

/*
 * Notes a client's report: depth requests that are not answered, at most RPC_DEPTH_MAX, of 1 to
 * FAR_RPC_THREADS_MAX threads.
 */
static inline void rpc_seat_report(struct rpc_seat *seat, unsigned depth, unsigned threads)
{
	__atomic_store_n(&seat->sender->report, depth << 16 | threads, __ATOMIC_RELAXED);
}

#endif
