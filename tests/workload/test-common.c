/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The workloads' own instruments: a verifier that sees every kind of damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common.h"

#define SEED	42

static uint64_t page[PAGE_WORDS];

static void test_stamped_page_verifies(void **state)
{
	page_stamp(page, SEED, 17, 3);
	assert_int_equal(page_verify(page, SEED, 17, 3), -1);
}

static void test_every_byte_counts(void **state)
{
	uint8_t *bytes = (uint8_t *)page;
	size_t i;

	page_stamp(page, SEED, 17, 3);
	for (i = 0; i < PAGE_BYTES; i++) {
		bytes[i] ^= 0x10;
		assert_int_equal(page_verify(page, SEED, 17, 3),
				 i / sizeof(page[0]));
		bytes[i] ^= 0x10;
	}
}

static void test_other_page_version_or_seed_is_wrong(void **state)
{
	page_stamp(page, SEED, 17, 3);
	assert_int_equal(page_verify(page, SEED, 18, 3), 0);
	assert_int_equal(page_verify(page, SEED, 17, 2), 0);
	assert_int_equal(page_verify(page, SEED + 1, 17, 3), 0);
	assert_int_equal(page_verify(page, SEED, 17, 0), 0);
}

static void test_shifted_page_is_wrong(void **state)
{
	page_stamp(page, SEED, 17, 3);
	memmove(page, page + 1, PAGE_BYTES - sizeof(page[0]));
	assert_int_equal(page_verify(page, SEED, 17, 3), 0);
}

static void test_version_zero_is_zeros(void **state)
{
	memset(page, 0, sizeof(page));
	assert_int_equal(page_verify(page, SEED, 17, 0), -1);
	assert_int_equal(page_verify(page, SEED, 17, 1), 0);
	page[PAGE_WORDS - 1] = 1;
	assert_int_equal(page_verify(page, SEED, 17, 0), PAGE_WORDS - 1);
}

static void test_permute_hits_each_once(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 17, 64, 1000, 4097 };
	uint8_t seen[4097];
	uint64_t i, j, p;

	for (j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
		memset(seen, 0, sizeof(seen));
		for (i = 0; i < sizes[j]; i++) {
			p = permute(i, sizes[j], SEED);
			assert_true(p < sizes[j]);
			assert_int_equal(seen[p]++, 0);
		}
	}
}

static void test_next_below_stays_below(void **state)
{
	uint64_t random = SEED, i;
	int seen[5] = { 0 };

	for (i = 0; i < 1000; i++)
		seen[next_below(&random, 5)]++;
	for (i = 0; i < 5; i++)
		assert_in_range(seen[i], 120, 280);
}

/* The last: it stays so. */
static void test_compressible_pages_are_verified_too(void **state)
{
	uint64_t *last = &page[PAGE_WORDS - 1];

	pages_compressible();
	page_stamp(page, SEED, 17, 3);
	assert_memory_equal(page, page + PAGE_WORDS / 8, PAGE_BYTES / 8);
	assert_int_equal(page_verify(page, SEED, 17, 3), -1);
	assert_int_equal(page_verify(page, SEED, 17, 2), 0);
	++*last;
	assert_int_equal(page_verify(page, SEED, 17, 3), PAGE_WORDS - 1);
	memset(page, 0, sizeof(page));
	assert_int_equal(page_verify(page, SEED, 17, 0), -1);
	*last = 1;
	assert_int_equal(page_verify(page, SEED, 17, 0), PAGE_WORDS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stamped_page_verifies),
		cmocka_unit_test(test_every_byte_counts),
		cmocka_unit_test(test_other_page_version_or_seed_is_wrong),
		cmocka_unit_test(test_shifted_page_is_wrong),
		cmocka_unit_test(test_version_zero_is_zeros),
		cmocka_unit_test(test_permute_hits_each_once),
		cmocka_unit_test(test_next_below_stays_below),
		cmocka_unit_test(test_compressible_pages_are_verified_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
