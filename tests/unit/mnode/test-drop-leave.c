// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages of a compute node that are in no place, and then it says goodbye: they
 * were lost as long as somebody else had a session.  Found by fuzz-client, class
 * "death", when there were stores that lost the page of a slot.
 */
#include "bed/agent.h"

static struct bed bed;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static void test_all_are_back(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 16, 1, 7);
	bed_connect(&bed, 1, 16, 1, 7);
	for (i = 0; i < 10; i++) {
		assert_int_equal(cnode_do(bed.nodes[0].cnode, 0,
					  ODRP_WIRE_UNMAPPED_STORE, 3, page),
				 0);
		bed_drop(&bed, 0, 3);
	}
	bed_leave(&bed, 0);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_int_equal(bed.m.sess_left, 1);
	bed_check(&bed, 0);
	/* All but what the other's stores receive into. */
	assert_int_equal(manager_free_pages(&bed.m) + bed_registers(&bed, 8),
			 bed.m.pool.pages);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_are_back) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
