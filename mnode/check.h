/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The proof that no page is lost and none is lent twice: every page of the
 * pool is in exactly one place.
 */
#ifndef MNODE_CHECK_H
#define MNODE_CHECK_H

#include "manager.h"

#define CHECK_MAX_PROBLEMS	16
#define CHECK_PROBLEM_LEN	160

/**
 * struct check_result - where the pages are
 * @free:	in the free ring
 * @stock:	set aside for stores, and not armed
 * @mapped:	in a translation table
 * @armed:	in a register of a store that receives into it
 * @held:	in a register of another chain that is under way, or was stopped
 * @returning:	in the agent's hands, on their way to the ring
 * @lost, @doubled: pages that are nowhere / in more than one place
 * @foreign:	entries that are not the address of a page
 * @empty:	slots of the ring without a page that nobody is about to fill
 * @overtaken:	slots by which the ring's head is ahead of its tail
 * @exact:	nothing moved while we counted
 */
struct check_result {
	uint64_t total, free, stock, mapped, armed, held, returning;
	uint64_t lost, doubled, foreign, empty, overtaken;
	bool exact;
	unsigned int nr_problems;
	char problems[CHECK_MAX_PROBLEMS][CHECK_PROBLEM_LEN];
};

int check_pages(struct manager *m, struct check_result *ret_res);
/*
 * Lost pages go back to the ring: those that a compute node has dropped, by an
 * unmapped store to a slot that was mapped.  -EOPNOTSUPP: the count would not
 * be exact.
 */
int check_repair(struct manager *m, uint64_t *ret_repaired);
bool check_ok(const struct check_result *res);

#endif /* MNODE_CHECK_H */
