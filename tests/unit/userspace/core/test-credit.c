// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Throttling without a NIC: credits are conserved whatever C_max does, no more is
 * outstanding than C_max, and the search finds what is best.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/core/credit.h"

#define UNLIMITED	256u
#define MS		UINT64_C(1000000)
#define EPOCH		(6 * FAR_CREDIT_PROBE_NS + FAR_CREDIT_REST_NS)

/* Takes and gives at random, in time that runs at random, over many epochs. */
static void test_conserved(void **state)
{
	struct far_credit credit;
	struct far_rng rng;
	uint64_t now = 5;
	unsigned outstanding = 0, changes = 0, c_max, i, nr;

	far_rng_init(&rng, 1, 0);
	far_credit_init(&credit, UNLIMITED, 0.01, now);
	for (i = 0; i < 1000000; i++) {
		c_max = credit.c_max;
		nr = far_credit_piece(&credit, 1 + far_rng_below(&rng, 40));
		assert_in_range(nr, 1, c_max);
		if (far_credit_take(&credit, nr)) {
			outstanding += nr;
			assert_true(outstanding <= c_max);
			if (far_rng_below(&rng, 50) == 0) {
				far_credit_untake(&credit, nr);
				outstanding -= nr;
			}
		} else {
			assert_true(outstanding + nr > c_max);
		}
		nr = far_rng_below(&rng, outstanding + 1);
		far_credit_give(&credit, nr);
		outstanding -= nr;
		now += far_rng_below(&rng, 20000);
		far_credit_tick(&credit, now);
		assert_int_equal(credit.credit + outstanding, credit.c_max);
		changes += credit.c_max != c_max;
	}
	assert_true(changes > 1000);
}

/* nr operations, one after the other. */
static void complete(struct far_credit *credit, unsigned nr)
{
	while (nr--) {
		assert_int_equal(far_credit_take(credit, 1), 1);
		far_credit_give(credit, 1);
	}
}

/*
 * From now to the rest, with a load whose throughput by C_max is given: what completes
 * in a microsecond. Returns C_max in the rest.
 */
static unsigned search(const double *rate, struct far_credit *credit, uint64_t *now)
{
	static const unsigned candidates[] = { 4, 6, 8, 10, 12, UNLIMITED };
	double left = 0;
	unsigned i, nr;

	while (credit->candidate != FAR_CREDIT_CANDIDATES) {
		for (i = 0; candidates[i] != credit->c_max; i++)
			assert_in_range(i, 0, 5);
		assert_int_equal(i, credit->candidate);
		left += rate[i];
		nr = left;
		left -= nr;
		complete(credit, nr);
		*now += 1000;
		far_credit_tick(credit, *now);
	}
	return credit->c_max;
}

static void test_argmax(void **state)
{
	static const struct {
		double rate[6];
		unsigned best;
	} curve[] = {
		{ { 5.0, 4.0, 3.0, 2.0, 1.0, 0.5 }, 4 },
		{ { 1.0, 2.0, 1.9, 1.8, 1.7, 1.6 }, 6 },
		{ { 1.0, 1.1, 1.2, 1.1, 1.0, 0.9 }, 8 },
		{ { 1.0, 1.1, 1.2, 1.3, 1.2, 1.3 }, 10 },
		{ { 1.0, 1.1, 1.2, 1.3, 1.4, 1.4 }, 12 },
		/* no limit at all must be worth it: 4 % are not, 6 % are */
		{ { 1.0, 1.1, 1.2, 1.3, 1.4, 1.4 * 1.04 }, 12 },
		/* and be so twice */
		{ { 1.0, 1.1, 1.2, 1.3, 1.4, 1.4 * 1.06 }, 12 },
		{ { 1.0, 1.1, 1.2, 1.3, 1.4, 1.4 * 1.06 }, UNLIMITED },
		{ { 1.0, 1.1, 1.2, 1.1, 1.0, 2.4 }, UNLIMITED },
		{ { 1.0, 1.1, 1.2, 1.1, 1.0, 0.9 }, 8 },
		{ { 1.0, 1.1, 1.0, 0.9, 0.9, 2.4 }, 6 },
		{ { 3.0, 1.1, 1.2, 1.3, 1.4, 3.0 * 1.04 }, 4 },
		/* of equals, the least */
		{ { 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 }, 4 },
	};
	struct far_credit credit;
	uint64_t now = 3 * EPOCH, start;
	unsigned i;

	far_credit_init(&credit, UNLIMITED, 1, now);
	for (i = 0; i < sizeof(curve) / sizeof(curve[0]); i++) {
		start = now;
		assert_int_equal(search(curve[i].rate, &credit, &now), curve[i].best);
		assert_int_equal(now - start, 6 * 8 * MS);
		/* then it rests for 480 ms, whatever is done */
		while (now - start < EPOCH) {
			complete(&credit, 1);
			far_credit_tick(&credit, now);
			assert_int_equal(credit.c_max, curve[i].best);
			now += MS;
		}
		far_credit_tick(&credit, now);
		assert_int_equal(credit.candidate, 0);
		assert_int_equal(credit.c_max, 4);
	}
}

/* Threads are in the same phase at any moment, whenever they began or slept. */
static void test_in_step(void **state)
{
	struct far_credit early, late;
	struct far_rng rng;
	uint64_t now = EPOCH / 3;
	unsigned i, in_rest = 0;

	far_rng_init(&rng, 1, 0);
	far_credit_init(&early, UNLIMITED, 1, 0);
	far_credit_init(&late, UNLIMITED, 1, now);
	for (i = 0; i < 10000; i++) {
		now += far_rng_below(&rng, 20 * MS);
		if (far_rng_below(&rng, 100) == 0)
			now += far_rng_below(&rng, 3 * EPOCH);
		far_credit_tick(&early, now);
		if (far_rng_below(&rng, 4))
			continue;
		far_credit_tick(&late, now);
		assert_int_equal(early.candidate, late.candidate);
		assert_int_equal(early.until, late.until);
		assert_true(now < late.until);
		in_rest += late.candidate == FAR_CREDIT_CANDIDATES;
	}
	assert_in_range(in_rest, 1000, 2500);
}

/* A candidate that a thread has not seen whole does not lead, whatever was done. */
static void test_not_seen(void **state)
{
	static const double slow[6] = { 1.0, 1.1, 1.0, 0.9, 0.8, 0.5 };
	struct far_credit credit;
	uint64_t now = 0;

	far_credit_init(&credit, UNLIMITED, 1, now);
	assert_int_equal(search(slow, &credit, &now), 6);
	/* asleep until the end of the next epoch's third candidate */
	now = EPOCH + 23 * MS;
	far_credit_tick(&credit, now);
	assert_int_equal(credit.c_max, 8);
	complete(&credit, 1000000);
	now += MS;
	far_credit_tick(&credit, now);
	assert_int_equal(credit.c_max, 10);
	/* awake again in the rest */
	complete(&credit, 1000000);
	now = EPOCH + 100 * MS;
	far_credit_tick(&credit, now);
	assert_int_equal(credit.candidate, FAR_CREDIT_CANDIDATES);
	assert_int_equal(credit.c_max, 6);
	/* only "none" was seen: nothing to compare it with */
	now = 2 * EPOCH + 40 * MS;
	far_credit_tick(&credit, now);
	assert_int_equal(credit.c_max, UNLIMITED);
	complete(&credit, 1000000);
	now += 8 * MS;
	far_credit_tick(&credit, now);
	assert_int_equal(credit.c_max, 6);
}

/* A thread that begins in the rest does not know yet. */
static void test_first(void **state)
{
	struct far_credit credit;

	far_credit_init(&credit, UNLIMITED, 1, 100 * MS);
	assert_int_equal(credit.candidate, FAR_CREDIT_CANDIDATES);
	assert_int_equal(credit.c_max, FAR_CREDIT_FIRST);
	assert_int_equal(credit.credit, FAR_CREDIT_FIRST);
}

/* The times of an epoch shrink together. */
static void test_scale(void **state)
{
	static const double rate[6] = { 1.0, 1.1, 1.2, 1.1, 1.0, 0.9 };
	struct far_credit credit;
	uint64_t now = 0;

	far_credit_init(&credit, UNLIMITED, 0.125, now);
	assert_int_equal(search(rate, &credit, &now), 8);
	assert_int_equal(now, 6 * MS);
	far_credit_tick(&credit, now + 60 * MS - 1);
	assert_int_equal(credit.candidate, FAR_CREDIT_CANDIDATES);
	far_credit_tick(&credit, now + 60 * MS);
	assert_int_equal(credit.candidate, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conserved),
		cmocka_unit_test(test_argmax),
		cmocka_unit_test(test_in_step),
		cmocka_unit_test(test_not_seen),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
