// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pages by time, and which of them compute nodes report as used. */
#include <lease/use.h>
#include "bed/load.h"

static struct bed bed;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static void test_sums(void **state)
{
	struct use u = { 0 };

	assert_int_equal(use_share(&u), 0);
	use_count(&u, 3, 4, 500);
	assert_int_equal(u.used_s.sum, 1);
	assert_int_equal(u.held_s.sum, 2);
	/* Parts of a page-second are not lost. */
	use_count(&u, 3, 4, 500);
	assert_int_equal(u.used_s.sum, 3);
	assert_int_equal(u.held_s.sum, 4);
	assert_int_equal(use_share(&u), 7500);
	use_count(&u, 0, 4, 3000);
	assert_int_equal(use_share(&u), 1875);
	assert_int_equal(u.used, 0);
	assert_int_equal(u.peak_used, 3);
	assert_int_equal(u.peak_held, 4);
	use_count(&u, 3, 9, 0);
	assert_int_equal(u.peak_held, 9);
	/* A year of the largest pool. */
	use_count(&u, 1ull << 29, 1ull << 29, UINT32_MAX);
	assert_int_equal(u.used_s.sum, 3 + (UINT32_MAX * (1ull << 29)) / 1000);
}

/* More used pages than held ones. */
static void test_liar(void **state)
{
	struct use u = { 0 };

	use_count(&u, UINT64_MAX, 10, 1000);
	assert_int_equal(u.used, 10);
	assert_int_equal(u.used_s.sum, 10);
	assert_int_equal(use_share(&u), 10000);
}

/* A page is not used any more when its slot has been freed, answered or not. */
static void test_sessions(void **state)
{
	uint64_t slot, before;
	struct bed_options o;
	struct sess *s;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_pass(&bed, 1000);
	assert_int_equal(bed.m.use.held_s.sum, 0);
	bed_connect(&bed, 0, 64, 1, 7);
	for (slot = 0; slot < 20; slot++)
		assert_int_equal(cnode_do(bed.nodes[0].cnode, 0, ODRP_WIRE_UNMAPPED_STORE,
					  slot, page), 0);
	bed_pass(&bed, 300);
	s = bed.m.sess[0];
	assert_true(s->tells_kept);
	assert_int_equal(s->use.used, 20);
	assert_int_equal(s->use.held, s->lent);
	assert_int_equal(bed.m.use.used, 20);
	/* Nobody else can have what is set aside. */
	assert_int_equal(bed.m.use.held, bed.m.pool.pages - lend_pages(&bed.m.lender));
	cnode_set_freed(bed.nodes[0].cnode, 8);
	bed_pass(&bed, 300);
	assert_int_equal(s->lease.used, 20);
	assert_int_equal(s->use.used, 12);
	before = s->use.used_s.sum;
	bed_pass(&bed, 10000);
	assert_in_range(s->use.used_s.sum - before, 119, 121);
	assert_int_equal(bed.m.use.peak_used, 20);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_liar),
		cmocka_unit_test(test_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
