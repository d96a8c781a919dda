/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histories of several clients, threads and tasks on mem, and in sim by seeds. */
#include "../ordered/histories.h"
#include "kind.h"

#define ADVERSARY	(FAR_SIM_TEAR | FAR_SIM_DELAY)

static const struct histories rows[] = {
	{
		.name = "mem_threads", .by_day = 4, .at_night = 200, .combines = 1,
		.conf = {
			.rig = { .clients = 3 }, .tasks = 4, .ops = 300, .keys = 4,
			.fill = 20, .drain = 15, .scan = 3, .key_size = 24,
			.value_size = 64, .big = 50,
		},
	}, {
		.name = "mem_in_place", .by_day = 4, .at_night = 100,
		.conf = {
			.rig = { .clients = 2, .without = FAR_WITHOUT_COMBINE },
			.threads = 2, .tasks = 3, .ops = 300, .keys = 6, .fill = 20,
			.drain = 20, .scan = 2, .key_size = 9, .value_size = 8,
		},
	}, {
		.name = "sim_seeds", .by_day = 100, .at_night = 3000, .combines = 1,
		.conf = {
			.rig = { .sim = 1, .clients = 3, .adversary = ADVERSARY },
			.tasks = 4, .ops = 80, .keys = 4, .prefill = 10, .fill = 30,
			.drain = 25, .scan = 4, .key_size = 24, .value_size = 64, .big = 40,
		},
	}, {	/* all values are written in place */
		.name = "sim_in_place", .by_day = 120, .at_night = 3000, .combines = 1,
		.conf = {
			.rig = { .sim = 1, .clients = 3, .adversary = ADVERSARY },
			.tasks = 4, .ops = 80, .keys = 3, .fill = 20, .drain = 20,
			.scan = 3, .key_size = 9, .value_size = 8,
		},
	}, {
		.name = "sim_plain", .by_day = 60, .at_night = 1500,
		.conf = {
			.rig = {
				.sim = 1, .clients = 3, .adversary = ADVERSARY,
				.without = FAR_WITHOUT_CACHE | FAR_WITHOUT_COMBINE,
			},
			.tasks = 4, .ops = 80, .keys = 8, .fill = 30, .drain = 30,
			.scan = 4, .key_size = 24, .value_size = 16,
		},
	}, {	/* two keys that share a node of their own, which comes and goes with them */
		.name = "sim_merging", .by_day = 60, .at_night = 1500, .combines = 1,
		.conf = {
			.rig = { .sim = 1, .clients = 4, .adversary = ADVERSARY },
			.tasks = 2, .ops = 80, .keys = 2, .fill = 30, .drain = 40,
			.key_size = 200, .value_size = 8,
		},
	}, {
		.name = "sim_long_values", .by_day = 5, .at_night = 100, .combines = 1,
		.conf = {
			.rig = { .sim = 1, .clients = 2, .adversary = ADVERSARY },
			.tasks = 3, .ops = 40, .keys = 3, .scan = 5, .key_size = 24,
			.value_size = 20000,
		},
	}, {
		.name = "sim_breaks", .by_day = 30, .at_night = 1000,
		.conf = {
			.rig = {
				.sim = 1, .clients = 2,
				.adversary = ADVERSARY | FAR_SIM_BREAK,
			},
			.tasks = 2, .ops = 30, .keys = 6, .fill = 20, .drain = 20,
			.scan = 2, .key_size = 24, .value_size = 16,
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
	return histories_main(argc, argv, &art_kind, rows, sizeof(rows) / sizeof(rows[0]));
}
