/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reconnecting: reconnect.c and hangup.c over the bed, whose connections are made when
 * the test says so. The work items run when the test calls them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bed.h"

#define NEW	ODRP_WIRE_UNMAPPED_STORE

static struct odrp_sess *sess(void)
{
	return &bed.dev.sess;
}

static int setup(void **state)
{
	bed_init();
	memset(&sess()->auth.key, 'k', sizeof(sess()->auth.key));
	memset(sess()->auth.secret, 's', ODRP_AUTH_SECRET);
	return odrp_reconnect_init(&bed.dev.sess);
}

static void run(void)
{
	struct work_struct *w = &sess()->reconnect.work;

	assert_true(w->queued);
	w->queued = 0;
	w->fn(w);
}

static void run_end_work(void)
{
	struct work_struct *w = &sess()->reconnect.end_work.work;

	assert_true(w->queued);
	w->queued = 0;
	w->fn(w);
}

static void run_stock_work(void)
{
	struct work_struct *w = &sess()->stock_work;

	assert_true(w->queued);
	w->queued = 0;
	w->fn(w);
}

/* The first of three unmapped stores was executed: the others go out again. */
static void test_resumes(void **state)
{
	struct bio *bio = bed_store(0, 3, 'a');

	bed_execute(NEW, 1);
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(bed_posted(NEW), 2);
	assert_int_equal(bed_slot(NEW, 0), 1);
	assert_int_equal(bed.dev.stats->resent, 2);
	assert_int_equal(bed.entry_reads, 1);	/* of all three */
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	assert_int_equal(bed.dev.stats->reconnects, 1);
	assert_int_equal(bed.uevents[ODRP_UEVENT_LOST], 1);
	assert_int_equal(bed.uevents[ODRP_UEVENT_LIVE], 1);
	assert_int_equal(bed.watches, 1);
	assert_int_equal(bed.stocks, 0);	/* nobody waits for that */
	run_stock_work();
	assert_int_equal(bed.stocks, 1 + ODRP_WIRE_NR_CHAINS);
	assert_int_equal(sess()->reconnect.end, 0);
	assert_int_equal(sess()->reconnect.end_work.work.queued, 0);
	bed_check_idle();
}

static void check_wiped(void)
{
	static const struct odrp_auth_key no_key;
	static const u8 no_secret[ODRP_AUTH_SECRET];

	assert_memory_equal(&sess()->auth.key, &no_key, sizeof(no_key));
	assert_memory_equal(sess()->auth.secret, no_secret, sizeof(no_secret));
}

static void check_dead(const struct bio *bio)
{
	check_wiped();
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	assert_int_equal(bed.uevents[ODRP_UEVENT_LIVE], 0);
	assert_int_equal(bed.uevents[ODRP_UEVENT_DEAD], 1);
	assert_true(sess()->reconnect.torn_down);
	bed_check_idle();
}

/* An agent that was restarted has other rkeys: what was posted by the old ones goes out
 * again by these. */
static void other_rkeys(struct odrp_conn *conn)
{
	sess()->keys.rkeys[0] = 0x22;
}

static void test_other_rkeys(void **state)
{
	static u32 rkeys[1];

	bed_store(0, 1, 'a');
	bed_drain();
	sess()->keys.rkeys = rkeys;
	rkeys[0] = 0x11;
	bed.conn[ODRP_WIRE_MAPPED_STORE].keyed = true;
	bed_store(0, 1, 'b');
	assert_int_equal(bed_posted(ODRP_WIRE_MAPPED_STORE), 1);
	assert_int_equal(bed_rkey(ODRP_WIRE_MAPPED_STORE), 0x11);
	bed.on_connect = other_rkeys;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(bed_posted(ODRP_WIRE_MAPPED_STORE), 1);
	assert_int_equal(bed_rkey(ODRP_WIRE_MAPPED_STORE), 0x22);
}

static void test_not_in_time(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');
	unsigned long begin = jiffies;

	bed.connect_err = -EHOSTUNREACH;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(jiffies - begin, bed.dev.dead_after_ms);
	assert_int_equal(bed.connects, bed.dev.dead_after_ms /
				       bed.dev.reconnect_delay_ms);
	check_dead(bio);
}

/* A node that has the secret says that there is no such session any more. */
static void test_final(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');

	bed.handshake_err = -EACCES;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(bed.handshakes, 1);
	assert_int_equal(bed.connects, 0);
	check_dead(bio);
}

static const int passing[] = {
	-ECONNREFUSED, -EKEYREJECTED, -EBADMSG, -ENOKEY, -EBUSY, -ENOSPC,
};

static unsigned int refusals;

static void refuse_some(struct odrp_conn *conn)
{
	bed.connect_err = refusals < ARRAY_SIZE(passing) ? passing[refusals] : 0;
	refusals++;
}

/* What anybody may have said ends nothing: once it is not said the session is resumed. */
static void test_not_final(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');

	refusals = 0;
	bed.on_connect = refuse_some;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(bed.handshakes, bed.connects);
	assert_true(bed.handshakes > ARRAY_SIZE(passing));
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bed_check_idle();
}

/* However often connections are broken: it is not their number that ends a session. */
static void test_many_breaks(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');
	unsigned int i;

	bed.dev.reconnect_delay_ms = 1;
	for (i = 0; i < 100; i++) {
		odrp_sess_fail(sess(), "test");
		run();
		assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
		assert_int_equal(bed_posted(NEW), 1);
	}
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bed_check_idle();
}

/* A request that is never answered does not wait for ever. */
static void test_never_answered(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');
	unsigned long begin = jiffies;
	unsigned int i;

	bed.dev.reconnect_delay_ms = 1;
	for (i = 0; i < 4; i++) {
		jiffies += bed.dev.timeout_ms;
		odrp_sess_fail(sess(), "test");
		run();
		assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
		assert_int_equal(bed_posted(NEW), 1);
	}
	jiffies = begin + bed.dev.dead_after_ms + 4 * bed.dev.timeout_ms + 1;
	bed.uevents[ODRP_UEVENT_LIVE] = 0;
	odrp_sess_fail(sess(), "test");
	run();
	check_dead(bio);
}

static void break_once(struct odrp_conn *conn)
{
	if (!conn->q)
		return;
	bed.on_connect = NULL;
	odrp_sess_fail(sess(), "broken while connecting");
}

/* A connection that breaks while others are made: from the beginning. */
static void test_breaks_meanwhile(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');

	bed.on_connect = break_once;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(bed.connects, 2);
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bed_check_idle();
}

static unsigned int nr_begun(void)
{
	unsigned int c, n = 0;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		n += bed.begun[c];
	return n;
}

/* All are asked for at once; one whose answer is lost is asked for again, alone. */
static void test_dials_again(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');
	unsigned int c;

	bed.lose_next = 1;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(bed.most_dialling, ODRP_WIRE_NR_CHAINS);
	assert_int_equal(bed.handshakes, 1);
	assert_int_equal(bed.connects, 1);
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		assert_in_range(bed.begun[c], 1, 2);
	assert_int_equal(nr_begun(), ODRP_WIRE_NR_CHAINS + 1);
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bed_check_idle();
}

/* One that cannot be asked for takes its time: the others are not tried in that round. */
static void test_dials_none(void **state)
{
	unsigned int left;

	bed.begin_err = -EHOSTUNREACH;
	atomic_set(&sess()->state, ODRP_CONNECTING);
	assert_int_equal(odrp_dial(sess(), 0, &left), -EHOSTUNREACH);
	assert_int_equal(left, ODRP_WIRE_NR_CHAINS);
	assert_int_equal(nr_begun(), 1);
	bed.begin_err = 0;
	assert_int_equal(odrp_dial(sess(), 0, &left), 0);
	assert_int_equal(left, 0);
	assert_int_equal(nr_begun(), 1 + ODRP_WIRE_NR_CHAINS);
}

/* When no more are up after some rounds, the attempt is over: from the beginning. */
static void test_gets_nowhere(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');

	bed.dev.dead_after_ms = 10000;
	bed.lose_next = 4 * ODRP_WIRE_NR_CHAINS;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(bed.handshakes, 2);
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bed_check_idle();
}

static void break_at_read(u64 slot)
{
	bed.on_table_read = NULL;
	odrp_sess_fail(sess(), "broken while the table is read");
}

/*
 * A connection that breaks while the last request is looked after: the attempt
 * has nothing left to do but to go live, and that it must not.
 */
static void test_breaks_last(void **state)
{
	bed_store(0, 1, 'a');
	bed_drain();
	bed_invalidate(0);
	assert_int_equal(bed_posted(ODRP_WIRE_INVALIDATE), 1);
	bed.on_table_read = break_at_read;
	odrp_sess_fail(sess(), "test");
	run();
	assert_null(bed.on_table_read);
	assert_int_equal(bed.connects, 2);
	assert_int_equal(bed.dev.stats->reconnects, 1);
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(bed_posted(ODRP_WIRE_INVALIDATE), 1);
	bed_drain();
	assert_int_equal(bed.dev.slots.st[0], ODRP_SLOT_EMPTY);
	bed_check_idle();
}

/* The new connections refuse what waited: that was one of the attempts. */
static void test_refuses(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');
	unsigned long until, lost_at = jiffies;

	bed.refuse_at = 0;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LOST);
	until = sess()->reconnect.until;
	bed.refuse_at = ~0u;
	jiffies += 10;
	run();
	assert_int_equal(sess()->reconnect.until, until);
	assert_int_equal(sess()->reconnect.lost_at, lost_at);
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	bed_drain();
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	bed_check_idle();
}

static struct bio *waits;

/* The time is over while connecting waits for somebody who waits for us. */
static void expire(struct odrp_conn *conn)
{
	bed.on_connect = NULL;
	assert_int_equal(waits->ended, 0);
	jiffies = sess()->reconnect.end;
	run_end_work();
	assert_int_equal(waits->ended, 1);
}

static void test_end_work(void **state)
{
	struct bio *bio = bed_store(0, BED_DEPTH, 'a');

	waits = bed_store(8, 1, 'b');
	bed.on_connect = expire;
	odrp_sess_fail(sess(), "test");
	run();
	check_dead(bio);
}

/* ... or while the memory node is slow to say what its table has. */
static void expire_at_read(u64 slot)
{
	expire(NULL);
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
}

static void test_end_work_at_read(void **state)
{
	struct bio *bio = bed_store(0, BED_DEPTH, 'a');

	waits = bed_store(8, 1, 'b');
	bed.on_table_read = expire_at_read;
	odrp_sess_fail(sess(), "test");
	run();
	check_dead(bio);
}

/* Requests wait for no longer than io_fail_ms; the session is tried on. */
static void fail_meanwhile(struct odrp_conn *conn)
{
	struct bio *late;

	bed.on_connect = NULL;
	assert_int_equal(waits->ended, 0);
	jiffies = sess()->reconnect.fail_at;
	run_end_work();
	assert_int_equal(odrp_sess_state(sess()), ODRP_FAILING);
	assert_int_equal(waits->ended, 1);
	assert_int_equal(waits->bi_status, BLK_STS_IOERR);
	late = bed_store(12, 1, 'c');
	assert_int_equal(late->bi_status, BLK_STS_IOERR);
	assert_true(sess()->reconnect.end_work.work.queued);
}

/*
 * Where a swapoff maps what it could not read, one that runs has requests wait, and they
 * fail when it has gone.
 */
static void swapoff_meanwhile(struct odrp_conn *conn)
{
	unsigned int n;

	bed.on_connect = NULL;
	bed.dev.openers = 3;
	for (n = 0; n < 3; n++) {
		jiffies = sess()->reconnect.fail_at;
		run_end_work();
		assert_int_equal(odrp_sess_state(sess()), ODRP_LOST);
		assert_int_equal(waits->ended, 0);
		assert_int_equal(sess()->reconnect.fail_at, jiffies + HZ);
	}
	bed.dev.openers = 2;
	fail_meanwhile(conn);
}

static void test_fails_not_in_swapoff(void **state)
{
	bed_store(0, BED_DEPTH, 'a');
	waits = bed_store(8, 1, 'b');
	bed_swapoff_unsafe = true;
	bed.dev.io_fail_ms = 300;
	bed.dev.dead_after_ms = 10000;
	bed.on_connect = swapoff_meanwhile;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(waits->bi_status, BLK_STS_IOERR);
	bed_check_idle();
}

/* It does not have the session live for longer than it may. */
static void swapoff_to_the_end(struct odrp_conn *conn)
{
	bed.on_connect = NULL;
	jiffies = sess()->reconnect.fail_at;
	run_end_work();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LOST);
	jiffies += sess()->reconnect.end_work.delay - 1;
	assert_int_equal(jiffies, sess()->reconnect.until);
	run_end_work();
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	assert_int_equal(waits->ended, 1);
}

static void test_dies_in_swapoff(void **state)
{
	waits = bed_store(0, 1, 'a');
	bed_swapoff_unsafe = true;
	bed.dev.openers = 3;
	bed.dev.io_fail_ms = 300;
	bed.dev.dead_after_ms = 400;
	bed.on_connect = swapoff_to_the_end;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	assert_int_equal(waits->bi_status, BLK_STS_IOERR);
	bed_check_idle();
}

/*
 * A task that opens the device has its lock, and looks at each slot where a swapoff is not safe.
 * Requests of a session that is dead do not wait for that.
 */
static void die_while_opened(struct odrp_conn *conn)
{
	bed.on_connect = NULL;
	mutex_lock(&bed.dev.lock);
	odrp_sess_die(sess(), "test");
	run_end_work();
	assert_int_equal(waits->ended, 1);
	mutex_unlock(&bed.dev.lock);
}

static void test_dies_while_opened(void **state)
{
	waits = bed_store(0, 1, 'a');
	bed_swapoff_unsafe = true;
	bed.dev.io_fail_ms = 300;
	bed.on_connect = die_while_opened;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	assert_int_equal(waits->bi_status, BLK_STS_IOERR);
	bed_check_idle();
}

/* However often it has been sent: who breaks each connection has it wait no longer. */
static void test_sent_often(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');
	unsigned long begin = jiffies;

	bed.dev.dead_after_ms = 30000;
	while (odrp_sess_state(sess()) == ODRP_LIVE &&
	       jiffies - begin < 2 * 30000) {
		odrp_sess_fail(sess(), "test");
		run();
	}
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	assert_in_range(jiffies - begin, 30000, 35000);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	bed_check_idle();
}

/*
 * Four stores to slots without a page, of which two were executed, and one to a slot
 * that has one; of two of them the kernel gives the contents up meanwhile.
 */
static void test_fails_meanwhile(void **state)
{
	struct bio *bio, *again;

	bed_store(5, 1, '0');
	bed_drain();
	assert_int_equal(bed_posted(ODRP_WIRE_MAPPED_STORE), 0);
	bed_store(5, 1, '5');
	bio = bed_store(0, BED_DEPTH, 'a');
	waits = bed_store(8, 1, 'b');
	bed_execute(NEW, 2);
	bed.dev.io_fail_ms = 300;
	bed.dev.dead_after_ms = 10000;
	bed.on_connect = fail_meanwhile;
	odrp_sess_fail(sess(), "test");
	odrp_free_slot(&bed.dev, 0);	/* while its store is under way */
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	assert_int_equal(bed.uevents[ODRP_UEVENT_DEAD], 0);
	assert_false(bed.dev.some_unknown);
	/* Executed, and freed: its page is given back. */
	assert_int_equal(bed.dev.slots.st[0], ODRP_SLOT_FREE_PENDING);
	/* Executed: the page is there, and what is in it is nobody's. */
	assert_int_equal(bed.dev.slots.st[1], ODRP_SLOT_VOID);
	/* Not executed: no page, but a store to it has failed, so it reads as nothing. */
	assert_int_equal(bed.dev.slots.st[2], ODRP_SLOT_GONE);
	assert_int_equal(bed.dev.slots.st[3], ODRP_SLOT_GONE);
	assert_int_equal(bed.dev.slots.st[5], ODRP_SLOT_VOID);
	assert_int_equal(bed.dev.slots.st[8], ODRP_SLOT_EMPTY);
	assert_int_equal(bed.dev.lease.used.v, 3);
	bio = bed_load(1, 1);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	bio = bed_load(2, 1);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	again = bed_store(2, 1, 'e');
	bed_drain();
	assert_int_equal(again->bi_status, BLK_STS_OK);
	bio = bed_load(2, 1);
	bed_drain();
	assert_int_equal(bed_read(bio, 0), 'e');
	again = bed_store(1, 1, 'd');
	bed_drain();
	assert_int_equal(again->bi_status, BLK_STS_OK);
	bio = bed_load(1, 1);
	bed_drain();
	assert_int_equal(bed_read(bio, 0), 'd');
	bed_check_idle();
}

/*
 * A store over a page fails, and the memory node says that there is none: that is no
 * reason to read zeros.  What is given up reads as zeros.
 */
static void test_denied_page(void **state)
{
	struct bio *bio;

	bed_store(5, 2, '0');
	bed_drain();
	waits = bed_store(5, 2, '5');
	bed.mapped[5] = bed.mapped[6] = false;
	bed.dev.io_fail_ms = 300;
	bed.dev.dead_after_ms = 10000;
	bed.on_connect = fail_meanwhile;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	bio = bed_load(5, 1);
	assert_int_equal(bio->bi_status, BLK_STS_IOERR);
	odrp_free_slot(&bed.dev, 6);
	bio = bed_load(6, 1);
	assert_int_equal(bio->bi_status, BLK_STS_OK);
	assert_int_equal(bed_read(bio, 0), 0);
	assert_int_equal(bed.dev.lease.used.v, 0);
	bed_check_idle();
}

/*
 * A session dies while it is resumed, and requests end: what is UNKNOWN then is what the
 * backing device has, and not for the memory node to say.
 */
static void test_backed_dies(void **state)
{
	struct odrp_backing *backing = (void *)&bed;

	bed.dev.slots.st[3] = ODRP_SLOT_UNKNOWN;
	bed.dev.some_unknown = true;
	bed.dev.backing = backing;
	atomic_set(&sess()->state, ODRP_DEAD);
	odrp_lookup(&bed.dev);
	assert_int_equal(bed.dev.slots.st[3], ODRP_SLOT_UNKNOWN);
	assert_int_equal(bed.entry_reads, 0);
}

/* A session that is dead, or being closed, reads no entries. */
static void test_dead_looks_not(void **state)
{
	bed.dev.slots.st[3] = ODRP_SLOT_UNKNOWN;
	bed.dev.some_unknown = true;
	atomic_set(&sess()->state, ODRP_DEAD);
	assert_int_equal(odrp_lookup(&bed.dev), -ECONNRESET);
	assert_int_equal(bed.dev.slots.st[3], ODRP_SLOT_UNKNOWN);
	assert_int_equal(bed.entry_reads, 0);
	assert_true(bed.dev.some_unknown);
}

/* It dies in time all the same. */
static void test_failing_dies(void **state)
{
	struct bio *bio = bed_store(0, BED_DEPTH, 'a');

	waits = bed_store(8, 1, 'b');
	bed.dev.io_fail_ms = 300;
	bed.connect_err = -EHOSTUNREACH;
	bed.on_connect = fail_meanwhile;
	odrp_sess_fail(sess(), "test");
	run();
	check_dead(bio);
}

/* Removed by force: the memory node hears a goodbye, and it is reported once. */
static void test_forced(void **state)
{
	struct bio *bio = bed_store(0, 1, 'a');

	bed.dev.forced = true;
	odrp_sess_die(sess(), "removed by force");
	run();
	assert_int_equal(bed.byes, 1);
	check_dead(bio);
	odrp_reconnect_queue(sess());
	run();
	assert_int_equal(bed.byes, 1);
	check_dead(bio);
}

static void test_restocks(void **state)
{
	bed.stock_err = -ENOMEM;
	odrp_sess_fail(sess(), "test");
	run();
	run_stock_work();
	assert_true(sess()->lacks_spares);
	bed.stock_err = 0;
	odrp_sess_restock(sess());
	run_stock_work();
	assert_false(sess()->lacks_spares);
	assert_int_equal(bed.connects, 1);
}

/* A session that is lost meanwhile has no more spares made for it, and asks again. */
static void test_restocks_not(void **state)
{
	odrp_sess_fail(sess(), "test");
	run();
	odrp_sess_fail(sess(), "test");
	run_stock_work();
	assert_int_equal(bed.stocks, 0);
	assert_true(sess()->lacks_spares);
}

int main(void)
{
#define T(f)	cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_resumes),
		T(test_other_rkeys),
		T(test_not_in_time),
		T(test_final),
		T(test_not_final),
		T(test_many_breaks),
		T(test_never_answered),
		T(test_breaks_meanwhile),
		T(test_dials_again),
		T(test_dials_none),
		T(test_gets_nowhere),
		T(test_breaks_last),
		T(test_refuses),
		T(test_end_work),
		T(test_end_work_at_read),
		T(test_fails_not_in_swapoff),
		T(test_dies_in_swapoff),
		T(test_dies_while_opened),
		T(test_sent_often),
		T(test_fails_meanwhile),
		T(test_denied_page),
		T(test_backed_dies),
		T(test_dead_looks_not),
		T(test_failing_dies),
		T(test_forced),
		T(test_restocks),
		T(test_restocks_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
