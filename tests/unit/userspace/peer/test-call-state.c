/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The transition table of a call, each cell of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/peer/call_state.h"

static const char *const states[FAR_CALL_NR_STATES] = {
	"seeking", "initiated", "greeted", "proved", "asked", "done", "failed",
};

static const char *const actions[FAR_CALL_NR_ACTIONS] = {
	"-", "nothing", "request", "initiate", "repeat", "greet", "prove", "keep", "retry",
	"forget", "close",
};

/* Columns: pass, no pass, accepted, cookie, answered, refused, message, forged, broken,
 * late, stuck. "-": the event cannot come. */
static const char *const want[FAR_CALL_NR_STATES][FAR_CALL_NR_EVENTS] = {
	{ "asked/request", "initiated/initiate", "-", "-", "-", "-", "-", "-", "-", "-",
	  "failed/close" },
	{ "-", "-", "greeted/greet", "initiated/repeat", "failed/close", "seeking/retry", "-",
	  "-", "failed/close", "failed/close", "failed/close" },
	{ "-", "-", "-", "-", "-", "-", "proved/prove", "failed/close", "failed/close",
	  "failed/close", "failed/close" },
	{ "-", "-", "-", "-", "-", "-", "seeking/keep", "failed/close", "failed/close",
	  "failed/close", "failed/close" },
	{ "-", "-", "done/nothing", "-", "done/close", "seeking/retry", "-", "seeking/forget",
	  "failed/close", "failed/close", "failed/close" },
	{ "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-" },
	{ "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-" },
};

static void test_cells(void **state)
{
	unsigned s, e;

	for (s = 0; s < FAR_CALL_NR_STATES; s++)
		for (e = 0; e < FAR_CALL_NR_EVENTS; e++) {
			struct far_call_cell cell = far_call_cell(s, e);
			char is[40] = "-";

			if (cell.action)
				snprintf(is, sizeof(is), "%s/%s", states[cell.next],
					 actions[cell.action]);
			else
				assert_int_equal(cell.next, FAR_CALL_FAILED);
			if (strcmp(is, want[s][e]))
				fail_msg("%s, event %u: %s and not %s", states[s], e, is,
					 want[s][e]);
		}
}

/* Every state that waits for the peer ends when it does not answer, and closes the link. */
static void test_ends(void **state)
{
	unsigned s, e;

	for (s = FAR_CALL_INITIATED; s <= FAR_CALL_ASKED; s++)
		for (e = FAR_CALL_EV_BROKEN; e <= FAR_CALL_EV_STUCK; e++) {
			assert_int_equal(far_call_cell(s, e).next, FAR_CALL_FAILED);
			assert_int_equal(far_call_cell(s, e).action, FAR_CALL_DO_CLOSE);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
