/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What "far bench index --advise" makes of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/tool/advise.h"

static void crosses(void **state)
{
	/* at 32 bytes the radix tree is ahead by chance: behind that it is not */
	const struct advise advise = {
		.btree = { 5, 4, 4, 2, 1 }, .art = { 1, 5, 3, 3, 2 },
	};

	(void)state;
	assert_int_equal(advise_crossover(&advise), 3);
	assert_string_equal(advise_choice(&advise, 64), "btree");
	assert_string_equal(advise_choice(&advise, 127), "btree");
	assert_string_equal(advise_choice(&advise, 128), "art");
	assert_string_equal(advise_choice(&advise, 1024), "art");
	assert_string_equal(advise_choice(&advise, 0), "art");
}

static void does_not_cross(void **state)
{
	const struct advise never = { .btree = { 2, 2, 2, 2, 2 }, .art = { 1, 1, 1, 1, 2 } };
	const struct advise always = { .btree = { 1, 1, 1, 1, 1 }, .art = { 2, 2, 2, 2, 2 } };

	(void)state;
	assert_int_equal(advise_crossover(&never), ADVISE_SIZES);
	assert_string_equal(advise_choice(&never, 256), "btree");
	assert_int_equal(advise_crossover(&always), 0);
	assert_string_equal(advise_choice(&always, 8), "art");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crosses),
		cmocka_unit_test(does_not_cross),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
