// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Anonymous mappings: hugetlb if requested and available, else ordinary pages with advice
 * for transparent huge pages.  The same as memory files.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <own/memory.h>
#include "mem.h"

#define MEM_PIECE	(16ul << 20)	/* the kernel frees this much in some milliseconds */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23		/* Linux 5.14 */
#endif

static size_t round_up(size_t len, size_t unit)
{
	return (len + unit - 1) / unit * unit;
}

static void *map_anon(size_t len, int flags)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static int populate(void *va, size_t len)
{
	if (!madvise(va, len, MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	memset(va, 0, len);
	return 0;
}

int mem_populate(const struct mem *mem, size_t off, size_t len)
{
	return populate((char *)mem->va + off, len);
}

/*
 * Without this check the kernel would grant too large a mapping, and kill a process when
 * the memory is used.
 */
static bool is_too_large(size_t len)
{
	return len >= MEM_LARGE && len > own_memory_available(NULL);
}

int mem_map(size_t len, unsigned int flags, struct mem *ret_mem)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct mem m = { 0 };
	int r;

	if (!len || len > SIZE_MAX / 2)
		return -EINVAL;
	m.len = round_up(len, page);
	m.mapped = m.len;
	m.va = MAP_FAILED;
	if (flags & MEM_HUGE) {
		m.mapped = round_up(len, MEM_HUGE_PAGE);
		m.va = map_anon(m.mapped, MAP_HUGETLB |
				(flags & MEM_POPULATE ? MAP_POPULATE : 0));
		m.huge = m.va != MAP_FAILED;
	}
	if (m.va == MAP_FAILED && is_too_large(m.mapped))
		return -ENOMEM;
	if (m.va == MAP_FAILED)
		m.va = map_anon(m.mapped, 0);
	if (m.va == MAP_FAILED)
		return -errno;
	if (!m.huge && (flags & MEM_HUGE))
		(void)madvise(m.va, m.mapped, MADV_HUGEPAGE);
	if (flags & MEM_POPULATE) {
		r = populate(m.va, m.mapped);
		if (r) {
			munmap(m.va, m.mapped);
			return r;
		}
	}
	*ret_mem = m;
	return 0;
}

/* ---- files ---------------------------------------------------------------------- */

int mem_fd_map(int fd, uint64_t off, size_t len, bool huge, struct mem *ret_mem)
{
	size_t page = huge ? MEM_HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
	struct mem m = { .len = len, .mapped = round_up(len, page), .huge = huge };

	m.va = mmap(NULL, m.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
	if (m.va == MAP_FAILED)
		return -errno;
	*ret_mem = m;
	return 0;
}

/* Makes a memory file of a fixed size: a process that maps it need not fear SIGBUS. */
int mem_file_make(const char *name, uint64_t len, bool huge, int *ret_fd)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd, r;

	fd = memfd_create(name, flags | (huge ? MFD_HUGETLB : 0));
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, len) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int new_file(const char *name, size_t len, bool huge, unsigned int flags,
		    int *ret_fd, struct mem *ret_mem)
{
	size_t unit = huge ? MEM_HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
	struct mem m;
	int r, fd;

	r = mem_file_make(name, round_up(len, unit), huge, &fd);
	if (r)
		return r;
	r = mem_fd_map(fd, 0, len, huge, &m);
	if (r)
		goto close_file;
	if (!huge && (flags & MEM_HUGE))
		(void)madvise(m.va, m.mapped, MADV_HUGEPAGE);
	if (flags & MEM_POPULATE)
		r = populate(m.va, m.mapped);
	if (r)
		goto unmap;
	*ret_fd = fd;
	*ret_mem = m;
	return 0;

unmap:
	mem_unmap(&m);
close_file:
	close(fd);
	return r;
}

int mem_file_new(const char *name, size_t len, unsigned int flags, int *ret_fd,
		 struct mem *ret_mem)
{
	if (!len || len > SIZE_MAX / 2)
		return -EINVAL;
	/* mmap() of hugetlb memory reserves its pages, or fails. */
	if ((flags & MEM_HUGE) && !new_file(name, len, true, flags, ret_fd, ret_mem))
		return 0;
	if (is_too_large(len))
		return -ENOMEM;
	return new_file(name, len, false, flags, ret_fd, ret_mem);
}

void mem_unmap(struct mem *mem)
{
	if (mem->mapped)
		munmap(mem->va, mem->mapped);
	*mem = (struct mem){ 0 };
}

bool mem_shrink(struct mem *mem)
{
	size_t some = mem->mapped < MEM_PIECE ? mem->mapped : MEM_PIECE;

	if (some)
		munmap((char *)mem->va + mem->mapped - some, some);
	mem->mapped -= some;
	if (!mem->mapped)
		*mem = (struct mem){ 0 };
	return !mem->mapped;
}
