/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A server's scheduling of queue pairs (FLOCK, section 3.4.1). Of the queue pairs of all
 * clients about max are active: only these get credits, each of which is a request that the
 * client may send. Clients report how many requests they put into a message, and get more
 * active queue pairs if that is much, or often.
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
 * @reported:	sum of the degrees reported since the last division; atomic
 * @ran:	requests have come since then; atomic
 * @last:	@reported of the last interval
 * @owner:	to whom `changed` is reported
 */
struct rpc_seat {
	struct rpc_sender *sender;
	struct rpc_seat *next;		/* of the sender */
	uint32_t active, ran;
	uint64_t reported, last;
	void *owner;
};

/**
 * struct rpc_sender - a client
 * @use:	its utilization in the last interval
 * @runs:	it is functioning
 * @fresh:	intervals for which it counts as functioning, since it is new
 */
struct rpc_sender {
	struct rpc_sender *next;
	struct rpc_seat *seats;
	uint64_t id, use;
	unsigned nr, nr_active;
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

/* Notes that requests have come, or that a renewal has reported this degree. */
static inline void rpc_seat_ran(struct rpc_seat *seat)
{
	__atomic_store_n(&seat->ran, 1, __ATOMIC_RELAXED);
}

static inline void rpc_seat_report(struct rpc_seat *seat, unsigned degree)
{
	__atomic_add_fetch(&seat->reported, degree, __ATOMIC_RELAXED);
}

#endif
