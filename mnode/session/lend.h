/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Moves free pages between the pool and the rings of the CNodes when a lease changes,
 * never because a page is swapped.
 *
 * The pages that a session has been lent are
 *
 *	*about*	in its ring, in its table, or under way between the two
 *	*armed*	in page registers of its stores
 *	*held*	by the agent (struct held_pages), or in ring positions that the head has passed
 *		for the agent; or in slabs that are cut (slabs.h)
 *
 * The lender adds and takes pages until the pages about are
 *
 *	lend_goal() = the target or the ceiling of the lease, the larger one, + slack;
 *		or 0 if both are 0
 *
 * An invalidate may have advanced the tail and not filled its ring position yet. Thanks to
 * the slack, a CNode that keeps to its lease never meets such an empty position. A CNode
 * that does not keep to its lease empties its own ring.
 *
 * While chains run, the NIC owns the ring's counters. So the agent asks the NIC to move
 * the head, on a loopback queue pair, as chains do. Pages enter a ring *behind its head*:
 * the agent writes them to the positions that stores have emptied; then one compare and
 * swap moves the head back over them, unless a store has advanced it meanwhile. So there
 * is no empty position between head and tail, however long the agent takes. (If the agent
 * wrote behind the tail, there would be one meanwhile, and a CNode that has used all its
 * pages may come there at once: variant slow-grow of tests/model/ring.pml.)
 *
 * A page that is taken back may still be under way to the CNode: a load may have read the
 * table before the page was freed. So the agent holds the page for a *grace period*: until
 * each chain has completed as many requests as it had received when the page was taken.
 * Later requests do not find the page. The agent asks a few chains in a turn, first how far
 * they are, and then whether they have come so far.
 *
 * What a chain has written may be on the way when the chain is gone. So pages of a session
 * whose chains have ended go to the pool only behind a fence of the NIC.
 *
 * Each call does a bounded piece of work; the chains of the CNodes run on meanwhile.
 */
#ifndef MNODE_LEND_H
#define MNODE_LEND_H

#include "../../userspace/host/fence.h"
#include "ctlq.h"
#include "sess.h"

#define LEND_BATCH	512		/* pages */

/* The sessions that get cleared pages, if another session has had the pages. */
enum lend_scrub {
	LEND_SCRUB_CHAINS,	/* sessions whose slots the NIC does not translate */
	LEND_SCRUB_ALL,
	LEND_SCRUB_NONE,
};

enum lend_state {
	LEND_IDLE,
	LEND_SWAP,		/* the NIC moves the head back over @pages */
	LEND_HEAD,		/* the NIC moves the head on over positions to be emptied */
	LEND_FAILED,		/* the queue pair failed: the next call creates another */
};

enum lend_todo {
	LEND_NOTHING,
	LEND_WAIT,		/* for the NIC: call again soon */
	LEND_MORE,		/* call again at once */
};

/**
 * struct lender - the worker
 * @kept:	pages of the pool that are not for rings: those set aside for page registers,
 *		less those in page registers
 * @fence:	for what chains that have ended have written
 * @scrub:	sessions that get cleared pages; the agent's processor clears a page when the
 *		page leaves the pool
 * @sess:	the session whose ring the lender works on; NULL when idle
 * @retry:	the state in which the queue pair failed
 * @pages, @nr:	LEND_SWAP: the pages that enter the ring; LEND_HEAD: how many positions
 * @head:	LEND_SWAP: the ring's head when the pages were written behind it
 * @next:	number of the session to look at first, modulo their number
 * @questions:	how many queues may still be asked in this call
 * @nr_lent, @nr_back, @nr_failures: pages lent, pages returned to the pool, and failures
 *		of the queue pair
 * @nr_scrubbed: pages cleared
 * @nr_retries:	swaps that came too late, because a store had advanced the head
 * @nr_foreign:	addresses found that are not a page of their session
 */
struct lender {
	struct pool *pool;
	uint64_t kept;
	struct far_fence fence;
	enum lend_scrub scrub;
	struct ctlq q;
	enum lend_state state, retry;
	struct sess *sess;
	__u64 pages[LEND_BATCH];
	unsigned int nr;
	uint64_t head;
	size_t next;
	unsigned int questions;
	uint64_t nr_lent, nr_back, nr_failures, nr_foreign;
	uint64_t nr_scrubbed, nr_retries;
};

/* set_aside: pages for page registers (stock.h). */
int lend_init(struct lender *l, struct pool *pool, uint64_t set_aside,
	      enum lend_scrub scrub);
void lend_fini(struct lender *l);

/* How many pages of the session are to be about. */
uint64_t lend_goal(const struct sess *s);
/* How many pages of the session are about now. */
static inline uint64_t lend_about(const struct sess *s)
{
	return s->lent - s->armed - s->astray - s->held.nr - s->nr_taken -
	       slabs_cut_pages(&s->slabs);
}

/* Goes on with the batch that the NIC is moving, and begins no other one. True: there is
 * none any more. */
bool lend_quiesce(struct lender *l);
/*
 * Call this in the states STOPPING to FILLING, while all chains of the session stand still.
 * Does a piece of putting the ring in order, and then of filling or emptying the ring until
 * it has its goal; lend_run() skips the session meanwhile. -EAGAIN: there is more to do;
 * -EBUSY: the lender works on the ring, or the session is not fenced yet; 0: the ring is in
 * order and has its pages; -ENOMEM: the ring is in order, but the pool has too few pages for
 * it; -EINVAL: the session is in another state.
 */
int lend_settle(struct lender *l, struct sess *s);

/*
 * Call this while no chain of the session has ever been connected, so that the NIC does
 * not use the ring yet. Adds a piece of the pages up to the goal. 0: the ring has its
 * pages; -EAGAIN: there are more to add; -ENOMEM: the pool has no more now; -EBUSY: the
 * lender works on the ring, or the session is being settled.
 */
int lend_fill(struct lender *l, struct sess *s);
/* Pages that the pool has for rings. */
uint64_t lend_pages(const struct lender *l);

/* Does what is due first for a session with slabs: makes, cuts or returns one. (lend-slabs.c) */
enum lend_todo lend_slabs(struct lender *l, struct sess *s);
/* lend_fill() for such a session. */
int lend_fill_slabs(struct lender *l, struct sess *s);

/* Does one piece of work for one of the sessions, if there is any. */
enum lend_todo lend_run(struct lender *l, struct sess *const *all, size_t nr);

/* ---- page registers ------------------------------------------------------------ */

/* Takes pages for the page registers of one chain. -ENOMEM: there are too few. */
int lend_arm(struct lender *l, struct sess *s, uint64_t nr, __u64 *ret_pages);
/* The chain has not been created: the agent holds its pages. */
void lend_unarm(struct lender *l, struct sess *s, uint64_t nr,
		const __u64 *pages);
/*
 * The chain has been stopped: moves each page that it held between two places on to the
 * second place, or to the pages that the agent holds. Pages of a chain whose position is
 * unknown stay unused until the session ends. -EPIPE: a store had come to an empty ring
 * position, so the ring is out of order until lend_settle(); -EXDEV: the NIC has a
 * translation that the table cannot take, so the session has to end; else -errno: it is
 * unknown which pages the chain held.
 */
int lend_stopped(struct lender *l, struct sess *s, const struct queue *q);

/* A chain of the session is gone: its queue pairs have been destroyed. */
void lend_gone(struct lender *l, struct sess *s);
/* True: the chains of the session that are gone have written all that they wrote. Else a
 * fence is under way, or begins now. */
bool lend_fenced(struct lender *l, const struct sess *s);
/* Returns pages of a session that has ended and is fenced to the pool, a bounded piece of
 * them. True: the session has no more. */
bool lend_collect(struct lender *l, struct sess *s);

#endif /* MNODE_LEND_H */
