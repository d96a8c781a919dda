/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The session's transition table, read as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../kmod/state.h"

static void test_state_table(void **state)
{
	/* Rows: from; columns: to, in the order of the enum. */
	static const bool may[ODRP_NR_STATES][ODRP_NR_STATES] = {
		/*		  init conn live lost fail dead clsg clsd */
		[ODRP_INIT]	  = { 0,   1,   0,   0,   0,   0,   0,   1 },
		[ODRP_CONNECTING] = { 0,   0,   1,   0,   0,   1,   1,   0 },
		[ODRP_LIVE]	  = { 0,   0,   0,   1,   0,   1,   1,   0 },
		[ODRP_LOST]	  = { 0,   0,   1,   0,   1,   1,   1,   0 },
		[ODRP_FAILING]	  = { 0,   0,   1,   0,   0,   1,   1,   0 },
		[ODRP_DEAD]	  = { 0,   0,   0,   0,   0,   0,   1,   0 },
		[ODRP_CLOSING]	  = { 0,   0,   0,   0,   0,   0,   0,   1 },
		[ODRP_CLOSED]	  = { 0,   0,   0,   0,   0,   0,   0,   0 },
	};
	unsigned int f, t;

	for (f = 0; f < ODRP_NR_STATES; f++) {
		for (t = 0; t < ODRP_NR_STATES; t++)
			assert_int_equal(odrp_state_may(f, t), may[f][t]);
	}
	assert_false(odrp_state_may(ODRP_NR_STATES, ODRP_LIVE));
	assert_false(odrp_state_may(ODRP_LIVE, ODRP_NR_STATES));
}

static void test_state_names(void **state)
{
	assert_string_equal(odrp_state_name(ODRP_INIT), "init");
	assert_string_equal(odrp_state_name(ODRP_LOST), "lost");
	assert_string_equal(odrp_state_name(ODRP_FAILING), "failing");
	assert_string_equal(odrp_state_name(ODRP_DEAD), "dead");
	assert_string_equal(odrp_state_name(ODRP_CLOSED), "closed");
	assert_string_equal(odrp_state_name(ODRP_NR_STATES), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_state_table),
		cmocka_unit_test(test_state_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
