/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients that die, at each operation that they post: what they have begun happened as
 * a whole or not at all, others go on, and nothing is lost.
 */
#include "../../../lib/nightly.h"
#include "kind.h"

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
	uint64_t runs = 0;
	uint64_t last;

	program_expect_right(&conf, &result);
	last = result.posted;
	for (conf.kill_at = 1; conf.kill_at <= last; conf.kill_at += step) {
		program_expect_right(&conf, &result);
		runs++;
	}
	print_message("%llu deaths\n", (unsigned long long)runs);
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
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 2, .seed = 3,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 40, .keys = 3, .key_size = 24, .value_size = 32,
	};

	(void)state;
	die_everywhere(conf, step(1));
}

/* In the middle of splits, growing and merging. */
static void while_changing(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 2, .nodes = 2, .seed = 5,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 60, .keys = 3, .prefill = 5, .fill = 45, .drain = 35,
		.key_size = 24, .value_size = 8,
	};

	(void)state;
	die_everywhere(conf, step(3));
}

/* With a batch of several tasks' operations under way. */
static void while_combining(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 2, .seed = 7,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 15, .keys = 1, .key_size = 16, .value_size = 16,
	};

	(void)state;
	die_everywhere(conf, step(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(while_changing),
		cmocka_unit_test(while_combining),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
