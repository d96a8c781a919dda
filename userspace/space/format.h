/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formatting the memory of one node of a set, and judging a superblock.
 */
#ifndef FAR_SPACE_FORMAT_H
#define FAR_SPACE_FORMAT_H

#include <stdbool.h>

#include "layout.h"

/* What a node's part of a set is to be. */
struct far_format {
	const char *name;	/* 1 to 63 bytes */
	uint8_t set[16];	/* the same for all nodes */
	uint64_t size;		/* bytes of this node's memory */
	uint64_t chunk_size;	/* 0: by size */
	unsigned max_clients;	/* 0: FAR_DEF_CLIENTS */
	unsigned nr_nodes;	/* 1 to FAR_MAX_NODES */
	unsigned node, arbiter;	/* below nr_nodes */
	uint64_t created;	/* seconds since 1970 */
};

/*
 * Computes the superblock. -EINVAL, and why names the value and what was expected;
 * -ENOSPC when not one chunk fits behind the tables.
 */
int far_format_plan(const struct far_format *format, char *why, size_t why_len,
		    struct far_sb *ret_sb);
/*
 * Writes it and all tables to memory of sb->size bytes, which nobody else uses yet.
 * zeroed: the memory is all zero, so that tables need not be cleared. The magic
 * number is written last.
 */
void far_format_write(void *memory, const struct far_sb *sb, bool zeroed);

/*
 * Judges a superblock that was read, of a node with size bytes. 0, or -EPROTO: it is
 * not ours, of another version, or damaged; why says what.
 */
int far_sb_check(const struct far_sb *sb, uint64_t size, char *why, size_t why_len);
/* Whether b, of the node with number `node`, belongs to the set of a. -EPROTO. */
int far_sb_same_set(const struct far_sb *a, const struct far_sb *b, unsigned node,
		    char *why, size_t why_len);

#endif
