/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of the B+ tree that are late: ../ordered/deadline.h and stopped.h. */
#include "../ordered/deadline.h"
#include "../ordered/stopped.h"
#include "kind.h"

static void while_changing(void **state)
{
	(void)state;
	late_while_changing(&btree_kind);
}

static void while_combining(void **state)
{
	(void)state;
	late_while_combining(&btree_kind);
}

static void while_breaking(void **state)
{
	(void)state;
	late_while_breaking(&btree_kind);
}

static void beside_one_that_stands_still(void **state)
{
	(void)state;
	stopped_everywhere(&btree_kind, 12, 60, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_changing),
		cmocka_unit_test(while_combining),
		cmocka_unit_test(while_breaking),
		cmocka_unit_test(beside_one_that_stands_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
