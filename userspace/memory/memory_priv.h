/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program's own memory, inside: handles, tables as this client knows them, walks. */
#ifndef FAR_MEMORY_PRIV_H
#define FAR_MEMORY_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <far/memory.h>

#include "../form/walk.h"
#include "layout.h"

#define MEMORY_RUNS		20u
#define MEMORY_FIRST_RUN	16u	/* tables of run 0; each has twice as many as the last */

struct far_memory {
	uint64_t root;
	/* Far addresses of tables, by index: run k has MEMORY_FIRST_RUN << k of them. */
	_Atomic(_Atomic uint64_t *) run[MEMORY_RUNS];
	atomic_uint nr_tables;		/* that are known; they are the first ones */
};

uint64_t memory_root_sum(const struct memory_root *root, uint64_t addr);
uint64_t memory_head_sum(const struct memory_head *head, uint64_t root);
bool memory_table_is_good(const struct memory_table *table, uint64_t root, uint64_t index);
/* True if it is the head of the block of which a slot has that word. */
bool memory_head_is_good(const struct memory_head *head, uint64_t root, uint64_t word);

/* The far address of a table that is known. */
uint64_t memory_table_addr(const struct far_memory *memory, unsigned index);
/* Tells that the table of that index is at addr. -ENOMEM; -ENOSPC: more than there can be. */
int memory_table_learn(struct far_memory *memory, unsigned index, uint64_t addr);

/* Opens what has that root. Inside of an epoch or while the name is there. */
int memory_open_root(struct far_task *task, uint64_t root, struct far_memory **ret_memory);

/* A walk over all of a memory; each table in an epoch of its own, unless walk.one_epoch. */
struct memory_view {
	struct form_walk walk;
	const struct far_memory *memory;
	/* Take a table, and a block with its head; NULL: nobody asks. Other than 0 ends it. */
	int (*table)(struct memory_view *view, uint64_t addr);
	int (*block)(struct memory_view *view, uint64_t addr, const struct memory_head *head);
	/* A head is damaged, and the walk goes on; NULL: -EBADMSG. */
	void (*problem)(struct memory_view *view, uint64_t addr);
};

/* Inside of the walk's epoch. */
int memory_view(struct memory_view *view);

#endif
