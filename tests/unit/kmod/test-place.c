// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Places in direct slabs: no page has two slots, no slab with a taken place is given back,
 * and a store of unknown fate keeps its place, in all orders of steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <asm/byteorder.h>
#include <linux/bitmap.h>
#include "../../../kmod/place.h"
#include "../../../kmod/slot.h"
#include "weave.h"

#define SLABS	3
#define PAGES	ODRP_WIRE_SLAB_PAGES
#define LONGS	(SLABS * PAGES / (8 * sizeof(long)))

static struct odrp_slab slab[SLABS];
static unsigned long taken[LONGS], room[ODRP_SLAB_LEVELS];
static struct odrp_places places;

static struct odrp_wire_slab named(u32 nr, u16 generation)
{
	return (struct odrp_wire_slab) {
		.addr = cpu_to_be64((u64)nr << ODRP_WIRE_LOG_SLAB),
		.rkey = cpu_to_be32(100 * generation + nr),
		.kind = ODRP_WIRE_SLAB_DIRECT,
		.generation = cpu_to_be16(generation),
	};
}

static void see(u32 nr, u16 generation, int expected)
{
	struct odrp_wire_slab w = named(nr, generation);

	assert_int_equal(odrp_slab_see(&places, nr, &w), expected);
}

static void begin(u32 granted)
{
	u32 i;

	memset(slab, 0, sizeof(slab));
	memset(taken, 0, sizeof(taken));
	memset(room, 0, sizeof(room));
	for (i = 0; i < SLABS; i++)
		slab[i].used = ODRP_SLAB_AWAY;
	places = (struct odrp_places) {
		.max = SLABS, .slab = slab, .taken = taken,
		.granted = granted * PAGES,
	};
	for (i = 0; i < ODRP_SLAB_LEVELS; i++)
		places.room[i] = &room[i];
	for (i = 0; i < SLABS; i++)
		see(i, 1, 0);
}

static bool is_taken(u32 place)
{
	return taken[place / 64] >> place % 64 & 1;
}

static u32 nr_taken(u32 nr)
{
	u32 i, n = 0;

	for (i = 0; i < PAGES; i++)
		n += is_taken(nr * PAGES + i);
	return n;
}

static void test_take_all(void **state)
{
	u32 i;

	begin(2);
	assert_int_equal(places.nr_held, 2);
	assert_int_equal(odrp_places_limit(&places), 2 * PAGES);
	for (i = 0; i < 2 * PAGES; i++)
		assert_int_equal(odrp_place_take(&places), i);
	assert_int_equal(odrp_place_take(&places), ODRP_PLACE_NONE);
	assert_int_equal(odrp_slabs_in_use(&places), 2);
	odrp_place_put(&places, 700);
	odrp_place_put(&places, 7);
	assert_int_equal(odrp_place_take(&places), 7);
	assert_int_equal(odrp_place_take(&places), 700);
	assert_int_equal(odrp_place_take(&places), ODRP_PLACE_NONE);
}

static void test_where(void **state)
{
	begin(3);
	assert_int_equal(odrp_place_addr(&places, 2 * PAGES + 5),
			 (2ull << ODRP_WIRE_LOG_SLAB) + 5 * 4096);
	assert_int_equal(odrp_place_rkey(&places, 2 * PAGES + 5), 102);
}

static void test_more_later(void **state)
{
	begin(1);
	assert_int_equal(places.nr_held, 1);
	places.granted = 2 * PAGES;
	see(1, 1, 0);
	see(2, 1, 0);
	assert_int_equal(places.nr_held, 2);
	assert_int_equal(slab[2].used, ODRP_SLAB_AWAY);
}

/* A session that is resumed has new keys for the same slabs, and dies without them. */
static void test_generations(void **state)
{
	struct odrp_wire_slab w = named(0, 1);

	begin(2);
	w.rkey = cpu_to_be32(77);
	assert_int_equal(odrp_slab_see(&places, 0, &w), 0);
	assert_int_equal(odrp_place_rkey(&places, 0), 77);
	see(1, 2, -EPROTO);
	w.kind = ODRP_WIRE_SLAB_NONE;
	assert_int_equal(odrp_slab_see(&places, 0, &w), -EPROTO);
	assert_int_equal(odrp_slab_see(&places, 2, &w), 0);
}

static void test_give_back(void **state)
{
	u8 bitmap[8] = { 0xff };
	u32 place;

	begin(3);
	for (place = 0; place <= PAGES; place++)
		assert_int_equal(odrp_place_take(&places), place);
	places.back = 2;	/* slab 2 is empty, slab 1 has a place */
	odrp_slabs_give(&places);
	assert_int_equal(places.nr_held, 2);
	assert_int_equal(places.back, 1);
	assert_int_equal(slab[2].used, ODRP_SLAB_AWAY);
	assert_true(slab[1].closing);
	assert_int_equal(places.nr_closing, 1);
	odrp_place_put(&places, 3);
	odrp_place_put(&places, PAGES);
	assert_int_equal(odrp_place_take(&places), 3);
	odrp_slabs_give(&places);
	assert_int_equal(odrp_place_take(&places), ODRP_PLACE_NONE);
	assert_int_equal(places.nr_held, 1);
	assert_int_equal(places.nr_closing, 0);
	assert_int_equal(places.back, 0);
	odrp_slabs_bitmap(&places, bitmap);
	assert_int_equal(bitmap[0], 0xf9);
}

/* Puts all places of a slab but the first n. */
static void leave_in(u32 nr, u32 n)
{
	u32 i;

	for (i = n; i < PAGES; i++)
		odrp_place_put(&places, nr * PAGES + i);
}

/* A store fills the fullest slab: the emptiest one gets no page as long as others have room. */
static void test_fullest(void **state)
{
	u32 i;

	begin(3);
	for (i = 0; i < 3 * PAGES; i++)
		odrp_place_take(&places);
	leave_in(0, 10);
	leave_in(1, 480);
	leave_in(2, 200);
	for (i = 480; i < PAGES; i++)
		assert_int_equal(odrp_place_take(&places) / PAGES, 1);
	for (i = 200; i < PAGES; i++)
		assert_int_equal(odrp_place_take(&places) / PAGES, 2);
	for (i = 10; i < PAGES; i++)
		assert_int_equal(odrp_place_take(&places) / PAGES, 0);
	assert_int_equal(odrp_place_take(&places), ODRP_PLACE_NONE);
}

/* The emptiest slabs are those that come to be empty. */
static void test_emptiest_goes(void **state)
{
	u32 i;

	begin(3);
	for (i = 0; i < 3 * PAGES; i++)
		odrp_place_take(&places);
	leave_in(0, 10);
	leave_in(1, 300);
	leave_in(2, 480);
	places.back = 1;
	odrp_slabs_give(&places);
	assert_true(slab[0].closing);
	assert_false(slab[1].closing || slab[2].closing);
}

/* A device keeps the slabs that its lease covers, however many others it holds. */
static void test_over(void **state)
{
	begin(3);
	assert_int_equal(odrp_places_over(&places), 0);
	places.granted = PAGES;
	assert_int_equal(odrp_places_over(&places), 2);
	places.back = odrp_places_over(&places);
	odrp_slabs_give(&places);
	assert_int_equal(places.nr_held, 1);
	assert_int_equal(odrp_places_over(&places), 0);
	places.granted = 2 * PAGES;
	assert_int_equal(odrp_places_over(&places), 0);
	places.granted = 0;
	assert_int_equal(odrp_places_over(&places), 1);
}

static void test_not_after_all(void **state)
{
	u32 i;

	begin(2);
	for (i = 0; i < 2 * PAGES; i++)
		odrp_place_take(&places);
	places.back = 1;
	odrp_slabs_give(&places);
	odrp_place_put(&places, 9);
	odrp_place_put(&places, PAGES + 1);
	assert_true(slab[1].closing);
	places.back = 0;
	odrp_slabs_give(&places);
	assert_false(slab[1].closing);
	assert_int_equal(odrp_place_take(&places), 9);
	assert_int_equal(odrp_place_take(&places), PAGES + 1);
}

/* Slabs that are not needed come to be empty; a store that finds no other place takes one. */
static void test_spare(void **state)
{
	u32 i;

	begin(2);
	for (i = 0; i < 2 * PAGES; i++)
		odrp_place_take(&places);
	leave_in(0, 100);
	leave_in(1, 511);
	places.spare = 1;
	odrp_slabs_give(&places);
	assert_int_equal(places.nr_held, 2);
	assert_true(slab[0].closing);
	assert_int_equal(odrp_place_take(&places), 2 * PAGES - 1);
	assert_int_equal(odrp_place_take(&places), 100);
}

/* ---- slots ---------------------------------------------------------------------- */

static u8 st[2];
static u32 entry[2];
static struct odrp_slots slots = { .st = st, .entry = entry, .nr = 2 };

static u32 store_new(u64 slot)
{
	u32 place = odrp_place_take(&places);

	assert_int_equal(odrp_slot_begin_store(&slots, slot), ODRP_SLOT_DO_UNMAPPED);
	odrp_slot_place(&slots, slot, place);
	return place;
}

static void slots_begin(void)
{
	memset(st, 0, sizeof(st));
	entry[0] = entry[1] = ODRP_PLACE_NONE;
	begin(1);
}

/* Never sent: the place goes back as that of any slot that was freed. */
static void test_aborted(void **state)
{
	slots_begin();
	store_new(0);
	assert_int_equal(odrp_slot_end(&slots, 0, ODRP_SLOT_ABORTED), ODRP_SLOT_END_QUEUE);
	assert_int_equal(odrp_slot_begin_load(&slots, 0), ODRP_SLOT_DO_ZERO);
	assert_true(odrp_slot_begin_free(&slots, 0));
}

static void test_unknown_fate(void **state)
{
	u32 place;

	slots_begin();
	place = store_new(0);
	assert_int_equal(odrp_slot_end(&slots, 0, ODRP_SLOT_FAILED), 0);
	/* Until the session is resumed nobody else gets the place, and the slot is of no use. */
	assert_int_not_equal(odrp_place_take(&places), place);
	assert_int_equal(odrp_slot_begin_load(&slots, 0), ODRP_SLOT_DO_FAIL);
	assert_int_equal(odrp_slot_begin_store(&slots, 0), ODRP_SLOT_DO_FAIL);
	/* Then it is void, and the place is the slot's. */
	assert_true(odrp_slot_begin_look(&slots, 0));
	odrp_slot_end_look(&slots, 0, true);
	assert_int_equal(odrp_slot_begin_load(&slots, 0), ODRP_SLOT_DO_FAIL);
	assert_int_equal(odrp_slot_begin_store(&slots, 0), ODRP_SLOT_DO_MAPPED);
	assert_int_equal(entry[0], place);
}

static void test_unknown_and_freed(void **state)
{
	slots_begin();
	store_new(0);
	odrp_slot_freed(&slots, 0);
	assert_int_equal(odrp_slot_end(&slots, 0, ODRP_SLOT_FAILED), 0);
	assert_false(odrp_slot_begin_free(&slots, 0));
	assert_true(odrp_slot_begin_look(&slots, 0));
	assert_int_equal(odrp_slot_end_look(&slots, 0, true), ODRP_SLOT_END_QUEUE);
	assert_true(odrp_slot_begin_free(&slots, 0));
}

static void test_reuse(void **state)
{
	unsigned int more;
	u32 place;

	slots_begin();
	place = store_new(0);
	odrp_slot_end(&slots, 0, ODRP_SLOT_OK);
	assert_true(odrp_slot_freed(&slots, 0));
	assert_int_equal(odrp_slot_begin_store(&slots, 1), ODRP_SLOT_DO_UNMAPPED);
	assert_true(odrp_slot_reuse(&slots, 1, 0, &more));
	assert_int_equal(entry[1], place);
	assert_int_equal(entry[0], ODRP_PLACE_NONE);
}

/* ---- all orders -------------------------------------------------------------------- */

static u32 got[2];

/* Slab 0 has one free place, slab 1 none. */
static void nearly_full(void)
{
	begin(2);
	memset(taken, 0xff, 2 * PAGES / 8);
	taken[0] &= ~1ul;
	slab[0].used = PAGES - 1;
	slab[1].used = PAGES;
	memset(room, 0, sizeof(room));
	room[ODRP_SLAB_LEVELS - 1] = 1;
}

/* Each slab with a free place is on the list of its level, and on no other. */
static void check_lists(void)
{
	int i, nr, level;

	for (nr = 0; nr < SLABS; nr++) {
		level = slab[nr].used < 0 || slab[nr].used >= PAGES || slab[nr].closing ? -1 :
			slab[nr].used / (PAGES / ODRP_SLAB_LEVELS);
		for (i = 0; i < ODRP_SLAB_LEVELS; i++)
			assert_int_equal(room[i] >> nr & 1, i == level);
	}
}

static void take_0(void) { got[0] = odrp_place_take(&places); }
static void take_1(void) { got[1] = odrp_place_take(&places); }
static void put_other(void) { odrp_place_put(&places, PAGES + 9); }

static void check_takers(void)
{
	u32 n = (got[0] != ODRP_PLACE_NONE) + (got[1] != ODRP_PLACE_NONE);

	assert_true(n >= 1);
	assert_int_not_equal(got[0], got[1]);
	assert_int_equal(nr_taken(0) + nr_taken(1), 2 * PAGES - 2 + n);
	assert_int_equal(slab[0].used, nr_taken(0));
	assert_int_equal(slab[1].used, nr_taken(1));
	check_lists();
	/* Free places are found. */
	if (n == 1)
		assert_int_not_equal(odrp_place_take(&places), ODRP_PLACE_NONE);
	assert_int_equal(odrp_place_take(&places), ODRP_PLACE_NONE);
}

static void test_takers(void **state)
{
	const struct weave w = {
		.init = nearly_full, .thread = { take_0, take_1, put_other }, .nr = 3,
		.check = check_takers, .preemptions = 2,
	};

	print_message("%lu orders\n", weave_all(&w));
}

/* Two places are put and one taken, where that changes the slab's level to and fro. */
static void at_the_edge(void)
{
	u32 i;

	begin(1);
	for (i = 0; i < PAGES / ODRP_SLAB_LEVELS; i++)
		odrp_place_take(&places);
	got[0] = got[1] = ODRP_PLACE_NONE;
}

static void put_0(void) { odrp_place_put(&places, 0); }
static void put_1(void) { odrp_place_put(&places, 1); }

static void check_edge(void)
{
	assert_int_equal(slab[0].used, nr_taken(0));
	check_lists();
}

static void test_edge(void **state)
{
	const struct weave w = {
		.init = at_the_edge, .thread = { put_0, put_1, take_0 }, .nr = 3,
		.check = check_edge, .preemptions = 2,
	};

	print_message("%lu orders\n", weave_all(&w));
}

static void one_taken(void)
{
	begin(1);
	odrp_place_take(&places);
	places.back = 1;
	got[0] = ODRP_PLACE_NONE;
}

static void put_it(void) { odrp_place_put(&places, 0); }
static void give(void) { odrp_slabs_give(&places); }

static void check_giver(void)
{
	bool away = slab[0].used == ODRP_SLAB_AWAY;

	assert_int_equal(places.nr_held, !away);
	if (away)
		assert_int_equal(nr_taken(0), 0);
	else
		assert_int_equal(slab[0].used, nr_taken(0));
	assert_int_equal(nr_taken(0), got[0] != ODRP_PLACE_NONE);
	check_lists();
	/* Whoever looks later finds it away, or still to be given back. */
	if (got[0] != ODRP_PLACE_NONE)
		odrp_place_put(&places, got[0]);
	odrp_slabs_give(&places);
	assert_int_equal(slab[0].used, ODRP_SLAB_AWAY);
	assert_int_equal(odrp_place_take(&places), ODRP_PLACE_NONE);
}

static void test_giver(void **state)
{
	const struct weave w = {
		.init = one_taken, .thread = { put_it, take_0, give }, .nr = 3,
		.check = check_giver, .preemptions = 2,
	};

	print_message("%lu orders\n", weave_all(&w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_all),
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_more_later),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_give_back),
		cmocka_unit_test(test_fullest),
		cmocka_unit_test(test_emptiest_goes),
		cmocka_unit_test(test_over),
		cmocka_unit_test(test_spare),
		cmocka_unit_test(test_not_after_all),
		cmocka_unit_test(test_aborted),
		cmocka_unit_test(test_unknown_fate),
		cmocka_unit_test(test_unknown_and_freed),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_takers),
		cmocka_unit_test(test_edge),
		cmocka_unit_test(test_giver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
