/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registrations of mem: the local memory that operations may use. */
#include "mem_priv.h"

#include <errno.h>
#include <stdlib.h>

int mem_mrs_init(struct mem_mrs *mrs)
{
	return -pthread_mutex_init(&mrs->lock, NULL);
}

void mem_mrs_fini(struct mem_mrs *mrs)
{
	unsigned i;

	for (i = 0; i < MEM_MR_CHUNKS; i++)
		free(mrs->chunk[i]);
	pthread_mutex_destroy(&mrs->lock);
}

/* The entry of a key. NULL: no key has ever had this index. */
static struct mem_mr *mrs_entry(const struct mem_mrs *mrs, uint32_t key)
{
	uint32_t idx = (key & 0xffff) - 1;
	struct mem_mr *chunk;

	if (idx >= MEM_MR_CHUNKS * MEM_MR_CHUNK)
		return NULL;
	chunk = __atomic_load_n(&mrs->chunk[idx >> MEM_MR_BITS], __ATOMIC_ACQUIRE);
	return chunk ? &chunk[idx & (MEM_MR_CHUNK - 1)] : NULL;
}

int mem_mr_find(const struct mem_mrs *mrs, uint32_t key, const void *addr, size_t len,
		const struct mem_mr **last)
{
	const struct mem_mr *mr = mrs_entry(mrs, key);

	if (!mr || !mem_mr_has(mr, key, addr, len))
		return 0;
	*last = mr;
	return 1;
}

/*
 * Takes a free entry, and makes its key. NULL: no memory, or too many registrations. The
 * caller holds the lock.
 */
static struct mem_mr *mrs_take(struct mem_mrs *mrs, uint32_t *ret_key)
{
	uint32_t idx, use;
	struct mem_mr *chunk;

	for (idx = 0; mrs->nr_free && idx < mrs->nr; idx++) {
		chunk = mrs->chunk[idx >> MEM_MR_BITS];
		if (__atomic_load_n(&chunk[idx & (MEM_MR_CHUNK - 1)].key,
				    __ATOMIC_RELAXED))
			continue;
		mrs->nr_free--;
		goto found;
	}
	if (mrs->nr == MEM_MR_CHUNKS * MEM_MR_CHUNK - 1)
		return NULL;
	idx = mrs->nr;
	if (!mrs->chunk[idx >> MEM_MR_BITS]) {
		chunk = calloc(MEM_MR_CHUNK, sizeof(*chunk));
		if (!chunk)
			return NULL;
		__atomic_store_n(&mrs->chunk[idx >> MEM_MR_BITS], chunk,
				 __ATOMIC_RELEASE);
	}
	mrs->nr++;
found:
	chunk = mrs->chunk[idx >> MEM_MR_BITS];
	use = ++chunk[idx & (MEM_MR_CHUNK - 1)].uses;
	*ret_key = use << 16 | (idx + 1);
	return &chunk[idx & (MEM_MR_CHUNK - 1)];
}

int mem_mr_reg(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey)
{
	struct mem_mrs *mrs = &mem_nic_of(nic)->mrs;
	uintptr_t start = (uintptr_t)addr;
	struct mem_mr *mr;
	uint32_t key;

	if (!len || start + len < start)
		return -EINVAL;
	pthread_mutex_lock(&mrs->lock);
	mr = mrs_take(mrs, &key);
	if (mr) {
		__atomic_store_n(&mr->start, start, __ATOMIC_RELAXED);
		__atomic_store_n(&mr->end, start + len, __ATOMIC_RELAXED);
		__atomic_store_n(&mr->key, key, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&mrs->lock);
	if (!mr)
		return -ENOMEM;
	*ret_lkey = key;
	return 0;
}

void mem_mr_dereg(struct far_nic *nic, uint32_t lkey)
{
	struct mem_mrs *mrs = &mem_nic_of(nic)->mrs;
	struct mem_mr *mr;

	pthread_mutex_lock(&mrs->lock);
	mr = mrs_entry(mrs, lkey);
	if (mr && __atomic_load_n(&mr->key, __ATOMIC_RELAXED) == lkey) {
		__atomic_store_n(&mr->key, 0, __ATOMIC_RELEASE);
		mrs->nr_free++;
	}
	pthread_mutex_unlock(&mrs->lock);
}
