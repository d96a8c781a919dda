/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histories on the B+ tree, with scans, of several clients, threads and tasks: on mem, and
 * in sim by seeds.
 */
#include "../../../lib/nightly.h"
#include "../../../../userspace/btree/variant.h"
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

	if (!conf.kind)
		conf.kind = &btree_kind;
	for (i = 0; i < nr; i++) {
		conf.rig.seed++;
		program_expect_right(&conf, &result);
		ops += result.ops;
		combined += result.combined;
	}
	print_message("%llu operations, %llu combined at client 0\n",
		      (unsigned long long)ops, (unsigned long long)combined);
	if (!(conf.rig.without & FAR_WITHOUT_COMBINE) && conf.keys < 4)
		assert_true(combined > 0);
}

static void mem_threads(void **state)
{
	const struct program_conf conf = {
		.rig = { .clients = 3 },
		.tasks = 4, .ops = 300, .keys = 6, .fill = 20, .drain = 18, .scan = 5,
		.prefill = 30, .key_size = 9, .value_size = 40,
	};

	(void)state;
	many(conf, seeds(6, 200));
}

static void mem_hot(void **state)
{
	const struct program_conf conf = {
		.rig = { .clients = 2 }, .threads = 2,
		.tasks = 4, .ops = 200, .keys = 2, .key_size = 9, .value_size = 8,
	};

	(void)state;
	many(conf, seeds(4, 100));
}

static void sim_seeds(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 80, .keys = 4, .fill = 30, .drain = 28, .scan = 5,
		.prefill = 20, .key_size = 9, .value_size = 40,
	};

	(void)state;
	many(conf, seeds(100, 3000));
}

static void sim_hot(void **state)
{
	const struct program_conf conf = {
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 60, .keys = 2, .key_size = 16, .value_size = 64,
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
		.tasks = 4, .ops = 60, .keys = 8, .fill = 30, .drain = 28, .scan = 5,
		.prefill = 20, .key_size = 9, .value_size = 8,
	};

	(void)state;
	many(conf, seeds(60, 2000));
}

static void sim_broken(void **state)
{
	const struct program_conf conf = {
		.rig = {
			.sim = 1, .clients = 2,
			.adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK,
		},
		.tasks = 2, .ops = 40, .keys = 8, .fill = 30, .drain = 20,
		.prefill = 10, .key_size = 9, .value_size = 24,
	};

	(void)state;
	many(conf, seeds(40, 1000));
}

static void sim_wide(void **state)
{
	const struct program_conf conf = {
		.kind = &btree_wide_kind,
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 80, .keys = 8, .fill = 30, .drain = 28, .scan = 5,
		.prefill = 40, .key_size = 9, .value_size = 24,
	};

	(void)state;
	many(conf, seeds(30, 2000));
}

/* What the benchmark calls Sherman and SMART-BT is right, too, as long as nobody dies. */
static void sim_variants(void **state)
{
	static const unsigned variants[] = {
		BTREE_SHERMAN, BTREE_SHERMAN_RDWC, BTREE_SMART_BT, BTREE_NO_NEAR, BTREE_NO_SPOT,
	};
	struct program_conf conf = {
		.kind = &btree_wide_kind,
		.rig = { .sim = 1, .clients = 3, .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 4, .ops = 60, .keys = 8, .fill = 30, .drain = 20, .scan = 5,
		.prefill = 20, .key_size = 9, .value_size = 24,
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		conf.variant = variants[i];
		many(conf, seeds(4, 300));
	}
}

/* One client on the software NIC: its tasks, and their combining. */
static void soft_tasks(void **state)
{
	const struct program_conf conf = {
		.kind = &btree_kind,
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
	program_elsewhere(&btree_kind);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest mem[] = {
		cmocka_unit_test(mem_threads),
		cmocka_unit_test(mem_hot),
	};
	const struct CMUnitTest sim[] = {
		cmocka_unit_test(sim_seeds),
		cmocka_unit_test(sim_hot),
		cmocka_unit_test(sim_plain),
		cmocka_unit_test(sim_broken),
		cmocka_unit_test(sim_wide),
		cmocka_unit_test(sim_variants),
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
