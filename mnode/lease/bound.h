/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much of something scarce one name may have: attachments, queues, bytes of metadata.
 * While half of it is free, everybody gets what he asks for. Then a name gets at most three
 * quarters of what it could have, and a little stays for each name that has a section in
 * the settings, and for all others together.
 */
#ifndef MNODE_BOUND_H
#define MNODE_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct bound - who has what
 * @total, @taken: in all, and what all names have
 * @has:	what the name that asks has
 * @group:	the same, or, if it has no section, what all names without one have
 * @least:	what each group can have
 * @kept:	what other groups lack of that
 */
struct bound {
	uint64_t total, taken, has, group, least, kept;
};

/* More than half is free afterwards: the bound needs no has and kept. */
static inline bool bound_is_wide(const struct bound *b, uint64_t more)
{
	return b->taken <= b->total && more <= b->total / 2 &&
	       b->taken <= b->total / 2 - more;
}

/* May the name have so much more? */
static inline bool bound_admits(const struct bound *b, uint64_t more)
{
	uint64_t left = b->total > b->taken ? b->total - b->taken : 0, all;
	/* Many sections do not shut out who has more. */
	uint64_t kept = b->kept < b->total / 2 ? b->kept : b->total / 2;

	if (more > left)
		return false;
	if (bound_is_wide(b, more) || b->group + more <= b->least)
		return true;
	if (kept > left - more)
		return false;
	all = left - kept + b->has;
	return b->has + more <= all - all / 4;
}

#endif /* MNODE_BOUND_H */
