// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compute nodes that want what they need until they ask again: they begin with little, get
 * more within 50 ms, and give back what they do not want.
 */
#include <endian.h>
#include <string.h>
#include "bed/load.h"

#define SLAB	ODRP_WIRE_SLAB_PAGES
#define SLOTS	6000u
#define POOL	8192u	/* pages */
#define SOON_MS	50

static struct bed bed;

static void begin(unsigned int nr_nodes, enum conf_translate translate)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	o.conf.translate = translate;
	o.conf.pool = (uint64_t)POOL * ODRP_WIRE_PAGE_SIZE;
	o.conf.store_pages = 64;
	bed_open(&bed, &o, nr_nodes);
	for (i = 0; i < nr_nodes; i++)
		bed.nodes[i].cfg.asks = true;
}

static struct cnode_info info_of(unsigned int i)
{
	struct cnode_info info;

	cnode_info(bed.nodes[i].cnode, &info);
	return info;
}

static const struct sess *sess_of(unsigned int i)
{
	return manager_find_wire(&bed.m, info_of(i).session);
}

/* The next heartbeat, and those that the bed sends, want so many pages. */
static void want(unsigned int i, uint64_t pages)
{
	bed.nodes[i].want = pages;
	assert_int_equal(cnode_beat(bed.nodes[i].cnode, pages), 0);
}

/* The compute node reads its grant with a heartbeat. */
static uint64_t lease_after(unsigned int i, unsigned int ms)
{
	bed_pass(&bed, ms);
	assert_int_equal(cnode_beat(bed.nodes[i].cnode, bed.nodes[i].want), 0);
	return info_of(i).lease;
}

static void grows(enum conf_translate translate)
{
	uint64_t most = POOL - 2 * SLAB;

	begin(1, translate);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	bed.nodes[0].want = SLAB;
	bed_pass(&bed, 1000);
	/* A newcomer alone in the pool, too. */
	assert_in_range(info_of(0).lease, 1, SLAB);
	assert_true(lend_pages(&bed.m.lender) > most - SLAB);
	/* Right behind a tick, and far from the next. */
	want(0, 3 * SLAB);
	assert_int_equal(lease_after(0, SOON_MS), 3 * SLAB);
	want(0, 7 * SLAB);
	assert_int_equal(lease_after(0, SOON_MS), 7 * SLAB);
	bed_close(&bed);
}

static void test_grows(void **state)
{
	grows(CONF_TRANSLATE_CHAIN);
	grows(CONF_TRANSLATE_DIRECT);
}

static void test_shrinks(void **state)
{
	uint64_t before;

	begin(1, CONF_TRANSLATE_CHAIN);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	bed_pass(&bed, 500);
	want(0, 3000);
	assert_int_equal(lease_after(0, SOON_MS), 3000);
	before = lend_pages(&bed.m.lender);
	want(0, 1000);
	bed_pass(&bed, 1000);
	assert_int_equal(info_of(0).lease, 1000);
	assert_int_equal(sess_of(0)->lease.ceiling, 1000);
	assert_int_equal(lend_pages(&bed.m.lender), before + 2000);
	/* And grows again. */
	want(0, 3500);
	assert_int_equal(lease_after(0, SOON_MS), 3500);
	bed_close(&bed);
}

/* A compute node that wants less and less gives pages back meanwhile. */
static void test_keeps_shrinking(void **state)
{
	uint64_t pages;

	begin(1, CONF_TRANSLATE_CHAIN);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	bed_pass(&bed, 500);
	want(0, 5000);
	assert_int_equal(lease_after(0, SOON_MS), 5000);
	for (pages = 5000; pages > 1000; pages -= 100) {
		bed.nodes[0].want = pages;	/* in one heartbeat */
		bed_pass(&bed, BED_TICK_MS);
		assert_true(sess_of(0)->lease.ceiling <= pages + 800);
	}
	bed_close(&bed);
}

/* Others may want as much as before: who does not ask keeps its lease. */
static void test_beside_others(void **state)
{
	uint64_t lease;

	begin(2, CONF_TRANSLATE_CHAIN);
	bed.nodes[1].cfg.asks = false;
	bed_connect(&bed, 1, SLOTS, 2, 7);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	bed.nodes[0].want = bed.nodes[1].want = 100;
	bed_pass(&bed, 1000);
	lease = info_of(1).lease;
	assert_true(lease > 2000);
	assert_int_equal(info_of(0).lease, 100);
	want(0, 2000);
	bed_pass(&bed, 1000);
	assert_int_equal(info_of(0).lease, 2000);
	assert_int_equal(info_of(1).lease, lease);
	bed_close(&bed);
}

/* The agent answers also when there is nothing to give. */
static void no_more(enum conf_translate translate)
{
	uint64_t lease, grants;

	begin(2, translate);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	bed_connect(&bed, 1, SLOTS, 2, 7);
	bed_pass(&bed, 500);
	want(1, SLOTS);
	bed_pass(&bed, 500);
	want(0, SLOTS);
	bed_pass(&bed, 1000);
	lease = info_of(0).lease;
	assert_true(lease < SLOTS);
	grants = info_of(0).grants;
	want(0, SLOTS);
	assert_int_equal(lease_after(0, SOON_MS), lease);
	assert_true(info_of(0).grants > grants);
	bed_close(&bed);
}

static void test_no_more(void **state)
{
	no_more(CONF_TRANSLATE_CHAIN);
	no_more(CONF_TRANSLATE_DIRECT);
}

/* Heartbeats between two ticks are no silence of the next one. */
static void test_not_silent(void **state)
{
	unsigned int i;

	begin(1, CONF_TRANSLATE_CHAIN);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	for (i = 0; i < 50; i++) {
		want(0, 600 + i);
		bed_pass(&bed, 60);
		assert_int_equal(sess_of(0)->silent_ms, 0);
	}
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_keeps_shrinking),
		cmocka_unit_test(test_beside_others),
		cmocka_unit_test(test_no_more),
		cmocka_unit_test(test_not_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
