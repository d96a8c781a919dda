/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Computes how many pages each CNode may have. Pure: numbers in, numbers out.
 *
 * Each CNode counts its own pages and keeps to its lease, so that nothing is asked per
 * page. The largest lease that a CNode has been told and may still believe is its
 * *ceiling*.
 *
 *	L1  the sum of all ceilings and slacks never exceeds the budget; the slack of a
 *	    newcomer that is unseen and has no pages does not count
 *	L2  a ceiling is never below the lease last granted, except the ceiling of a
 *	    newcomer whose promise is not kept yet
 *	L3  no lease is cut below the pages it uses and some headroom, except when its
 *	    share's most is lowered
 *	L4  while a CNode wants more, it gets what others leave idle, until all have
 *	    the same for each unit of their share's weight, or what they want
 *	L5  the ceilings of one share together are raised to no more than its most
 *	L6  what a share lacks of its least is lent to no other share
 *	L7  a CNode that asks again in time has no more than it wants
 *	L8  no pages wait for a lease that cannot have them
 *
 * A *share* belongs to one identity, however many sessions that has. When its most is
 * lowered below what it has, its leases are cut to what it uses, and follow that down.
 * When its least is raised and others have the pages, the leases of these are cut as if
 * the share wanted the pages.
 *
 * The accept tells a newcomer a lease before the agent knows whether the newcomer exists:
 * that is a *promise*. It costs the others LEASE_FIRST pages, or nothing when there are
 * many such newcomers. When the newcomer is seen, its promise is kept if the pages are
 * still free; else the newcomer is granted what there is, and may not begin before it has
 * surely read the grant.
 */
#ifndef MNODE_LEASE_H
#define MNODE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pages that a newcomer has as long as it is unseen. */
#define LEASE_FIRST	64

/* Heartbeats after which a CNode has surely read what was written to it. */
#define LEASE_SETTLE_BEATS 2

struct lease;

/**
 * struct lease_share - limits of all leases of one identity together
 * @most:	most pages; 0: no limit
 * @least:	pages that are kept for the share
 * @weight:	the share's part of what all want; 0 counts as 1
 * @leases, @next, @held, @level: private to lease_plan()
 */
struct lease_share {
	uint64_t most, least;
	uint32_t weight;
	struct lease *leases;
	struct lease_share *next;
	uint64_t held, level;
};

/* The limit keeps the product of pages and weight within 64 bits. */
#define LEASE_MAX_WEIGHT	1000

/**
 * struct lease - lease of one CNode
 * @cap:	most pages that the lease can have
 * @lacking:	pages of @cap that the pool cannot give now: slabs are made of pages in a row,
 *		and its free pages lie in pieces
 * @slack:	pages in the CNode's ring beyond the lease (lend.h)
 * @granted:	the lease that the CNode was told last, or that is being written to it
 * @ceiling:	the largest lease that the CNode may believe
 * @used, @want, @held: from the CNode's last heartbeat
 * @asks:	@want is what the CNode needs until it asks again (ODRP_WIRE_F_ASKS)
 * @reachable:	the CNode has told where grants are to be written
 * @writing:	a grant is being written to the CNode
 * @beats:	heartbeats since the last write was done, up to LEASE_SETTLE_BEATS
 * @promised:	pages that the accept promised; 0: the promise is kept, or the CNode has read
 *		the grant that corrects it
 * @unseen:	the CNode has sent nothing since the accept, so it may not exist
 * @corrected:	a grant has been sent that replaces the promise
 * @overdrawn:	the CNode has reported far more pages than it has ever been given
 * @target:	result of lease_plan(); to be granted if it differs from @granted
 * @share:	NULL: the lease has a share of its own, without limits
 * @own, @next, @fair: private to lease_plan()
 */
struct lease {
	uint64_t cap, lacking, slack;
	uint64_t granted, ceiling;
	uint64_t used, want, held;
	uint64_t promised;
	bool unseen, corrected, asks;
	bool reachable, writing, overdrawn;
	unsigned int beats;
	uint64_t target;
	struct lease_share *share;
	struct lease_share own;
	struct lease *next;
	uint64_t fair;
};

/* The default slack. It keeps a ring from running empty while freed pages are on their
 * way to it. */
uint64_t lease_default_slack(uint64_t pages);

/*
 * Computes what a newcomer is promised, and what it gets of that at once. unit: pages that are
 * of use only together, or 1; share: or NULL. -ENOSPC: no unit is free, nor idle in another
 * lease; -EDQUOT: the share has its most.
 */
int lease_open(const struct lease *const *all, size_t nr, uint64_t budget,
	       uint64_t cap, uint64_t slack, uint64_t unit, struct lease_share *share,
	       struct lease *ret_lease);

/*
 * The newcomer is seen: keeps its promise, if that is possible. all: with the newcomer's
 * lease; pages: how many can be lent to the newcomer at once. -EAGAIN: the promise is not
 * kept now. Call again; a grant may replace the promise meanwhile.
 */
int lease_keep(const struct lease *const *all, size_t nr, uint64_t budget,
	       uint64_t pages, struct lease *l);

/* A new heartbeat of the CNode has these values. */
void lease_beat(struct lease *l, uint64_t used, uint64_t want, uint64_t held,
		bool reachable);

/*
 * Takes over a lease of an earlier agent, with its cap, slack, granted and ceiling. What
 * its CNode has read is unknown; it uses that many pages.
 */
void lease_adopt(struct lease *l, uint64_t used);

/* Pages that the lease has and does not ask for: of so many that are lent to it. */
uint64_t lease_idle(const struct lease *l, uint64_t lent);

/* Sets every target. */
void lease_plan(struct lease *const *all, size_t nr, uint64_t budget);

/* The newcomer has that many pages, slack included, and gets no more now: lowers ceiling
 * and target, if the promise is not kept. */
void lease_lower(struct lease *l, uint64_t pages);
/* The promise is neither kept nor replaced by a grant. */
bool lease_promise_stands(const struct lease *l);
/* The CNode has read the last grant, and its heartbeat says what it made of it. */
static inline bool lease_settled(const struct lease *l)
{
	return !l->writing && l->beats >= LEASE_SETTLE_BEATS;
}

/* The target has to be granted to the CNode. */
bool lease_differs(const struct lease *l);
/* The target is being written to the CNode; it has arrived in the CNode's memory. */
void lease_grant(struct lease *l);
void lease_granted(struct lease *l);
/* The connection has ended. A grant that was being written may have arrived, so the
 * ceiling stays; nothing changes until a new heartbeat tells where to write. */
void lease_detach(struct lease *l);

#endif /* MNODE_LEASE_H */
