// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Newcomers: what they hold before they have shown themselves, and what becomes of what
 * the accept has promised them.
 */
#include <endian.h>
#include "bed/load.h"

static struct bed bed;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

/* Six who are let in and do nothing more move no page, and what they hold is little;
 * the seventh is served as if they were not there. */
static void test_strangers_hold_little(void **state)
{
	struct cnode *strangers[6];
	struct odrp_wire_hello h;
	struct cnode_info info;
	struct bed_options o;
	uint64_t held = 0, nr_free;
	unsigned int i;

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	o.conf.pool = 16 << 20;
	bed_open(&bed, &o, 7);
	nr_free = bed.m.pool.nr_free;
	bed_admin_hello(&h, 4096);
	for (i = 0; i < 6; i++)
		assert_int_equal(cnode_request(&bed.nodes[i].cfg, &h, sizeof(h),
					       &strangers[i]), 0);
	bed_pass(&bed, 300);
	assert_int_equal(bed.m.nr_sess, 6);
	assert_int_equal(bed.m.pool.nr_free, nr_free);
	for (i = 0; i < 6; i++) {
		assert_int_not_equal(bed.m.sess[i]->setup, SETUP_READY);
		held += bed.m.sess[i]->lease.ceiling;
	}
	assert_in_range(held, LEASE_FIRST, 4096 / 8);
	bed_connect(&bed, 6, 4096, 1, 7);
	cnode_info(bed.nodes[6].cnode, &info);
	assert_in_range(info.lease, 4096 / 3, 4096);
	assert_int_equal(bed.m.sess[6]->setup, SETUP_READY);
	assert_int_equal(bed.m.sess[6]->lease.ceiling, info.lease);
	for (i = 0; i < 500; i++)
		assert_int_equal(cnode_do(bed.nodes[6].cnode, 0,
					  ODRP_WIRE_UNMAPPED_STORE, i, page), 0);
	bed_pass(&bed, 1500);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	bed_check(&bed, 500);
	for (i = 0; i < 6; i++)
		cnode_die(strangers[i]);
	bed_close(&bed);
}

/* The pool is promised twice before anybody says a word: both are served, by what
 * there is. */
static void test_promised_twice(void **state)
{
	struct odrp_wire_hello h;
	struct cnode_info info;
	struct bed_options o;
	struct cnode *first;

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	bed_open(&bed, &o, 2);
	bed_admin_hello(&h, 1000);
	assert_int_equal(cnode_request(&bed.nodes[0].cfg, &h, sizeof(h), &first), 0);
	assert_int_equal(bed.m.sess[0]->lease.promised, 960);
	bed_connect(&bed, 1, 1000, 1, 7);
	cnode_info(bed.nodes[1].cnode, &info);
	assert_in_range(info.lease, 300, 960 / 2);
	/* Its heartbeat is heard only now, when its promise cannot be kept. */
	bed.m.sess[0]->beat->beat = htobe64(1);
	bed_pass(&bed, 300);
	assert_int_not_equal(bed.m.sess[0]->setup, SETUP_READY);
	assert_in_range(bed.m.sess[0]->lease.ceiling, 1, 960 - info.lease);
	assert_false(bed.m.sess[0]->lease.overdrawn);
	cnode_die(first);
	bed_pass(&bed, 1500);
	bed_settle(&bed);
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* The agent's clock finds the first heartbeat, before the compute node has asked for
 * anything else: the promise is kept, and no grant says less in the meantime. */
static void test_heard_by_the_clock(void **state)
{
	struct odrp_wire_hello h;
	struct bed_options o;
	struct cnode *first;
	struct sess *s;

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	bed_open(&bed, &o, 1);
	bed_admin_hello(&h, 1000);
	assert_int_equal(cnode_request(&bed.nodes[0].cfg, &h, sizeof(h), &first), 0);
	s = bed.m.sess[0];
	assert_int_equal(s->lease.promised, 960);
	s->beat->ctl_raddr = htobe64(4096);
	s->beat->ctl_rkey = htobe32(1);
	s->beat->beat = htobe64(1);
	manager_tick(&bed.m, 100);
	assert_int_equal(s->grants, 0);
	while (s->setup != SETUP_READY)
		assert_int_equal(manager_work(&bed.m), LEND_MORE);
	assert_int_equal(s->lease.promised, 0);
	assert_int_equal(s->lease.ceiling, 960);
	manager_tick(&bed.m, 100);
	assert_int_equal(s->grants, 0);
	cnode_die(first);
	bed_pass(&bed, 1500);
	bed_settle(&bed);
	bed_check(&bed, 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strangers_hold_little),
		cmocka_unit_test(test_promised_twice),
		cmocka_unit_test(test_heard_by_the_clock),
	};

	return bed_run_tests(tests);
}
