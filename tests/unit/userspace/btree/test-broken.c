/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection that breaks at each operation of an insert or a delete, beside another
 * client that does the same: a split or a merge happens or not, what it has begun is put
 * in order, and nobody waits for a lock that nobody has.
 */
#include "../../../lib/nightly.h"
#include "../ordered/broken.h"
#include "kind.h"

/* Room in a leaf, and a split; a deletion, and a merge. */
static void breaks(void **state)
{
	static const unsigned prefill[] = { 2, 4, 5 };
	unsigned i, unknown = 0;

	(void)state;
	for (i = 0; i < sizeof(prefill) / sizeof(prefill[0]); i++) {
		unknown += broken_everywhere(&btree_kind, prefill[i], 0, nightly() ? 80 : 12);
		unknown += broken_everywhere(&btree_kind, prefill[i], 1, nightly() ? 80 : 12);
	}
	print_message("%u of unknown fate\n", unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
