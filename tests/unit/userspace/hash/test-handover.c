/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several compute nodes that change the same few keys, in turns: histories are right,
 * each turn is passed on, and who dies in its turn stops nobody.
 */
#include "../../../lib/nightly.h"
#include "program.h"

#include <stdlib.h>

/* The memory of a client that died in the middle is nobody's. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

static unsigned seeds(unsigned by_day, unsigned at_night)
{
	return nightly() ? at_night : by_day;
}

/* By seeds; returns how many turns were taken. */
static uint64_t many(struct program_conf conf, unsigned nr)
{
	struct program_result result;
	uint64_t turns = 0;
	unsigned i;

	for (i = 0; i < nr; i++) {
		conf.rig.seed++;
		program_expect_right(&conf, &result);
		turns += result.turns;
		if (!(conf.rig.adversary & FAR_SIM_BREAK))
			assert_int_equal(result.turns_kept, 0);
	}
	print_message("%llu turns\n", (unsigned long long)turns);
	return turns;
}

static void few_keys(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 4, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 3, .ops = 100, .keys = 2, .longest = 64,
	};

	(void)state;
	assert_true(many(conf, seeds(20, 1000)) > 1000);
}

/* Slots that are frozen, and moved, while somebody has its turn there. */
static void while_splitting(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 4, .nodes = 1,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 2, .ops = 80, .keys = 3, .prefill = 110, .fill = 50,
		.longest = 64,
	};

	(void)state;
	assert_true(many(conf, seeds(20, 1000)) > 500);
}

static void batches(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 4, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 2, .ops = 80, .keys = 2, .longest = 64, .batch = 60,
	};

	(void)state;
	assert_true(many(conf, seeds(10, 500)) > 300);
}

static void broken_connections(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK },
		.tasks = 2, .ops = 60, .keys = 2, .longest = 64,
	};

	(void)state;
	assert_true(many(conf, seeds(20, 500)) > 300);
}

/* Switched off, and without combining, nobody takes any. */
static void switched_off(void **state)
{
	static const unsigned without[] = { FAR_WITHOUT_HANDOVER, FAR_WITHOUT_COMBINE };
	struct program_conf conf = {
		.rig = { .sim = 1, .clients = 4, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 2, .ops = 50, .keys = 2, .longest = 64,
	};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		conf.rig.without = without[i];
		assert_int_equal(many(conf, 2), 0);
	}
}

/* Client 0 dies at any of its operations, many of them in its turn. */
static void deaths(void **state)
{
	struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 11,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 2, .ops = 40, .keys = 1, .longest = 64,
	};
	unsigned step = nightly() ? 1 : 5;
	struct program_result result;
	uint64_t kept = 0, last;

	(void)state;
	program_expect_right(&conf, &result);
	last = result.posted;
	for (conf.kill_at = 1; conf.kill_at <= last; conf.kill_at += step) {
		program_expect_right(&conf, &result);
		kept += result.turns_kept;
	}
	print_message("%llu deaths, %llu turns not passed on at the end\n",
		      (unsigned long long)(last / step), (unsigned long long)kept);
	assert_true(last / step > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_keys),
		cmocka_unit_test(while_splitting),
		cmocka_unit_test(batches),
		cmocka_unit_test(broken_connections),
		cmocka_unit_test(switched_off),
		cmocka_unit_test(deaths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
