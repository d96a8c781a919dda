// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The stock of pages for registers: claims, shortage, and pages that may not be
 * given to it. */
#include <errno.h>
#include <stock.h>
#include "bed.h"

#define TARGET	64

static struct bed bed;

static struct stock *setup(uint64_t target)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.store_pages = target;
	bed_open(&bed, &o, 0);
	return &bed.m.stock;
}

static void test_default(void **state)
{
	assert_int_equal(stock_default_target(1024, 10000), 128);
	assert_int_equal(stock_default_target(1024, 100), 100);
	assert_int_equal(stock_default_target(65536, 10000), 2048);
	assert_int_equal(stock_default_target(131072, 10000), 4096);
	/* The smallest pool is enough for one queue of the shortest chains. */
	assert_int_equal(stock_default_target((256 << 10) / 4096, 10000), 8);
}

/* They are the ring's first, and are not in it. */
static void test_set_aside(void **state)
{
	struct stock *st = setup(TARGET);

	assert_int_equal(st->nr, TARGET);
	assert_int_equal(stock_short(st), 0);
	assert_int_equal(pool_free_pages(&bed.m.pool), 1024 - TARGET);
	assert_int_equal(bed.m.budget, 1024 - TARGET - 64);
	bed_check(&bed, 0);
	bed_close(&bed);
}

static void test_take_and_give(void **state)
{
	struct stock *st = setup(TARGET);
	__u64 pages[TARGET];
	unsigned int i;

	assert_int_equal(stock_take(st, TARGET + 1, pages), -ENOMEM);
	assert_int_equal(stock_give(st, page_addr(0)), -EEXIST);
	assert_int_equal(stock_give(st, page_addr(1000)), -ENOSPC);
	assert_int_equal(stock_take(st, 10, pages), 0);
	assert_int_equal(st->out, 10);
	assert_int_equal(stock_short(st), 0);
	assert_int_equal(stock_give(st, pages[0]), -ENOSPC);
	stock_disarm(st, 10);
	assert_int_equal(stock_short(st), 10);
	for (i = 0; i < 10; i++)
		assert_int_equal(stock_give(st, pages[i]), 0);
	assert_int_equal(stock_give(st, pages[0]), -EEXIST);
	assert_int_equal(stock_give(st, page_addr(1024)), -EINVAL);
	assert_int_equal(stock_give(st, page_addr(0) + 8), -EINVAL);
	assert_int_equal(stock_short(st), 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* What nobody gives back comes out of the ring, unless that is nearly empty. */
static void test_refill(void **state)
{
	struct stock *st = setup(TARGET);
	uint64_t head = *bed.m.pool.head;
	struct check_result res;
	__u64 pages[10];

	assert_int_equal(stock_take(st, 10, pages), 0);
	stock_disarm(st, 10);
	bed_settle(&bed);
	assert_int_equal(stock_short(st), 0);
	assert_int_equal(pool_free_pages(&bed.m.pool), 1024 - TARGET - 10);
	assert_int_equal(ring_distance(bed.m.pool.log_len, head,
				       *bed.m.pool.head), 10);
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_int_equal(res.lost, 10);	/* those that we have */
	assert_int_equal(res.stock, TARGET);

	assert_int_equal(stock_take(st, 10, pages), 0);
	*bed.m.pool.head = ring_advance(bed.m.pool.log_len, *bed.m.pool.tail,
					ring_slots(bed.m.pool.log_len) - 3);
	stock_disarm(st, 10);
	bed_settle(&bed);
	assert_int_equal(stock_short(st), 8);	/* 1 of 3, then 1 of 2 */
	assert_int_equal(pool_free_pages(&bed.m.pool), 1);
	bed_close(&bed);
}

/* The agent's queue pair breaks with that on its way: once more, not twice. */
static void test_refill_breaks(void **state)
{
	struct stock *st = setup(TARGET);
	uint64_t head = *bed.m.pool.head;
	__u64 pages[10];

	assert_int_equal(stock_take(st, 10, pages), 0);
	stock_disarm(st, 10);
	manager_work(&bed.m);
	assert_int_equal(bed.m.reclaim.state, RECLAIM_TAKE);
	bed.nic->ops->qp_error(bed.nic, bed.m.reclaim.q.qpn);
	bed_settle(&bed);
	assert_int_equal(bed.m.reclaim.nr_failures, 1);
	assert_int_equal(stock_short(st), 0);
	assert_int_equal(ring_distance(bed.m.pool.log_len, head,
				       *bed.m.pool.head), 10);
	bed_close(&bed);
}

static void test_claims(void **state)
{
	struct stock *st = setup(TARGET);
	struct hello h = { .queue = 4, .depth = 15 };
	uint64_t claim;

	assert_int_equal(stock_claim(st, &h, &claim), 0);
	assert_int_equal(h.queue, 1);
	assert_int_equal(h.depth, 15);
	assert_int_equal(claim, 32);
	h = (struct hello){ .queue = 2, .depth = 1000 };
	assert_int_equal(stock_claim(st, &h, &claim), 0);
	assert_int_equal(h.queue, 1);
	assert_int_equal(h.depth, 7);
	assert_int_equal(claim, 16);
	/* Few requests stay few. */
	h = (struct hello){ .queue = 1, .depth = 2 };
	assert_int_equal(stock_claim(st, &h, &claim), 0);
	assert_int_equal(h.depth, 2);
	assert_int_equal(claim, 8);
	/* The last goes as a whole. */
	h = (struct hello){ .queue = 1, .depth = 15 };
	assert_int_equal(stock_claim(st, &h, &claim), 0);
	assert_int_equal(h.depth, 3);
	assert_int_equal(st->claimed, TARGET);
	assert_int_equal(stock_claim(st, &h, &claim), -ENOSPC);
	stock_unclaim(st, 8);
	assert_int_equal(stock_claim(st, &h, &claim), 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_set_aside),
		cmocka_unit_test(test_take_and_give),
		cmocka_unit_test(test_refill),
		cmocka_unit_test(test_refill_breaks),
		cmocka_unit_test(test_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
