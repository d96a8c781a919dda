// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compute nodes and a memory node end to end: connect, store, load, free, die,
 * on good and on bad wires.
 */
#include <string.h>
#include "bed.h"

#define PAGE	ODRP_WIRE_PAGE_SIZE

static struct bed bed;
static uint8_t page[PAGE] __attribute__((aligned(8)));

/* ---- one at a time --------------------------------------------------------- */

static void test_every_chain_once(void **state)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 256, 1, 8);
	struct cnode *c = bed.nodes[0].cnode;

	bed_check(&bed, 0);
	bed_fill(page, 0, 5, 1);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, 5, page), 0);
	bed_check(&bed, 1);
	memset(page, 0, PAGE);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 5, page), 0);
	assert_true(bed_is(page, 0, 5, 1));
	bed_fill(page, 0, 5, 2);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_MAPPED_STORE, 5, page), 0);
	memset(page, 0, PAGE);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 5, page), 0);
	assert_true(bed_is(page, 0, 5, 2));
	bed_check(&bed, 1);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_INVALIDATE, 5, NULL), 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_chain_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
