/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Full spaces: ../ordered/full.h. */
#include "../ordered/full.h"
#include "kind.h"

/* Leaves of each kind: of few words, of units of 64 bytes, of several pages, of a chunk. */
static const size_t sizes[] = { 8, 200, 3000, 17000, 40000, 400000 };
#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static void by_one(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < SIZES; i++)
		full_in_turn(&art_kind, 1, sizes[i]);
}

static void by_several(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i < SIZES; i += 2)
		full_in_turn(&art_kind, 3, sizes[i]);
}

static void nothing_left(void **state)
{
	(void)state;
	full_deletes(&art_kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_one),
		cmocka_unit_test(by_several),
		cmocka_unit_test(nothing_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
