/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stores that take the page of a slot that was freed: all interleavings of
 * stores, loads, the free hook and the free worker on three slots, against a
 * model of the memory node that knows what each entry of its table holds.
 *
 * It stands for issue.c and free.c as well: which slot's page is taken, the ring
 * of freed slots (a queue here) and the count of pages in use.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../kmod/slot.h"
#include "weave.h"

#define PREEMPTIONS	3
#define NR		3
#define RING		16

static u8 st[NR];
static u32 entry[NR];
static struct odrp_slots slots = { .st = st, .entry = entry, .nr = NR };

/* The memory node: what each entry holds, 0: no page. */
static int holds[NR];

/* What each slot is to read as; 0: zeros. */
static int expect[NR];

static u32 ring[RING];
static unsigned int head, tail;
static int used;			/* pages, as the lease counts them */
static unsigned int nr_unmapped, nr_reused;

static bool woken[WEAVE_MAX_THREADS], waiting[WEAVE_MAX_THREADS];

static void wake_all(void)
{
	unsigned int i;

	for (i = 0; i < WEAVE_MAX_THREADS; i++) {
		if (waiting[i]) {
			waiting[i] = false;
			woken[i] = true;
		}
	}
}

/* odrp_slot_more(); the lock of those who wait is test-slot.c's matter. */
static void more(u64 slot, unsigned int todo)
{
	if (todo & ODRP_SLOT_END_QUEUE) {
		assert_true(head - tail < RING);
		ring[head++ % RING] = slot;
	}
	if (todo & ODRP_SLOT_END_WAKE)
		wake_all();
}

static void end(u64 slot, enum odrp_slot_result res)
{
	more(slot, odrp_slot_end(&slots, slot, res));
}

/* Tried again by whoever is woken, so it may be for another slot. */
static void park(int me, u64 slot)
{
	woken[me] = false;
	waiting[me] = true;
	if (odrp_slot_wait(&slots, slot))
		weave_wait(&woken[me]);
	waiting[me] = false;
}

static bool pop(u32 *ret_slot)
{
	if (head == tail)
		return false;
	*ret_slot = ring[tail++ % RING];
	return true;
}

static bool reuse(u64 slot)
{
	unsigned int todo;
	u32 freed;

	while (pop(&freed)) {
		if (odrp_slot_reuse(&slots, slot, freed, &todo)) {
			more(freed, todo);
			nr_reused++;
			return true;
		}
	}
	return false;
}

static void store(int me, u64 slot, int value, enum odrp_slot_result res)
{
	enum odrp_slot_act act;

	while ((act = odrp_slot_begin_store(&slots, slot)) ==
	       ODRP_SLOT_DO_WAIT)
		park(me, slot);
	if (act == ODRP_SLOT_DO_UNMAPPED && reuse(slot))
		act = ODRP_SLOT_DO_CANCELLED;
	weave_step();
	/* The right chain for what the entry holds. */
	assert_int_equal(holds[entry[slot]] != 0, act != ODRP_SLOT_DO_UNMAPPED);
	if (res == ODRP_SLOT_OK) {
		if (act == ODRP_SLOT_DO_UNMAPPED) {
			nr_unmapped++;
			used++;
		}
		holds[entry[slot]] = value;
		expect[slot] = value;
	}
	weave_step();
	end(slot, res);
}

/* What was stored last, or zeros once the slot may have been freed. */
static void load(int me, u64 slot, bool may_be_freed)
{
	enum odrp_slot_act act;

	while ((act = odrp_slot_begin_load(&slots, slot)) == ODRP_SLOT_DO_WAIT)
		park(me, slot);
	if (act == ODRP_SLOT_DO_ZERO) {
		assert_true(may_be_freed || !expect[slot]);
		return;
	}
	assert_int_equal(act, ODRP_SLOT_DO_LOAD);
	weave_step();
	assert_int_equal(holds[entry[slot]], expect[slot]);
	weave_step();
	end(slot, ODRP_SLOT_OK);
}

static void hook(u64 slot)
{
	if (odrp_slot_freed(&slots, slot))
		more(slot, ODRP_SLOT_END_QUEUE);
}

static void worker_once(enum odrp_slot_result res)
{
	u32 slot;

	weave_step();
	if (!pop(&slot) || !odrp_slot_begin_free(&slots, slot))
		return;
	weave_step();
	assert_true(holds[entry[slot]]);
	if (res == ODRP_SLOT_OK) {
		holds[entry[slot]] = 0;
		used--;
	}
	weave_step();
	end(slot, res);
}

/* Slots 0 and 1 are mapped, with 1 and 2 in them; slot 2 is empty. */
static void init(void)
{
	unsigned int i;

	for (i = 0; i < NR; i++) {
		st[i] = i < 2 ? ODRP_SLOT_MAPPED : ODRP_SLOT_EMPTY;
		entry[i] = i;
		holds[i] = expect[i] = i < 2 ? i + 1 : 0;
	}
	head = tail = 0;
	used = 2;
	nr_unmapped = nr_reused = 0;
	memset(waiting, 0, sizeof(waiting));
}

/*
 * Each slot has an entry of its own, a page where it says so, and in it what was
 * stored last; and when all that was freed has been given back, as many pages are
 * in use as there are slots that need one.
 */
static void check(void)
{
	unsigned int i, seen = 0;
	int mapped = 0;

	while (head != tail)
		worker_once(ODRP_SLOT_OK);
	for (i = 0; i < NR; i++) {
		assert_true(entry[i] < NR);
		seen |= 1u << entry[i];
		if (st[i] == ODRP_SLOT_MAPPED)
			assert_int_equal(holds[entry[i]], expect[i]);
		else
			assert_int_equal(st[i], ODRP_SLOT_EMPTY);
		assert_int_equal(holds[entry[i]] != 0,
				 st[i] == ODRP_SLOT_MAPPED);
		mapped += st[i] == ODRP_SLOT_MAPPED;
	}
	assert_int_equal(seen, (1u << NR) - 1);
	assert_int_equal(used, mapped);
}

static void free_0(void)
{
	hook(0);
}

static void store_2(void)
{
	store(0, 2, 30, ODRP_SLOT_OK);
}

static void free_0_store_2(void)
{
	hook(0);
	store(0, 2, 30, ODRP_SLOT_OK);
}

static void load_2(void)
{
	load(1, 2, false);
}

static void load_0(void)
{
	load(1, 0, true);
}

static void store_0(void)
{
	store(1, 0, 10, ODRP_SLOT_OK);
}

static void worker(void)
{
	worker_once(ODRP_SLOT_OK);
}

static void check_reused(void)
{
	assert_int_equal(nr_reused, 1);
	assert_int_equal(nr_unmapped, 0);
	check();
}

static void test_reuse_takes_the_page(void **state)
{
	const struct weave w = {
		init, { free_0_store_2, load_2 }, 2, check_reused, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 10);
}

static void test_reuse_meets_the_worker(void **state)
{
	const struct weave w = {
		init, { free_0_store_2, worker, load_2 }, 3, check, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 100);
}

/* The slot that gives its page is written to itself, and read. */
static void test_reuse_meets_the_giver(void **state)
{
	const struct weave stores = {
		init, { free_0_store_2, store_0, worker }, 3, check, PREEMPTIONS,
	};
	const struct weave loads = {
		init, { free_0_store_2, load_0, worker }, 3, check, PREEMPTIONS,
	};

	assert_true(weave_all(&stores) > 100);
	assert_true(weave_all(&loads) > 100);
}

static void store_then_free_2(void)
{
	store(1, 2, 40, ODRP_SLOT_OK);
	hook(2);
}

/* The one that takes a page is freed while it is being stored to. */
static void test_reuse_freed_meanwhile(void **state)
{
	const struct weave w = {
		init, { free_0, store_2, store_then_free_2 }, 3, check,
		PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 100);
}

static void free_0_store_2_aborted(void)
{
	hook(0);
	store(0, 2, 30, ODRP_SLOT_ABORTED);
}

/* Never sent: what the page held before is not what the slot holds. */
static void test_reuse_aborted(void **state)
{
	const struct weave w = {
		init, { free_0_store_2_aborted, load_2, worker }, 3, check,
		PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 100);
}

static void free_1_store_0(void)
{
	hook(1);
	store(1, 0, 10, ODRP_SLOT_OK);
}

/* Two slots freed, two stored to, each by somebody else. */
static void test_reuse_both_ways(void **state)
{
	const struct weave w = {
		init, { free_0_store_2, free_1_store_0 }, 2, check, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 100);
}

/* What has nothing to give: nothing changes. */
static void test_reuse_refuses(void **state)
{
	static const u8 others[] = {
		ODRP_SLOT_EMPTY, ODRP_SLOT_MAPPED, ODRP_SLOT_LOADING,
		ODRP_SLOT_STORING, ODRP_SLOT_STORING_NEW, ODRP_SLOT_FREEING,
		ODRP_SLOT_UNKNOWN, ODRP_SLOT_LOADING | ODRP_SLOT_F_FREED,
	};
	unsigned int i, todo;

	for (i = 0; i < sizeof(others); i++) {
		init();
		st[0] = others[i];
		st[2] = ODRP_SLOT_STORING_NEW;
		assert_false(odrp_slot_reuse(&slots, 2, 0, &todo));
		assert_int_equal(st[0], others[i]);
		assert_int_equal(st[2], ODRP_SLOT_STORING_NEW);
		assert_int_equal(entry[0], 0);
		assert_int_equal(entry[2], 2);
	}
	assert_false(odrp_slot_reuse(&slots, 2, 2, &todo));
}

/* Whoever came to either slot meanwhile is not forgotten. */
static void test_reuse_keeps_flags(void **state)
{
	unsigned int todo;

	init();
	st[0] = ODRP_SLOT_FREE_PENDING;
	st[2] = ODRP_SLOT_STORING_NEW | ODRP_SLOT_F_FREED | ODRP_SLOT_F_WAITED;
	assert_true(odrp_slot_reuse(&slots, 2, 0, &todo));
	assert_int_equal(todo, 0);
	assert_int_equal(st[0], ODRP_SLOT_EMPTY);
	assert_int_equal(st[2], ODRP_SLOT_STORING | ODRP_SLOT_F_BLANK |
				ODRP_SLOT_F_FREED | ODRP_SLOT_F_WAITED);
	assert_int_equal(entry[2], 0);
	assert_int_equal(entry[0], 2);
	assert_int_equal(odrp_slot_end(&slots, 2, ODRP_SLOT_OK),
			 ODRP_SLOT_END_QUEUE | ODRP_SLOT_END_WAKE);
	assert_int_equal(st[2], ODRP_SLOT_FREE_PENDING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reuse_refuses),
		cmocka_unit_test(test_reuse_keeps_flags),
		cmocka_unit_test(test_reuse_takes_the_page),
		cmocka_unit_test(test_reuse_meets_the_worker),
		cmocka_unit_test(test_reuse_meets_the_giver),
		cmocka_unit_test(test_reuse_freed_meanwhile),
		cmocka_unit_test(test_reuse_aborted),
		cmocka_unit_test(test_reuse_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
