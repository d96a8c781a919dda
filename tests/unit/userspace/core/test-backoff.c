// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Conflict avoidance without a NIC: equation 1, the millisecond's decisions, credits of
 * operations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <far/far.h>

#include "../../../../userspace/core/backoff.h"

#define T0	FAR_BACKOFF_T0_NS
#define TM	FAR_BACKOFF_TM_NS
#define EPOCH	FAR_BACKOFF_EPOCH_NS
#define BINS	16u
#define DRAWS	160000u

/*
 * delay - min(t_0 2^i, t_max) is even over [0, t_0]: chi-square over 16 bins has 15
 * degrees of freedom, and exceeds 44 once in 10,000 seeds; the seed is fixed.
 */
static void delays_check(const struct far_backoff *backoff, unsigned attempt,
			 struct far_rng *rng)
{
	uint64_t least = attempt < 10 ? T0 << attempt : TM, over;
	unsigned bin[BINS] = { 0 }, i;
	double chi = 0, expected = DRAWS / (double)BINS;

	if (least > backoff->t_max)
		least = backoff->t_max;
	for (i = 0; i < DRAWS; i++) {
		over = far_backoff_delay(backoff, attempt, rng) - least;
		assert_in_range(over, 0, T0);
		bin[over * BINS / (T0 + 1)]++;
	}
	for (i = 0; i < BINS; i++)
		chi += (bin[i] - expected) * (bin[i] - expected) / expected;
	assert_true(chi < 44);
}

static void test_delay(void **state)
{
	static const unsigned attempt[] = { 0, 1, 5, 9, 10, 11, 63, 64, 1000 };
	struct far_backoff backoff;
	struct far_rng rng;
	unsigned i;

	far_rng_init(&rng, 7, 0);
	far_backoff_init(&backoff, 0, 8, 0);
	assert_int_equal(backoff.t_max, T0);
	for (i = 0; i < sizeof(attempt) / sizeof(attempt[0]); i++) {
		backoff.t_max = T0;
		delays_check(&backoff, attempt[i], &rng);
		backoff.t_max = T0 << 6;
		delays_check(&backoff, attempt[i], &rng);
		backoff.t_max = TM;
		delays_check(&backoff, attempt[i], &rng);
	}
	far_backoff_init(&backoff, FAR_WITHOUT_BACKOFF, 8, 0);
	assert_int_equal(far_backoff_delay(&backoff, 5, &rng), 0);
}

/* Threads that share a seed do not draw alike. */
static void test_jitter(void **state)
{
	struct far_backoff backoff;
	struct far_rng a, b, again;
	unsigned i, same = 0;
	uint64_t x;

	far_backoff_init(&backoff, 0, 8, 0);
	far_rng_init(&a, 7, 0);
	far_rng_init(&again, 7, 0);
	far_rng_init(&b, 7, 1);
	for (i = 0; i < 1000; i++) {
		x = far_backoff_delay(&backoff, 0, &a);
		same += x == far_backoff_delay(&backoff, 0, &b);
		assert_int_equal(x, far_backoff_delay(&backoff, 0, &again));
	}
	assert_true(same < 20);
}

/* An epoch in which ops operations ended and retries tries lost. */
static void epoch(struct far_backoff *backoff, uint64_t *now, unsigned ops,
		  unsigned retries)
{
	while (ops--) {
		backoff->credit--;
		far_backoff_leave(backoff);
	}
	while (retries--)
		far_backoff_lost(backoff);
	far_backoff_tick(backoff, *now + EPOCH - 1);
	*now += EPOCH;
	far_backoff_tick(backoff, *now);
}

static void expect(const struct far_backoff *backoff, unsigned c_max, uint64_t t_max)
{
	assert_int_equal(backoff->c_max, c_max);
	assert_int_equal(backoff->credit, c_max);
	assert_int_equal(backoff->t_max, t_max);
}

static void test_rate(void **state)
{
	struct far_backoff backoff;
	uint64_t now = 3, t;

	far_backoff_init(&backoff, 0, 12, now);
	expect(&backoff, 12, T0);
	/* first the operations at a time, at their bound then the limit */
	epoch(&backoff, &now, 100, 51);
	expect(&backoff, 6, T0);
	epoch(&backoff, &now, 100, 50);
	expect(&backoff, 6, T0);
	epoch(&backoff, &now, 100, 51);
	expect(&backoff, 3, T0);
	epoch(&backoff, &now, 0, 1);
	expect(&backoff, 1, T0);
	for (t = T0 * 2; t <= TM; t *= 2) {
		epoch(&backoff, &now, 2, 100);
		expect(&backoff, 1, t);
	}
	epoch(&backoff, &now, 2, 100);
	expect(&backoff, 1, TM);
	/* nothing to learn from: nothing moves */
	epoch(&backoff, &now, 0, 0);
	epoch(&backoff, &now, 100, 10);
	expect(&backoff, 1, TM);
	/* and back the same way: the operations, then the limit */
	epoch(&backoff, &now, 100, 9);
	expect(&backoff, 2, TM);
	epoch(&backoff, &now, 100, 0);
	expect(&backoff, 4, TM);
	epoch(&backoff, &now, 100, 0);
	expect(&backoff, 8, TM);
	epoch(&backoff, &now, 100, 0);
	expect(&backoff, 12, TM);
	for (t = TM / 2; t >= T0; t /= 2) {
		epoch(&backoff, &now, 100, 9);
		expect(&backoff, 12, t);
	}
	epoch(&backoff, &now, 100, 0);
	expect(&backoff, 12, T0);
}

static void test_without(void **state)
{
	struct far_backoff backoff;
	uint64_t now = 3;

	far_backoff_init(&backoff, FAR_WITHOUT_TASKS, 8, now);
	epoch(&backoff, &now, 100, 60);
	expect(&backoff, 8, T0 * 2);
	epoch(&backoff, &now, 100, 0);
	expect(&backoff, 8, T0);
	far_backoff_init(&backoff, FAR_WITHOUT_LIMIT, 2, now);
	expect(&backoff, 2, TM);
	epoch(&backoff, &now, 100, 60);
	expect(&backoff, 1, TM);
	epoch(&backoff, &now, 100, 60);
	expect(&backoff, 1, TM);
	epoch(&backoff, &now, 100, 0);
	epoch(&backoff, &now, 100, 0);
	expect(&backoff, 2, TM);
}

/* Operations under way keep their credits when c_max falls; nobody begins meanwhile. */
static void test_credits(void **state)
{
	struct far_backoff backoff;
	unsigned i;

	far_backoff_init(&backoff, 0, 8, 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(far_backoff_enter(&backoff), 1);
	assert_int_equal(far_backoff_enter(&backoff), 0);
	far_backoff_lost(&backoff);
	far_backoff_tick(&backoff, EPOCH);
	assert_int_equal(backoff.c_max, 4);
	for (i = 0; i < 4; i++) {
		far_backoff_leave(&backoff);
		assert_int_equal(far_backoff_enter(&backoff), 0);
	}
	far_backoff_leave(&backoff);
	assert_int_equal(far_backoff_enter(&backoff), 1);
	assert_int_equal(far_backoff_enter(&backoff), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_credits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
