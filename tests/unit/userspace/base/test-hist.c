// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Histograms: percentiles against sorted values, ends, merging.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/base/hist.h"

#define NR	20000u

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Values of all magnitudes. */
static void values_fill(uint64_t *value)
{
	uint64_t x = 88172645463325252u;
	unsigned i;

	for (i = 0; i < NR; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		value[i] = x >> (x % 64);
	}
}

static void test_percentiles(void **state)
{
	static const unsigned permille[] = { 0, 1, 10, 500, 900, 990, 999, 1000 };
	static uint64_t value[NR];
	static struct far_hist hist;
	uint64_t got, want;
	unsigned i, rank;

	values_fill(value);
	far_hist_init(&hist);
	for (i = 0; i < NR; i++)
		far_hist_add(&hist, value[i]);
	qsort(value, NR, sizeof(value[0]), compare);
	assert_int_equal(hist.min, value[0]);
	assert_int_equal(hist.max, value[NR - 1]);
	for (i = 0; i < sizeof(permille) / sizeof(permille[0]); i++) {
		rank = (NR * permille[i] + 999) / 1000;
		want = value[rank ? rank - 1 : 0];
		got = far_hist_permille(&hist, permille[i]);
		assert_true(got >= want);
		assert_true(got - want <= want / 64);
	}
}

static void test_small_values_are_exact(void **state)
{
	static struct far_hist hist;
	uint64_t v;

	far_hist_init(&hist);
	assert_int_equal(far_hist_permille(&hist, 500), 0);
	for (v = 0; v < 100; v++)
		far_hist_add(&hist, v / 2);
	assert_int_equal(far_hist_permille(&hist, 500), 24);
	assert_int_equal(far_hist_permille(&hist, 1000), 49);
	assert_int_equal(hist.sum, 49 * 50);
}

static void test_ends(void **state)
{
	static struct far_hist hist;

	far_hist_init(&hist);
	far_hist_add(&hist, UINT64_MAX);
	assert_int_equal(far_hist_permille(&hist, 0), UINT64_MAX);
	assert_int_equal(far_hist_permille(&hist, 500), UINT64_MAX);
	far_hist_add(&hist, 0);
	assert_int_equal(far_hist_permille(&hist, 500), 0);
	assert_int_equal(far_hist_permille(&hist, 501), UINT64_MAX);
}

static void test_merge(void **state)
{
	static uint64_t value[NR];
	static struct far_hist all, part[2];
	unsigned i;

	values_fill(value);
	far_hist_init(&all);
	far_hist_init(&part[0]);
	far_hist_init(&part[1]);
	for (i = 0; i < NR; i++) {
		far_hist_add(&all, value[i]);
		far_hist_add(&part[i % 2], value[i]);
	}
	far_hist_merge(&part[0], &part[1]);
	assert_memory_equal(&part[0], &all, sizeof(all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_small_values_are_exact),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
