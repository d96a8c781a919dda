/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page-aligned, zeroed memory for the NIC to work in.
 */
#ifndef MNODE_MEM_H
#define MNODE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From here on a mapping is compared with what is available. */
#define MEM_LARGE	(16u << 20)

/**
 * struct mem - one mapping; all zero: none
 * @va, @len:	what was asked for, rounded up to pages
 * @huge:	made of huge pages of the hugetlb pool
 */
struct mem {
	void *va;
	size_t len;
	size_t mapped;
	bool huge;
};

enum mem_flags {
	MEM_HUGE	= 1 << 0,	/* huge pages if there are any */
	MEM_POPULATE	= 1 << 1,	/* take the memory now */
};

/* What can be had without anybody being killed for it. -errno: nobody knows. */
int mem_available(uint64_t *ret_bytes);
/*
 * -ENOMEM, also of MEM_LARGE bytes and more if so much is not available, or what
 * mmap() said.
 */
int mem_map(size_t len, unsigned int flags, struct mem *ret_mem);
/* Also of an all-zero mem. */
void mem_unmap(struct mem *mem);
/* The same in pieces, so that nobody waits long; the memory is nobody's from the first
 * one on.  True: it is gone. */
bool mem_shrink(struct mem *mem);

#endif /* MNODE_MEM_H */
