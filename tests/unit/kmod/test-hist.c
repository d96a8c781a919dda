/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histogram: buckets tile the numbers, percentiles, sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../kmod/hist.h"

static struct odrp_hist h;

static int clear(void **state)
{
	memset(&h, 0, sizeof(h));
	return 0;
}

static void put(u64 v, u64 times)
{
	h.n[odrp_hist_index(v)] += times;
	if (v > h.max)
		h.max = v;
}

/* Each bucket ends where the next begins, to within a quarter of its value. */
static void test_hist_buckets_tile(void **state)
{
	unsigned int i;

	for (i = 0; i + 1 < ODRP_HIST_NR; i++) {
		u64 up = odrp_hist_upper(i);

		assert_int_equal(odrp_hist_index(up), i);
		assert_int_equal(odrp_hist_index(up + 1), i + 1);
		if (i)
			assert_true(up - odrp_hist_upper(i - 1) <= up / 4 + 1);
	}
	assert_int_equal(odrp_hist_index(0), 0);
	assert_int_equal(odrp_hist_index(UINT64_MAX), ODRP_HIST_NR - 1);
}

static void test_hist_percentiles(void **state)
{
	assert_int_equal(odrp_hist_percentile(&h, 50), 0);
	put(100, 90);
	put(100000, 9);
	put(5000000, 1);
	assert_in_range(odrp_hist_percentile(&h, 50), 100, 125);
	assert_in_range(odrp_hist_percentile(&h, 90), 100, 125);
	assert_in_range(odrp_hist_percentile(&h, 91), 100000, 125000);
	assert_in_range(odrp_hist_percentile(&h, 99), 100000, 125000);
	assert_int_equal(odrp_hist_percentile(&h, 100), 5000000);
}

/* A bucket's upper bound is never told when nothing was that large. */
static void test_hist_not_above_max(void **state)
{
	put(1025, 1);
	assert_int_equal(odrp_hist_percentile(&h, 50), 1025);
}

static void test_hist_add(void **state)
{
	static struct odrp_hist sum;

	put(10, 3);
	memset(&sum, 0, sizeof(sum));
	odrp_hist_add(&sum, &h);
	odrp_hist_add(&sum, &h);
	assert_int_equal(sum.n[odrp_hist_index(10)], 6);
	assert_int_equal(sum.max, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hist_buckets_tile),
		cmocka_unit_test_setup(test_hist_percentiles, clear),
		cmocka_unit_test_setup(test_hist_not_above_max, clear),
		cmocka_unit_test_setup(test_hist_add, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
