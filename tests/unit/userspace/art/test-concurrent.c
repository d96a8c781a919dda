/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histories of several clients, threads and tasks on mem, and in sim by seeds. */
#include "../../../lib/nightly.h"
#include "kind.h"

#include <stdio.h>
#include <string.h>

static unsigned seeds(unsigned by_day, unsigned at_night)
{
	return nightly() ? at_night : by_day;
}

static void many(struct program_conf conf, unsigned nr)
{
	uint64_t ops = 0, combined = 0;
	struct program_result result;
	unsigned i;

	for (i = 0; i < nr; i++) {
		conf.rig.seed++;
		program_expect_right(&conf, &result);
		ops += result.ops;
		combined += result.combined;
	}
	print_message("%llu operations, %llu combined at client 0\n",
		      (unsigned long long)ops, (unsigned long long)combined);
	if (!(conf.rig.without & FAR_WITHOUT_COMBINE) && conf.keys < 5)
		assert_true(combined > 0);
}

static void mem_threads(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind, .rig = { .clients = 3 }, .tasks = 4, .ops = 300,
		.keys = 4, .fill = 20, .drain = 15, .scan = 3, .key_size = 24,
		.value_size = 64,
	};

	(void)state;
	many(conf, seeds(4, 200));
}

static void mem_in_place(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .clients = 2, .without = FAR_WITHOUT_COMBINE },
		.threads = 2, .tasks = 3, .ops = 300, .keys = 6, .fill = 20, .drain = 20,
		.scan = 2, .key_size = 9, .value_size = 8,
	};

	(void)state;
	many(conf, seeds(4, 100));
}

static void sim_seeds(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 80, .keys = 4, .prefill = 10, .fill = 30, .drain = 25,
		.scan = 4, .key_size = 24, .value_size = 64,
	};

	(void)state;
	many(conf, seeds(100, 3000));
}

/* All values are written in place. */
static void sim_in_place(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 80, .keys = 3, .fill = 20, .drain = 20, .scan = 3,
		.key_size = 9, .value_size = 8,
	};

	(void)state;
	many(conf, seeds(120, 3000));
}

static void sim_plain(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = {
			.sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY,
			.without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
		},
		.tasks = 4, .ops = 80, .keys = 8, .fill = 30, .drain = 30, .scan = 4,
		.key_size = 24, .value_size = 16,
	};

	(void)state;
	many(conf, seeds(60, 1500));
}

/* Two keys that share a node of their own, which comes and goes with them. */
static void sim_merging(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 4, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 2, .ops = 80, .keys = 2, .fill = 30, .drain = 40, .key_size = 200,
		.value_size = 8,
	};

	(void)state;
	many(conf, seeds(60, 1500));
}

static void sim_long_values(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .sim = 1, .clients = 2, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 3, .ops = 40, .keys = 3, .scan = 5, .key_size = 24,
		.value_size = 20000,
	};

	(void)state;
	many(conf, seeds(5, 100));
}

static void sim_breaks(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = {
			.sim = 1, .clients = 2,
			.adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK,
		},
		.tasks = 2, .ops = 30, .keys = 6, .fill = 20, .drain = 20, .scan = 2,
		.key_size = 24, .value_size = 16,
	};

	(void)state;
	many(conf, seeds(30, 1000));
}

/* One client on the software NIC: its tasks, and their combining. */
static void soft_tasks(void **state)
{
	const struct program_conf conf = {
		.kind = &art_kind,
		.rig = { .soft = 1 }, .threads = 2, .tasks = 4, .ops = 60, .keys = 3,
		.fill = 25, .drain = 20, .scan = 3, .prefill = 20, .key_size = 16,
		.value_size = 24,
	};

	(void)state;
	many(conf, seeds(1, 20));
}

static void elsewhere(void **state)
{
	(void)state;
	program_elsewhere(&art_kind);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest mem[] = {
		cmocka_unit_test(mem_threads),
		cmocka_unit_test(mem_in_place),
	};
	const struct CMUnitTest sim[] = {
		cmocka_unit_test(sim_seeds),
		cmocka_unit_test(sim_in_place),
		cmocka_unit_test(sim_plain),
		cmocka_unit_test(sim_merging),
		cmocka_unit_test(sim_long_values),
		cmocka_unit_test(sim_breaks),
	};

	const struct CMUnitTest soft[] = {
		cmocka_unit_test(soft_tasks),
	};
	const struct CMUnitTest there[] = {
		cmocka_unit_test(elsewhere),
	};

	if (argc == 2 && !strcmp(argv[1], "elsewhere"))
		return cmocka_run_group_tests(there, NULL, NULL);
	if (argc == 2 && !strcmp(argv[1], "soft"))
		return cmocka_run_group_tests(soft, NULL, NULL);
	if (argc == 2 && !strcmp(argv[1], "mem"))
		return cmocka_run_group_tests(mem, NULL, NULL);
	if (argc == 2 && !strcmp(argv[1], "sim"))
		return cmocka_run_group_tests(sim, NULL, NULL);
	fprintf(stderr, "usage: %s mem|sim|soft|elsewhere\n", argv[0]);
	return 2;
}
