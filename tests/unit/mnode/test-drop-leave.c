// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A compute node that drops pages, by unmapped stores to a slot that is mapped,
 * and then says goodbye: they were lost as long as somebody else had a session.
 * Found by fuzz-client, class "death".
 */
#include "bed.h"

static struct bed bed;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static void test_all_are_back(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	o.conf.exchange = false;	/* one that does not break by it */
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 16, 1, 7);
	bed_connect(&bed, 1, 16, 1, 7);
	for (i = 0; i < 10; i++)
		assert_int_equal(cnode_do(bed.nodes[0].cnode, 0,
					  ODRP_WIRE_UNMAPPED_STORE, 3, page),
				 0);
	cnode_close(bed.nodes[0].cnode);
	bed.nodes[0].cnode = NULL;
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_int_equal(bed.m.sess_left, 1);
	bed_check(&bed, 0);
	assert_int_equal(manager_free_pages(&bed.m), bed.m.pool.pages);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_are_back) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
