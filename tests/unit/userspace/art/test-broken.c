/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection that breaks at each operation of an insert or a delete, beside another
 * client that does the same: of what both would store nobody concludes that it has won.
 */
#include "../../../lib/nightly.h"
#include "../ordered/broken.h"
#include "kind.h"

/* Leaf splits, room in a node, a type switch; merges, and a deletion in a node. */
static void breaks_with(size_t value_len)
{
	static const unsigned prefill[] = { 1, 2, 6 };
	unsigned last = nightly() ? 60 : 12, unknown = 0;

	for (unsigned i = 0; i < sizeof(prefill) / sizeof(prefill[0]); i++) {
		unknown += broken_everywhere(&art_kind, prefill[i], value_len, 0, last);
		unknown += broken_everywhere(&art_kind, prefill[i], value_len, 1, last);
	}
	print_message("%u of unknown fate\n", unknown);
	assert_true(unknown > 0);
}

static void breaks(void **state)
{
	(void)state;
	breaks_with(8);
}

/* The leaves are longer than what one READ takes of them. */
static void long_values(void **state)
{
	(void)state;
	breaks_with(BROKEN_VALUE_MAX);
}

/* Histories in which connections break, and many values are that long. */
static void histories(void **state)
{
	struct program_conf conf = {
		.kind = &art_kind,
		.rig = {
			.sim = 1, .clients = 2,
			.adversary = FAR_SIM_TEAR | FAR_SIM_DELAY | FAR_SIM_BREAK,
		},
		.tasks = 2, .ops = 40, .keys = 4, .prefill = 10, .fill = 20, .drain = 15,
		.scan = 3, .key_size = 24, .value_size = 64, .big = 6,
	};
	struct program_result result;

	(void)state;
	while (conf.rig.seed++ < (nightly() ? 1000 : 30))
		program_expect_right(&conf, &result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaks),
		cmocka_unit_test(long_values),
		cmocka_unit_test(histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
