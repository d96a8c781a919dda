/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way of a bio: issue.c, io.c, done.c, wait.c, free.c, hangup.c and fail.c over a
 * NIC that is the test (bed.h).  First step by step, then, of what two processors may
 * do at once, all orders with few interruptions.
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
#define NEW	ODRP_WIRE_UNMAPPED_STORE

static int setup(void **state)
{
	bed_init();
	return 0;
}

static struct odrp_sess *sess(void)
{
	return &bed.dev.sess;
}

/* As reconnect.c: the connections are gone, requests and their slots are kept. */
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

/* As reconnect.c: the session lives again. */
static void resume(void)
{
	enum odrp_state from;
	struct bio_list bios;
	unsigned int c;

	bed.refuse_at = ~0u;
	assert_true(odrp_sess_move(sess(), ODRP_LIVE, &from));
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		assert_int_equal(odrp_conn_resume(&bed.conn[c]), 0);
		bio_list_init(&bios);
		while (odrp_conn_take_waiting(&bed.conn[c], &bios))
			odrp_issue(&bed.q, &bios);
	}
}

/* As reconnect.c:sess_release(), when no queue pair has a request. */
static void release(void)
{
	odrp_sess_each_conn(sess(), odrp_conn_give_up);
	odrp_sess_each_conn(sess(), odrp_conn_abort_unsent);
	odrp_dev_end_wanting(&bed.dev);
	odrp_sess_each_conn(sess(), odrp_conn_end_posted);
}

static void die(void)
{
	odrp_sess_die(sess(), "dead");
	release();
}

/*
 * Step by step
 */

static void test_store_and_load(void **state)
{
	struct bio *bio;

	assert_int_equal(bed_load(3, 1)->ended, 1);	/* zeros, at once */
	assert_int_equal(bed_read(&bed.bio[0], 0), 0);
	bio = bed_store(3, 1, 'a');
	assert_int_equal(bed_posted(NEW), 1);
	assert_int_equal(bio->ended, 0);
	bed_serve(NEW, 1);
	assert_int_equal(bio->ended, 1);
	bed_store(3, 1, 'b');
	assert_int_equal(bed_posted(MAPPED), 1);
	bed_drain();
	bio = bed_load(3, 1);
	bed_drain();
	assert_int_equal(bed_read(bio, 0), 'b');
	assert_int_equal(bed.dev.lease.used.v, 1);
	bed_check_idle();
}

static void test_many_blocks(void **state)
{
	struct bio *bio = bed_store(0, BED_SLOTS, 'x');

	bed_drain();
	assert_int_equal(bio->ended, 1);
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bio = bed_load(0, BED_SLOTS);
	bed_drain();
	assert_int_equal(bed_read(bio, 0), 'x');
	assert_int_equal(bed_read(bio, BED_SLOTS - 1), 'x');
	bed_check_idle();
}

/* More bios than requests: those behind wait, and go out in their order. */
static void test_waits_for_request(void **state)
{
	unsigned int i;

	for (i = 0; i < BED_DEPTH + 3; i++)
		bed_store(i, 1, 'a' + i);
	assert_int_equal(bed_posted(NEW), BED_DEPTH);
	assert_int_equal(bed.dev.parked.v, 3);
	bed_serve(NEW, 2);
	assert_int_equal(bed_posted(NEW), BED_DEPTH);
	assert_int_equal(bed_slot(NEW, BED_DEPTH - 2), BED_DEPTH);
	assert_int_equal(bed_slot(NEW, BED_DEPTH - 1), BED_DEPTH + 1);
	bed_drain();
	for (i = 0; i < BED_DEPTH + 3; i++)
		bed_load(i, 1);
	bed_drain();
	for (i = 0; i < BED_DEPTH + 3; i++)
		assert_int_equal(bed_read(&bed.bio[BED_DEPTH + 3 + i], 0),
				 'a' + i);
	bed_check_idle();
}

/* The blocks of a bio count one by one: writers sleep by the memory that waits. */
static void test_blocks_wait(void **state)
{
	bed_store(0, BED_DEPTH, 'a');
	assert_int_equal(bed.dev.parked.v, 0);
	bed_store(BED_DEPTH, 8, 'b');
	assert_int_equal(bed.dev.parked.v, 8);
	bed_serve(NEW, BED_DEPTH);
	assert_int_equal(bed.dev.parked.v, 8 - BED_DEPTH);
	bed_drain();
	assert_int_equal(bed.dev.parked.v, 0);
	bed_check_idle();
}

/* Requests that were taken ahead, for bios that need none in the end, go back. */
static void test_together(void **state)
{
	unsigned int i;

	bed_together(0, 1, 8, 3, 'a');
	assert_int_equal(bed.conn[NEW].nr_free, BED_DEPTH - 1);
	bed_drain();
	bed_together(4, BED_DEPTH + 2, 8, 1, 'b');
	assert_int_equal(bed_posted(NEW), BED_DEPTH);
	assert_int_equal(bed.dev.parked.v, 2);
	bed_drain();
	for (i = 4; i < BED_DEPTH + 6; i++)
		assert_int_equal(bed_page(i)->bytes[0], 'b');
	bed_check_idle();
}

/* No two requests for one slot are out together. */
static void test_waits_for_slot(void **state)
{
	struct bio *bio;

	bed_store(5, 1, 'a');
	bed_store(5, 1, 'b');
	bio = bed_load(5, 1);
	assert_int_equal(bed_posted(NEW) + bed_posted(MAPPED) +
			 bed_posted(LOAD), 1);
	bed_serve(NEW, 1);
	assert_int_equal(bed_posted(MAPPED) + bed_posted(LOAD), 1);
	bed_drain();
	assert_int_equal(bed_read(bio, 0), 'b');
	bed_check_idle();
}

/*
 * READs that go together: the last one alone asks for a completion, and those before it
 * end with it, not sooner.
 */
static void test_quiet_reads(void **state)
{
	static u32 rkeys[1];
	struct bio *bio;
	unsigned int i;

	bed_store(0, 4, 'a');
	bed_drain();
	sess()->keys.rkeys = rkeys;
	bed.conn[LOAD].keyed = true;
	bio = bed_load(0, 4);
	assert_int_equal(bed_posted(LOAD), 4);
	bed_serve(LOAD, 3);
	assert_int_equal(bed.conn[LOAD].nr_free, 0);
	assert_int_equal(bio->remaining, 4);
	bed_serve(LOAD, 1);
	assert_int_equal(bio->ended, 1);
	for (i = 0; i < 4; i++)
		assert_int_equal(bed_read(bio, i), 'a');
	bed_check_idle();
}

/* The second of three requests posted together is quiet, and ends with the last. */
static void test_quiet(void **state)
{
	struct bio *bio;

	bed_store(0, 3, 'q');
	bed_drain();
	bio = bed_load(0, 3);
	assert_int_equal(bed_posted(LOAD), 3);
	bed_serve(LOAD, 2);
	assert_int_equal(bed.conn[LOAD].nr_free, BED_DEPTH - 2);
	assert_int_equal(bio->ended, 0);
	bed_serve(LOAD, 1);
	assert_int_equal(bio->ended, 1);
	assert_int_equal(bed_read(bio, 2), 'q');
	bed_check_idle();
}

static void test_answers_to_nothing(void **state)
{
	u32 id;

	bed_store(1, 1, 'a');
	bed_drain();
	bed_load(1, 1);
	id = odrp_req_gen(&bed.conn[LOAD].reqs[0]) << 16;
	bed_answer(LOAD, id + 0x10000);		/* another generation */
	bed_answer(LOAD, id | 1);		/* a request that is not out */
	bed_answer(LOAD, id | BED_DEPTH);	/* no request */
	bed_serve(LOAD, 0);
	assert_int_equal(bed.dev.stats->unknown_ids, 3);
	assert_int_equal(bed.bio[1].ended, 0);
	bed_serve(LOAD, 1);
	bed_answer(LOAD, id);			/* once more */
	bed_serve(LOAD, 0);
	assert_int_equal(bed.dev.stats->unknown_ids, 4);
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	bed_check_idle();
}

/* The NIC takes two of a bio's blocks: the session is lost, and all go out again. */
static void test_refused_post(void **state)
{
	struct bio *bio;

	bed.refuse_at = 2;
	bio = bed_store(0, 4, 'r');
	assert_int_equal(odrp_sess_state(sess()), ODRP_LOST);
	assert_int_equal(sess()->reconnect.work.queued, 1);
	assert_false(bed.conn[NEW].live);
	bed_store(7, 1, 's');			/* waits */
	assert_int_equal(bed_posted(NEW), 2);
	lose();
	assert_int_equal(sess()->reconnect.work.queued, 1);
	resume();
	assert_int_equal(bed_posted(NEW), 4);
	assert_int_equal(bed_slot(NEW, 0), 0);
	assert_int_equal(bed_slot(NEW, 3), 3);
	bed_drain();
	assert_int_equal(bio->ended, 1);
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bed_check_idle();
}

/* An unmapped store that was executed: the table says so, and it is not sent again. */
static void test_settled(void **state)
{
	struct bio *bio = bed_store(2, 1, 'e');

	bed_execute(NEW, 1);
	lose();
	odrp_req_settle(&bed.conn[NEW].reqs[0]);
	assert_int_equal(bio->ended, 1);
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	resume();
	assert_int_equal(bed_posted(NEW), 0);
	bio = bed_load(2, 1);
	bed_drain();
	assert_int_equal(bed_read(bio, 0), 'e');
	bed_check_idle();
}

/* What waited, and what was posted, when the session dies. */
static void test_dead(void **state)
{
	struct bio *load, *store, *new, *late;
	unsigned int i;

	bed_store(0, 3, 'a');
	bed_drain();
	load = bed_load(0, 1);
	store = bed_store(1, 1, 'b');
	for (i = 0; i < BED_DEPTH; i++)
		bed_store(8 + i, 1, 'c');
	new = bed_store(4, 1, 'd');			/* waits for a request */
	lose();
	die();
	assert_int_equal(load->bi_status, BLK_STS_IOERR);
	assert_int_equal(store->bi_status, BLK_STS_IOERR);
	assert_int_equal(new->bi_status, BLK_STS_IOERR);
	assert_int_equal(bed.dev.slots.st[0], ODRP_SLOT_MAPPED);
	assert_int_equal(bed.dev.slots.st[1], ODRP_SLOT_UNKNOWN);
	assert_int_equal(bed.dev.slots.st[4], ODRP_SLOT_EMPTY);
	assert_int_equal(bed.dev.slots.st[8], ODRP_SLOT_UNKNOWN);
	late = bed_load(2, 1);
	assert_int_equal(late->bi_status, BLK_STS_IOERR);
	bed_check_idle();
}

/* What could not be posted was never sent: its slot is as it was before. */
static void test_dead_unsent(void **state)
{
	bed.refuse_at = 1;
	bed_store(0, 3, 'a');
	die();
	assert_int_equal(bed.dev.slots.st[0], ODRP_SLOT_UNKNOWN);
	assert_int_equal(bed.dev.slots.st[1], ODRP_SLOT_EMPTY);
	assert_int_equal(bed.dev.slots.st[2], ODRP_SLOT_EMPTY);
	assert_int_equal(bed.dev.lease.used.v, 1);
	bed_check_idle();
}

/* One that was sent once, and cannot be sent again, may have been cut short. */
static void test_dead_resent(void **state)
{
	struct bio *bio = bed_store(1, 1, 'a');
	enum odrp_state from;

	lose();
	bed.refuse_at = 0;
	assert_true(odrp_sess_move(sess(), ODRP_LIVE, &from));
	assert_int_equal(odrp_conn_resume(&bed.conn[NEW]), -ENOMEM);
	assert_int_equal(bio->ended, 0);
	die();
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	assert_int_equal(bed.dev.slots.st[1], ODRP_SLOT_UNKNOWN);
	bed_check_idle();
}

/* A store beyond the lease takes the page of a slot that was freed, or has no page. */
static void test_lease(void **state)
{
	struct bio *bio;

	bed.dev.lease.limit.v = 1;
	bed_store(0, 1, 'a');
	bed_drain();
	bio = bed_store(1, 1, 'b');
	assert_int_equal(bio->bi_status, BLK_STS_NOSPC);
	odrp_free_slot(&bed.dev, 0);
	bio = bed_store(2, 1, 'c');
	assert_int_equal(bed_posted(MAPPED), 1);
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bio = bed_load(2, 1);
	bed_drain();
	assert_int_equal(bed_read(bio, 0), 'c');
	bed_check_idle();
}

/*
 * Failures: which state they lead to, and what is queued
 */

static void test_fail(void **state)
{
	static const struct {
		enum odrp_state from, after_fail, after_die;
	} t[] = {
		{ ODRP_CONNECTING, ODRP_DEAD, ODRP_DEAD },
		{ ODRP_LIVE, ODRP_LOST, ODRP_DEAD },
		{ ODRP_LOST, ODRP_LOST, ODRP_DEAD },
		{ ODRP_DEAD, ODRP_DEAD, ODRP_DEAD },
		{ ODRP_CLOSING, ODRP_CLOSING, ODRP_CLOSING },
		{ ODRP_CLOSED, ODRP_CLOSED, ODRP_CLOSED },
	};
	struct odrp_sess *s = sess();
	unsigned int i, die;

	for (i = 0; i < 2 * ARRAY_SIZE(t); i++) {
		enum odrp_state from = t[i / 2].from;

		bed_init();
		die = i % 2;
		shim_log_lines = 0;
		atomic_set(&s->state, from);
		(die ? odrp_sess_die : odrp_sess_fail)(s, "test");
		assert_int_equal(odrp_sess_state(s), die ? t[i / 2].after_die :
							   t[i / 2].after_fail);
		assert_int_equal(s->reconnect.work.queued,
				 from == ODRP_LIVE || (from == ODRP_LOST && die));
		assert_int_equal(s->reconnect.end_work.work.queued,
				 from == ODRP_LIVE || (from == ODRP_LOST && die));
		assert_int_equal(s->reconnect.broken, from == ODRP_LOST && !die);
		assert_int_equal(shim_log_lines, odrp_sess_state(s) != from);
	}
}

static void test_expire(void **state)
{
	struct odrp_sess *s = sess();

	assert_false(odrp_sess_expire(s, "test"));	/* no end is set */
	lose();
	assert_int_equal(s->reconnect.end, jiffies + bed.dev.dead_after_ms);
	assert_false(odrp_sess_expire(s, "test"));
	jiffies = s->reconnect.end;
	assert_true(odrp_sess_expire(s, "test"));
	assert_int_equal(odrp_sess_state(s), ODRP_DEAD);
	assert_false(odrp_sess_expire(s, "test"));
}

static void test_restock(void **state)
{
	struct odrp_sess *s = sess();

	odrp_sess_restock(s);
	assert_int_equal(s->stock_work.queued, 0);
	s->lacks_spares = true;
	odrp_sess_restock(s);
	assert_int_equal(s->stock_work.queued, 1);
	die();
	s->stock_work.queued = 0;
	odrp_sess_restock(s);
	assert_int_equal(s->stock_work.queued, 0);
}

/*
 * At the same time
 */

static void store_one(void)
{
	bed_store(1, 1, 'n');
}

static void store_three(void)
{
	bed_store(0, 3, 'n');
}

static void init_lost(void)
{
	bed_init();
	lose();
}

static void weave(void (*init)(void), void (*one)(void), void (*two)(void),
		  void (*check)(void))
{
	const struct weave w = {
		.init = init, .thread = { one, two }, .nr = 2, .check = check,
		.preemptions = nightly() ? 2 : 1,
	};

	shim_wait_hook = weave_wait;
	assert_true(weave_all(&w) > 1);
	shim_wait_hook = NULL;
}

/* A store that arrives while a session that was lost dies is not left behind. */
static void test_issue_and_die(void **state)
{
	weave(init_lost, store_one, die, bed_check_idle);
}

static void init_refusing(void)
{
	bed_init();
	bed.refuse_at = 1;
}

/* The same where the post itself loses the session, in between. */
static void lose_and_die(void)
{
	lose();
	die();
}

static void check_after_posts(void)
{
	/* What was posted after die() has looked is ended by the last phase. */
	bed_unplug();
	release();
	bed_check_idle();
}

static void test_post_and_die(void **state)
{
	weave(init_refusing, store_three, lose_and_die, check_after_posts);
}

static void init_posted(void)
{
	bed_init();
	bed_store(0, 3, 'p');
	lose();
	odrp_sess_die(sess(), "dead");
}

/* end_work() and disconnect() may end the same requests at once: each once. */
static void test_end_twice(void **state)
{
	weave(init_posted, release, release, bed_check_idle);
}

static void init_stored(void)
{
	bed_init();
	bed_store(1, 1, 'o');
}

static void serve_new(void)
{
	bed_serve(NEW, 1);
}

static void check_last(void)
{
	struct bio *bio;

	bed_drain();
	bio = bed_load(1, 1);
	bed_drain();
	assert_int_equal(bed_read(bio, 0), 'n');
	bed_check_idle();
}

/* A store parks on its slot just when the slot becomes idle: nobody forgets it. */
static void test_park_and_end(void **state)
{
	weave(init_stored, store_one, serve_new, check_last);
}

static void init_full(void)
{
	unsigned int i;

	bed_init();
	for (i = 0; i < BED_DEPTH; i++)
		bed_store(8 + i, 1, 'f');
}

/* The same for a request of the connection. */
static void test_wait_and_put(void **state)
{
	weave(init_full, store_one, serve_new, check_last);
}

static void store_and_loads(void)
{
	bed_together(4, 1, 8, 3, 'f');
}

static void init_mapped(void)
{
	bed_init();
	bed_store(1, 1, 'o');
	bed_drain();
}

static void store_four(void)
{
	bed_together(0, 4, 0, 0, 'n');
}

/* ... or one that was taken ahead for a bio that needs none. */
static void test_wait_and_return(void **state)
{
	weave(init_mapped, store_four, store_and_loads, check_last);
}

/* Requests that were taken ahead while the session dies. */
static void test_ahead_and_die(void **state)
{
	weave(init_lost, store_and_loads, die, bed_check_idle);
	weave(bed_init, store_and_loads, lose_and_die, check_after_posts);
}

int main(void)
{
#define T(f)	cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_store_and_load),
		T(test_many_blocks),
		T(test_waits_for_request),
		T(test_blocks_wait),
		T(test_together),
		T(test_waits_for_slot),
		T(test_quiet),
		T(test_quiet_reads),
		T(test_answers_to_nothing),
		T(test_refused_post),
		T(test_settled),
		T(test_dead),
		T(test_dead_unsent),
		T(test_dead_resent),
		T(test_lease),
		T(test_fail),
		T(test_expire),
		T(test_restock),
		T(test_issue_and_die),
		T(test_post_and_die),
		T(test_end_twice),
		T(test_park_and_end),
		T(test_wait_and_put),
		T(test_wait_and_return),
		T(test_ahead_and_die),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
