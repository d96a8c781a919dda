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

#define MEM_HUGE_PAGE	(2ul << 20)

/* What can be had without anybody being killed for it. -errno: nobody knows. */
int mem_available(uint64_t *ret_bytes);
/*
 * -ENOMEM, also of MEM_LARGE bytes and more if so much is not available, or what
 * mmap() said.
 */
int mem_map(size_t len, unsigned int flags, struct mem *ret_mem);
/* Of what was mapped without MEM_POPULATE: takes the memory of len bytes at off. */
int mem_populate(const struct mem *mem, size_t off, size_t len);
/*
 * Memory that others can have, too, and keep: a file without a name in any directory,
 * which neither grows nor shrinks any more.  As mem_map().
 */
int mem_file_new(const char *name, size_t len, unsigned int flags, int *ret_fd,
		 struct mem *ret_mem);
/* Such a file alone, of which nothing is taken yet; len: a multiple of its pages. */
int mem_file_make(const char *name, uint64_t len, bool huge, int *ret_fd);
/* What a file of memory has at off, len bytes of it; huge: it is of huge pages. */
int mem_fd_map(int fd, uint64_t off, size_t len, bool huge, struct mem *ret_mem);
/* Also of an all-zero mem. */
void mem_unmap(struct mem *mem);
/* The same in pieces, so that nobody waits long; the memory is nobody's from the first
 * one on.  True: it is gone. */
bool mem_shrink(struct mem *mem);

#endif /* MNODE_MEM_H */
