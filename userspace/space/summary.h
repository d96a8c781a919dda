/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is in one node's memory of a space, in numbers.
 */
#ifndef FAR_SPACE_SUMMARY_H
#define FAR_SPACE_SUMMARY_H

#include "layout.h"

struct far_summary {
	uint64_t size;		/* bytes */
	uint64_t used;		/* bytes of claimed chunks */
	unsigned clients;	/* that live; 0 but on the arbiter, as names */
	unsigned names;		/* of the directory in use */
	struct far_sb sb;
};

/* Of size bytes at memory, while clients are at work. -EPROTO: it is no space. */
int far_summary(const void *memory, uint64_t size, struct far_summary *ret_summary);
/* The same, whose superblock is sb, whatever the memory says by now. */
void far_summary_of(const void *memory, const struct far_sb *sb,
		    struct far_summary *ret_summary);

#endif
