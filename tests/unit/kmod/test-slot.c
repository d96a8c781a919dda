/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slot states: the transitions one by one, then all interleavings of stores,
 * loads, the free hook and the free worker on one slot, against a model of
 * the memory node that knows whether the slot is mapped there and to what.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/nightly.h"
#include "../../../kmod/slot.h"
#include "weave.h"

#define ALL_ORDERS	0
#define PREEMPTIONS	4

/* Every order of two threads takes a minute together. */
static unsigned int orders(void)
{
	return nightly() ? ALL_ORDERS : PREEMPTIONS;
}

/* A store or free has failed, and the contents are given up. */
#define UNKNOWN_FREED	(ODRP_SLOT_UNKNOWN | ODRP_SLOT_F_FREED)

static u8 byte;
static struct odrp_slots slots = { .st = &byte, .nr = 1 };

/*
 * One by one
 */

static void test_slot_begin(void **state)
{
	static const struct {
		u8 st;
		enum odrp_slot_act load, store;
		u8 after_store;
	} t[] = {
		{ ODRP_SLOT_EMPTY, ODRP_SLOT_DO_ZERO, ODRP_SLOT_DO_UNMAPPED,
		  ODRP_SLOT_STORING_NEW },
		{ ODRP_SLOT_MAPPED, ODRP_SLOT_DO_LOAD, ODRP_SLOT_DO_MAPPED,
		  ODRP_SLOT_STORING },
		{ ODRP_SLOT_FREE_PENDING, ODRP_SLOT_DO_ZERO,
		  ODRP_SLOT_DO_CANCELLED,
		  ODRP_SLOT_STORING | ODRP_SLOT_F_BLANK },
		{ ODRP_SLOT_LOADING, ODRP_SLOT_DO_WAIT, ODRP_SLOT_DO_WAIT,
		  ODRP_SLOT_LOADING },
		{ ODRP_SLOT_STORING, ODRP_SLOT_DO_WAIT, ODRP_SLOT_DO_WAIT,
		  ODRP_SLOT_STORING },
		{ ODRP_SLOT_STORING_NEW, ODRP_SLOT_DO_WAIT, ODRP_SLOT_DO_WAIT,
		  ODRP_SLOT_STORING_NEW },
		{ ODRP_SLOT_FREEING, ODRP_SLOT_DO_WAIT, ODRP_SLOT_DO_WAIT,
		  ODRP_SLOT_FREEING },
		{ ODRP_SLOT_UNKNOWN, ODRP_SLOT_DO_FAIL, ODRP_SLOT_DO_FAIL,
		  ODRP_SLOT_UNKNOWN },
		{ UNKNOWN_FREED, ODRP_SLOT_DO_ZERO, ODRP_SLOT_DO_FAIL,
		  UNKNOWN_FREED },
		{ ODRP_SLOT_VOID, ODRP_SLOT_DO_FAIL, ODRP_SLOT_DO_MAPPED,
		  ODRP_SLOT_STORING | ODRP_SLOT_F_VOID },
		{ ODRP_SLOT_GONE, ODRP_SLOT_DO_FAIL, ODRP_SLOT_DO_UNMAPPED,
		  ODRP_SLOT_STORING_NEW | ODRP_SLOT_F_VOID },
		{ ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED, ODRP_SLOT_DO_WAIT,
		  ODRP_SLOT_DO_WAIT, ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED },
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		byte = t[i].st;
		assert_int_equal(odrp_slot_begin_load(&slots, 0), t[i].load);
		byte = t[i].st;
		assert_int_equal(odrp_slot_begin_store(&slots, 0), t[i].store);
		assert_int_equal(byte, t[i].after_store);
	}
}

static void test_slot_end(void **state)
{
	static const struct {
		u8 st, ok, aborted, failed;
	} t[] = {
		{ ODRP_SLOT_LOADING, ODRP_SLOT_MAPPED, ODRP_SLOT_MAPPED,
		  ODRP_SLOT_MAPPED },
		{ ODRP_SLOT_STORING, ODRP_SLOT_MAPPED, ODRP_SLOT_MAPPED,
		  ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_STORING | ODRP_SLOT_F_BLANK, ODRP_SLOT_MAPPED,
		  ODRP_SLOT_FREE_PENDING, ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_STORING_NEW, ODRP_SLOT_MAPPED, ODRP_SLOT_EMPTY,
		  ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_FREEING, ODRP_SLOT_EMPTY, ODRP_SLOT_FREE_PENDING,
		  UNKNOWN_FREED },
		{ ODRP_SLOT_STORING | ODRP_SLOT_F_VOID, ODRP_SLOT_MAPPED,
		  ODRP_SLOT_VOID, ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_STORING | ODRP_SLOT_F_VOID | ODRP_SLOT_F_FREED,
		  ODRP_SLOT_FREE_PENDING, ODRP_SLOT_FREE_PENDING,
		  UNKNOWN_FREED },
		{ ODRP_SLOT_STORING_NEW | ODRP_SLOT_F_VOID, ODRP_SLOT_MAPPED,
		  ODRP_SLOT_GONE, ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_STORING_NEW | ODRP_SLOT_F_VOID | ODRP_SLOT_F_FREED,
		  ODRP_SLOT_FREE_PENDING, ODRP_SLOT_EMPTY, UNKNOWN_FREED },
		/* GONE, and it has taken the page of another slot. */
		{ ODRP_SLOT_STORING | ODRP_SLOT_F_BLANK | ODRP_SLOT_F_VOID,
		  ODRP_SLOT_MAPPED, ODRP_SLOT_VOID, ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED,
		  ODRP_SLOT_FREE_PENDING, ODRP_SLOT_FREE_PENDING,
		  ODRP_SLOT_FREE_PENDING },
		{ ODRP_SLOT_STORING | ODRP_SLOT_F_FREED,
		  ODRP_SLOT_FREE_PENDING, ODRP_SLOT_FREE_PENDING,
		  UNKNOWN_FREED },
		{ ODRP_SLOT_STORING_NEW | ODRP_SLOT_F_FREED,
		  ODRP_SLOT_FREE_PENDING, ODRP_SLOT_EMPTY,
		  UNKNOWN_FREED },
	};
	unsigned int i, wait;

	for (i = 0; i < 2 * sizeof(t) / sizeof(t[0]); i++) {
		const u8 want[] = { t[i / 2].ok, t[i / 2].aborted,
				    t[i / 2].failed };
		unsigned int r;

		wait = i % 2 ? ODRP_SLOT_F_WAITED : 0;
		for (r = ODRP_SLOT_OK; r <= ODRP_SLOT_FAILED; r++) {
			unsigned int todo;

			byte = t[i / 2].st | wait;
			todo = odrp_slot_end(&slots, 0, r);
			assert_int_equal(byte, want[r]);
			assert_int_equal(!!(todo & ODRP_SLOT_END_WAKE), !!wait);
			assert_int_equal(!!(todo & ODRP_SLOT_END_QUEUE),
					 want[r] == ODRP_SLOT_FREE_PENDING);
		}
	}
}

static void test_slot_freed(void **state)
{
	static const struct {
		u8 st, after;
		bool queue;
	} t[] = {
		{ ODRP_SLOT_EMPTY, ODRP_SLOT_EMPTY, false },
		{ ODRP_SLOT_MAPPED, ODRP_SLOT_FREE_PENDING, true },
		{ ODRP_SLOT_FREE_PENDING, ODRP_SLOT_FREE_PENDING, false },
		{ ODRP_SLOT_LOADING, ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED,
		  false },
		{ ODRP_SLOT_STORING | ODRP_SLOT_F_WAITED,
		  ODRP_SLOT_STORING | ODRP_SLOT_F_WAITED | ODRP_SLOT_F_FREED,
		  false },
		{ ODRP_SLOT_FREEING, ODRP_SLOT_FREEING, false },
		{ ODRP_SLOT_UNKNOWN, UNKNOWN_FREED, false },
		{ UNKNOWN_FREED, UNKNOWN_FREED, false },
		{ ODRP_SLOT_VOID, ODRP_SLOT_FREE_PENDING, true },
		{ ODRP_SLOT_GONE, ODRP_SLOT_EMPTY, false },
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		byte = t[i].st;
		assert_int_equal(odrp_slot_freed(&slots, 0), t[i].queue);
		assert_int_equal(byte, t[i].after);
	}
}

/* The entry of a slot that is UNKNOWN is read, and meanwhile it may be freed. */
static void test_slot_look(void **state)
{
	static const struct {
		u8 st, mapped, empty, aborted;
	} t[] = {
		{ ODRP_SLOT_UNKNOWN, ODRP_SLOT_VOID, ODRP_SLOT_GONE,
		  ODRP_SLOT_UNKNOWN },
		{ UNKNOWN_FREED, ODRP_SLOT_FREE_PENDING, ODRP_SLOT_EMPTY,
		  UNKNOWN_FREED },
	};
	unsigned int i, how, todo;

	for (i = 0; i < 3 * 3 * 2; i++) {
		const u8 want[] = { t[i % 2].mapped, t[i % 2].empty,
				    t[i % 2].aborted };

		how = i / 2 % 3;
		byte = i / 6 == 1 ? ODRP_SLOT_UNKNOWN : t[i % 2].st;
		assert_true(odrp_slot_begin_look(&slots, 0));
		assert_false(odrp_slot_begin_look(&slots, 0));
		assert_int_equal(odrp_slot_begin_load(&slots, 0),
				 ODRP_SLOT_DO_WAIT);
		if (i / 6 == 1 && i % 2)	/* given up only now */
			assert_false(odrp_slot_freed(&slots, 0));
		if (i / 6 == 2)
			assert_true(odrp_slot_wait(&slots, 0));
		todo = how == 2 ? odrp_slot_abort_look(&slots, 0) :
				  odrp_slot_end_look(&slots, 0, how == 0);
		assert_int_equal(byte, want[how]);
		assert_int_equal(!!(todo & ODRP_SLOT_END_WAKE), i / 6 == 2);
		assert_int_equal(!!(todo & ODRP_SLOT_END_QUEUE),
				 want[how] == ODRP_SLOT_FREE_PENDING);
	}
	byte = ODRP_SLOT_VOID;
	assert_false(odrp_slot_begin_look(&slots, 0));
	byte = ODRP_SLOT_GONE;
	assert_false(odrp_slot_begin_look(&slots, 0));
}

/* Another copy has taken the memory node's place. */
static void test_slot_local(void **state)
{
	static const struct {
		u8 st;
		enum odrp_slot_act load, store;
	} t[] = {
		{ ODRP_SLOT_EMPTY, ODRP_SLOT_DO_ZERO, ODRP_SLOT_DO_LOCAL },
		{ ODRP_SLOT_MAPPED, ODRP_SLOT_DO_LOCAL, ODRP_SLOT_DO_LOCAL },
		{ ODRP_SLOT_FREE_PENDING, ODRP_SLOT_DO_ZERO,
		  ODRP_SLOT_DO_CANCELLED },
		{ ODRP_SLOT_UNKNOWN, ODRP_SLOT_DO_LOCAL, ODRP_SLOT_DO_LOCAL },
		{ ODRP_SLOT_LOADING, ODRP_SLOT_DO_WAIT, ODRP_SLOT_DO_WAIT },
		{ ODRP_SLOT_STORING, ODRP_SLOT_DO_WAIT, ODRP_SLOT_DO_WAIT },
		{ ODRP_SLOT_STORING_NEW, ODRP_SLOT_DO_WAIT, ODRP_SLOT_DO_WAIT },
		{ ODRP_SLOT_FREEING | ODRP_SLOT_F_WAITED, ODRP_SLOT_DO_WAIT,
		  ODRP_SLOT_DO_WAIT },
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		byte = t[i].st;
		assert_int_equal(odrp_slot_begin_local(&slots, 0, false),
				 t[i].load);
		assert_int_equal(byte, t[i].load == ODRP_SLOT_DO_LOCAL ?
				 ODRP_SLOT_LOADING : t[i].st);
		byte = t[i].st;
		assert_int_equal(odrp_slot_begin_local(&slots, 0, true),
				 t[i].store);
		assert_int_equal(byte, t[i].store == ODRP_SLOT_DO_WAIT ?
				 t[i].st : ODRP_SLOT_STORING);
	}
}

/* Never MAPPED again: the memory node's copy is not looked at. */
static void test_slot_end_local(void **state)
{
	static const struct {
		u8 st, after;
	} t[] = {
		{ ODRP_SLOT_LOADING, ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_STORING, ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_STORING_NEW, ODRP_SLOT_UNKNOWN },
		{ ODRP_SLOT_FREEING, ODRP_SLOT_EMPTY },
		{ ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED, ODRP_SLOT_EMPTY },
		{ ODRP_SLOT_STORING | ODRP_SLOT_F_FREED, ODRP_SLOT_EMPTY },
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		byte = t[i].st;
		assert_int_equal(odrp_slot_end_local(&slots, 0), 0);
		assert_int_equal(byte, t[i].after);
		byte = t[i].st | ODRP_SLOT_F_WAITED;
		assert_int_equal(odrp_slot_end_local(&slots, 0),
				 ODRP_SLOT_END_WAKE);
		assert_int_equal(byte, t[i].after);
	}
	byte = ODRP_SLOT_UNKNOWN;
	assert_true(odrp_slot_forget(&slots, 0));
	assert_int_equal(byte, ODRP_SLOT_EMPTY);
	byte = ODRP_SLOT_MAPPED;
	assert_false(odrp_slot_forget(&slots, 0));
	assert_int_equal(byte, ODRP_SLOT_MAPPED);
}

static void test_slot_holds(void **state)
{
	static const struct {
		u8 st;
		bool holds;
	} t[] = {
		{ ODRP_SLOT_EMPTY, false },
		{ ODRP_SLOT_MAPPED, true },
		{ ODRP_SLOT_FREE_PENDING, false },
		{ ODRP_SLOT_LOADING, true },
		{ ODRP_SLOT_LOADING | ODRP_SLOT_F_WAITED, true },
		{ ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED, false },
		{ ODRP_SLOT_STORING, true },
		{ ODRP_SLOT_STORING | ODRP_SLOT_F_FREED, false },
		{ ODRP_SLOT_STORING_NEW, true },
		{ ODRP_SLOT_FREEING, false },
		{ ODRP_SLOT_UNKNOWN, true },
		{ UNKNOWN_FREED, false },
		{ ODRP_SLOT_VOID, true },
		{ ODRP_SLOT_GONE, true },
	};
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		byte = t[i].st;
		assert_int_equal(odrp_slot_holds(&slots, 0), t[i].holds);
		assert_int_equal(byte, t[i].st);
	}
}

/*
 * All interleavings.  The model's part of a chain runs between two steps, so
 * it is one event, at some moment between begin and end.
 */

static bool remote;		/* the memory node holds a page */
static int contents;		/* ... with this */
static int last_stored;		/* by a store that ended well */
static int queued;		/* entries in the free ring */
static bool freed_last;		/* the last thing that happened: free hook */
static int nr_unmapped, nr_failed;

/* The lock of the list of waiters, and those who wait. */
static bool unlocked, woken[WEAVE_MAX_THREADS];
static bool waiting[WEAVE_MAX_THREADS];

static void lock(void)
{
	weave_step();
	weave_wait(&unlocked);
	unlocked = false;
}

static void unlock(void)
{
	unlocked = true;
}

static void park(int me)
{
	bool parked;

	lock();
	woken[me] = false;
	parked = odrp_slot_wait(&slots, 0);
	if (parked)
		waiting[me] = true;
	unlock();
	if (parked)
		weave_wait(&woken[me]);
}

static void end(enum odrp_slot_result res)
{
	unsigned int i, todo = odrp_slot_end(&slots, 0, res);

	if (todo & ODRP_SLOT_END_QUEUE)
		queued++;
	if (!(todo & ODRP_SLOT_END_WAKE))
		return;
	lock();
	for (i = 0; i < WEAVE_MAX_THREADS; i++) {
		if (waiting[i]) {
			waiting[i] = false;
			woken[i] = true;
		}
	}
	unlock();
}

static enum odrp_slot_act begin_store(int me)
{
	enum odrp_slot_act act;

	while ((act = odrp_slot_begin_store(&slots, 0)) == ODRP_SLOT_DO_WAIT)
		park(me);
	return act;
}

static void store(int me, int value, enum odrp_slot_result res)
{
	enum odrp_slot_act act = begin_store(me);

	if (act == ODRP_SLOT_DO_FAIL) {
		nr_failed++;
		return;
	}
	weave_step();
	/* The right chain for what the memory node holds. */
	assert_int_equal(remote, act != ODRP_SLOT_DO_UNMAPPED);
	if (act == ODRP_SLOT_DO_UNMAPPED && res != ODRP_SLOT_ABORTED)
		nr_unmapped++;
	if (res == ODRP_SLOT_OK) {
		remote = true;
		contents = value;
		last_stored = value;
		freed_last = false;
	}
	weave_step();
	end(res);
}

/* Reads what was stored last, or zeros once it has been freed. */
static void load(int me, int expect)
{
	enum odrp_slot_act act;

	while ((act = odrp_slot_begin_load(&slots, 0)) == ODRP_SLOT_DO_WAIT)
		park(me);
	if (act == ODRP_SLOT_DO_ZERO)
		return;
	assert_int_equal(act, ODRP_SLOT_DO_LOAD);
	weave_step();
	assert_true(remote);
	if (expect)
		assert_int_equal(contents, expect);
	weave_step();
	end(ODRP_SLOT_OK);
}

static void hook(void)
{
	freed_last = true;
	if (odrp_slot_freed(&slots, 0))
		queued++;
}

static void worker_once(enum odrp_slot_result res)
{
	weave_step();
	if (!queued)
		return;
	queued--;
	if (!odrp_slot_begin_free(&slots, 0))
		return;
	weave_step();
	assert_true(remote);
	if (res == ODRP_SLOT_OK)
		remote = false;
	weave_step();
	end(res);
}

static void model_init(u8 st)
{
	byte = st;
	remote = st == ODRP_SLOT_MAPPED;
	contents = last_stored = remote ? 1 : 0;
	queued = 0;
	freed_last = false;
	nr_unmapped = nr_failed = 0;
	unlocked = true;
	memset(waiting, 0, sizeof(waiting));
}

static void init_mapped(void)
{
	model_init(ODRP_SLOT_MAPPED);
}

static void init_empty(void)
{
	model_init(ODRP_SLOT_EMPTY);
}

/* Nothing leaks: what was freed last is given back, what was stored is held. */
static void check_settled(void)
{
	while (queued)
		worker_once(ODRP_SLOT_OK);
	if (freed_last) {
		assert_int_equal(byte, ODRP_SLOT_EMPTY);
		assert_false(remote);
	} else {
		assert_int_equal(byte, ODRP_SLOT_MAPPED);
		assert_true(remote);
		assert_int_equal(contents, last_stored);
	}
}

static void worker(void)
{
	worker_once(ODRP_SLOT_OK);
	worker_once(ODRP_SLOT_OK);
}

static void free_and_reuse(void)
{
	hook();
	store(0, 2, ODRP_SLOT_OK);
}

static void test_slot_cancel_on_reuse(void **state)
{
	const struct weave w = {
		init_mapped, { free_and_reuse, worker }, 2,
		check_settled, ALL_ORDERS,
	};

	assert_true(weave_all(&w) > 100);
}

static void free_reuse_free(void)
{
	hook();
	store(0, 2, ODRP_SLOT_OK);
	hook();
}

static void test_slot_free_reuse_free(void **state)
{
	const struct weave w = {
		init_mapped, { free_reuse_free, worker }, 2,
		check_settled, orders(),
	};

	assert_true(weave_all(&w) > 100);
}

static void load_one(void)
{
	load(1, 0);
}

static void test_slot_load_meets_reuse(void **state)
{
	const struct weave w = {
		init_mapped, { free_and_reuse, load_one, worker }, 3,
		check_settled, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 10000);
}

static void store_a(void)
{
	store(0, 10, ODRP_SLOT_OK);
}

static void store_b(void)
{
	store(1, 20, ODRP_SLOT_OK);
}

static void check_two_stores(void)
{
	assert_int_equal(nr_unmapped, 1);
	check_settled();
}

static void test_slot_two_stores(void **state)
{
	const struct weave w = {
		init_empty, { store_a, store_b }, 2,
		check_two_stores, orders(),
	};

	assert_true(weave_all(&w) > 100);
}

static void hook_thread(void)
{
	hook();
}

/*
 * The hook during a store: whichever the slot's last word was, the remote
 * page is not lost.  (freed_last is decided by the model's order of events.)
 */
static void check_not_lost(void)
{
	while (queued)
		worker_once(ODRP_SLOT_OK);
	assert_int_equal(remote, byte == ODRP_SLOT_MAPPED);
	assert_true(byte == ODRP_SLOT_MAPPED || byte == ODRP_SLOT_EMPTY);
}

static void test_slot_hook_during_store(void **state)
{
	const struct weave w = {
		init_empty, { store_a, hook_thread, worker }, 3,
		check_not_lost, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 100);
}

static void store_aborted(void)
{
	store(0, 10, ODRP_SLOT_ABORTED);
}

static void test_slot_aborted_store_wakes(void **state)
{
	const struct weave w = {
		init_empty, { store_aborted, store_b }, 2,
		check_two_stores, orders(),
	};

	assert_true(weave_all(&w) > 50);
}

static void store_failed(void)
{
	store(0, 10, ODRP_SLOT_FAILED);
}

static void check_unknown(void)
{
	assert_int_equal(byte, ODRP_SLOT_UNKNOWN);
	assert_true(nr_failed <= 1);
}

static void test_slot_failed_store_wakes(void **state)
{
	const struct weave w = {
		init_empty, { store_failed, store_b }, 2,
		check_unknown, orders(),
	};

	assert_true(weave_all(&w) > 50);
}

static void worker_aborts(void)
{
	worker_once(ODRP_SLOT_ABORTED);
	worker_once(ODRP_SLOT_OK);
}

static void test_slot_aborted_free(void **state)
{
	const struct weave w = {
		init_mapped, { free_and_reuse, worker_aborts }, 2,
		check_settled, orders(),
	};

	assert_true(weave_all(&w) > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slot_begin),
		cmocka_unit_test(test_slot_end),
		cmocka_unit_test(test_slot_freed),
		cmocka_unit_test(test_slot_look),
		cmocka_unit_test(test_slot_local),
		cmocka_unit_test(test_slot_end_local),
		cmocka_unit_test(test_slot_holds),
		cmocka_unit_test(test_slot_cancel_on_reuse),
		cmocka_unit_test(test_slot_free_reuse_free),
		cmocka_unit_test(test_slot_load_meets_reuse),
		cmocka_unit_test(test_slot_two_stores),
		cmocka_unit_test(test_slot_hook_during_store),
		cmocka_unit_test(test_slot_aborted_store_wakes),
		cmocka_unit_test(test_slot_failed_store_wakes),
		cmocka_unit_test(test_slot_aborted_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
