// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Numbers that people type.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/base/parse.h"

static void test_counts(void **state)
{
	uint64_t v = 7;

	assert_int_equal(far_parse_count("0", 0, 9, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(far_parse_count("0x1f", 0, 99, &v), 0);
	assert_int_equal(v, 31);
	assert_int_equal(far_parse_count("18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, UINT64_MAX);
	v = 7;
	assert_int_equal(far_parse_count("18446744073709551616", 0, UINT64_MAX, &v),
			 -ERANGE);
	assert_int_equal(far_parse_count("10", 0, 9, &v), -ERANGE);
	assert_int_equal(far_parse_count("1", 2, 9, &v), -ERANGE);
	assert_int_equal(far_parse_count("", 0, 9, &v), -EINVAL);
	assert_int_equal(far_parse_count("-1", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(far_parse_count(" 1", 0, 9, &v), -EINVAL);
	assert_int_equal(far_parse_count("1 ", 0, 9, &v), -EINVAL);
	assert_int_equal(far_parse_count("1K", 0, 9999, &v), -EINVAL);
	assert_int_equal(v, 7);
}

static void test_sizes(void **state)
{
	uint64_t v = 7;

	assert_int_equal(far_parse_size("4096", 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, 4096);
	assert_int_equal(far_parse_size("64k", 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, 65536);
	assert_int_equal(far_parse_size("3GB", 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, UINT64_C(3) << 30);
	assert_int_equal(far_parse_size("16T", 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, UINT64_C(16) << 40);
	v = 7;
	assert_int_equal(far_parse_size("16777216T", 0, UINT64_MAX, &v), -ERANGE);
	assert_int_equal(far_parse_size("1G", 0, 1 << 20, &v), -ERANGE);
	assert_int_equal(far_parse_size("1X", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(far_parse_size("1GG", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(far_parse_size("G", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(v, 7);
}

static void test_spans(void **state)
{
	uint64_t from = 7, to = 7;

	assert_int_equal(far_parse_span("5", 1, 9, &from, &to), 0);
	assert_int_equal(from, 5);
	assert_int_equal(to, 5);
	assert_int_equal(far_parse_span("2..9", 1, 9, &from, &to), 0);
	assert_int_equal(from, 2);
	assert_int_equal(to, 9);
	assert_int_equal(far_parse_span("9..2", 1, 9, &from, &to), -ERANGE);
	assert_int_equal(far_parse_span("2..10", 1, 9, &from, &to), -ERANGE);
	assert_int_equal(far_parse_span("0..3", 1, 9, &from, &to), -ERANGE);
	assert_int_equal(far_parse_span("2..", 1, 9, &from, &to), -EINVAL);
	assert_int_equal(far_parse_span("2-3", 1, 9, &from, &to), -EINVAL);
	assert_int_equal(from, 2);
}

static void test_reals(void **state)
{
	double v = 7;

	assert_int_equal(far_parse_real("0.99", 0, 1, &v), 0);
	assert_true(v == 0.99);
	assert_int_equal(far_parse_real("1e3", 0, 1000, &v), 0);
	assert_true(v == 1000);
	assert_int_equal(far_parse_real("1.5", 0, 1, &v), -ERANGE);
	assert_int_equal(far_parse_real("nan", 0, 1, &v), -EINVAL);
	assert_int_equal(far_parse_real("-0.5", 0, 1, &v), -EINVAL);
	assert_int_equal(far_parse_real("0.5x", 0, 1, &v), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_reals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
