// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sentences on rights and limits name what an administrator can change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>
#include <own/words.h>

static char text[300];

static void says(const char *what)
{
	if (!strstr(text, what))
		fail_msg("no \"%s\" in: %s", what, text);
}

static void test_register(void **state)
{
	struct rlimit limit;
	char user[32];

	snprintf(user, sizeof(user), "user %u ", geteuid());
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	limit.rlim_cur = 64 << 10;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	assert_int_equal(own_words(text, sizeof(text), OWN_TRIED_REGISTER, 0, -ENOMEM),
			 -ENOMEM);
	says("memory cannot be registered");
	says("Cannot allocate memory");
	says(user);
	says("64 KB");
	says("RLIMIT_MEMLOCK");
}

static void test_rdma(void **state)
{
	assert_int_equal(own_words(text, sizeof(text), OWN_TRIED_RDMA, 0, -ENODEV), -ENODEV);
	says(access("/dev/infiniband", F_OK) ? "there is no /dev/infiniband" : "RDMA");
}

static void test_memory(void **state)
{
	assert_int_equal(own_words(text, sizeof(text), OWN_TRIED_MEMORY, UINT64_C(1) << 60,
				   -ENOMEM), -ENOMEM);
	says("1099511627776 MB of memory are needed, and ");
	says(" MB are available (/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_register),
		cmocka_unit_test(test_rdma),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
