/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ring of freed slots: order, full, wrap of the counters, interleavings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../kmod/fring.h"
#include "weave.h"

static struct odrp_fring ring;

static void test_fring_order_and_full(void **state)
{
	u32 i, slot;

	ring.head = ring.tail = 0;
	assert_false(odrp_fring_pop(&ring, &slot));
	for (i = 0; i < ODRP_FRING_SIZE; i++)
		assert_true(odrp_fring_push(&ring, 1000 + i));
	assert_false(odrp_fring_push(&ring, 1));
	for (i = 0; i < ODRP_FRING_SIZE; i++) {
		assert_true(odrp_fring_pop(&ring, &slot));
		assert_int_equal(slot, 1000 + i);
	}
	assert_false(odrp_fring_pop(&ring, &slot));
}

static void test_fring_counters_wrap(void **state)
{
	u32 i, slot;

	ring.head = ring.tail = UINT32_MAX - 2;
	for (i = 0; i < ODRP_FRING_SIZE; i++)
		assert_true(odrp_fring_push(&ring, i));
	assert_false(odrp_fring_push(&ring, i));
	for (i = 0; i < ODRP_FRING_SIZE; i++) {
		assert_true(odrp_fring_pop(&ring, &slot));
		assert_int_equal(slot, i);
	}
	assert_false(odrp_fring_pop(&ring, &slot));
}

/* Nearly full, so that the producer meets both ends. */
static u32 next_in, next_out, refused;

static void init(void)
{
	u32 i;

	ring.head = ring.tail = UINT32_MAX;
	for (i = 0; i < ODRP_FRING_SIZE - 1; i++)
		odrp_fring_push(&ring, i);
	next_in = i;
	next_out = 0;
	refused = 0;
}

static void producer(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (odrp_fring_push(&ring, next_in))
			next_in++;
		else
			refused++;
	}
}

static void pop_one(void)
{
	u32 slot;

	if (odrp_fring_pop(&ring, &slot))
		assert_int_equal(slot, next_out++);
}

static void consumer(void)
{
	pop_one();
	pop_one();
}

static void check(void)
{
	assert_true(refused <= 2);
	assert_int_equal(next_in, ODRP_FRING_SIZE + 2 - refused);
	while (next_out < next_in)
		pop_one();
	assert_int_equal(ring.head, ring.tail);
}

static void test_fring_interleaved(void **state)
{
	const struct weave w = { init, { producer, consumer }, 2, check };

	assert_true(weave_all(&w) > 1000);
}

/* Empty, so that the consumer meets entries that are just being made. */
static void init_empty(void)
{
	ring.head = ring.tail = UINT32_MAX;
	memset(ring.slot, 0xff, sizeof(ring.slot));
	next_in = next_out = refused = 0;
}

static void check_empty(void)
{
	assert_int_equal(refused, 0);
	while (next_out < next_in)
		pop_one();
	assert_int_equal(ring.head, ring.tail);
}

static void test_fring_empty_interleaved(void **state)
{
	const struct weave w = {
		init_empty, { producer, consumer }, 2, check_empty,
	};

	assert_true(weave_all(&w) > 1000);
}

/*
 * Two that take from a ring that is full, while it is filled again behind them:
 * each entry is taken once, and in the order of the ring by each of them.
 */
static u8 taken[2 * ODRP_FRING_SIZE];

static void init_two(void)
{
	init();
	memset(taken, 0, sizeof(taken));
}

static void take_two(void)
{
	u32 slot, before = 0;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (!odrp_fring_pop(&ring, &slot))
			continue;
		assert_true(!i || slot > before);
		before = slot;
		taken[slot]++;
	}
}

static void check_two(void)
{
	u32 i, slot;

	while (odrp_fring_pop(&ring, &slot))
		taken[slot]++;
	for (i = 0; i < next_in; i++)
		assert_int_equal(taken[i], 1);
}

static void test_fring_two_consumers(void **state)
{
	const struct weave w = {
		init_two, { producer, take_two, take_two }, 3, check_two, 3,
	};

	assert_true(weave_all(&w) > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fring_order_and_full),
		cmocka_unit_test(test_fring_counters_wrap),
		cmocka_unit_test(test_fring_interleaved),
		cmocka_unit_test(test_fring_empty_interleaved),
		cmocka_unit_test(test_fring_two_consumers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
