/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Births of few bits beside ages of 64, around every place where the few come round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/form/age.h"

static struct form_age age(uint64_t epoch)
{
	return (struct form_age){ epoch };
}

static bool after(uint64_t birth, unsigned bits, uint64_t hint, uint64_t now)
{
	return form_age_after(form_age_low(age(birth), bits), bits, age(hint), age(now));
}

/* Widths that layouts have, and few enough to try each birth. */
static const unsigned widths[] = { 12, 13, 32, 40 };
#define WIDTHS (sizeof(widths) / sizeof(widths[0]))

/* What was born after the hint is after it, whatever epoch it is, up to what E can be. */
static void born_after(void **state)
{
	static const uint64_t shifts[] = { 0, 1, 8, 31, 32, 33, 40, 47 };
	uint64_t hint, now, birth;
	unsigned i, k, old;

	(void)state;
	for (k = 0; k < WIDTHS; k++)
		for (i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++)
			for (old = 0; old < 40; old++) {
				hint = (UINT64_C(1) << shifts[i]) + 5000 - i;
				now = hint + (UINT64_C(1) << old) - 1;
				assert_true(after(hint + 1, widths[k], hint, now));
				assert_true(after(now + FAR_EPOCH_LEAD - 1, widths[k], hint,
						  now));
				for (birth = hint + 1; birth < now; birth += 1 + (now - hint) / 9)
					assert_true(after(birth, widths[k], hint, now));
			}
}

/*
 * What was born before is not, unless its bits are those of an epoch in between; also
 * when it is older than half of what they can tell.
 */
static void born_before(void **state)
{
	uint64_t hint = (UINT64_C(5) << 32) + 7, span, back;
	unsigned k, fresh;

	(void)state;
	for (k = 0; k < WIDTHS; k++) {
		span = UINT64_C(1) << widths[k];
		for (fresh = 0; fresh < 2000; fresh += 333) {
			for (back = 0; back + fresh + FAR_EPOCH_LEAD <= span;
			     back += 1 + span / 4099)
				assert_false(after(hint - back, widths[k], hint, hint + fresh));
			assert_false(after(hint - (span - fresh - FAR_EPOCH_LEAD), widths[k],
					   hint, hint + fresh));
			assert_true(after(hint - (span - fresh - FAR_EPOCH_LEAD + 1), widths[k],
					  hint, hint + fresh));
		}
	}
}

/* A hint that is as old as the bits can tell proves nothing. */
static void too_old(void **state)
{
	uint64_t hint = 77, span, birth;
	unsigned k;

	(void)state;
	for (k = 0; k < WIDTHS; k++) {
		span = UINT64_C(1) << widths[k];
		for (birth = 0; birth < span; birth += 1 + span / 4099) {
			assert_true(after(birth, widths[k], hint, hint + span));
			assert_true(after(birth, widths[k], hint, hint + (UINT64_C(1) << 50)));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(born_after),
		cmocka_unit_test(born_before),
		cmocka_unit_test(too_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
