// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory whose size somebody else chooses: too much of it is an error, and not what
 * the kernel kills somebody for later.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <cmocka.h>
#include <page/mem.h>
#include <own/memory.h>
#include "bed/agent.h"

/* Nearly what the machine has: the kernel promises it, though some of it is in use. */
static size_t all_memory(void)
{
	struct sysinfo info;

	assert_int_equal(sysinfo(&info), 0);
	return info.totalram * info.mem_unit - 4 * MEM_LARGE;
}

static void more_than_there_is(void **state)
{
	uint64_t available = own_memory_available(NULL);
	struct mem mem;

	assert_true(available > MEM_LARGE && available <= all_memory());
	assert_int_equal(mem_map(all_memory(), 0, &mem), -ENOMEM);
	assert_int_equal(mem_map(all_memory(), MEM_HUGE, &mem), -ENOMEM);
	assert_int_equal(mem_map(MEM_LARGE, 0, &mem), 0);
	mem_unmap(&mem);
}

/* The agent says what it needs, and what there is. */
static void pool_too_large(void **state)
{
	static struct bed b;
	static struct manager m;
	struct bed_options opts;
	struct conf conf;
	char why[CONF_WHY_MAX];

	bed_options(&opts);
	bed_open(&b, &opts, 0);
	conf = b.opts.conf;
	conf.pool = all_memory() & ~(uint64_t)(ODRP_WIRE_PAGE_SIZE - 1);
	conf.populate = false;
	assert_int_equal(manager_init(&m, &conf, b.nic, why), -ENOMEM);
	assert_non_null(strstr(why, " MB of memory are needed"));
	assert_non_null(strstr(why, " MB are available"));
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_there_is),
		cmocka_unit_test(pool_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
