// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory of a virtual machine; see guest_mem.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "guest_mem.h"

/* Access to a mapping beyond the end of the file would raise SIGBUS, so the file's size
 * must be known to stay: a seal that nobody can remove says so. */
static int file_check(int fd, uint64_t end)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EPERM;
	if (fstat(fd, &st))
		return -errno;
	return (uint64_t)st.st_size < end ? -EINVAL : 0;
}

static int map_check(const struct snic_guest_map *m, int fd)
{
	uint64_t end;

	if (!m->size || m->gpa + m->size < m->gpa ||
	    m->user + m->size < m->user ||
	    __builtin_add_overflow(m->offset, m->size, &end))
		return -EINVAL;
	return file_check(fd, end);
}

int snic_guest_mem_add(struct snic_guest_mem *mem,
		       const struct snic_guest_map *map, int fd)
{
	struct snic_guest_region *r;
	int ret;

	if (mem->nr == SNIC_GUEST_REGIONS)
		return -EINVAL;
	ret = map_check(map, fd);
	if (ret)
		return ret;
	r = &mem->regions[mem->nr];
	r->map = *map;
	/* Map from the start: the offset need not be a multiple of the file's
	 * page size. */
	r->base_len = map->offset + map->size;
	r->base = mmap(NULL, r->base_len, PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);
	if (r->base == MAP_FAILED)
		return -errno;
	r->va = (uint8_t *)r->base + map->offset;
	mem->nr++;
	return 0;
}

void snic_guest_mem_clear(struct snic_guest_mem *mem)
{
	unsigned int i;

	for (i = 0; i < mem->nr; i++)
		munmap(mem->regions[i].base, mem->regions[i].base_len);
	mem->nr = 0;
}

/* user: addr is an address of the monitor, not of the guest. */
static void *mem_at(const struct snic_guest_mem *mem, bool user, uint64_t addr,
		    uint64_t len)
{
	const struct snic_guest_region *r;
	uint64_t off;

	for (r = mem->regions; r < mem->regions + mem->nr; r++) {
		/* off is huge if addr is below the region. */
		off = addr - (user ? r->map.user : r->map.gpa);
		if (off <= r->map.size && len <= r->map.size - off)
			return r->va + off;
	}
	return NULL;
}

void *snic_guest_mem_at(const struct snic_guest_mem *mem, uint64_t gpa,
			uint64_t len)
{
	return mem_at(mem, false, gpa, len);
}

void *snic_guest_mem_at_user(const struct snic_guest_mem *mem, uint64_t user,
			     uint64_t len)
{
	return mem_at(mem, true, user, len);
}
