/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histogram: buckets tile the numbers, nothing is lost, percentiles, sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../kmod/hist.h"
#include "weave.h"

static struct odrp_hist_live live;
static struct odrp_hist h;

static int clear(void **state)
{
	memset(&live, 0, sizeof(live));
	memset(&h, 0, sizeof(h));
	return 0;
}

static void put(u64 v, u64 times)
{
	while (times--)
		odrp_hist_count(&live, v);
	memset(&h, 0, sizeof(h));
	odrp_hist_add(&h, &live);
}

/* Each bucket ends where the next begins, to within a quarter of its value. */
static void test_hist_buckets_tile(void **state)
{
	unsigned int i;

	for (i = 0; i + 1 < ODRP_HIST_NR; i++) {
		u64 up = odrp_hist_upper(i);

		assert_int_equal(odrp_hist_index(odrp_hist_lower(i)), i);
		assert_int_equal(odrp_hist_index(up), i);
		assert_int_equal(odrp_hist_lower(i + 1), up + 1);
		assert_int_equal(odrp_hist_index(up + 1), i + 1);
		if (i)
			assert_true(up - odrp_hist_upper(i - 1) <= up / 4 + 1);
	}
	assert_int_equal(odrp_hist_lower(0), 0);
	assert_int_equal(odrp_hist_index(odrp_hist_lower(i)), i);
	assert_int_equal(odrp_hist_upper(i), UINT64_MAX);
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
	static struct odrp_hist_live other;

	put(10, 3);
	odrp_hist_add(&h, &live);
	assert_int_equal(h.n[odrp_hist_index(10)], 6);
	assert_int_equal(h.max, 10);
	odrp_hist_count(&other, 9);
	odrp_hist_add(&h, &other);
	assert_int_equal(h.max, 10);
}

/* Longer than anything is expected to take. */
static void test_hist_endless(void **state)
{
	put(1ull << 50, 1);
	assert_int_equal(h.n[ODRP_HIST_NR - 1], 1);
	assert_int_equal(odrp_hist_percentile(&h, 50), 1ull << 50);
}

static void init(void)
{
	clear(NULL);
}

static void count0(void)
{
	odrp_hist_count(&live, 100);
	odrp_hist_count(&live, 7000);
}

static void count1(void)
{
	odrp_hist_count(&live, 5000);
	odrp_hist_count(&live, 100);
}

static void check(void)
{
	put(0, 0);
	assert_int_equal(h.n[odrp_hist_index(100)], 2);
	assert_int_equal(h.n[odrp_hist_index(5000)], 1);
	assert_int_equal(h.n[odrp_hist_index(7000)], 1);
	assert_int_equal(h.max, 7000);
}

/* Two count at once: both are there, and the larger is the largest. */
static void test_hist_two_at_once(void **state)
{
	const struct weave w = {
		.init = init, .check = check, .nr = 2,
		.thread = { count0, count1 },
	};

	assert_true(weave_all(&w) > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hist_buckets_tile),
		cmocka_unit_test_setup(test_hist_percentiles, clear),
		cmocka_unit_test_setup(test_hist_not_above_max, clear),
		cmocka_unit_test_setup(test_hist_add, clear),
		cmocka_unit_test_setup(test_hist_endless, clear),
		cmocka_unit_test(test_hist_two_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
