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

/* Chunk words that far_summary_of() counts. */
#define FAR_TALLY_STEP	65536u

/**
 * struct far_tally - claimed chunks of a space, counted in pieces; all 0 at first
 * @at, @part:	chunk words of this round that are counted, and claimed chunks among them
 * @whole:	claimed chunks of the last whole round
 */
struct far_tally {
	uint32_t at, part, whole;
};

/* Counts up to `most` more chunk words, and begins another round behind the last one. */
void far_tally_some(const void *memory, const struct far_sb *sb, uint32_t most,
		    struct far_tally *tally);
/* Of size bytes at memory, while clients are at work. -EPROTO: it is no space. */
int far_summary(const void *memory, uint64_t size, struct far_summary *ret_summary);
/*
 * The same, whose superblock is sb, whatever the memory says by now. Counts at most
 * FAR_TALLY_STEP chunk words: with more chunks, the claimed ones are those of the last whole
 * round of tally, and before there was one, those that it has counted.
 */
void far_summary_of(const void *memory, const struct far_sb *sb, struct far_tally *tally,
		    struct far_summary *ret_summary);

#endif
