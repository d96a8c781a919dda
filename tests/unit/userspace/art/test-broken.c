/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection that breaks at each operation of an insert or a delete, beside another
 * client that does the same: of what both would store nobody concludes that it has won.
 */
#include "../../../lib/nightly.h"
#include "../ordered/broken.h"
#include "kind.h"

/* Leaf splits, room in a node, a type switch; merges, and a deletion in a node. */
static void breaks(void **state)
{
	static const unsigned prefill[] = { 1, 2, 6 };
	unsigned i, unknown = 0;

	(void)state;
	for (i = 0; i < sizeof(prefill) / sizeof(prefill[0]); i++) {
		unknown += broken_everywhere(&art_kind, prefill[i], 0, nightly() ? 60 : 12);
		unknown += broken_everywhere(&art_kind, prefill[i], 1, nightly() ? 60 : 12);
	}
	print_message("%u of unknown fate\n", unknown);
	assert_true(unknown > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
