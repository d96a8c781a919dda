/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The accepts of a memory node, which is not believed: every field is checked
 * before anybody uses one.  Pure code, also compiled in user space.
 */
#ifndef _ODRP_ACCEPT_H
#define _ODRP_ACCEPT_H

#include <linux/types.h>
#include <odrp/wire.h>
#include "words.h"

/*
 * struct odrp_bad - the first field that is wrong
 * @what: its name; NULL: a word's kind, @expected its index
 */
struct odrp_bad {
	const char	*what;
	u64		is;
	u64		expected;
};

/* What was asked for, or, for a session that is resumed, what it has. */
struct odrp_admin_terms {
	u16	queues;
	u16	depth;
	u64	nr_slots;
	u64	session;	/* 0: a new one */
	u32	features;	/* ODRP_WIRE_F_* */
};

/* The same of an I/O connection, whose chain may be another one than before. */
struct odrp_io_terms {
	u8	chain;
	u16	queue;
	u16	depth;		/* at most */
	u16	nr_reqs;	/* at least */
	bool	keyed;		/* it takes no requests: ODRP_WIRE_F_KEYED */
};

int odrp_accept_admin(const struct odrp_wire_admin_accept *a, size_t len,
		      const struct odrp_admin_terms *t, struct odrp_bad *bad);
int odrp_accept_io(const struct odrp_wire_io_accept *a, size_t len,
		   const struct odrp_io_terms *t, struct odrp_words *ws,
		   struct odrp_bad *bad);
int odrp_accept_reads(u8 reads, u8 most, struct odrp_bad *bad);

#endif /* _ODRP_ACCEPT_H */
