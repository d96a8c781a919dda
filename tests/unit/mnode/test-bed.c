// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The bed's clock: what is asked of a NIC that has had nothing to do begins now, and
 * not when it last had something; so a test can look at a chain that is under way.
 */
#include "bed/agent.h"

static uint16_t position(struct bed *b, unsigned int chain)
{
	const struct queue *q = b->m.sess[0]->queues[0][chain];
	uint16_t bb;

	assert_int_equal(queue_position(q, &bb), 0);
	return bb % q->geom.loop_bb;
}

static void under_way(void **state)
{
	struct bed_options o;
	struct cnode_done done;
	uint8_t page[ODRP_WIRE_PAGE_SIZE];
	struct bed b;

	bed_options(&o);
	o.cost_ns = 100;
	bed_open(&b, &o, 1);
	bed_connect(&b, 0, 16, 1, 4);
	bed_pass(&b, 350);
	bed_fill(page, 0, 3, 1);
	assert_int_equal(cnode_submit(b.nodes[0].cnode, 0,
				      ODRP_WIRE_UNMAPPED_STORE, 3, page, 0), 0);
	bed_run_ns(&b, 1000);
	assert_int_equal(cnode_poll(b.nodes[0].cnode, &done), -EAGAIN);
	assert_int_not_equal(position(&b, ODRP_WIRE_UNMAPPED_STORE), 0);
	bed_run_ns(&b, 1000000);
	assert_int_equal(cnode_poll(b.nodes[0].cnode, &done), 0);
	assert_int_equal(position(&b, ODRP_WIRE_UNMAPPED_STORE), 0);
	bed_check(&b, 1);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(under_way) };

	return bed_run_tests(tests);
}
