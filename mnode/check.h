/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts the pages of the pool. Each page must be in exactly one place, and the place
 * must belong to the owner of the page: then no page is lost and none is lent twice.
 *
 * A count takes many turns of the event loop, each of which looks at a bounded number of
 * pages.  The NIC is frozen meanwhile, if it can be, and the manager begins nothing: it
 * takes no events, looks at no heartbeats and moves no pages.  So no page changes its place,
 * but by chains of a NIC that cannot be frozen.  The control socket and metrics go on.
 */
#ifndef MNODE_CHECK_H
#define MNODE_CHECK_H

#include "manager.h"

#define CHECK_MAX_PROBLEMS	16
#define CHECK_PROBLEM_LEN	160

/**
 * struct check_result - where the pages are
 * @pool:	free, in the pool
 * @free:	in the free ring of a session
 * @mapped:	in a translation table
 * @slabs:	in a direct slab of a session
 * @armed:	in a page register of a store
 * @held:	held by a chain without page registers that executes a request
 * @spaces:	in a space
 * @returning:	held by the agent, or owned by a session that is ending
 * @withheld:	owned by a session that is ending and whose chains the NIC does not stop, or
 *		of one that has ended and whose keys the NIC has not destroyed
 * @lost:	owned by a session, but in none of its places: the session has dropped the
 *		page, and the pool gets it back when the session ends
 * @doubled:	found in more than one place
 * @foreign:	entries that are not the address of a page of their session; also rings
 *		and chains whose state makes no sense
 * @empty:	ring positions from head to tail that have no page and that no chain is
 *		about to fill
 * @stray:	pages in ring positions that are not between head and tail
 * @overtaken:	ring positions by which the heads of rings are ahead of the tails
 * @exact:	the NIC was frozen, so no page moved during the count
 */
struct check_result {
	uint64_t total, pool, free, mapped, slabs, armed, held, spaces, returning,
		 withheld;
	uint64_t lost, doubled, foreign, empty, stray, overtaken;
	bool exact;
	unsigned int nr_problems;
	char problems[CHECK_MAX_PROBLEMS][CHECK_PROBLEM_LEN];
};

/* The steps of a count, in order; those from CHECK_QUEUES to CHECK_RING for each session. */
enum check_stage {
	CHECK_REST,		/* wait for the lender, and freeze the NIC */
	CHECK_QUEUES,		/* page registers, and what chains hold */
	CHECK_TABLE,
	CHECK_HAND,
	CHECK_RING,
	CHECK_POOL,
	CHECK_SPACES,
	CHECK_LOST,		/* pages that are nowhere; then let the NIC go on */
	CHECK_FREE,		/* memory */
	CHECK_DONE,
};

/**
 * struct check - a count
 * @at:		index of what is looked at next, in this stage
 * @left:	how much this call may still look at
 * @tries:	calls in which the lender was not at rest
 * @err:	-errno: the count has failed
 * @frozen:	the NIC is frozen
 * @sess:	index of the session that is being counted
 * @head, @nr_live: its ring: position of the head; positions from head to tail
 * @space:	the space that is being counted
 * @place:	for each page, where it was found
 * @known, @nr_known: ring positions of the session that a chain or the agent has taken
 * @dying:	by owner number: the session is ending
 */
struct check {
	struct manager *m;
	enum check_stage stage;
	uint64_t at;
	unsigned int left, tries;
	int err;
	bool frozen;
	unsigned int sess;
	uint64_t head, nr_live;
	const struct space *space;
	struct mem place;
	uint64_t *known;
	size_t nr_known;
	struct check_result res;
	bool dying[UINT16_MAX + 1];
};

/* Begins a count, which manager_work() goes on with.  -EBUSY: there is one, or its result,
 * already; -ENOMEM. */
int check_begin(struct manager *m);
/* Ends the count, or drops its result.  There may be none. */
void check_end(struct manager *m);
/* True: a count is under way. */
bool check_runs(const struct manager *m);
/* Does a bounded piece of the count. */
enum lend_todo check_some(struct manager *m);
/* -EAGAIN: the count is under way; -ENOENT: there is none; -EBUSY: the lender did not come
 * to rest. */
int check_result(const struct manager *m, struct check_result *ret_res);
bool check_ok(const struct check_result *res);

#endif /* MNODE_CHECK_H */
