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
 * One epoch of a load whose throughput with a C_max is given: what completes in a
 * microsecond. Returns C_max in the rest.
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
		{ { 1.0, 1.1, 1.2, 1.3, 1.4, 1.4 * 1.06 }, UNLIMITED },
		{ { 3.0, 1.1, 1.2, 1.3, 1.4, 3.0 * 1.04 }, 4 },
		/* of equals, the least */
		{ { 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 }, 4 },
	};
	struct far_credit credit;
	uint64_t now = 77, start;
	unsigned i;

	far_credit_init(&credit, UNLIMITED, 1, now);
	for (i = 0; i < sizeof(curve) / sizeof(curve[0]); i++) {
		start = now;
		assert_int_equal(search(curve[i].rate, &credit, &now), curve[i].best);
		assert_in_range(now - start, 6 * 8 * MS, 6 * 8 * MS + 6000);
		/* then it rests for 480 ms, whatever is done */
		start = now;
		while (now - start <= 480 * MS) {
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

/* The times of an epoch shrink together. */
static void test_scale(void **state)
{
	static const double rate[6] = { 1.0, 1.1, 1.2, 1.1, 1.0, 0.9 };
	struct far_credit credit;
	uint64_t now = 0;

	far_credit_init(&credit, UNLIMITED, 0.125, now);
	assert_int_equal(search(rate, &credit, &now), 8);
	assert_in_range(now, 6 * MS, 6 * MS + 6000);
	far_credit_tick(&credit, now + 60 * MS);
	assert_int_equal(credit.candidate, FAR_CREDIT_CANDIDATES);
	far_credit_tick(&credit, now + 60 * MS + 1);
	assert_int_equal(credit.candidate, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conserved),
		cmocka_unit_test(test_argmax),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
