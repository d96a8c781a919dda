/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A check of a space set, inside: the tables of each node as they were read, and what
 * is known of each block.
 */
#ifndef FAR_CORE_CHECK_H
#define FAR_CORE_CHECK_H

#include <far/space.h>

#include "client_priv.h"

/* One node: its tables, and bits of blocks, far_map_words() words per page. */
struct check_node {
	const struct far_sb *sb;
	uint64_t *chunk;	/* chunk words */
	uint64_t *page;		/* page words */
	uint64_t *map;		/* free for everybody */
	uint64_t *seen;		/* reachable */
	uint64_t *held;		/* free in our own hands */
};

struct check {
	struct far_task *task;
	struct far_client *client;
	void (*report)(void *arg, const char *problem);
	void *arg;
	struct far_space_check sum;
	struct far_client_entry *entry;	/* the client table */
	int others;		/* clients live that may have retired blocks in hand */
	struct check_node *node;
};

/* One problem more, in one sentence. */
__attribute__((format(printf, 2, 3)))
void check_problem(struct check *check, const char *fmt, ...);

/* check_tables.c: that tables say what can be. */
void check_tables(struct check *check);
/* check_blocks.c: that each block is in one place. */
int check_blocks(struct check *check);

/* words is n->map, n->seen or n->held. */
static inline int check_bit(const struct check_node *n, const uint64_t *words, uint32_t page,
			    unsigned block)
{
	return words[page * far_map_words(n->sb) + block / 64] >> block % 64 & 1;
}

static inline void check_set(const struct check_node *n, uint64_t *words, uint32_t page,
			     unsigned block)
{
	words[page * far_map_words(n->sb) + block / 64] |= UINT64_C(1) << block % 64;
}

#endif
