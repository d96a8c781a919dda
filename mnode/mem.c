// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Anonymous mappings: hugetlb when asked for and available, else ordinary
 * pages with a request for transparent huge ones.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "mem.h"

#define HUGE_PAGE	(2ul << 20)
#define MEM_PIECE	(16ul << 20)	/* some milliseconds to give back, if it was used */

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

int mem_available(uint64_t *ret_bytes)
{
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kb;
	char line[128];
	int r = -ENODATA;

	if (!f)
		return -errno;
	while (r && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kb) == 1) {
			*ret_bytes = kb << 10;
			r = 0;
		}
	}
	fclose(f);
	return r;
}

/*
 * Who chose a size has to hear that it is too large: the kernel would promise it, and
 * kill somebody when it is used.
 */
static bool is_too_large(size_t len)
{
	uint64_t available;

	return len >= MEM_LARGE && !mem_available(&available) && len > available;
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
		m.mapped = round_up(len, HUGE_PAGE);
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
