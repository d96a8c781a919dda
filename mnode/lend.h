/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Moves free pages between the pool and the rings of the CNodes, when a lease
 * changes; never for a page that is swapped.
 *
 * What a session has been lent is in its ring, in its table or under way
 * between the two (together: *about*), in registers of its stores (*armed*), or
 * in the agent's hand (struct hand) or about to be.  The lender adds and takes
 * until what is about is
 *
 *	lend_goal() = what the CNode may believe of its lease + slack; or 0
 *
 * The slack is what lets a CNode that keeps to its lease never meet an empty
 * slot, though an invalidate may have advanced the tail and not filled its slot
 * yet.  One that does not keep to it empties its own ring.
 *
 * While chains run the ring's counters are the NIC's, so the agent asks the NIC
 * to move the head, on a loopback queue pair, like any chain.  Pages come into a
 * ring *behind its head*: they are written to the slots that stores have
 * emptied, and then the head goes back over them, by one compare and swap, if no
 * store has advanced it meanwhile.  So however long the agent takes there is no
 * empty slot between head and tail.  (Behind the tail there would be one while
 * it writes, and as the CNode may have used all it has, it may come there at
 * once: variant slow-grow of tests/model/ring.pml.)
 *
 * A page taken back may still be under way to the CNode: it read the table before
 * it freed the page.  So it stays in the agent's hand for a *grace period*: until
 * each chain has completed as many requests as it had received when the page was
 * taken.  What comes later does not find the page.
 *
 * Bounded work per call; CNodes run on meanwhile.
 */
#ifndef MNODE_LEND_H
#define MNODE_LEND_H

#include "ctlq.h"
#include "sess.h"

#define LEND_BATCH	512		/* pages */

/* Whose pages are cleared before they get them, if another one has had them. */
enum lend_scrub {
	LEND_SCRUB_CHAINS,	/* those whose slots the NIC does not translate */
	LEND_SCRUB_ALL,
	LEND_SCRUB_NONE,
};

enum lend_state {
	LEND_IDLE,
	LEND_SWAP,		/* the head goes back over @pages */
	LEND_HEAD,		/* the head goes on over slots to be emptied */
	LEND_FAILED,		/* the queue pair broke: make a new one */
};

enum lend_todo {
	LEND_NOTHING,
	LEND_WAIT,		/* for the NIC: call again soon */
	LEND_MORE,		/* call again at once */
};

/**
 * struct lender - the worker
 * @kept:	pages of the pool that are not for rings: those set aside for
 *		registers, less those that are in some
 * @scrub:	which pages the agent clears; it does so when it takes them out of the
 *		pool, by its own processor: in pieces, as it lends them
 * @sess:	whose ring it works on; NULL when idle
 * @retry:	what failed
 * @pages, @nr:	LEND_SWAP: what goes to the ring; LEND_HEAD: how many slots
 * @head:	LEND_SWAP: of the ring, when the pages were written behind it
 * @next:	the session to look at first
 * @nr_lent, @nr_back, @nr_failures: pages to rings, pages back from rings,
 *		broken queue pairs
 * @nr_scrubbed: pages cleared
 * @nr_retries:	times that a store was quicker than a swap
 * @nr_foreign:	slots that held something else than a page of their session
 */
struct lender {
	struct pool *pool;
	uint64_t kept;
	enum lend_scrub scrub;
	struct ctlq q;
	enum lend_state state, retry;
	struct sess *sess;
	__u64 pages[LEND_BATCH];
	unsigned int nr;
	uint64_t head;
	size_t next;
	uint64_t nr_lent, nr_back, nr_failures, nr_foreign;
	uint64_t nr_scrubbed, nr_retries;
};

/* set_aside: pages for registers (stock.h). */
int lend_init(struct lender *l, struct pool *pool, uint64_t set_aside,
	      enum lend_scrub scrub);
void lend_fini(struct lender *l);

/* Pages that are to be about. */
uint64_t lend_goal(const struct sess *s);
/* Pages that are; not those in slots that the head has passed for the agent. */
static inline uint64_t lend_about(const struct sess *s)
{
	return s->lent - s->armed - s->astray - s->hand.nr - s->nr_taken;
}

/* Lets what is under way come to its end.  -EBUSY: it takes too long. */
int lend_quiesce(struct lender *l);
/*
 * While no chain of the session is connected: a piece of putting its ring in order, and
 * of filling or emptying it up to the goal.  Meanwhile the lender keeps off it.
 * -EAGAIN: there is more to do; -EBUSY: the lender is at work on it; 0, -ENOMEM: it is in
 * order, and has what is due, or what there was.
 */
int lend_settle(struct lender *l, struct sess *s);

/*
 * As long as no chain of the session has ever been connected: some more pages into its
 * ring, which the NIC does not look at yet.  -EAGAIN: there are more to come;
 * -ENOMEM: the pool has no more for now; -EBUSY: the lender is at work on it, or it is
 * being settled.
 */
int lend_fill(struct lender *l, struct sess *s);
/* Pages that the pool has for rings. */
uint64_t lend_pages(const struct lender *l);

/* One piece of work for one of the sessions, if there is any. */
enum lend_todo lend_run(struct lender *l, struct sess *const *all, size_t nr);

/* ---- the stores' registers ---------------------------------------------------- */

/* For one chain.  -ENOMEM: not as many are to be had. */
int lend_arm(struct lender *l, struct sess *s, uint64_t nr, __u64 *ret_pages);
/* The chain has not come to be: its pages are in the agent's hand. */
void lend_unarm(struct lender *l, struct sess *s, uint64_t nr,
		const __u64 *pages);
/*
 * The chain has been stopped: what it held between two places goes on to the
 * second, or into the agent's hand; where nobody knows how far it came, it stays out
 * of use until the session ends.  -EPIPE: it had come to an empty slot, so the
 * ring is out of order until lend_settle().
 */
int lend_stopped(struct lender *l, struct sess *s, const struct queue *q);

/* A session that is gone: all that is its, a bounded piece of it.  True: there
 * is no more. */
bool lend_collect(struct lender *l, struct sess *s);

#endif /* MNODE_LEND_H */
