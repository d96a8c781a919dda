// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where a slot's page is: each slot has a place of its own, and there are as many
 * keys as that takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../kmod/keys.h"

static void test_places(void **state)
{
	u64 slot, before = 0;

	assert_int_equal(odrp_key_nr(0), 0);
	assert_int_equal(odrp_key_addr(0), 0);
	for (slot = 1; slot < 3 * ODRP_WIRE_KEY_SLOTS; slot++) {
		u64 addr = odrp_key_addr(slot);
		u32 nr = odrp_key_nr(slot);

		/* One stride further, or at the beginning of the next key. */
		if (slot % ODRP_WIRE_KEY_SLOTS) {
			assert_int_equal(addr, before + ODRP_WIRE_KEY_STRIDE);
			assert_int_equal(nr, odrp_key_nr(slot - 1));
		} else {
			assert_int_equal(addr, 0);
			assert_int_equal(nr, odrp_key_nr(slot - 1) + 1);
		}
		before = addr;
	}
	assert_int_equal(odrp_key_nr(slot - 1), 2);
}

static void test_number(void **state)
{
	const u64 most = 1ull << 32;

	assert_int_equal(odrp_keys_of(1), 1);
	assert_int_equal(odrp_keys_of(ODRP_WIRE_KEY_SLOTS), 1);
	assert_int_equal(odrp_keys_of(ODRP_WIRE_KEY_SLOTS + 1), 2);
	assert_int_equal(odrp_keys_of(most), most / ODRP_WIRE_KEY_SLOTS);
	assert_int_equal(odrp_key_nr(most - 1), odrp_keys_of(most) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
