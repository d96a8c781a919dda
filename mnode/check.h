/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts the pages of the pool. Each page must be in exactly one place, and the place
 * must belong to the owner of the page: then no page is lost and none is lent twice.
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
 * @armed:	in a page register of a store
 * @held:	held by a chain without page registers that executes a request
 * @spaces:	in a space
 * @returning:	held by the agent, or owned by a session that is ending
 * @withheld:	owned by a session that is ending and whose chains the NIC does not stop
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
	uint64_t total, pool, free, mapped, armed, held, spaces, returning,
		 withheld;
	uint64_t lost, doubled, foreign, empty, stray, overtaken;
	bool exact;
	unsigned int nr_problems;
	char problems[CHECK_MAX_PROBLEMS][CHECK_PROBLEM_LEN];
};

/* Returns 0, -ENOMEM, or -EBUSY if the lender does not come to rest. */
int check_pages(struct manager *m, struct check_result *ret_res);
bool check_ok(const struct check_result *res);

#endif /* MNODE_CHECK_H */
