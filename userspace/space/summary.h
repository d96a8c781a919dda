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

/* Chunk words, and blocks of the directory, that far_summary_of() counts. */
#define FAR_TALLY_STEP		65536u
#define FAR_TALLY_DIR_STEP	64u

/**
 * struct far_names_tally - names of a space, counted in pieces; all 0 at first
 * @next:	far address of the next block of the directory; FAR_NIL: begin with its first part
 * @blocks:	blocks of this round that are counted
 * @part:	names of this round
 * @whole:	names of the last whole round
 */
struct far_names_tally {
	uint64_t next;
	uint32_t blocks, part, whole;
};

/**
 * struct far_tally - claimed chunks and names of a space, counted in pieces; all 0 at first
 * @at, @part:	chunk words of this round that are counted, and claimed chunks among them
 * @whole:	claimed chunks of the last whole round
 * @names:	the names
 */
struct far_tally {
	uint32_t at, part, whole;
	struct far_names_tally names;
};

/*
 * The directory's entries in a part of it: the first part (addr is FAR_NIL), or the block at
 * a far address. Returns how many there are, and the next block's address, FAR_NIL behind the
 * last one and where no block can be: clients write what is there.
 */
unsigned far_dir_part(const void *memory, const struct far_sb *sb, uint64_t addr,
		      const struct far_dir_entry **ret_entry, uint64_t *ret_next);

/* Counts up to `most` more chunk words, and begins another round behind the last one. */
void far_tally_some(const void *memory, const struct far_sb *sb, uint32_t most,
		    struct far_tally *tally);
/* Sums up size bytes at memory, while clients are at work. -EPROTO: it is no space. */
int far_summary(const void *memory, uint64_t size, struct far_summary *ret_summary);
/*
 * The same, whose superblock is sb, whatever the memory says by now. Counts at most
 * FAR_TALLY_STEP chunk words and FAR_TALLY_DIR_STEP blocks of the directory: with more, the
 * claimed chunks, or the names, are those of the last whole round of tally, and before there
 * was one, those that it has counted.
 */
void far_summary_of(const void *memory, const struct far_sb *sb, struct far_tally *tally,
		    struct far_summary *ret_summary);

#endif
