/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients that die, at each operation that they post, splits and merges among them: what
 * they have begun happened as a whole or not at all, others go on, and nothing is lost.
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
	uint64_t repaired = 0, runs = 0, last;

	if (!conf.kind)
		conf.kind = &btree_kind;
	program_expect_right(&conf, &result);
	last = result.posted;
	for (conf.kill_at = 1; conf.kill_at <= last; conf.kill_at += step) {
		program_expect_right(&conf, &result);
		repaired += result.repaired;
		runs++;
	}
	print_message("%llu deaths, %llu things repaired\n", (unsigned long long)runs,
		      (unsigned long long)repaired);
	assert_true(runs > 20 && repaired > 0);
}

static unsigned step(unsigned by_day)
{
	return nightly() ? 1 : by_day;
}

/* Few keys, beside another client that wants the same ones. */
static void in_updates(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 3,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 30, .keys = 3, .key_size = 9, .value_size = 64,
	};

	(void)state;
	die_everywhere(conf, step(3));
}

static void in_splits(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 5, .nodes = 1,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 40, .keys = 3, .fill = 70, .prefill = 20, .scan = 5,
		.key_size = 9, .value_size = 8,
	};

	(void)state;
	die_everywhere(conf, step(5));
}

static void in_merges(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 9, .nodes = 1,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 80, .keys = 4, .fill = 40, .drain = 40, .scan = 2,
		.key_size = 16, .value_size = 24,
	};

	(void)state;
	die_everywhere(conf, step(7));
}

/* The same where each key has a neighbourhood. */
static void in_wide_splits(void **state)
{
	const struct program_conf conf = {
		.kind = &btree_wide_kind,
		.rig = { .sim = 1, .clients = 2, .seed = 6, .nodes = 1,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 60, .keys = 3, .fill = 70, .prefill = 40, .scan = 5,
		.key_size = 9, .value_size = 8,
	};

	(void)state;
	die_everywhere(conf, step(13));
}

static void in_wide_merges(void **state)
{
	const struct program_conf conf = {
		.kind = &btree_wide_kind,
		.rig = { .sim = 1, .clients = 2, .seed = 11, .nodes = 1,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 1, .ops = 160, .keys = 4, .fill = 42, .drain = 40, .scan = 2,
		.key_size = 16, .value_size = 24,
	};

	(void)state;
	die_everywhere(conf, step(23));
}

static void in_batches(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .seed = 7,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 30, .keys = 1, .key_size = 9, .value_size = 64,
	};

	(void)state;
	die_everywhere(conf, step(4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_updates),
		cmocka_unit_test(in_splits),
		cmocka_unit_test(in_merges),
		cmocka_unit_test(in_wide_splits),
		cmocka_unit_test(in_wide_merges),
		cmocka_unit_test(in_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
