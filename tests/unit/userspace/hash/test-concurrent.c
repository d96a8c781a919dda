/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histories of several clients, threads and tasks on mem, and in sim by seeds. */
#include "../../../lib/nightly.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned seeds(unsigned by_day, unsigned at_night)
{
	return nightly() ? at_night : by_day;
}

static void many(struct program_conf conf, unsigned nr)
{
	uint64_t ops = 0, splits = 0, combined = 0;
	struct program_result result;
	unsigned i;

	for (i = 0; i < nr; i++) {
		conf.rig.seed++;
		program_expect_right(&conf, &result);
		ops += result.ops;
		splits += result.splits;
		combined += result.combined;
	}
	print_message("%llu operations, %llu combined at client 0, %llu splits\n",
		      (unsigned long long)ops, (unsigned long long)combined,
		      (unsigned long long)splits);
	if (conf.fill)
		assert_true(splits > 0);
	if (!(conf.rig.without & FAR_WITHOUT_COMBINE) && conf.keys < 5)
		assert_true(combined > 0);
}

static void mem_threads(void **state)
{
	const struct program_conf conf = {
		.rig = { .clients = 3 },
		.tasks = 4, .ops = 400, .keys = 4, .fill = 20, .longest = 200, .big = 1000,
	};

	(void)state;
	many(conf, seeds(6, 200));
}

static void mem_plain(void **state)
{
	const struct program_conf conf = {
		.rig = { .clients = 3, .without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE },
		.tasks = 4, .ops = 400, .keys = 8, .fill = 20, .longest = 8,
	};

	(void)state;
	many(conf, seeds(4, 100));
}

static void sim_seeds(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 100, .keys = 4, .fill = 60, .longest = 200, .big = 300,
	};

	(void)state;
	many(conf, seeds(60, 2000));
}

static void sim_plain(void **state)
{
	const struct program_conf conf = {
		.rig = {
			.sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
			.without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
		},
		.tasks = 4, .ops = 100, .keys = 8, .fill = 60, .longest = 8,
	};

	(void)state;
	many(conf, seeds(30, 1000));
}

static void sim_long_values(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 2, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 3, .ops = 40, .keys = 3, .longest = 40000,
	};

	(void)state;
	many(conf, seeds(5, 100));
}

/*
 * A space of a memory node elsewhere, or of a set, which whoever runs this has made:
 * FAR_TEST_NIC, FAR_TEST_NODE with commas between several, FAR_TEST_SPACE. FAR_TEST_SIDE
 * is I/N when N processes run this at the same time, of which this one is I, from 0 on;
 * FAR_TEST_HISTORY then gets its history, for check-histories. FAR_TEST_CLIENTS: of each
 * process; 2 unless given. FAR_TEST_SHARED: others may change other tables meanwhile.
 */
static void side_parse(struct program_conf *conf)
{
	const char *side = getenv("FAR_TEST_SIDE");

	if (!side)
		return;
	assert_int_equal(sscanf(side, "%u/%u", &conf->side, &conf->sides), 2);
	conf->history = getenv("FAR_TEST_HISTORY");
	assert_non_null(conf->history);
	conf->rig.shared = 1;
	conf->rig.seed += conf->side;
}

static void elsewhere(void **state)
{
	const char *clients = getenv("FAR_TEST_CLIENTS");
	struct program_conf conf = {
		.rig = {
			.clients = clients ? strtoul(clients, NULL, 10) : 2, .seed = 1,
			.spec = getenv("FAR_TEST_NIC"),
			.node = getenv("FAR_TEST_NODE"), .space = getenv("FAR_TEST_SPACE"),
			.shared = !!getenv("FAR_TEST_SHARED"),
		},
		.tasks = 4, .ops = 150, .keys = 4, .fill = 20, .longest = 200,
	};
	struct program_result result;

	(void)state;
	assert_non_null(conf.rig.spec);
	assert_non_null(conf.rig.node);
	assert_non_null(conf.rig.space);
	side_parse(&conf);
	program_expect_right(&conf, &result);
	print_message("%llu operations of %u clients%s\n", (unsigned long long)result.ops,
		      conf.rig.clients, conf.sides ? "" : " are linearizable");
	assert_true(result.ops >= conf.rig.clients * 4 * 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest mem[] = {
		cmocka_unit_test(mem_threads),
		cmocka_unit_test(mem_plain),
	};
	const struct CMUnitTest sim[] = {
		cmocka_unit_test(sim_seeds),
		cmocka_unit_test(sim_plain),
		cmocka_unit_test(sim_long_values),
	};

	const struct CMUnitTest there[] = {
		cmocka_unit_test(elsewhere),
	};

	if (argc == 2 && !strcmp(argv[1], "elsewhere"))
		return cmocka_run_group_tests(there, NULL, NULL);
	if (argc == 2 && !strcmp(argv[1], "mem"))
		return cmocka_run_group_tests(mem, NULL, NULL);
	if (argc == 2 && !strcmp(argv[1], "sim"))
		return cmocka_run_group_tests(sim, NULL, NULL);
	fprintf(stderr, "usage: %s mem|sim|elsewhere\n", argv[0]);
	return 2;
}
