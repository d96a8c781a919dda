// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory in huge pages where it can be: see pages.h. */
#include "pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LOG_HUGE	21u	/* of FAR_HUGE_PAGE */
#define POOL	"/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define MODE	"/sys/kernel/mm/transparent_hugepage/enabled"

static void *map_anon(size_t len, int flags)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
		    -1, 0);
}

static size_t round_up(size_t len)
{
	return (len + FAR_HUGE_PAGE - 1) & ~(FAR_HUGE_PAGE - 1);
}

/* At a multiple of the huge page's size, and no more than len. */
static void *map_aligned(size_t len)
{
	uint8_t *all = map_anon(len + FAR_HUGE_PAGE, 0), *base;
	size_t before;

	if (all == MAP_FAILED)
		return MAP_FAILED;
	before = -(uintptr_t)all & (FAR_HUGE_PAGE - 1);
	base = all + before;
	if (before)
		munmap(all, before);
	munmap(base + len, FAR_HUGE_PAGE - before);
	return base;
}

int far_pages_map(size_t len, struct far_pages *ret_pages)
{
	struct far_pages pages = { .mapped = round_up(len) };

	if (len < FAR_HUGE_PAGE) {
		pages.mapped = (len + 4095) & ~(size_t)4095;
		pages.base = map_anon(pages.mapped, 0);
		goto mapped;
	}
	pages.base = map_anon(pages.mapped, MAP_HUGETLB | LOG_HUGE << MAP_HUGE_SHIFT);
	pages.huge = pages.base != MAP_FAILED;
	if (pages.huge)
		goto mapped;
	pages.base = map_aligned(pages.mapped);
	if (pages.base != MAP_FAILED)
		(void)madvise(pages.base, pages.mapped, MADV_HUGEPAGE);
mapped:
	if (pages.base == MAP_FAILED)
		return -ENOMEM;
	*ret_pages = pages;
	return 0;
}

void far_pages_unmap(struct far_pages *pages)
{
	if (pages->base)
		munmap(pages->base, pages->mapped);
	pages->base = NULL;
}

/* ---- what the system has ---- */

static int line_read(const char *path, char *line, int len)
{
	FILE *file = fopen(path, "re");
	int err = 0;

	if (!file)
		return -errno;
	if (!fgets(line, len, file))
		err = -ENODATA;
	fclose(file);
	return err;
}

static int number_read(const char *path, uint64_t *ret_number)
{
	char line[32];
	int err = line_read(path, line, sizeof(line));

	if (err)
		return err;
	return sscanf(line, "%" SCNu64, ret_number) == 1 ? 0 : -ENODATA;
}

int far_pages_info(struct far_pages_info *ret_info)
{
	struct far_pages_info info = { .free = 0 };
	char line[64];
	int err = number_read(POOL "free_hugepages", &info.free);

	if (!err)
		err = number_read(POOL "nr_hugepages", &info.total);
	if (err)
		return err;
	/* "always [madvise] never" */
	if (!line_read(MODE, line, sizeof(line)) && strchr(line, '['))
		sscanf(strchr(line, '['), "[%15[a-z]", info.transparent);
	*ret_info = info;
	return 0;
}
