/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client's directory of one shard. See dir.h. */
#include "dir.h"

#include <errno.h>
#include <stdlib.h>

/* An entry: depth above, far address below. */
static uint64_t entry_of(uint64_t sub, unsigned depth)
{
	return (uint64_t)depth << FAR_ADDR_BITS | sub;
}

static unsigned entry_depth(uint64_t entry)
{
	return entry >> FAR_ADDR_BITS;
}

int hash_dir_init(struct hash_dir *dir, uint64_t sub)
{
	_Atomic(uint64_t) *first = malloc(sizeof(*first));
	unsigned i;

	if (!first)
		return -ENOMEM;
	atomic_init(first, entry_of(sub, 0));
	for (i = 0; i <= HASH_DIR_DEPTH; i++)
		atomic_init(&dir->level[i], NULL);
	atomic_init(&dir->level[0], first);
	atomic_init(&dir->depth, 0);
	return 0;
}

void hash_dir_fini(struct hash_dir *dir)
{
	unsigned i;

	for (i = 0; i <= HASH_DIR_DEPTH; i++)
		free(atomic_load(&dir->level[i]));
}

uint64_t hash_dir_find(struct hash_dir *dir, uint32_t bits, unsigned *ret_depth)
{
	/* pairs with the release in dir_double() */
	unsigned depth = atomic_load_explicit(&dir->depth, memory_order_acquire);
	_Atomic(uint64_t) *array = atomic_load_explicit(&dir->level[depth],
							memory_order_acquire);
	uint64_t entry = atomic_load_explicit(&array[bits & hash_mask(depth)],
					      memory_order_relaxed);

	*ret_depth = entry_depth(entry);
	return far_addr_bare(entry);
}

/* Makes the array of depth + 1, unless somebody else does. */
static int dir_double(struct hash_dir *dir, unsigned depth)
{
	_Atomic(uint64_t) *old = atomic_load(&dir->level[depth]);
	_Atomic(uint64_t) *none = NULL;
	size_t half = (size_t)1 << depth;
	_Atomic(uint64_t) *array;
	size_t i;

	array = malloc(2 * half * sizeof(*array));
	if (!array)
		return -ENOMEM;
	for (i = 0; i < 2 * half; i++)
		atomic_init(&array[i], atomic_load_explicit(&old[i & (half - 1)],
							    memory_order_relaxed));
	if (!atomic_compare_exchange_strong(&dir->level[depth + 1], &none, array))
		free(array);
	atomic_compare_exchange_strong(&dir->depth, &depth, depth + 1);
	return 0;
}

/* Keeps the greater depth of what is there and what is new. */
static void entry_raise(_Atomic(uint64_t) *entry, uint64_t new)
{
	uint64_t old = atomic_load_explicit(entry, memory_order_relaxed);

	while (entry_depth(old) < entry_depth(new) &&
	       !atomic_compare_exchange_weak_explicit(entry, &old, new,
						      memory_order_relaxed,
						      memory_order_relaxed))
		;
}

int hash_dir_add(struct hash_dir *dir, uint64_t sub, uint32_t suffix, unsigned depth)
{
	_Atomic(uint64_t) *array;
	unsigned now;
	uint64_t i;
	int err;

	if (depth > HASH_DIR_DEPTH)
		return 0;
	while ((now = atomic_load(&dir->depth)) < depth) {
		err = dir_double(dir, now);
		if (err)
			return err;
	}
	array = atomic_load(&dir->level[now]);
	for (i = suffix; i < UINT64_C(1) << now; i += UINT64_C(1) << depth)
		entry_raise(&array[i], entry_of(sub, depth));
	return 0;
}
