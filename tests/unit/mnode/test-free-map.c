// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The free pages of a pool: which are handed out, and how many looks that takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <page/free-map.h>

#define LARGE		(1ull << 28)	/* pages: 1 TB */
#define PART		100		/* pages of a last block that is no whole one */

static struct free_map map;

static void begin(uint64_t nr_pages)
{
	free_map_init(&map, nr_pages, calloc(free_map_words(nr_pages), sizeof(*map.bit)),
		      calloc(free_map_blocks(nr_pages), sizeof(*map.block)));
	assert_non_null(map.bit);
	assert_non_null(map.block);
}

static void begin_full(uint64_t nr_pages)
{
	begin(nr_pages);
	while (nr_pages--)
		free_map_put(&map, nr_pages);
}

static void end(void)
{
	free(map.bit);
	free(map.block);
}

/* The lists have each block that has a free page, once; the numbers are those of the bits. */
static void check(void)
{
	uint64_t nr_blocks = free_map_blocks(map.nr_pages), page, nr, found = 0, some = 0;
	uint32_t whole = 0;
	unsigned int list;

	for (nr = 0; nr < nr_blocks; nr++) {
		uint32_t n = 0;

		for (page = nr * FREE_BLOCK; page < (nr + 1) * FREE_BLOCK; page++)
			n += free_map_has(&map, page);
		assert_int_equal(n, map.block[nr].nr);
		some += n > 0;
		whole += n == FREE_BLOCK;
	}
	assert_int_equal(whole, map.nr_whole);
	for (list = 0; list < FREE_LISTS; list++) {
		uint32_t at = map.first[list];

		if (!(map.lists >> list & 1))
			continue;
		do {
			assert_int_equal(map.block[at].nr / 32, list);
			assert_int_equal(map.block[map.block[at].next].prev, at);
			at = map.block[at].next;
			assert_true(++found <= some);
		} while (at != map.first[list]);
	}
	assert_int_equal(found, some);
}

static void test_order(void **state)
{
	uint64_t i;

	begin_full(3 * FREE_BLOCK + PART);
	check();
	/* The last block has the fewest pages: it goes first, and the first one next. */
	for (i = 0; i < PART; i++)
		assert_int_equal(free_map_take_any(&map), 3 * FREE_BLOCK + i);
	for (i = 0; i < 10; i++)
		assert_int_equal(free_map_take_any(&map), i);
	assert_int_equal(free_map_take_block(&map), 2 * FREE_BLOCK);
	assert_int_equal(free_map_take_block(&map), FREE_BLOCK);
	assert_int_equal(free_map_take_block(&map), FREE_NONE);
	check();
	for (i = 10; i < FREE_BLOCK; i++)
		assert_int_equal(free_map_take_any(&map), i);
	assert_int_equal(free_map_take_any(&map), FREE_NONE);
	check();
	end();
}

/* Single pages that come back and go again leave whole blocks alone. */
static void test_stays_whole(void **state)
{
	uint64_t i;

	begin_full(8 * FREE_BLOCK);
	for (i = 0; i < 8 * FREE_BLOCK; i++)
		free_map_take(&map, i);
	/* A page of each block but two comes back, and then those two as a whole. */
	for (i = 0; i < 8; i++)
		if (i != 2 && i != 5)
			free_map_put(&map, i * FREE_BLOCK + 7 * i);
	for (i = 0; i < FREE_BLOCK; i++) {
		free_map_put(&map, 2 * FREE_BLOCK + i);
		free_map_put(&map, 5 * FREE_BLOCK + i);
	}
	for (i = 0; i < 6; i++)
		assert_int_equal(map.block[free_map_take_any(&map) / FREE_BLOCK].nr, 0);
	assert_int_equal(map.block[2].nr, FREE_BLOCK);
	assert_int_equal(map.block[5].nr, FREE_BLOCK);
	check();
	end();
}

/* A pool of 1 TB, of which the last block and one in the middle are free: no search. */
static void test_large(void **state)
{
	uint64_t half = LARGE / 2, i;

	begin(LARGE);
	for (i = 0; i < FREE_BLOCK; i++)
		free_map_put(&map, half + i);
	for (i = 0; i < FREE_BLOCK; i++)
		free_map_put(&map, i);
	/* Others have one page left. */
	for (i = 1; i < 1000; i++)
		free_map_put(&map, LARGE - i * FREE_BLOCK);
	map.nr_looks = 0;
	assert_int_equal(free_map_take_block(&map), half);
	assert_int_equal(free_map_take_block(&map), 0);
	assert_int_equal(free_map_take_block(&map), FREE_NONE);
	assert_true(map.nr_looks <= 3);
	map.nr_looks = 0;
	for (i = 1; i < 1000; i++)
		assert_int_not_equal(free_map_take_any(&map), FREE_NONE);
	assert_true(map.nr_looks <= 999 * (1 + FREE_BLOCK / 64));
	assert_int_equal(free_map_take_any(&map), FREE_NONE);
	end();
}

static void test_random(void **state)
{
	const uint64_t nr_pages = 20 * FREE_BLOCK + PART;
	uint64_t page, first;
	unsigned int i;

	begin(nr_pages);
	srandom(1);
	for (i = 0; i < 200000; i++) {
		page = random() % nr_pages;
		/* In turns few and nearly all pages are free. */
		if (free_map_has(&map, page) && i / 40000 % 2)
			free_map_take(&map, page);
		else if (!free_map_has(&map, page))
			free_map_put(&map, page);
		if (i % 5000)
			continue;
		check();
		first = free_map_take_block(&map);
		if (first != FREE_NONE)
			assert_int_equal(first % FREE_BLOCK, 0);
	}
	check();
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_stays_whole),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
