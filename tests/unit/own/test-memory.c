// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How much memory is available where memory groups of either version limit it. The test
 * makes the files of a machine below a directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <own/memory.h>

static char root[] = "/tmp/own-memory-XXXXXX";

/* Makes a file and the directories above it. */
static void file_put(const char *path, const char *text)
{
	char full[600];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		mkdir(full, 0700);
		*at = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	memcpy(root + sizeof(root) - 7, "XXXXXX", 7);
	assert_non_null(mkdtemp(root));
	file_put("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n");
	return 0;
}

static int teardown(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void expect(uint64_t bytes, const char *limit)
{
	char said[OWN_LIMIT_MAX];

	assert_int_equal(own_memory_available_at(root, said), bytes);
	assert_string_equal(said, limit);
}

static void test_none(void **state)
{
	expect(8000 << 10, "/proc/meminfo");
	file_put("/proc/meminfo", "MemTotal: 9000 kB\n");
	expect(UINT64_MAX, "");
}

static void test_v2(void **state)
{
	file_put("/proc/self/cgroup", "0::/system.slice/mnode.service\n");
	file_put("/proc/self/mountinfo",
		 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
	file_put("/sys/fs/cgroup/system.slice/mnode.service/memory.max", "max\n");
	file_put("/sys/fs/cgroup/system.slice/mnode.service/memory.current", "4096\n");
	expect(8000 << 10, "/proc/meminfo");
	/* a group above */
	file_put("/sys/fs/cgroup/system.slice/memory.max", "100000\n");
	file_put("/sys/fs/cgroup/system.slice/memory.current", "60000\n");
	expect(40000, "/sys/fs/cgroup/system.slice/memory.max");
	/* what is cached can be taken back */
	file_put("/sys/fs/cgroup/system.slice/memory.stat",
		 "anon 1000\ninactive_file 20000\nactive_file 10000\n");
	expect(70000, "/sys/fs/cgroup/system.slice/memory.max");
	/* its own */
	file_put("/sys/fs/cgroup/system.slice/mnode.service/memory.max", "8192\n");
	expect(4096, "/sys/fs/cgroup/system.slice/mnode.service/memory.max");
	file_put("/sys/fs/cgroup/system.slice/mnode.service/memory.max", "100\n");
	expect(0, "/sys/fs/cgroup/system.slice/mnode.service/memory.max");
}

static void test_v1(void **state)
{
	file_put("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n1:name=systemd:/a\n");
	file_put("/proc/self/mountinfo",
		 "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		 "32 23 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n");
	file_put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	file_put("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "5000\n");
	file_put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "30000\n");
	file_put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "10000\n");
	expect(20000, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
	file_put("/sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 4000\n");
	expect(24000, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
}

/* A container has its own group at the mount, whatever its path is outside. */
static void test_container(void **state)
{
	file_put("/proc/self/cgroup", "4:memory:/docker/1234\n");
	file_put("/proc/self/mountinfo",
		 "32 23 0:28 /docker/1234 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	file_put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "30000\n");
	file_put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "10000\n");
	expect(20000, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
	/* that of another one, and none of its own is to be seen */
	file_put("/proc/self/cgroup", "4:memory:/docker/12345\n");
	expect(20000, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_v2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_v1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_container, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
