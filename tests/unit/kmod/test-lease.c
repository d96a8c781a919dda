/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lease: takers against a shrinking limit, in all interleavings.  What the
 * beat says is held must cover all that is used from then on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../kmod/lease.h"
#include "weave.h"

static struct odrp_lease lease;
static bool got[2];
static u64 held, used_said;

static void test_lease_limit(void **state)
{
	lease.used.v = 0;
	lease.limit.v = 2;
	assert_true(odrp_lease_take(&lease));
	assert_true(odrp_lease_take(&lease));
	assert_false(odrp_lease_take(&lease));
	assert_int_equal(odrp_lease_used(&lease), 2);
	odrp_lease_put(&lease);
	assert_true(odrp_lease_take(&lease));
}

static void test_lease_held(void **state)
{
	lease.used.v = 7;
	lease.limit.v = 9;
	assert_int_equal(odrp_lease_set(&lease, 5, &used_said), 7);
	assert_int_equal(used_said, 7);
	assert_int_equal(odrp_lease_set(&lease, 8, &used_said), 8);
}

static void test_lease_want(void **state)
{
	assert_int_equal(odrp_lease_want(0, 1 << 20), 4096);
	assert_int_equal(odrp_lease_want(1 << 18, 1 << 20), (1 << 18) * 5 / 4);
	assert_int_equal(odrp_lease_want(1000, 2000), 2000);
	assert_int_equal(odrp_lease_want(3000, 2000), 3000);
}

static void init(void)
{
	lease.used.v = 3;
	lease.limit.v = 4;
	got[0] = got[1] = false;
	held = 0;
}

static void taker0(void)
{
	got[0] = odrp_lease_take(&lease);
}

static void taker1(void)
{
	got[1] = odrp_lease_take(&lease);
	if (got[1])
		odrp_lease_put(&lease);
	got[1] = odrp_lease_take(&lease);
}

static void beat(void)
{
	held = odrp_lease_set(&lease, 2, &used_said);
}

static void check(void)
{
	assert_int_equal(lease.used.v, 3 + got[0] + got[1]);
	assert_true(lease.used.v <= 4);
	assert_true((u64)lease.used.v <= held);
	assert_true(used_said <= held);
}

static void test_lease_shrinks_under_takers(void **state)
{
	const struct weave w = { init, { taker0, taker1, beat }, 3, check };

	assert_true(weave_all(&w) > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lease_limit),
		cmocka_unit_test(test_lease_held),
		cmocka_unit_test(test_lease_want),
		cmocka_unit_test(test_lease_shrinks_under_takers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
