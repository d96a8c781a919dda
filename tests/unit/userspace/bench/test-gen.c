// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * YCSB's distributions against exact tables: the probability of the hottest key,
 * zeta, chi-square over all ranks, the bijection, and growth.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/bench/gen.h"
#include "../../../../userspace/bench/ycsb.h"

/* Known to more digits than are asked for: the sum, term by term. */
static double zeta_by_terms(uint64_t n, double theta)
{
	double sum = 0;
	uint64_t r;

	for (r = n; r >= 1; r--)
		sum += pow((double)r, -theta);
	return sum;
}

static void test_zeta(void **state)
{
	static const double theta[] = { 0, 0.5, 0.99, 1, 1.2 };
	static const uint64_t n[] = { 1, 2, 999, 1000, 1001, 300000 };
	unsigned i, k;

	for (i = 0; i < 5; i++)
		for (k = 0; k < 6; k++)
			assert_true(fabs(gen_zeta(n[k], theta[i]) /
					 zeta_by_terms(n[k], theta[i]) - 1) < 1e-9);
	/* What SMART's keys have, and what Java YCSB compiles in. */
	assert_true(fabs(1 / gen_zeta(100000000, 0.99) - 0.0481) < 0.0001);
	assert_true(fabs(gen_zeta(10000000000, 0.99) - 26.46902820178302) < 1e-6);
}

/*
 * Chi-square of draws against the exact probabilities; with n - 1 degrees of freedom
 * its mean is n - 1 and its deviation sqrt(2n): 5 deviations are asked for.
 */
static void chi_square(enum gen_kind kind, uint64_t n, double theta, unsigned draws)
{
	uint64_t *count = calloc(n, sizeof(*count));
	double zeta = gen_zeta(n, theta), want, sum = 0;
	struct gen gen, ranks;
	uint64_t i, key;

	assert_non_null(count);
	assert_int_equal(gen_init(&gen, kind, n, theta, 42), 0);
	for (i = 0; i < draws; i++) {
		key = gen_next(&gen);
		assert_true(key < n);
		count[key]++;
	}
	ranks = gen;
	for (i = 0; i < n; i++) {
		want = draws * pow((double)i + 1, -theta) / zeta;
		key = i;
		if (kind == GEN_SCRAMBLED)
			key = (uint64_t)(((unsigned __int128)i * ranks.mul +
					  ranks.add) % n);
		else if (kind == GEN_LATEST)
			key = n - 1 - i;
		sum += (count[key] - want) * (count[key] - want) / want;
	}
	assert_true(fabs(sum - (n - 1)) < 5 * sqrt(2.0 * n));
	free(count);
}

static void test_chi_square(void **state)
{
	static const double theta[] = { 0, 0.5, 0.99, 1, 1.5 };
	unsigned i;

	for (i = 0; i < 5; i++) {
		chi_square(GEN_ZIPFIAN, 100, theta[i], 1000000);
		chi_square(GEN_SCRAMBLED, 1000, theta[i], 1000000);
		chi_square(GEN_LATEST, 100, theta[i], 1000000);
	}
	chi_square(GEN_UNIFORM, 1000, 0, 1000000);
}

static void test_hottest_of_many(void **state)
{
	const unsigned draws = 2000000;
	struct gen gen;
	unsigned i, hits = 0;
	double p = 1 / gen_zeta(100000000, 0.99);

	assert_int_equal(gen_init(&gen, GEN_ZIPFIAN, 100000000, 0.99, 7), 0);
	for (i = 0; i < draws; i++)
		hits += gen_next(&gen) == 0;
	assert_true(fabs(hits - draws * p) < 5 * sqrt(draws * p * (1 - p)));
}

static void test_bijection(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 4, 10, 15, 97, 1000, 4096, 65537 };
	static uint8_t seen[65537];
	struct gen gen;
	uint64_t n, r, key;
	unsigned i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		n = sizes[i];
		memset(seen, 0, sizeof(seen));
		assert_int_equal(gen_init(&gen, GEN_SCRAMBLED, n, 0.99, 1), 0);
		for (r = 0; r < n; r++) {
			key = (uint64_t)(((unsigned __int128)r * gen.mul + gen.add) % n);
			assert_int_equal(seen[key], 0);
			seen[key] = 1;
		}
	}
}

static void test_latest_grows(void **state)
{
	struct gen gen;
	uint64_t n;
	unsigned i, newest = 0;

	assert_int_equal(gen_init(&gen, GEN_LATEST, 10, 0.99, 3), 0);
	for (n = 10; n < 2000; n++) {
		gen_grow(&gen, n);
		for (i = 0; i < 10; i++) {
			uint64_t key = gen_next(&gen);

			assert_true(key < n);
			newest += key == n - 1;
		}
	}
	/* 1/zeta(n) of all, n from 10 to 2000: between .12 and .34 each. */
	assert_in_range(newest, 19900 * 12 / 100, 19900 * 34 / 100);
}

static void test_bad_values(void **state)
{
	enum gen_kind kind;
	struct gen gen;

	assert_int_equal(gen_init(&gen, GEN_UNIFORM, 0, 0, 1), -22);
	assert_int_equal(gen_init(&gen, GEN_ZIPFIAN, 10, -0.1, 1), -22);
	assert_int_equal(gen_init(&gen, GEN_ZIPFIAN, 10, NAN, 1), -22);
	assert_int_equal(gen_kind_parse("zipf", &kind), -22);
	assert_int_equal(gen_kind_parse("latest", &kind), 0);
	assert_int_equal(kind, GEN_LATEST);
}

static void test_same_seed_same_draws(void **state)
{
	struct gen a, b, c;
	unsigned i, other = 0;

	assert_int_equal(gen_init(&a, GEN_SCRAMBLED, 1000000, 0.99, 5), 0);
	assert_int_equal(gen_init(&b, GEN_SCRAMBLED, 1000000, 0.99, 5), 0);
	assert_int_equal(gen_init(&c, GEN_SCRAMBLED, 1000000, 0.99, 6), 0);
	for (i = 0; i < 1000; i++) {
		uint64_t key = gen_next(&a);

		assert_int_equal(key, gen_next(&b));
		other += key != gen_next(&c);
	}
	assert_true(other > 500);
}

#define EMAILS	100000u

static int order(const void *a, const void *b)
{
	return memcmp(a, b, YCSB_MIN_EMAIL_KEY);
}

/* Keys like addresses: all different, and half of them of five domains. */
static void test_emails(void **state)
{
	const struct ycsb_data data = { .key_type = YCSB_KEY_EMAIL,
					.key_size = YCSB_MIN_EMAIL_KEY };
	char (*key)[YCSB_MIN_EMAIL_KEY] = calloc(EMAILS + 1, sizeof(*key));
	unsigned i, k, of_domain = 0, domains = 1, large = 0;

	for (i = 0; i < EMAILS; i++) {
		ycsb_key(&data, i, key[i]);
		assert_non_null(memchr(key[i], '@', 12));
		for (k = 0; k < sizeof(*key); k++)
			assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz0123456789.@",
					       key[i][k]));
	}
	qsort(key, EMAILS, sizeof(*key), order);
	for (i = 1; i <= EMAILS; i++) {
		assert_true(i == EMAILS || memcmp(key[i - 1], key[i], sizeof(*key)) < 0);
		of_domain++;
		k = (char *)memchr(key[i - 1], '@', sizeof(*key)) - key[i - 1];
		if (i < EMAILS && !memcmp(key[i - 1], key[i], k + 1))
			continue;
		large += of_domain > EMAILS / 20 ? of_domain : 0;
		of_domain = 0;
		domains++;
	}
	assert_in_range(large, EMAILS * 45 / 100, EMAILS * 65 / 100);
	assert_in_range(domains, 150, 426);
	/* the longest number there is, too, and longer keys */
	ycsb_key(&data, 99999999999, key[0]);
	assert_memory_not_equal(key[0], key[1], sizeof(*key));
	free(key);
}

static void test_key_types(void **state)
{
	enum ycsb_key_type type;

	assert_int_equal(ycsb_key_type_parse("email", &type), 0);
	assert_int_equal(type, YCSB_KEY_EMAIL);
	assert_string_equal(ycsb_key_type_name(type), "email");
	assert_int_equal(ycsb_least_key(type), 32);
	assert_int_equal(ycsb_key_type_parse("mail", &type), -22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeta),
		cmocka_unit_test(test_chi_square),
		cmocka_unit_test(test_hottest_of_many),
		cmocka_unit_test(test_bijection),
		cmocka_unit_test(test_latest_grows),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_same_seed_same_draws),
		cmocka_unit_test(test_emails),
		cmocka_unit_test(test_key_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
