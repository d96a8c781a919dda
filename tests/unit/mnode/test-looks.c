// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a look for heartbeats does, counted: nothing for compute nodes that have sent none since
 * the last one, and never more for a device with many slots.  The agent looks 25 times a second.
 */
#include <string.h>
#include "bed/agent.h"
#include "bed/cnode-priv.h"

#define NODES	4
#define SLABS	3
#define SLOTS	((uint64_t)CNODE_SLABS * ODRP_WIRE_SLAB_PAGES)
#define LOOKS	25

static struct bed bed;
static unsigned int nr_read, nr_plans, nr_hashes;

bool __real_sess_look(struct sess *s, uint32_t elapsed_ms);
bool __wrap_sess_look(struct sess *s, uint32_t elapsed_ms);
void __real_manager_plan_leases(struct manager *m);
void __wrap_manager_plan_leases(struct manager *m);
void __real_auth_hash(const void *data, size_t len, uint8_t ret_hash[32]);
void __wrap_auth_hash(const void *data, size_t len, uint8_t ret_hash[32]);

bool __wrap_sess_look(struct sess *s, uint32_t elapsed_ms)
{
	nr_read++;
	return __real_sess_look(s, elapsed_ms);
}

void __wrap_manager_plan_leases(struct manager *m)
{
	nr_plans++;
	__real_manager_plan_leases(m);
}

void __wrap_auth_hash(const void *data, size_t len, uint8_t ret_hash[32])
{
	nr_hashes++;
	__real_auth_hash(data, len, ret_hash);
}

static void count_anew(void)
{
	nr_read = nr_plans = nr_hashes = 0;
}

static void begin(void)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	o.conf.translate = CONF_TRANSLATE_DIRECT;
	o.conf.pool = (NODES * SLABS + 2ull) << ODRP_WIRE_LOG_SLAB;
	bed_open(&bed, &o, NODES);
	for (i = 0; i < NODES; i++) {
		bed.nodes[i].cfg.asks = true;
		bed.nodes[i].want = SLABS * ODRP_WIRE_SLAB_PAGES;
		bed_connect(&bed, i, SLOTS, 1, 7);
	}
	bed_pass(&bed, 1000);
	/* All heartbeats that have come have been read. */
	manager_look(&bed.m);
}

/* Heartbeats of these, in memory; without ticks. */
static void beat(unsigned int node, uint64_t want)
{
	assert_int_equal(cnode_beat(bed.nodes[node].cnode, want), 0);
	bed_run_ns(&bed, MS);
}

static void test_nothing_new(void **state)
{
	unsigned int i;

	begin();
	count_anew();
	for (i = 0; i < LOOKS; i++)
		assert_true(manager_look(&bed.m));
	assert_int_equal(nr_read, 0);
	assert_int_equal(nr_plans, 0);
	assert_int_equal(nr_hashes, 0);
	bed_close(&bed);
}

static void test_one_is_new(void **state)
{
	begin();
	beat(2, ODRP_WIRE_SLAB_PAGES);
	count_anew();
	assert_true(manager_look(&bed.m));
	assert_int_equal(nr_read, 1);
	assert_int_equal(nr_plans, 1);
	assert_true(manager_look(&bed.m));
	assert_int_equal(nr_read, 1);
	/* It says the same again: there is nothing to plan. */
	beat(2, ODRP_WIRE_SLAB_PAGES);
	assert_true(manager_look(&bed.m));
	beat(2, ODRP_WIRE_SLAB_PAGES);
	count_anew();
	assert_true(manager_look(&bed.m));
	assert_int_equal(nr_read, 1);
	assert_int_equal(nr_plans, 0);
	bed_close(&bed);
}

/* The bitmap of its slabs is another one each time, and the agent wants slabs back. */
static void test_hostile(void **state)
{
	unsigned int i, hashes = 0;

	begin();
	for (i = 0; i < LOOKS; i++) {
		bed.nodes[0].cnode->mem->held[CNODE_SLABS / 8 - 1] ^= 1;
		beat(0, 0);
		count_anew();
		assert_true(manager_look(&bed.m));
		assert_int_equal(nr_read, 1);
		assert_int_equal(nr_hashes, 0);
		manager_work(&bed.m);
		hashes += nr_hashes;
	}
	assert_in_range(hashes, 0, 1);
	bed_close(&bed);
}

/* Somebody else has written the heartbeat: it is read a few times, and then with each tick. */
static void test_forged(void **state)
{
	unsigned int i;

	begin();
	bed.m.sess[1]->beat->beat = UINT64_MAX;
	count_anew();
	for (i = 0; i < LOOKS; i++)
		assert_true(manager_look(&bed.m));
	assert_in_range(nr_read, 1, 3);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_new),
		cmocka_unit_test(test_one_is_new),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
