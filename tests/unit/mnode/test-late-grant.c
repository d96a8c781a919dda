// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The completion of a grant comes late, since packets are lost, and the compute node has asked
 * for more meanwhile: it gets more. An answer that repeated the lease would say that there is
 * no more, and stores would fail.
 */
#include "bed/load.h"

#define SLAB	ODRP_WIRE_SLAB_PAGES
#define SLOTS	6000u
#define POOL	8192u	/* pages */
#define SOON_MS	50

int __real_sess_poll_ctl(struct sess *s);
int __wrap_sess_poll_ctl(struct sess *s);

static struct bed bed;
static bool is_late;

int __wrap_sess_poll_ctl(struct sess *s)
{
	return is_late ? 0 : __real_sess_poll_ctl(s);
}

static struct cnode_info info(void)
{
	struct cnode_info info;

	cnode_info(bed.nodes[0].cnode, &info);
	return info;
}

/* The next heartbeat, and those that the bed sends, want so many pages. */
static void want(uint64_t pages)
{
	bed.nodes[0].want = pages;
	assert_int_equal(cnode_beat(bed.nodes[0].cnode, pages), 0);
	bed_pass(&bed, SOON_MS);
}

static void test_late(void **state)
{
	struct bed_options o;
	struct sess *s;
	uint64_t grants;

	bed_options(&o);
	o.conf.translate = CONF_TRANSLATE_CHAIN;
	o.conf.pool = (uint64_t)POOL * ODRP_WIRE_PAGE_SIZE;
	o.conf.store_pages = 64;
	bed_open(&bed, &o, 1);
	bed.nodes[0].cfg.asks = true;
	bed_connect(&bed, 0, SLOTS, 2, 7);
	bed.nodes[0].want = SLAB;
	bed_pass(&bed, 1000);
	s = manager_find_wire(&bed.m, info().session);
	assert_false(s->lease.writing);

	is_late = true;
	want(3 * SLAB);
	assert_int_equal(s->lease.granted, 3 * SLAB);
	assert_true(s->lease.writing);
	grants = s->grants;
	want(7 * SLAB);
	assert_int_equal(s->grants, grants);
	is_late = false;
	bed_pass(&bed, SOON_MS);
	assert_int_equal(s->lease.granted, 7 * SLAB);
	assert_int_equal(s->grants, grants + 1);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
