// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The page check sees each kind of damage, done here on purpose. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/agent.h"

static struct bed bed;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

/* Slots 0 to 4 are mapped, to pages 0 to 4. */
static void setup(void)
{
	struct bed_options o;
	unsigned int slot;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 64, 1, 7);
	for (slot = 0; slot < 5; slot++) {
		bed_fill(page, 0, slot, 1);
		assert_int_equal(cnode_do(bed.nodes[0].cnode, 0,
					  ODRP_WIRE_UNMAPPED_STORE, slot,
					  page), 0);
	}
	bed_check(&bed, 5);
}

static struct check_result damaged(void)
{
	struct check_result res;

	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_false(check_ok(&res));
	assert_true(res.exact);
	assert_true(res.nr_problems > 0 || res.overtaken);
	return res;
}

static volatile __be64 *entry(unsigned int slot)
{
	return &bed.m.sess[0]->tt.entries[slot];
}

static volatile __be64 *ring_slot(unsigned int n)
{
	const struct ring *r = &bed.m.sess[0]->ring;

	return &r->slot[ring_index(r->log_len, ring_advance(r->log_len,
							   *r->head, n))];
}

static void test_lost(void **state)
{
	struct check_result res;
	char text[32];
	uint64_t nr = 0;

	setup();
	assert_true(page_index(be64toh(*entry(2)), bed.m.pool.pages, &nr));
	snprintf(text, sizeof(text), "page %lu is nowhere", (unsigned long)nr);
	*entry(2) = 0;
	res = damaged();
	assert_int_equal(res.lost, 1);
	assert_int_equal(res.doubled, 0);
	assert_non_null(strstr(res.problems[0], text));
	bed_close(&bed);
}

static void test_doubled_in_table(void **state)
{
	struct check_result res;

	setup();
	*entry(9) = *entry(3);
	res = damaged();
	assert_int_equal(res.doubled, 1);
	assert_int_equal(res.lost, 0);
	bed_close(&bed);
}

static void test_doubled_in_ring(void **state)
{
	struct check_result res;

	setup();
	*entry(9) = *ring_slot(100);
	res = damaged();
	assert_int_equal(res.doubled, 1);
	bed_close(&bed);
}

static void test_foreign(void **state)
{
	struct check_result res;

	setup();
	*entry(9) = htobe64(page_addr(7) + 8);
	*ring_slot(3) = htobe64(page_addr(1 << 20));
	res = damaged();
	assert_int_equal(res.foreign, 2);
	assert_int_equal(res.lost, 1);	/* the one that was in that slot */
	bed_close(&bed);
}

static void test_empty_slot(void **state)
{
	struct check_result res;

	setup();
	*ring_slot(17) = 0;
	res = damaged();
	assert_int_equal(res.empty, 1);
	assert_int_equal(res.lost, 1);
	bed_close(&bed);
}

static void test_head_and_tail(void **state)
{
	struct check_result res;
	struct ring *ring;
	uint64_t head;

	setup();
	ring = &bed.m.sess[0]->ring;
	head = *ring->head;
	*ring->head = ring_advance(ring->log_len, head, 1);
	res = damaged();
	assert_int_equal(res.stray, 1);
	*ring->head = ring_advance(ring->log_len, *ring->tail, 3);
	res = damaged();
	assert_int_equal(res.overtaken, 3);
	assert_int_equal(res.stray, ring_distance(ring->log_len, head,
						  *ring->tail));
	*ring->head = 12345;
	res = damaged();
	assert_int_equal(res.foreign, 1);
	*ring->head = head;
	bed_check(&bed, 5);
	bed_close(&bed);
}

/* Another's page is as foreign as what is no page. */
static void test_others_page(void **state)
{
	struct check_result res;
	__u64 other;

	setup();
	assert_int_equal(pool_take(&bed.m.pool, 77, 1, &other), 0);
	*entry(9) = htobe64(other);
	res = damaged();
	assert_int_equal(res.foreign, 1);
	assert_int_equal(res.lost, 1);		/* whose 77 has it? */
	assert_int_equal(pool_give(&bed.m.pool, 78, other), -EPERM);
	assert_int_equal(pool_give(&bed.m.pool, 77, other + 8), -EINVAL);
	assert_int_equal(pool_give(&bed.m.pool, 77, other), 0);
	assert_int_equal(pool_give(&bed.m.pool, 77, other), -EPERM);
	*entry(9) = 0;
	bed_check(&bed, 5);
	bed_close(&bed);
}

/* A dead session whose table has been tampered with: its pages are back all the
 * same, and no others. */
static void test_end_of_damaged_session(void **state)
{
	struct check_result res;

	setup();
	*entry(1) = htobe64(page_addr(7) + 8);
	*entry(10) = *entry(0);
	*entry(11) = htobe64(UINT64_MAX);
	*ring_slot(4) = 0;
	manager_kill(&bed.m, bed.m.sess[0], WHY_EVICTED);
	bed_settle(&bed);
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_true(check_ok(&res));
	assert_int_equal(res.pool, res.total);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_doubled_in_table),
		cmocka_unit_test(test_doubled_in_ring),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_empty_slot),
		cmocka_unit_test(test_head_and_tail),
		cmocka_unit_test(test_others_page),
		cmocka_unit_test(test_end_of_damaged_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
