/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histories on the B+ tree, with scans, of several clients, threads and tasks: on mem, and
 * in sim by seeds.
 */
#include "../../../../userspace/paper/btree.h"
#include "../ordered/histories.h"
#include "kind.h"

#define ADVERSARY	(FAR_SIM_TEAR | FAR_SIM_DELAY)

static const unsigned variants[] = {
	BTREE_SHERMAN, BTREE_SHERMAN_RDWC, BTREE_SMART_BT, BTREE_NO_NEAR, BTREE_NO_SPOT,
};

static const struct histories rows[] = {
	{
		.name = "mem_threads", .by_day = 6, .at_night = 200,
		.conf = {
			.rig = { .clients = 3 },
			.tasks = 4, .ops = 300, .keys = 6, .fill = 20, .drain = 18,
			.scan = 5, .prefill = 30, .key_size = 9, .value_size = 40,
		},
	}, {
		.name = "mem_hot", .by_day = 4, .at_night = 100, .combines = 1,
		.conf = {
			.rig = { .clients = 2 }, .threads = 2,
			.tasks = 4, .ops = 200, .keys = 2, .key_size = 9, .value_size = 8,
		},
	}, {
		.name = "sim_seeds", .by_day = 100, .at_night = 3000,
		.conf = {
			.rig = { .sim = 1, .clients = 3, .adversary = ADVERSARY },
			.tasks = 4, .ops = 80, .keys = 4, .fill = 30, .drain = 28,
			.scan = 5, .prefill = 20, .key_size = 9, .value_size = 40,
		},
	}, {
		.name = "sim_hot", .by_day = 60, .at_night = 2000, .combines = 1,
		.conf = {
			.rig = { .sim = 1, .clients = 3, .adversary = ADVERSARY },
			.tasks = 4, .ops = 60, .keys = 2, .key_size = 16, .value_size = 64,
		},
	}, {
		.name = "sim_plain", .by_day = 60, .at_night = 2000,
		.conf = {
			.rig = {
				.sim = 1, .clients = 3, .adversary = ADVERSARY,
				.without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
			},
			.tasks = 4, .ops = 60, .keys = 8, .fill = 30, .drain = 28,
			.scan = 5, .prefill = 20, .key_size = 9, .value_size = 8,
		},
	}, {
		.name = "sim_broken", .by_day = 40, .at_night = 1000,
		.conf = {
			.rig = {
				.sim = 1, .clients = 2,
				.adversary = ADVERSARY | FAR_SIM_BREAK,
			},
			.tasks = 2, .ops = 40, .keys = 8, .fill = 30, .drain = 20,
			.prefill = 10, .key_size = 9, .value_size = 24,
		},
	}, {
		.name = "sim_wide", .by_day = 30, .at_night = 2000,
		.conf = {
			.kind = &btree_wide_kind,
			.rig = { .sim = 1, .clients = 3, .adversary = ADVERSARY },
			.tasks = 4, .ops = 80, .keys = 8, .fill = 30, .drain = 28,
			.scan = 5, .prefill = 40, .key_size = 9, .value_size = 24,
		},
	}, {	/* what benchmarks call Sherman and SMART-BT is right, as long as nobody dies */
		.name = "sim_variants", .by_day = 4, .at_night = 300,
		.variants = variants, .nr_variants = sizeof(variants) / sizeof(variants[0]),
		.conf = {
			.kind = &btree_wide_kind,
			.rig = { .sim = 1, .clients = 3, .adversary = ADVERSARY },
			.tasks = 4, .ops = 60, .keys = 8, .fill = 30, .drain = 20,
			.scan = 5, .prefill = 20, .key_size = 9, .value_size = 24,
		},
	}, {	/* one client on the software NIC: its tasks, and their combining */
		.name = "soft_tasks", .by_day = 1, .at_night = 20, .combines = 1,
		.conf = {
			.rig = { .soft = 1 }, .threads = 2, .tasks = 4, .ops = 60, .keys = 3,
			.fill = 25, .drain = 20, .scan = 3, .prefill = 20, .key_size = 16,
			.value_size = 24,
		},
	},
};

int main(int argc, char **argv)
{
	return histories_main(argc, argv, &btree_kind, rows, sizeof(rows) / sizeof(rows[0]));
}
