/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of queue sets that threads share.
 *
 *	share.c		a thread's queue set, connecting, start and end
 *	share_lead.c	the leader: posts what is in all queues, polls, and leads no longer
 *
 * Queues lead from a thread to the leader and back:
 *
 *	post():		records operations in the thread's ring (ring.h), and puts them into the
 *			queue of that peer
 *	the leader:	posts what is in all queues, polls, and puts what it finds into the
 *			queues of completions
 *	poll():		takes these, and has the thread's ring give the completions
 *
 * Each thread has rings of its own. post() leaves the posting to a later poll() or wait(), of
 * any thread: so one doorbell is for the tasks of all. A thread that has completions takes them
 * and does not lead; one that has none leads for a turn or two, and wakes another one that
 * sleeps. So nobody works for the others all the time. A thread that waits leads and sleeps on
 * the shared queue set; if somebody leads, it sleeps on a queue set of its own that has no other
 * use.
 */
#ifndef FAR_NIC_SHARE_PRIV_H
#define FAR_NIC_SHARE_PRIV_H

#include <stdatomic.h>

#include "ring.h"
#include "share.h"

#define SHARE_BATCH	32u		/* operations of one post() */
#define SHARE_NAP_NS	20000u		/* between two tries to lead */
#define SHARE_MEMBERS	4096u

/* An operation on its way to the leader. */
struct share_wr {
	struct far_wr wr;
	uint32_t at;			/* place in the thread's ring */
	uint8_t data[FAR_NIC_MAX_INLINE];
};

/* A completion on its way back. */
struct share_wc {
	uint32_t at;
	uint32_t idx;
	int32_t status;
	uint32_t syndrome;
};

/* A queue of one thread for one peer. */
struct share_queue {
	struct far_ring ring;		/* NULL record: never connected */
	struct share_wr *wr;		/* ring.mask + 1 */
	uint32_t put, taken;		/* counts; atomic */
	bool connected;
	bool failed;			/* the thread has a failure to take; the leader's */
};

/* A thread's queue set. */
struct share_qset {
	struct far_qset qset;
	struct share_set *set;
	struct far_qset *bell;		/* of the NIC: only to wait on */
	struct far_qset_stats stats;
	unsigned depth, nr_peers, member, turn;
	uint32_t waiting, rung;		/* atomic */
	struct share_wc *wc;		/* wc_mask + 1 */
	uint32_t wc_mask;
	uint32_t wc_put, wc_taken;	/* counts; atomic */
	struct share_queue queue[];	/* nr_peers */
};

/* A queue set that several threads share. What is not atomic is the leader's. */
struct share_set {
	struct far_nic *nic;
	const struct far_nic_ops *ops;	/* the NIC's own */
	struct far_qset *qset;
	unsigned depth, nr_peers;
	uint32_t led, asleep, leaving;	/* atomic */
	uint32_t wanted;		/* threads in lead_take(), which go first; atomic */
	unsigned turn;			/* the member whose operations are posted first */
	uint32_t passed;		/* the same, that is woken first; atomic */
	_Atomic unsigned nr;		/* members[] that were used */
	struct share_qset *members[SHARE_MEMBERS];	/* atomic; NULL: free */
	const struct far_peer *_Atomic peer[];	/* nr_peers; NULL: not connected, or broken */
};

static inline struct share_qset *share_member_at(const struct share_set *set, unsigned i)
{
	return __atomic_load_n(&set->members[i], __ATOMIC_SEQ_CST);
}

/* Tries to become the leader; threads in share_lead_take() go first. */
bool share_lead_try(struct share_set *set);
/* Leads, though others want to. */
void share_lead_take(struct share_set *set, struct share_qset *mine);
/* Wakes a leader that sleeps. */
void share_lead_wake(struct share_set *set);
/* True if there is something to post. */
bool share_set_posts(const struct share_set *set);

/* The leader's functions. */

/* Posts what all members have, and polls. False: the NIC has no room for all. */
bool share_lead_turn(struct share_set *set, struct far_qset_stats *stats);
void share_lead_poll(struct share_set *set);
/* Connects, unless another thread has. busy: all that is under way ends, also that of others. */
int share_set_connect(struct share_set *set, unsigned idx, const struct far_peer *peer,
		      bool busy);
/*
 * Gives up the lead. If somebody has something to post meanwhile, it leads for another turn; if
 * not, or if the NIC has no room, one of those who wait leads next.
 */
void share_lead_leave(struct share_set *set, struct far_qset_stats *stats);
/* Nobody leads: wakes one of the threads that sleep, if any does. Any thread. */
void share_lead_pass(struct share_set *set);

#endif
