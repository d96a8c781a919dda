// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tables as a client knows them. They are linked and never unlinked, so what is known once
 * is right for as long as the name is there.
 */
#include "memory_priv.h"

#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t memory_root_sum(const struct memory_root *root, uint64_t addr)
{
	return XXH3_64bits_withSeed(root, offsetof(struct memory_root, sum), addr);
}

uint64_t memory_head_sum(const struct memory_head *head, uint64_t root)
{
	return XXH3_64bits_withSeed(head, offsetof(struct memory_head, sum), root);
}

bool memory_table_is_good(const struct memory_table *table, uint64_t root, uint64_t index)
{
	return table->magic == MEMORY_TABLE_MAGIC && table->index == index &&
	       table->root == root;
}

bool memory_head_is_good(const struct memory_head *head, uint64_t root, uint64_t word)
{
	return head->word == word && head->sum == memory_head_sum(head, root);
}

/* The run of a table, and its place there. */
static unsigned run_of(unsigned index, unsigned *ret_at)
{
	unsigned in = index / MEMORY_FIRST_RUN + 1;
	unsigned run = 31 - __builtin_clz(in);

	*ret_at = index - MEMORY_FIRST_RUN * ((1u << run) - 1);
	return run;
}

uint64_t memory_table_addr(const struct far_memory *memory, unsigned index)
{
	unsigned at, run = run_of(index, &at);

	return atomic_load(&atomic_load(&memory->run[run])[at]);
}

/* One of several threads sets the run. */
static _Atomic uint64_t *run_make(struct far_memory *memory, unsigned run)
{
	_Atomic uint64_t *mine = calloc((size_t)MEMORY_FIRST_RUN << run, sizeof(*mine));
	_Atomic uint64_t *none = NULL;

	if (!mine || atomic_compare_exchange_strong(&memory->run[run], &none, mine))
		return mine;
	free(mine);
	return none;
}

int memory_table_learn(struct far_memory *memory, unsigned index, uint64_t addr)
{
	_Atomic uint64_t *entry;
	unsigned at, run, nr = index;

	if (index >= MEMORY_MAX_TABLES)
		return -ENOSPC;
	run = run_of(index, &at);
	entry = atomic_load(&memory->run[run]);
	if (!entry)
		entry = run_make(memory, run);
	if (!entry)
		return -ENOMEM;
	/* all who learn of it have the same address */
	atomic_store(&entry[at], addr);
	atomic_compare_exchange_strong(&memory->nr_tables, &nr, index + 1);
	return 0;
}
