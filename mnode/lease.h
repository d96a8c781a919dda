/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who may have how many pages.  Pure: numbers in, numbers out.
 *
 * Each CNode counts its own pages and keeps to its lease, so that nobody is
 * asked per page.  What a CNode has been told at any time and may still
 * believe is its *ceiling*.
 *
 *	L1  the sum of all ceilings, each that is not 0 with its slack, never
 *	    exceeds the budget
 *	L2  a ceiling is never below the lease last granted, but of a newcomer
 *	    that was promised one and may not use it yet
 *	L3  nobody's lease is cut below the pages it uses and some headroom
 *	L4  while somebody wants more, what others leave idle goes to him,
 *	    until all have the same for each unit of their share's weight, or
 *	    what they want
 *	L5  the ceilings of one share together are raised to no more than its most
 *	L6  what a share lacks of its least is lent to nobody else
 *
 * A *share* is one identity's, however many sessions that has.  When its most is
 * lowered below what it has, its leases are cut to what it uses, and follow that down.
 * When a least is raised and the pages are with others, theirs are cut as for somebody
 * who wants them.
 *
 * The accept tells a newcomer a lease before anybody knows whether it is there at
 * all: that is a *promise*.  It costs the others LEASE_FIRST pages, or nothing when
 * many have come so.  When the newcomer has shown itself it is kept, if the
 * pages are still to be had; otherwise the newcomer is granted what there is, and
 * may not begin before it has surely seen that.
 */
#ifndef MNODE_LEASE_H
#define MNODE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pages that a newcomer has before it has shown itself. */
#define LEASE_FIRST	64

/* Beats after which a CNode has surely seen what was written to it. */
#define LEASE_SETTLE_BEATS 2

struct lease;

/**
 * struct lease_share - what the leases of one identity may be together
 * @most:	pages; 0: no limit
 * @least:	pages that are kept for it
 * @weight:	its part of what all want; 0 counts as 1
 * @leases, @next, @held, @level: lease_plan()'s own
 */
struct lease_share {
	uint64_t most, least;
	uint32_t weight;
	struct lease *leases;
	struct lease_share *next;
	uint64_t held, level;
};

/* Of weight: so that pages times it is a number. */
#define LEASE_MAX_WEIGHT	1000

/**
 * struct lease - one CNode's
 * @cap:	never more than this
 * @slack:	pages in its ring beyond the lease (lend.h)
 * @granted:	what it was last told, or will be by the write under way
 * @ceiling:	what it may believe
 * @used, @want, @held: from its last beat
 * @reachable:	it has said where leases are to be written
 * @writing:	a write to it is under way
 * @beats:	beats since the last write was done
 * @promised:	by the accept; 0: kept, or it knows better
 * @unseen:	it has not shown itself yet
 * @corrected:	a grant says what became of the promise
 * @overdrawn:	it uses or keeps more than it has ever been given
 * @target:	lease_plan()'s result; grant it if it differs from @granted
 * @share:	of whose it is; NULL: it has one for itself, without limits
 * @own, @next, @fair: lease_plan()'s own
 */
struct lease {
	uint64_t cap, slack;
	uint64_t granted, ceiling;
	uint64_t used, want, held;
	uint64_t promised;
	bool unseen, corrected;
	bool reachable, writing, overdrawn;
	unsigned int beats;
	uint64_t target;
	struct lease_share *share;
	struct lease_share own;
	struct lease *next;
	uint64_t fair;
};

/* A CNode's slack, so that its ring does not run empty while freed pages are on
 * their way to it. */
uint64_t lease_default_slack(uint64_t pages);

/* What a newcomer is promised, and gets of it at once.  share: or NULL.  -ENOSPC:
 * nothing is to be had, now or by waiting for idle leases; -EDQUOT: the share has all
 * that it may have. */
int lease_open(const struct lease *const *all, size_t nr, uint64_t budget,
	       uint64_t cap, uint64_t slack, struct lease_share *share,
	       struct lease *ret_lease);

/*
 * The newcomer is there: is its promise kept?  all: with its own; pages: what can be
 * lent to it at once.  -EAGAIN: not yet, ask again; it learns by grants what it
 * gets.
 */
int lease_keep(const struct lease *const *all, size_t nr, uint64_t budget,
	       uint64_t pages, struct lease *l);

/* The CNode's beat changed and says this. */
void lease_beat(struct lease *l, uint64_t used, uint64_t want, uint64_t held,
		bool reachable);

/*
 * Of one that another agent has given, with its cap, slack, granted and ceiling: nobody
 * knows when its CNode has read what, only that it uses so many pages.
 */
void lease_adopt(struct lease *l, uint64_t used);

/* Sets every target. */
void lease_plan(struct lease *const *all, size_t nr, uint64_t budget);

/* Of what was promised and is not kept: so many pages are there, and no more come. */
void lease_lower(struct lease *l, uint64_t pages);
/* Its promise is not kept, and it does not know yet. */
bool lease_promise_stands(const struct lease *l);
/* Has the CNode to be told of the target? */
bool lease_differs(const struct lease *l);
/* The target is being written to the CNode / has arrived in its memory. */
void lease_grant(struct lease *l);
void lease_granted(struct lease *l);
/* The connection is gone.  What was on its way may have arrived: the ceiling
 * stays, and nothing changes until a new beat says where to write. */
void lease_detach(struct lease *l);

#endif /* MNODE_LEASE_H */
