/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks of the memory node's accepts.  The module does not trust the memory node: every
 * field is checked before any is used.  Pure code, also compiled in user space.
 */
#ifndef _ODRP_ACCEPT_H
#define _ODRP_ACCEPT_H

#include <linux/types.h>
#include <odrp/wire.h>

/*
 * struct odrp_bad - the first wrong field of an accept
 * @what: name of the field
 * @is: value of the field
 * @expected: right value of the field
 */
struct odrp_bad {
	const char	*what;
	u64		is;
	u64		expected;
};

/* The terms that the hello asked for, or those of the session that is resumed. */
struct odrp_admin_terms {
	u16	queues;
	u16	depth;
	u64	nr_slots;
	u64	session;	/* 0: a new session */
	u32	features;	/* ODRP_WIRE_F_* */
};

/* The same for an I/O connection.  After a resumption its chain may be a new one. */
struct odrp_io_terms {
	u8	chain;
	u16	queue;
	u16	depth;		/* at most */
	u16	nr_reqs;	/* at least */
};

int odrp_accept_admin(const struct odrp_wire_admin_accept *a, size_t len,
		      const struct odrp_admin_terms *t, struct odrp_bad *bad);
int odrp_accept_io(const struct odrp_wire_io_accept *a, size_t len,
		   const struct odrp_io_terms *t, struct odrp_bad *bad);
int odrp_accept_reads(u8 reads, u8 most, struct odrp_bad *bad);

#endif /* _ODRP_ACCEPT_H */
