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

#define PAGE	(UINT64_C(1) << FAR_MAX_PAGE_SHIFT)

/* Nodes by the size of their pages; the table of classes is made for the last. */
static const struct far_sb node[] = {
	{ .page_shift = 12 }, { .page_shift = 13 }, { .page_shift = 14 },
	{ .page_shift = 15 }, { .page_shift = 16 },
};

#define NR_NODES	(sizeof(node) / sizeof(node[0]))

static unsigned class_of(uint64_t size)
{
	return far_class_of(&node[NR_NODES - 1], size);
}

/* Each size has the least class that holds it, and none above half a page. */
static void least_class_on(const struct far_sb *sb)
{
	uint64_t half = far_page_size(sb) / 2;

	for (uint64_t size = 1; size <= half; size++) {
		unsigned class = far_class_of(sb, size);

		assert_in_range(class, 1, FAR_NR_CLASSES - 1);
		assert_true(far_class_size(class) >= size);
		assert_true(class == 1 || far_class_size(class - 1) < size);
		assert_true(far_class_fits(sb, class));
	}
	assert_int_equal(far_class_of(sb, 0), 1);
	assert_int_equal(far_class_of(sb, half + 1), 0);
	assert_int_equal(far_class_of(sb, UINT64_MAX / 2), 0);
}

static void least_class(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NR_NODES; i++)
		least_class_on(&node[i]);
}

/*
 * At most a third of a block is lost to its class above 1 KiB. From 26 bytes to there a
 * block is at most a quarter larger than what it is for; below, 7 bytes.
 */
static void little_is_lost(void **state)
{
	(void)state;
	for (uint64_t size = FAR_LEAST; size <= 1024; size++) {
		uint32_t got = far_class_size(class_of(size));

		assert_true(size < 26 ? got - size <= 7 : (got - size) * 4 <= size);
	}
	for (uint64_t size = 1088; size <= PAGE / 2; size += 64)
		assert_true((far_class_size(class_of(size)) - size) * 3 <=
			    far_class_size(class_of(size)));
	/* the worst ones */
	assert_int_equal(far_class_size(class_of(17)), 24);
	assert_int_equal(far_class_size(class_of(25)), 32);
	assert_int_equal(far_class_size(class_of(257)), 320);
}

/* Blocks that are used as lines begin at a multiple of 64; others hold words. */
static void places(void **state)
{
	(void)state;
	for (uint64_t size = 1; size <= PAGE / 2; size++) {
		uint32_t got = far_class_size(class_of(size));

		assert_int_equal(got % 8, 0);
		if (size > 256)
			assert_int_equal(got % 64, 0);
		if (size <= 1024 && !(size % 64))
			assert_int_equal(got, size);
	}
}

/* A page has a bit for each of its blocks; of 64 KiB, less than a tenth is in no block. */
static void pages_are_filled(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NR_NODES; i++) {
		for (unsigned c = 1; c < FAR_NR_CLASSES; c++) {
			if (far_class_fits(&node[i], c))
				assert_in_range(far_class_blocks(&node[i], c), 2,
						far_map_words(&node[i]) * 64);
		}
		assert_int_equal(far_pages_of(&node[i], 1), 1);
		assert_int_equal(far_pages_of(&node[i], PAGE) << node[i].page_shift, PAGE);
		assert_int_equal(far_pages_of(&node[i], PAGE + 1),
				 far_pages_of(&node[i], PAGE) + 1);
	}
	for (unsigned c = 1; c < FAR_NR_CLASSES; c++) {
		unsigned blocks = far_class_blocks(&node[NR_NODES - 1], c);

		assert_true((PAGE - blocks * far_class_size(c)) * 10 < PAGE);
	}
	assert_int_equal(far_class_size(0), 0);
	assert_int_equal(far_class_size(FAR_NR_CLASSES), 0);
	assert_false(far_class_fits(&node[0], 0));
	assert_false(far_class_fits(&node[0], FAR_NR_CLASSES));
	assert_false(far_class_fits(&node[0], FAR_NR_CLASSES - 1));
}

static void words(void **state)
{
	uint64_t owner = far_owner(FAR_MAX_CLIENTS, FAR_MAX_INCARNATION), word;

	(void)state;
	word = far_lock_word(owner, 0xff, 0xf, ~0u);
	assert_int_equal(far_owner_number(word), FAR_MAX_CLIENTS);
	assert_int_equal(far_owner_incarnation(word), FAR_MAX_INCARNATION);
	assert_int_equal(far_lock_slot(word), 0xff);
	assert_int_equal(far_lock_flags(word), 0xf);
	assert_int_equal(far_lock_sum(word), 0xffffff);
	word = far_lock_word(far_owner(1, 2), 3, 4, 5);
	assert_int_equal(word, UINT64_C(0x0010002034000005));

	word = far_chunk_word(far_owner(1, 2), FAR_CHUNK_TAIL, 0x123456);
	assert_int_equal(far_owner_number(word), 1);
	assert_int_equal(far_chunk_state(word), FAR_CHUNK_TAIL);
	assert_int_equal(far_chunk_count(word), 0x123456);

	word = far_page_word(FAR_PAGE_SLAB, 42, 0x654321);
	assert_int_equal(far_page_state(word), FAR_PAGE_SLAB);
	assert_int_equal(far_page_class(word), 42);
	assert_int_equal(far_page_count(word), 0x654321);

	assert_true(far_claim_taken(far_claim(7, 1)));
	assert_false(far_claim_taken(far_claim(7, 0)));
	assert_int_equal(far_owner_incarnation(far_claim(7, 1)), 7);
	assert_int_equal(far_owner_number(far_claim(FAR_MAX_INCARNATION, 1)), 0);
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
