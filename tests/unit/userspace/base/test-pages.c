// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory in huge pages: where there are some, where there are none, and no memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../../userspace/base/pages.h"

/* ---- a system of our own; mmap64 is what mmap() is with offsets of 64 bits ---- */

static struct {
	int has_huge, has_memory;
	unsigned huge_maps, advised;
	long mapped;			/* bytes */
} sys;

void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __real_munmap(void *addr, size_t len);
int __wrap_munmap(void *addr, size_t len);
int __real_madvise(void *addr, size_t len, int advice);
int __wrap_madvise(void *addr, size_t len, int advice);

void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	if (!sys.has_memory || (flags & MAP_HUGETLB && !sys.has_huge)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (flags & MAP_HUGETLB) {
		assert_int_equal(len % FAR_HUGE_PAGE, 0);
		sys.huge_maps++;
	}
	sys.mapped += len;
	return __real_mmap64(addr, len, prot, flags & ~(MAP_HUGETLB | 63u << 26), fd, off);
}

int __wrap_munmap(void *addr, size_t len)
{
	sys.mapped -= len;
	return __real_munmap(addr, len);
}

/* Kernels without transparent huge pages say -EINVAL. */
int __wrap_madvise(void *addr, size_t len, int advice)
{
	sys.advised += advice == MADV_HUGEPAGE;
	errno = EINVAL;
	return -1;
}

/* ---- tests ---- */

static void map_use_unmap(size_t len, int huge)
{
	struct far_pages pages;

	assert_int_equal(far_pages_map(len, &pages), 0);
	assert_int_equal(pages.huge, huge);
	assert_true(pages.mapped >= len);
	assert_int_equal(sys.mapped, pages.mapped);
	assert_int_equal(((uint8_t *)pages.base)[len - 1], 0);
	memset(pages.base, 1, len);
	far_pages_unmap(&pages);
	far_pages_unmap(&pages);
	assert_int_equal(sys.mapped, 0);
}

static void test_some(void **state)
{
	memset(&sys, 0, sizeof(sys));
	sys.has_memory = sys.has_huge = 1;
	map_use_unmap(FAR_HUGE_PAGE, 1);
	map_use_unmap(FAR_HUGE_PAGE + 1, 1);
	assert_int_equal(sys.huge_maps, 2);
	/* Not for what would leave most of it empty. */
	map_use_unmap(FAR_HUGE_PAGE - 1, 0);
	map_use_unmap(1, 0);
	assert_int_equal(sys.huge_maps, 2);
}

static void test_none(void **state)
{
	struct far_pages pages[8];
	unsigned i;

	memset(&sys, 0, sizeof(sys));
	sys.has_memory = 1;
	map_use_unmap(FAR_HUGE_PAGE, 0);
	map_use_unmap(5 * FAR_HUGE_PAGE - 1, 0);
	assert_int_equal(sys.advised, 2);
	for (i = 0; i < 8; i++) {
		assert_int_equal(far_pages_map(FAR_HUGE_PAGE + i, &pages[i]), 0);
		assert_int_equal((uintptr_t)pages[i].base % FAR_HUGE_PAGE, 0);
	}
	while (i)
		far_pages_unmap(&pages[--i]);
	assert_int_equal(sys.mapped, 0);
}

static void test_no_memory(void **state)
{
	struct far_pages pages = { .base = NULL };

	memset(&sys, 0, sizeof(sys));
	sys.has_huge = 1;
	assert_int_equal(far_pages_map(1, &pages), -ENOMEM);
	assert_int_equal(far_pages_map(FAR_HUGE_PAGE, &pages), -ENOMEM);
	assert_null(pages.base);
	assert_int_equal(sys.advised, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_some),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
