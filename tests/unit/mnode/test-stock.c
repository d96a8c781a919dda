// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The pages that are set aside for registers, and claims on them. */
#include <errno.h>
#include <page/stock.h>
#include "bed/agent.h"

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

/* They are not leased. */
static void test_set_aside(void **state)
{
	struct stock *st = setup(TARGET);

	assert_int_equal(st->target, TARGET);
	assert_int_equal(bed.m.budget, 1024 - TARGET);
	assert_int_equal(manager_free_pages(&bed.m), 1024);
	bed_check(&bed, 0);
	bed_close(&bed);
}

static void test_claims(void **state)
{
	struct stock *st = setup(TARGET);
	struct hello h = { .queue = 4, .depth = 15 };
	uint64_t claim;

	assert_int_equal(stock_claim(st, &h, 0, 0, &claim), 0);
	assert_int_equal(h.queue, 1);
	assert_int_equal(h.depth, 15);
	assert_int_equal(claim, 32);
	h = (struct hello){ .queue = 2, .depth = 1000 };
	assert_int_equal(stock_claim(st, &h, 0, 0, &claim), 0);
	assert_int_equal(h.queue, 1);
	assert_int_equal(h.depth, 7);
	assert_int_equal(claim, 16);
	/* Few requests stay few. */
	h = (struct hello){ .queue = 1, .depth = 2 };
	assert_int_equal(stock_claim(st, &h, 0, 0, &claim), 0);
	assert_int_equal(h.depth, 2);
	assert_int_equal(claim, 8);
	/* The last goes as a whole. */
	h = (struct hello){ .queue = 1, .depth = 15 };
	assert_int_equal(stock_claim(st, &h, 0, 0, &claim), 0);
	assert_int_equal(h.depth, 3);
	assert_int_equal(st->claimed, TARGET);
	assert_int_equal(stock_claim(st, &h, 0, 0, &claim), -ENOSPC);
	stock_unclaim(st, 8);
	assert_int_equal(stock_claim(st, &h, 0, 0, &claim), 0);
	bed_close(&bed);
}

/* Sessions of one name, as many as there can be, leave enough for other names. */
static void test_one_name(void **state)
{
	struct stock st = { .target = 512 };
	struct hello h;
	uint64_t claim, has = 0;
	unsigned int nr = 0, i;

	do {
		h = (struct hello){ .queue = 16, .depth = 63 };
		if (stock_claim(&st, &h, has, 2 * STOCK_LEAST, &claim))
			break;
		has += claim;
	} while (++nr);
	assert_in_range(nr, 3, 16);
	assert_in_range(has, 256 - 2 * STOCK_LEAST, 3 * 512 / 4);
	for (i = 0; i < 4; i++) {
		h = (struct hello){ .queue = 1, .depth = 15 };
		assert_int_equal(stock_claim(&st, &h, 0, 0, &claim), 0);
		assert_int_equal(h.queue, 1);
	}
	assert_in_range(st.claimed, 0, st.target);
}

/* What is kept for a name that is not there is not another one's. */
static void test_kept(void **state)
{
	struct stock st = { .target = 2 * STOCK_LEAST };
	struct hello h = { .queue = 16, .depth = 63 };
	uint64_t claim;

	assert_int_equal(stock_claim(&st, &h, 0, STOCK_LEAST, &claim), 0);
	assert_in_range(st.claimed, 8, STOCK_LEAST);
	h = (struct hello){ .queue = 1, .depth = 15 };
	assert_int_equal(stock_claim(&st, &h, 0, 0, &claim), 0);
	assert_int_equal(h.depth, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_set_aside),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_one_name),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
