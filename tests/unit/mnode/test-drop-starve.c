// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A compute node that drops one page after the other has few in its table, and
 * the agent, who looked there for those who take too many, did not find it: the
 * ring ran empty, and honest stores failed.  Found by fuzz-client, class "drop".
 * Its ring is its own now: it is its own stores that fail.
 */
#include "bed/agent.h"

static struct bed bed;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static void test_others_store(void **state)
{
	struct bed_options o;
	bool broken = false;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 1, 64, 1, 7);
	bed.nodes[0].cfg.ignore_lease = true;
	bed_connect(&bed, 0, 16, 1, 7);
	/* Three times what there is. */
	for (i = 0; i < 3 * bed.m.budget; i++) {
		if (cnode_do(bed.nodes[0].cnode, 0, ODRP_WIRE_UNMAPPED_STORE, 3,
			     page))
			broken = true;
		else
			bed_drop(&bed, 0, 3);
		if (i % 16 == 0)
			bed_pass(&bed, BED_TICK_MS);
		if (i % 64 == 0)
			assert_int_equal(cnode_do(bed.nodes[1].cnode, 0,
						  ODRP_WIRE_UNMAPPED_STORE,
						  i / 64, page), 0);
	}
	assert_true(broken);
	for (i = 0; i < ODRP_WIRE_NR_CHAINS; i++)
		assert_false(cnode_broken(bed.nodes[1].cnode, 0, i));
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_others_store) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
