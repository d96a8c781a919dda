/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The proof that no page is lost and none is lent twice: every page of the pool
 * is in exactly one place, and where its owner is.
 */
#ifndef MNODE_CHECK_H
#define MNODE_CHECK_H

#include "manager.h"

#define CHECK_MAX_PROBLEMS	16
#define CHECK_PROBLEM_LEN	160

/**
 * struct check_result - where the pages are
 * @pool:	nobody's
 * @free:	in the ring of a session
 * @mapped:	in a translation table
 * @armed:	in a register of a store that receives into it
 * @held:	in a register of another chain that is under way
 * @spaces:	in a space
 * @returning:	in the agent's hand, or owned by a session that is gone
 * @withheld:	owned by a session that is gone, whose chains the NIC does not stop
 * @lost:	owned by a session, and in none of its places: it has dropped it,
 *		and it is back when the session ends
 * @doubled:	found in more than one place
 * @foreign:	entries that are not the address of a page of their session
 * @empty:	slots of a ring without a page that nobody is about to fill
 * @stray:	pages in slots that the head has passed, or the tail not reached
 * @overtaken:	slots by which rings' heads are ahead of their tails
 * @exact:	nothing moved while we counted
 */
struct check_result {
	uint64_t total, pool, free, mapped, armed, held, spaces, returning,
		 withheld;
	uint64_t lost, doubled, foreign, empty, stray, overtaken;
	bool exact;
	unsigned int nr_problems;
	char problems[CHECK_MAX_PROBLEMS][CHECK_PROBLEM_LEN];
};

int check_pages(struct manager *m, struct check_result *ret_res);
bool check_ok(const struct check_result *res);

#endif /* MNODE_CHECK_H */
