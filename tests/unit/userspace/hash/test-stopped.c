/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client that stands still in the middle of an insert, or a split: ../ordered/stopped.h. */
#include "../ordered/stopped.h"
#include "kind.h"

static void each_step(void **state)
{
	(void)state;
	stopped_everywhere(&hash_kind, 60, 140, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
