/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations that are late, of a structure that keeps an order. See deadline.h. */
#include "deadline.h"

#include "../../../lib/nightly.h"
#include "../hash/lost.h"

static void late_everywhere(struct program_conf conf, uint64_t least)
{
	unsigned runs = nightly() ? 500 : 25;
	struct program_result result;
	uint64_t late = 0;

	lost_blocks = 0;
	while (runs--) {
		program_expect_right(&conf, &result);
		late += result.late;
		assert_true(!lost_blocks || conf.rig.adversary & FAR_SIM_BREAK);
		conf.rig.seed++;
	}
	print_message("%llu operations were late\n", (unsigned long long)late);
	assert_true(late > least);
}

void late_while_changing(const struct ordered_kind *kind)
{
	const struct program_conf conf = {
		.kind = kind,
		.rig = { .sim = 1, .clients = 3, .seed = 101,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 2, .ops = 300, .keys = 6, .prefill = 5, .fill = 30, .drain = 25,
		.scan = 3, .key_size = 24, .value_size = 32, .late_ns = 30000,
	};

	late_everywhere(conf, 4000);
}

void late_while_combining(const struct ordered_kind *kind)
{
	const struct program_conf conf = {
		.kind = kind,
		.rig = { .sim = 1, .clients = 2, .seed = 201,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY },
		.tasks = 8, .ops = 100, .keys = 1, .key_size = 16, .value_size = 16,
		.late_ns = 12000,
	};

	late_everywhere(conf, 10000);
}

void late_while_breaking(const struct ordered_kind *kind)
{
	const struct program_conf conf = {
		.kind = kind,
		.rig = { .sim = 1, .clients = 2, .seed = 301,
			 .adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK },
		.tasks = 2, .ops = 300, .keys = 6, .prefill = 5, .fill = 30, .drain = 25,
		.key_size = 24, .value_size = 32, .late_ns = 30000,
	};

	late_everywhere(conf, 1000);
}
