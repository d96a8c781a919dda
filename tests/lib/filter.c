// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Part of each test program: CMOCKA_TEST_FILTER names the tests of its groups that are
 * run, as a pattern with "*" and "?".  cmocka itself reads no environment for that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void __attribute__((constructor)) filter_set(void)
{
	cmocka_set_test_filter(getenv("CMOCKA_TEST_FILTER"));
}
