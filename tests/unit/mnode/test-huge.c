// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The agent says that a large pool has no huge pages, and how many it would need. */
#include "bed/agent.h"

static char said[512];
static bool huge;

void __wrap_log_line(int level, const char *fmt, ...);
int __real_mem_file_new(const char *name, size_t len, unsigned int flags, int *ret_fd,
			struct mem *ret_mem);
int __wrap_mem_file_new(const char *name, size_t len, unsigned int flags, int *ret_fd,
			struct mem *ret_mem);

void __wrap_log_line(int level, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (strstr(line, "huge pages"))
		memcpy(said, line, sizeof(said));
}

/* A machine that has huge pages, or none, whatever this one has. */
int __wrap_mem_file_new(const char *name, size_t len, unsigned int flags, int *ret_fd,
			struct mem *ret_mem)
{
	int r = __real_mem_file_new(name, len, flags & ~MEM_HUGE, ret_fd, ret_mem);

	ret_mem->huge = !r && huge && flags & MEM_HUGE;
	return r;
}

static void start(uint64_t pool)
{
	struct bed_options opts;
	static struct bed b;

	*said = 0;
	bed_options(&opts);
	opts.conf.pool = pool;
	opts.conf.populate = false;
	opts.conf.store_pages = 1024;
	bed_open(&b, &opts, 0);
	bed_close(&b);
}

static void test_said(void **state)
{
	start(1 << 30);
	assert_non_null(strstr(said, "no huge pages for 1024 MB"));
	assert_non_null(strstr(said, "vm.nr_hugepages=512 "));
	start((1 << 30) + ODRP_WIRE_PAGE_SIZE);
	assert_non_null(strstr(said, "vm.nr_hugepages=513 "));
	start((1 << 30) - ODRP_WIRE_PAGE_SIZE);
	assert_string_equal(said, "");
	huge = true;
	start(1 << 30);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
