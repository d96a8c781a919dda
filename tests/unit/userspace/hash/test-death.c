/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients that die, at each operation that they post: what they have begun happened as
 * a whole or not at all, others go on, and nothing is lost.
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

/* Kills client 0 at operations 1, 1 + step, ... of the program, until it ends before. */
static void die_everywhere(struct program_conf conf, unsigned step)
{
	struct program_result result;
	uint64_t repaired = 0, runs = 0, splits = 0;
	uint64_t last;

	program_expect_right(&conf, &result);
	last = result.posted;
	for (conf.kill_at = 1; conf.kill_at <= last; conf.kill_at += step) {
		program_expect_right(&conf, &result);
		repaired += result.repaired;
		splits += result.splits;
		runs++;
	}
	print_message("%llu deaths, %llu things repaired, %llu splits\n",
		      (unsigned long long)runs, (unsigned long long)repaired,
		      (unsigned long long)splits);
	assert_true(runs > 20);
}

static unsigned step(unsigned by_day)
{
	return nightly() ? 1 : by_day;
}

/* One task that does everything, beside another client that does the same. */
static void alone(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 3,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 30, .keys = 3, .longest = 64, .big = 10,
	};

	(void)state;
	die_everywhere(conf, step(3));
}

/* In the middle of splits. */
static void while_splitting(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .nodes = 1, .seed = 5,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 40, .keys = 3, .prefill = 110, .fill = 70,
		.longest = 64,
	};

	(void)state;
	die_everywhere(conf, step(7));
}

/* With a batch of several tasks' operations under way. */
static void while_combining(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 7,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 15, .keys = 1, .longest = 64,
	};

	(void)state;
	die_everywhere(conf, step(4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(while_splitting),
		cmocka_unit_test(while_combining),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
