/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The times of a session that is lost: reconnect.c and fail.c over the bed.  They count from
 * the loss, and requests end with them, whatever the work items wait for, which run when the
 * test calls them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bed.h"
#include "weave.h"

#define NEW	ODRP_WIRE_UNMAPPED_STORE

static struct odrp_sess *sess(void)
{
	return &bed.dev.sess;
}

static int setup(void **state)
{
	bed_init();
	return odrp_reconnect_init(&bed.dev.sess);
}

static void run_item(struct work_struct *w)
{
	assert_true(w->queued);
	w->queued = 0;
	w->fn(w);
}

static void run(void)
{
	run_item(&sess()->reconnect.work);
}

static void run_end_work(void)
{
	run_item(&sess()->reconnect.end_work.work);
}

/* Requests begin to fail while entries are read: what they leave is looked up as well. */
static void fail_at_read(u64 slot)
{
	bed.on_table_read = NULL;
	jiffies = sess()->reconnect.fail_at;
	run_end_work();
	assert_int_equal(odrp_sess_state(sess()), ODRP_FAILING);
	assert_int_equal(bed.dev.slots.st[0], ODRP_SLOT_UNKNOWN);
	assert_int_equal(bed.dev.slots.st[1], ODRP_SLOT_UNKNOWN);
}

static void test_fails_at_read(void **state)
{
	struct bio *bio = bed_store(0, 2, 'a');

	bed.dev.io_fail_ms = 300;
	bed.dev.dead_after_ms = 10000;
	bed.on_table_read = fail_at_read;
	bed_execute(NEW, 1);
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_false(bed.dev.some_unknown);
	assert_int_equal(bed.dev.slots.st[0], ODRP_SLOT_VOID);
	assert_int_equal(bed.dev.slots.st[1], ODRP_SLOT_GONE);
	assert_int_equal(bed_posted(NEW), 0);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	bed_check_idle();
}

/* A read fails in time while the session looks up UNKNOWN slots of an earlier loss. */
static void fail_at_lookup(u64 slot)
{
	if (slot == 5)
		fail_at_read(slot);
}

static void test_fails_at_lookup(void **state)
{
	bed.dev.slots.st[5] = ODRP_SLOT_UNKNOWN;
	bed.dev.some_unknown = true;
	bed_store(0, 2, 'a');
	bed.dev.io_fail_ms = 300;
	bed.dev.dead_after_ms = 10000;
	bed.on_table_read = fail_at_lookup;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_null(bed.on_table_read);
	assert_false(bed.dev.some_unknown);
	assert_int_equal(bed.dev.slots.st[0], ODRP_SLOT_GONE);
	assert_int_equal(bed.dev.slots.st[5], ODRP_SLOT_GONE);
	bed_check_idle();
}

/* In any order of steps: a slot that a look-up misses has the next one look again. */
static void init_missed(void)
{
	setup(NULL);
	bed_store(0, 1, 'a');
	odrp_sess_fail(sess(), "test");
	bed.dev.some_unknown = true;
}

static void fail_posted(void)
{
	odrp_conn_fail_posted(&bed.conn[NEW]);
}

static void look(void)
{
	odrp_lookup(&bed.dev);
}

static void check_missed(void)
{
	if (bed.dev.slots.st[0] == ODRP_SLOT_UNKNOWN)
		assert_true(bed.dev.some_unknown);
}

static void test_fails_beside_lookup(void **state)
{
	const struct weave w = {
		.init = init_missed, .thread = { fail_posted, look }, .nr = 2,
		.check = check_missed, .preemptions = 2,
	};

	shim_wait_hook = weave_wait;
	assert_true(weave_all(&w) > 1);
	shim_wait_hook = NULL;
}

/*
 * The work item that resumes sessions does not get on, whatever for, and not even queue
 * pairs go: all the same requests fail when their time is over, and the session dies.
 */
static void test_times_from_loss(void **state)
{
	struct bio *bio = bed_store(0, BED_DEPTH, 'a');
	struct bio *waiting = bed_store(8, 1, 'b');
	unsigned long begin = jiffies;
	unsigned int unknown;

	bed.dev.io_fail_ms = 300;
	bed.dev.dead_after_ms = 10000;
	odrp_sess_fail(sess(), "test");
	assert_int_equal(sess()->reconnect.fail_at, begin + 300);
	assert_int_equal(sess()->reconnect.end, begin + 10000);
	jiffies = begin + 300;
	run_end_work();
	assert_int_equal(odrp_sess_state(sess()), ODRP_FAILING);
	assert_int_equal(waiting->bi_status, BLK_STS_IOERR);
	/* The NIC has these still, and is given some time to let them go. */
	assert_int_equal(bio->ended, 0);
	jiffies += sess()->reconnect.end_work.delay - 1;
	assert_int_equal(jiffies, sess()->reconnect.let_go_at);
	run_end_work();
	assert_int_equal(bio->ended, 1);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	/* What it completes later finds nothing. */
	unknown = bed.dev.stats->unknown_ids;
	bed_serve(NEW, BED_DEPTH);
	assert_true(bed.dev.stats->unknown_ids > unknown);
	assert_int_equal(bio->ended, 1);
	jiffies += sess()->reconnect.end_work.delay - 1;
	assert_int_equal(jiffies, begin + 10000);
	run_end_work();
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	run();
	bed_check_idle();
}

/* The times of test_times_from_loss() hold for a live session that is removed by force. */
static void test_force_from_live(void **state)
{
	struct bio *bio = bed_store(0, BED_DEPTH, 'a');
	struct bio *waiting = bed_store(8, 1, 'b');

	bed.dev.forced = true;
	odrp_sess_die(sess(), "removed by force");
	run_end_work();
	assert_int_equal(waiting->bi_status, BLK_STS_IOERR);
	assert_int_equal(bio->ended, 0);
	jiffies += sess()->reconnect.end_work.delay - 1;
	run_end_work();
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	assert_int_equal(sess()->reconnect.end_work.work.queued, 0);
	run();
	assert_true(sess()->reconnect.torn_down);
	bed_check_idle();
}

/* It dies when it is live again, before all that waited has been issued. */
static void die_again(struct odrp_conn *conn)
{
	odrp_sess_die(sess(), "test");
	run_end_work();
}

static void test_dies_before_issuing(void **state)
{
	struct bio *bio = bed_store(0, BED_DEPTH, 'a');

	bed.on_beat_start = die_again;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(bed_posted(NEW), 0);
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	bed_check_idle();
}

int main(void)
{
#define T(f)	cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_fails_at_read),
		T(test_fails_at_lookup),
		T(test_fails_beside_lookup),
		T(test_times_from_loss),
		T(test_force_from_live),
		T(test_dies_before_issuing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
