/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page-aligned, zeroed memory for the NIC to work in.
 */
#ifndef MNODE_MEM_H
#define MNODE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mappings of at least so many bytes are compared with the available memory. */
#define MEM_LARGE	(16u << 20)

/**
 * struct mem - a mapping; all zero: none
 * @va, @len:	address, and requested bytes; mem_map() rounds @len up to pages
 * @mapped:	bytes that are mapped, rounded up to huge pages if they are used
 * @huge:	made of huge pages of the hugetlb pool
 */
struct mem {
	void *va;
	size_t len;
	size_t mapped;
	bool huge;
};

enum mem_flags {
	MEM_HUGE	= 1 << 0,	/* use huge pages if there are any */
	MEM_POPULATE	= 1 << 1,	/* allocate the memory now */
};

#define MEM_HUGE_PAGE	(2ul << 20)

/*
 * -ENOMEM, also if len is at least MEM_LARGE and more than is available; -EINVAL: len is
 * 0 or too large; or the error of mmap() or madvise().
 */
int mem_map(size_t len, unsigned int flags, struct mem *ret_mem);
/* Allocates len bytes at off of a mapping that was made without MEM_POPULATE. */
int mem_populate(const struct mem *mem, size_t off, size_t len);
/*
 * Like mem_map(), as a memory file that other processes can map and keep.  The file has
 * no name in any directory, and its size is fixed.
 */
int mem_file_new(const char *name, size_t len, unsigned int flags, int *ret_fd,
		 struct mem *ret_mem);
/* Makes such a file without allocating memory.  len: a multiple of its page size. */
int mem_file_make(const char *name, uint64_t len, bool huge, int *ret_fd);
/* Maps len bytes of a memory file from off on.  huge: the file has huge pages. */
int mem_fd_map(int fd, uint64_t off, size_t len, bool huge, struct mem *ret_mem);
/* mem may be all zero. */
void mem_unmap(struct mem *mem);
/* Unmaps in pieces, so that no call takes long.  The memory must not be used after the
 * first call.  True: it is gone. */
bool mem_shrink(struct mem *mem);

#endif /* MNODE_MEM_H */
