/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mover: a page gets from one place to another whole, whatever comes meanwhile and
 * whatever fails, and no place is lost, or two slots', or used again while a WRITE of unknown
 * fate may still come there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../lib/nightly.h"
#include "bed.h"
#include "weave.h"

#define LOAD	ODRP_WIRE_LOAD
#define MAPPED	ODRP_WIRE_MAPPED_STORE
#define SLAB(p)	((p) / ODRP_WIRE_SLAB_PAGES)

static struct odrp_sess *sess(void)
{
	return &bed.dev.sess;
}

/* Slot n holds letter 'a' + n, in slab 0, which is to come to be empty. */
static void begin(unsigned int nr)
{
	unsigned int i;

	bed_init();
	bed_direct();
	for (i = 0; i < nr; i++)
		bed_store(i, 1, 'a' + i);
	bed_drain();
	for (i = 0; i < nr; i++)
		assert_int_equal(SLAB(bed_place(i)), 0);
	assert_int_equal(bed_taken(0), nr);
	bed.dev.places.slab[0].closing = true;
	bed.dev.places.nr_closing = 1;
	clear_bit(0, bed.dev.places.room[ODRP_SLAB_LEVELS - 1]);
	bed.dev.places.filling = 1;
}

/* One run of the worker. */
static void run(void)
{
	odrp_move_now(&bed.dev);
	if (bed.dev.move.work.work.queued)
		shim_flush(&bed.dev.move.work.work);
}

/* Runs until nothing moves any more. */
static void run_all(void)
{
	unsigned int i;

	for (i = 0; i < BED_SLOTS; i++) {
		run();
		bed_drain();
	}
}

/* Every taken place is a slot's or unsure, and is paid for. */
static void check(void)
{
	unsigned int i, j, n = 0;

	for (i = 0; i < BED_SLOTS; i++) {
		if (bed_place(i) == ODRP_PLACE_NONE)
			continue;
		n++;
		for (j = 0; j < i; j++)
			assert_int_not_equal(bed_place(i), bed_place(j));
	}
	n += bed.dev.move.nr_unsure;
	assert_int_equal(bed_taken(0) + bed_taken(1), n);
	assert_int_equal(bed.dev.lease.used.v, n);
	assert_int_equal(bed.dev.move.nr, bed.dev.move.nr_unsure);
	bed_check_idle();
}

static void has(u64 slot, char what)
{
	struct bio *bio = bed_load(slot, 1);

	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	assert_int_equal(bed_read(bio, 0), what);
}

static void lose(void)
{
	unsigned int c;

	odrp_sess_fail(sess(), "lost");
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		bed.conn[c].live = false;
		bed.conn[c].paused = true;
	}
	bed_unplug();
}

static void resume(void)
{
	enum odrp_state from;
	unsigned int c;

	bed.refuse_at = ~0u;
	assert_true(odrp_sess_move(sess(), ODRP_LIVE, &from));
	odrp_move_resumed(&bed.dev);
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		assert_int_equal(odrp_conn_resume(&bed.conn[c]), 0);
		odrp_conn_kick(&bed.conn[c]);
	}
}

/* Fails all requests, as reconnect.c does when io_fail_ms is over; the session may resume. */
static void fail_all(void)
{
	enum odrp_state from;

	lose();
	assert_true(odrp_sess_move(sess(), ODRP_FAILING, &from));
	odrp_sess_each_conn(sess(), odrp_conn_give_up);
	odrp_sess_each_conn(sess(), odrp_conn_abort_unsent);
	odrp_dev_end_wanting(&bed.dev);
	odrp_sess_each_conn(sess(), odrp_conn_end_posted);
}

static void test_moves(void **state)
{
	unsigned int i;

	begin(5);
	run_all();
	assert_int_equal(bed_taken(0), 0);
	assert_int_equal(bed_taken(1), 5);
	for (i = 0; i < 5; i++) {
		assert_int_equal(SLAB(bed_place(i)), 1);
		has(i, 'a' + i);
	}
	check();
}

/* Half of the requests are for bios; nothing moves if a page has no place to go to. */
static void test_within_bounds(void **state)
{
	begin(5);
	run();
	assert_int_equal(bed_posted(LOAD), BED_DEPTH / 2);
	bed_drain();
	check();
	begin(5);
	atomic64_set(&bed.dev.lease.limit, 5);
	run();
	assert_int_equal(bed_posted(LOAD), 0);
	check();
	begin(5);
	odrp_move_mbps = 0;
	run();
	assert_int_equal(bed_posted(LOAD), 0);
	odrp_move_mbps = 16;
	bed.dev.sess.ctl.flags = ODRP_WIRE_GRANT_DRAIN;
	run();
	assert_int_equal(bed_posted(LOAD), 0);
	check();
}

/* Opens the disk; others is how many have it open. */
static bool moves_with(unsigned int others, bool claimed)
{
	begin(1);
	odrp_move_opened(&bed.dev.move, others, claimed);
	run();
	bed_drain();
	return bed_taken(1);
}

/* A swapoff has the disk open once more: nothing moves until it has failed. */
static void test_swapoff(void **state)
{
	struct odrp_move *m = &bed.dev.move;

	/* Whoever claims it has not done so yet. */
	assert_true(moves_with(1, false));
	assert_false(moves_with(2, true));
	/* Another program opens it meanwhile, and closes it. */
	odrp_move_opened(m, 3, true);
	odrp_move_closed(m, 3);
	run_all();
	assert_int_equal(bed_taken(1), 0);
	odrp_move_closed(m, 2);
	run_all();
	assert_int_equal(bed_taken(1), 1);
	/* A swapoff that succeeds ends the claim first. */
	assert_false(moves_with(1, true));
	odrp_move_closed(m, 1);
	assert_int_equal(m->rest, 0);
	odrp_move_closed(m, 0);
	assert_true(moves_with(0, false));
	check();
}

/* After the READ, or after the WRITE, has been served. */
static void meanwhile(bool written, void (*come)(void))
{
	begin(1);
	run();
	assert_int_equal(bed_posted(LOAD), 1);
	if (written) {
		bed_serve(LOAD, 1);
		assert_int_equal(bed_posted(MAPPED), 1);
	}
	come();
	run_all();
	check();
}

static void free_it(void)
{
	u64 slot;

	odrp_free_slot(&bed.dev, 0);
	bed_drain();
	assert_int_equal(bed.dev.slots.st[0], ODRP_SLOT_FREE_PENDING);
	/* The steps of flush.c for one slot. */
	assert_true(odrp_free_next(&bed.dev, &slot));
	odrp_place_put(&bed.dev.places, bed_place(0));
	bed.dev.slots.entry[0] = ODRP_PLACE_NONE;
	odrp_lease_put(&bed.dev.lease);
	odrp_free_less(&bed.q);
	odrp_slot_more(&bed.q, 0, odrp_slot_end(&bed.dev.slots, 0, ODRP_SLOT_OK));
}

static void store_it(void)
{
	struct bio *bio = bed_store(0, 1, 'z');

	assert_int_equal(bio->ended, 0);
	bed_drain();
	assert_int_equal(bio->ended, 1);
	has(0, 'z');
}

static void load_it(void)
{
	has(0, 'a');
}

static void test_meanwhile(void **state)
{
	unsigned int written;

	for (written = 0; written < 2; written++) {
		meanwhile(written, free_it);
		assert_int_equal(bed_taken(0) + bed_taken(1), 0);
		meanwhile(written, store_it);
		has(0, 'z');
		assert_int_equal(bed_taken(0), 0);
		meanwhile(written, load_it);
		assert_int_equal(bed_taken(0), 0);
	}
}

/* The session is lost after so many steps, what was on its way executed or not, and resumed. */
static void test_lost(void **state)
{
	unsigned int step, executed, i;

	for (step = 0; step < 12; step++) {
		for (executed = 0; executed < 2; executed++) {
			begin(3);
			run();
			for (i = 0; i < step; i++)
				bed_serve(i % 2 ? MAPPED : LOAD, 1);
			if (executed) {
				bed_execute(LOAD, ~0u);
				bed_execute(MAPPED, ~0u);
			}
			lose();
			resume();
			bed_drain();
			run_all();
			for (i = 0; i < 3; i++)
				has(i, 'a' + i);
			assert_int_equal(bed_taken(0), 0);
			check();
		}
	}
}

/* The NIC refuses the N-th post, whichever that is. */
static void test_refused(void **state)
{
	unsigned int n, i;

	for (n = 0; n < 8; n++) {
		begin(3);
		bed.refuse_at = n;
		run();
		bed_drain();
		if (odrp_sess_state(sess()) != ODRP_LIVE) {
			lose();
			resume();
		}
		bed.refuse_at = ~0u;
		run_all();
		for (i = 0; i < 3; i++)
			has(i, 'a' + i);
		assert_int_equal(bed_taken(0), 0);
		check();
	}
}

/*
 * The session fails after so many steps.  Where the slot was it stays; the other place is
 * nobody's until the session has been resumed.
 */
static void test_fails(void **state)
{
	unsigned int step, i, unsure;
	u32 place;

	for (step = 0; step < 12; step++) {
		begin(3);
		run();
		for (i = 0; i < step; i++)
			bed_serve(i % 2 ? MAPPED : LOAD, 1);
		unsure = bed_posted(MAPPED);
		fail_all();
		assert_int_equal(bed.dev.move.nr_unsure, unsure);
		check();
		/* A late WRITE would hit nobody's page. */
		while ((place = odrp_place_take(&bed.dev.places)) != ODRP_PLACE_NONE)
			for (i = 0; i < unsure; i++)
				assert_int_not_equal(place, bed.dev.move.unsure[i]);
	}
}

static void test_fails_and_comes_back(void **state)
{
	unsigned int step, i;

	for (step = 0; step < 12; step++) {
		begin(3);
		run();
		for (i = 0; i < step; i++)
			bed_serve(i % 2 ? MAPPED : LOAD, 1);
		fail_all();
		resume();
		assert_int_equal(bed.dev.move.nr_unsure, 0);
		run_all();
		for (i = 0; i < 3; i++)
			has(i, 'a' + i);
		assert_int_equal(bed_taken(0), 0);
		check();
	}
}

/* Dead: nothing is under way, and nothing begins. */
static void test_dies(void **state)
{
	begin(3);
	run();
	bed_serve(LOAD, 1);
	lose();
	odrp_sess_die(sess(), "dead");
	odrp_sess_each_conn(sess(), odrp_conn_give_up);
	odrp_sess_each_conn(sess(), odrp_conn_abort_unsent);
	odrp_sess_each_conn(sess(), odrp_conn_end_posted);
	check();
	run();
	check();
}

/* ---- all orders ------------------------------------------------------------------------ */

static void init_one(void)
{
	begin(1);
	odrp_move_now(&bed.dev);
}

static void mover(void)
{
	shim_flush(&bed.dev.move.work.work);
	bed_serve(LOAD, 1);
	bed_serve(MAPPED, 1);
}

static void storer(void)
{
	bed_store(0, 1, 'z');
}

static void freer(void)
{
	odrp_free_slot(&bed.dev, 0);
}

static void check_woven(void)
{
	bool freed;

	bed_drain();
	freed = bed.dev.slots.st[0] != ODRP_SLOT_MAPPED;
	run_all();
	check();
	if (!freed)
		has(0, 'z');
}

static void test_all_orders(void **state)
{
	const struct weave w = {
		.init = init_one, .thread = { mover, storer, freer }, .nr = 3,
		.check = check_woven, .preemptions = nightly() ? 2 : 1,
	};

	shim_wait_hook = weave_wait;
	print_message("%lu orders\n", weave_all(&w));
	shim_wait_hook = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_within_bounds),
		cmocka_unit_test(test_swapoff),
		cmocka_unit_test(test_meanwhile),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_fails_and_comes_back),
		cmocka_unit_test(test_dies),
		cmocka_unit_test(test_all_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
