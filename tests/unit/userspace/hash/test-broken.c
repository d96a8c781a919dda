/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that break: fates that nobody knows stay open in the history, and what was
 * lost with them is found, also when the client that has lost it closes at once.
 */
#include "../../../lib/nightly.h"
#include "program.h"

static void seeds_run(uint64_t first, uint64_t nr, unsigned big, unsigned batch)
{
	struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK },
		.tasks = 2, .ops = 60, .keys = 4, .prefill = 100, .fill = 40,
		.longest = 64, .big = big, .batch = batch,
	};
	struct program_result result;

	for (conf.rig.seed = first; conf.rig.seed < first + nr; conf.rig.seed++)
		program_expect_right(&conf, &result);
}

/*
 * The far_dir_add() of a table has an unknown fate. The other client sweeps before the
 * first one gives up its chunks, unswept.
 */
static void left_unswept(void **state)
{
	(void)state;
	seeds_run(7, 1, 0, 0);
}

/*
 * A task that was let through to post gives up, for its earlier operation has failed:
 * others of its thread that wait for credits go on.
 */
static void let_through(void **state)
{
	(void)state;
	seeds_run(44, 1, 0, 0);
}

static void seeds(void **state)
{
	(void)state;
	seeds_run(1, nightly() ? 2000 : 60, 1000, 0);
}

/* Values that take a second trip, and batches in which some do. */
static void big_values(void **state)
{
	(void)state;
	seeds_run(1, nightly() ? 2000 : 40, 6, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(left_unswept),
		cmocka_unit_test(let_through),
		cmocka_unit_test(seeds),
		cmocka_unit_test(big_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
