// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Size classes, and the words of the layout.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/space/class.h"

/* Each size has the least class that holds it, and none above half a page. */
static void least_class(void **state)
{
	(void)state;
	for (uint64_t size = 1; size <= FAR_PAGE / 2; size++) {
		unsigned class = far_class_of(size);

		assert_in_range(class, 1, FAR_NR_CLASSES - 1);
		assert_true(far_class_size(class) >= size);
		assert_true(class == 1 || far_class_size(class - 1) < size);
	}
	assert_int_equal(far_class_of(0), 1);
	assert_int_equal(far_class_of(FAR_PAGE / 2 + 1), 0);
	assert_int_equal(far_class_of(UINT64_MAX / 2), 0);
}

/*
 * At most a third of a block is lost to its class above 1 KiB. From 26 bytes to there a
 * block is at most a quarter larger than what it is for; below, 7 bytes.
 */
static void little_is_lost(void **state)
{
	(void)state;
	for (uint64_t size = FAR_LEAST; size <= 1024; size++) {
		uint32_t got = far_class_size(far_class_of(size));

		assert_true(size < 26 ? got - size <= 7 : (got - size) * 4 <= size);
	}
	for (uint64_t size = 1088; size <= FAR_PAGE / 2; size += 64)
		assert_true((far_class_size(far_class_of(size)) - size) * 3 <=
			    far_class_size(far_class_of(size)));
	/* the worst ones */
	assert_int_equal(far_class_size(far_class_of(17)), 24);
	assert_int_equal(far_class_size(far_class_of(25)), 32);
	assert_int_equal(far_class_size(far_class_of(257)), 320);
}

/* Blocks that are used as lines begin at a multiple of 64; others hold words. */
static void places(void **state)
{
	(void)state;
	for (uint64_t size = 1; size <= FAR_PAGE / 2; size++) {
		uint32_t got = far_class_size(far_class_of(size));

		assert_int_equal(got % 8, 0);
		if (size > 256)
			assert_int_equal(got % 64, 0);
		if (size <= 1024 && !(size % 64))
			assert_int_equal(got, size);
	}
}

static void pages_are_filled(void **state)
{
	(void)state;
	for (unsigned c = 1; c < FAR_NR_CLASSES; c++) {
		assert_in_range(far_class_blocks(c), 2, FAR_MAP_WORDS * 64);
		/* less than a tenth of the page lies behind the last block */
		assert_true((FAR_PAGE - far_class_blocks(c) * far_class_size(c)) * 10 <
			    FAR_PAGE);
	}
	assert_int_equal(far_class_size(0), 0);
	assert_int_equal(far_class_size(FAR_NR_CLASSES), 0);
}

static void words(void **state)
{
	uint64_t who = far_who(FAR_MAX_CLIENTS, FAR_MAX_INCARNATION), word;

	(void)state;
	word = far_lock_word(who, 0xff, 0xf, ~0u);
	assert_int_equal(far_who_number(word), FAR_MAX_CLIENTS);
	assert_int_equal(far_who_incarnation(word), FAR_MAX_INCARNATION);
	assert_int_equal(far_lock_slot(word), 0xff);
	assert_int_equal(far_lock_flags(word), 0xf);
	assert_int_equal(far_lock_sum(word), 0xffffff);
	word = far_lock_word(far_who(1, 2), 3, 4, 5);
	assert_int_equal(word, UINT64_C(0x0010002034000005));

	word = far_chunk_word(far_who(1, 2), FAR_CHUNK_TAIL, 0x123456);
	assert_int_equal(far_who_number(word), 1);
	assert_int_equal(far_chunk_state(word), FAR_CHUNK_TAIL);
	assert_int_equal(far_chunk_count(word), 0x123456);

	word = far_page_word(FAR_PAGE_SLAB, 42, 0x654321);
	assert_int_equal(far_page_state(word), FAR_PAGE_SLAB);
	assert_int_equal(far_page_class(word), 42);
	assert_int_equal(far_page_count(word), 0x654321);

	assert_true(far_claim_taken(far_claim(7, 1)));
	assert_false(far_claim_taken(far_claim(7, 0)));
	assert_int_equal(far_who_incarnation(far_claim(7, 1)), 7);
	assert_int_equal(far_who_number(far_claim(FAR_MAX_INCARNATION, 1)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(least_class),
		cmocka_unit_test(little_is_lost),
		cmocka_unit_test(places),
		cmocka_unit_test(pages_are_filled),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
