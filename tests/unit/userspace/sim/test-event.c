// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The timing wheel against a list that is searched: the order of random events, near
 * and far, some of which are removed again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../../userspace/base/rng.h"
#include "../../../../userspace/nic/sim/event.h"

#define NR	2000u

struct item {
	struct sim_event event;
	uint64_t order;		/* when it was added; 0: it is not in */
};

static struct item item[NR];

/* What a list would give: the earliest, of those the one that was added first. */
static struct item *list_first(void)
{
	struct item *first = NULL;
	unsigned i;

	for (i = 0; i < NR; i++) {
		if (!item[i].order)
			continue;
		if (!first || item[i].event.at < first->event.at ||
		    (item[i].event.at == first->event.at && item[i].order < first->order))
			first = &item[i];
	}
	return first;
}

static void run(struct sim_wheel *wheel, struct far_rng *rng, uint64_t spread)
{
	uint64_t order = 1;
	unsigned i;

	for (i = 0; i < 3 * NR; i++) {
		struct item *it = &item[far_rng_below(rng, NR)];

		if (it->order && far_rng_below(rng, 4) == 0) {
			sim_wheel_remove(wheel, &it->event);
			it->order = 0;
		} else if (!it->order) {
			sim_wheel_add(wheel, &it->event,
				      wheel->now + far_rng_below(rng, spread));
			it->order = order++;
		} else {
			it = list_first();
			assert_ptr_equal(sim_wheel_take(wheel), &it->event);
			assert_int_equal(wheel->now, it->event.at);
			it->order = 0;
		}
	}
	while (list_first()) {
		struct item *it = list_first();

		assert_ptr_equal(sim_wheel_take(wheel), &it->event);
		it->order = 0;
	}
	assert_null(sim_wheel_take(wheel));
}

static void test_order(void **state)
{
	static const uint64_t spread[] = { 1, 3, 1000, 5000, 1u << 20, UINT64_C(1) << 45 };
	static struct sim_wheel wheel;
	struct far_rng rng;
	unsigned i;

	far_rng_init(&rng, 1, 0);
	sim_wheel_init(&wheel);
	for (i = 0; i < sizeof(spread) / sizeof(spread[0]); i++)
		run(&wheel, &rng, spread[i]);
}

static void test_past(void **state)
{
	static struct sim_wheel wheel;
	struct sim_event a = { 0 }, b = { 0 };

	sim_wheel_init(&wheel);
	sim_wheel_add(&wheel, &a, 5000);
	assert_ptr_equal(sim_wheel_take(&wheel), &a);
	sim_wheel_add(&wheel, &b, 10);
	assert_ptr_equal(sim_wheel_take(&wheel), &b);
	assert_int_equal(wheel.now, 5000);
	sim_wheel_remove(&wheel, &b);
	assert_int_equal(wheel.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_past),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
