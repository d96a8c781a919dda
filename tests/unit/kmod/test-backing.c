/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rule of kmod/backing.c, step by step, with the slot states as they are:
 * all interleavings of stores, reads, the free hook, the free worker and the
 * death of the session on one slot with two copies.  A read gets what was stored
 * last, or an error when the only copy of that died, and never anything else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../kmod/slot.h"
#include "weave.h"

#define PREEMPTIONS	4
#define TORN		(-1)	/* what a write that failed leaves behind */

enum order { REMOTE_FIRST, LOCAL_FIRST };

static u8 byte;
static struct odrp_slots slots = { .st = &byte, .nr = 1 };

static bool dead;		/* the session */
static int remote, local;	/* the two copies; remote 0: not mapped */
static bool good;		/* the bit */
static bool queued;		/* for the free worker */

static int last;		/* of the stores that succeeded */
static bool last_local;		/* it has a local copy */
static bool hooked;		/* the free hook was called */
static bool zeroed;		/* ... and then zeros were read */

static bool unlocked, woken[WEAVE_MAX_THREADS];
static bool waiting[WEAVE_MAX_THREADS];

static void park(int me)
{
	bool parked;

	weave_step();
	weave_wait(&unlocked);
	unlocked = false;
	woken[me] = false;
	parked = odrp_slot_wait(&slots, 0);
	waiting[me] = parked;
	unlocked = true;
	if (parked)
		weave_wait(&woken[me]);
}

static void more(unsigned int todo)
{
	unsigned int i;

	if (todo & ODRP_SLOT_END_QUEUE)
		queued = true;
	if (!(todo & ODRP_SLOT_END_WAKE))
		return;
	weave_step();
	weave_wait(&unlocked);
	for (i = 0; i < WEAVE_MAX_THREADS; i++) {
		woken[i] |= waiting[i];
		waiting[i] = false;
	}
}

static enum odrp_slot_act begin_once(bool store, bool alone)
{
	enum odrp_slot_act act;

	if (!alone)
		return store ? odrp_slot_begin_store(&slots, 0) :
			       odrp_slot_begin_load(&slots, 0);
	act = odrp_slot_begin_local(&slots, 0, store);
	return act == ODRP_SLOT_DO_CANCELLED ? ODRP_SLOT_DO_LOCAL : act;
}

static bool is_owned(enum odrp_slot_act act)
{
	return act != ODRP_SLOT_DO_ZERO && act != ODRP_SLOT_DO_WAIT &&
	       act != ODRP_SLOT_DO_FAIL;
}

/*
 * The session is looked at before the slot, and a request is asked for after:
 * kmod/issue.c:issue_block().
 */
static enum odrp_slot_act begin(int me, bool store)
{
	enum odrp_slot_act act;
	bool alone = dead;

	for (;;) {
		weave_step();
		act = begin_once(store, alone);
		if (act == ODRP_SLOT_DO_WAIT) {
			park(me);
			alone = dead;
			continue;
		}
		if (act == ODRP_SLOT_DO_FAIL) {
			alone = true;
			continue;
		}
		zeroed |= act == ODRP_SLOT_DO_ZERO;
		weave_step();
		if (alone || !dead || !is_owned(act))
			return act;
		/* No request: the slot as it was, and what was freed is back. */
		if (act == ODRP_SLOT_DO_CANCELLED)
			zeroed = false;
		more(odrp_slot_end(&slots, 0, ODRP_SLOT_ABORTED));
		alone = true;
	}
}

/* Executed, whether or not the answer comes. */
static bool remote_half(int value)
{
	bool answered;

	weave_step();
	if (!dead)
		remote = value;
	weave_step();
	answered = !dead;
	weave_step();
	return answered;
}

static bool local_half(int value, bool ok)
{
	weave_step();
	local = ok ? value : TORN;
	weave_step();
	return ok;
}

static void store(int me, int value, enum order order, bool local_ok)
{
	bool asked = begin(me, true) != ODRP_SLOT_DO_LOCAL;
	bool on_remote = false, on_local = false;

	good = false;
	if (asked && order == REMOTE_FIRST)
		on_remote = remote_half(value);
	on_local = local_half(value, local_ok);
	if (asked && order == LOCAL_FIRST)
		on_remote = remote_half(value);

	last = on_remote || on_local ? value : TORN;
	last_local = on_local;
	zeroed = false;
	if (on_local)
		good = true;
	if (on_remote)
		more(odrp_slot_end(&slots, 0, ODRP_SLOT_OK));
	else
		more(odrp_slot_end_local(&slots, 0));
}

static void was_read(int value)
{
	assert_int_equal(value, last);
	assert_false(zeroed);
}

static void was_refused(void)
{
	assert_true(dead);
	assert_false(last_local);
}

static void load(int me)
{
	enum odrp_slot_act act = begin(me, false);
	bool answered = false;
	int value = 0;

	if (act == ODRP_SLOT_DO_ZERO) {
		assert_true(hooked);
		return;
	}
	if (act == ODRP_SLOT_DO_LOAD) {
		weave_step();
		answered = !dead;
		value = remote;
	}
	weave_step();
	if (!answered && good)
		value = local;
	if (answered || good)
		was_read(value);
	else
		was_refused();
	if (act == ODRP_SLOT_DO_LOAD)
		more(odrp_slot_end(&slots, 0, answered ? ODRP_SLOT_OK :
							 ODRP_SLOT_FAILED));
	else
		more(odrp_slot_end_local(&slots, 0));
}

static void hook(void)
{
	hooked = true;
	if (odrp_slot_freed(&slots, 0))
		queued = true;
	else
		odrp_slot_forget(&slots, 0);
}

static void worker_once(void)
{
	weave_step();
	if (!queued || dead)
		return;
	queued = false;
	if (!odrp_slot_begin_free(&slots, 0))
		return;
	good = false;
	weave_step();
	if (dead) {
		more(odrp_slot_end_local(&slots, 0));
		return;
	}
	remote = 0;
	more(odrp_slot_end(&slots, 0, ODRP_SLOT_OK));
}

static void death(void)
{
	weave_step();
	dead = true;
	weave_step();
}

static void init(void)
{
	byte = ODRP_SLOT_MAPPED;
	dead = queued = hooked = zeroed = false;
	remote = local = last = 1;
	good = last_local = true;
	unlocked = true;
	memset(waiting, 0, sizeof(waiting));
}

static void store_remote_first(void)
{
	store(0, 2, REMOTE_FIRST, true);
}

static void store_local_first(void)
{
	store(1, 3, LOCAL_FIRST, true);
}

static void store_half(void)
{
	store(0, 2, LOCAL_FIRST, false);
}

static void two_loads(void)
{
	load(2);
	load(2);
}

static void free_and_look(void)
{
	hook();
	load(2);
	load(2);
}

static void free_and_reuse(void)
{
	hook();
	store(0, 2, REMOTE_FIRST, true);
}

/* Whatever has happened, it reads as before once everybody has left. */
static void check(void)
{
	assert_true(byte == ODRP_SLOT_EMPTY || byte == ODRP_SLOT_MAPPED ||
		    byte == ODRP_SLOT_FREE_PENDING ||
		    byte == ODRP_SLOT_UNKNOWN);
	if (byte == ODRP_SLOT_MAPPED && !dead)
		assert_int_equal(remote, last);
	if (byte == ODRP_SLOT_UNKNOWN && good)
		assert_int_equal(local, last);
}

static void test_backing_two_stores(void **state)
{
	const struct weave w = {
		init, { store_remote_first, store_local_first, death }, 3,
		check, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 1000);
}

static void test_backing_store_and_loads(void **state)
{
	const struct weave w = {
		init, { store_remote_first, two_loads, death }, 3,
		check, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 1000);
}

static void test_backing_write_fails(void **state)
{
	const struct weave w = {
		init, { store_half, two_loads, death }, 3,
		check, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 1000);
}

static void worker(void)
{
	worker_once();
}

static void test_backing_freed(void **state)
{
	const struct weave w = {
		init, { free_and_look, worker, death }, 3,
		check, PREEMPTIONS,
	};

	assert_true(weave_all(&w) > 100);
}

static void test_backing_free_and_reuse(void **state)
{
	const struct weave w = {
		init, { free_and_reuse, worker, two_loads, death }, 4,
		check, 3,
	};

	assert_true(weave_all(&w) > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backing_two_stores),
		cmocka_unit_test(test_backing_store_and_loads),
		cmocka_unit_test(test_backing_write_fails),
		cmocka_unit_test(test_backing_freed),
		cmocka_unit_test(test_backing_free_and_reuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
