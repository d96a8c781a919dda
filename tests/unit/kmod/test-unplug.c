/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of queue pairs, of a device that is well, that flushes nothing, and that gives
 * nothing up: unplug.c, hangup.c and reconnect.c over the bed.  Until its queue pair is
 * gone the NIC may touch all that a connection has: no bio ends and no memory goes
 * before.  And nobody waits for it for long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bed.h"

#define NEW		ODRP_WIRE_UNMAPPED_STORE
#define NR_CONNS	(1 + ODRP_WIRE_NR_CHAINS)
#define FLUSH_MS	2000

static struct ib_device nic;
static struct ib_pd pd;
static struct bio *store;
static bool flushes;		/* the NIC completes markers */
static const struct odrp_conn *keeps;	/* ... and keeps a queue pair of this one */
static bool ended_early;
static unsigned int destroyed, memory_freed;

static struct odrp_sess *sess(void)
{
	return &bed.dev.sess;
}

static int marker(struct ib_cqe *cqe)
{
	struct ib_wc wc = { .wr_cqe = cqe, .status = IB_WC_WR_FLUSH_ERR };

	if (flushes)
		cqe->done(NULL, &wc);
	return 0;
}

static int refused_marker(struct ib_cqe *cqe)
{
	return -EIO;
}

/* Bios of a connection that the NIC still has are under way. */
static int destroy(struct odrp_conn *conn)
{
	if (conn == &bed.conn[NEW] && store->ended)
		ended_early = true;
	if (conn == keeps)
		return -EBUSY;
	destroyed++;
	return 0;
}

/* Memory that the NIC may write to goes. */
static void freed(const struct odrp_conn *conn)
{
	assert_null(conn->qp);
	assert_ptr_not_equal(conn, keeps);
	memory_freed++;
}

void odrp_beat_exit(struct odrp_sess *s)
{
	freed(s->admin);
}

void odrp_sync_exit(struct odrp_sess *s)
{
	freed(s->admin);
}

void odrp_keys_exit(struct odrp_sess *s)
{
	freed(s->admin);
}

void odrp_conn_destroy(struct odrp_conn *conn)
{
	freed(conn);
}

static int setup(void **state)
{
	unsigned int c;

	bed_init();
	bed.on_marker = marker;
	bed.on_destroy = destroy;
	bed.admin.qp = (struct ib_qp *)&bed.admin;
	bed.admin.cq = (struct ib_cq *)&bed.admin;
	bed.admin.established = true;
	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		bed.conn[c].established = true;
	sess()->ibdev = &nic;
	sess()->pd = &pd;
	store = bed_store(0, 1, 'a');
	flushes = false;
	keeps = NULL;
	ended_early = false;
	destroyed = memory_freed = 0;
	shim_log_lines = shim_module_refs = 0;
	return odrp_reconnect_init(sess());
}

static void run(void)
{
	struct work_struct *w = &sess()->reconnect.work;

	assert_true(w->queued);
	w->queued = 0;
	w->fn(w);
}

/* The device is removed: what reconnect.c does then. */
static void remove_dead(void)
{
	odrp_sess_die(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	assert_int_equal(store->ended, 1);
	assert_int_equal(store->bi_status, BLK_STS_IOERR);
	assert_false(ended_early);
	bed_check_idle();
}

/* Three of the admin connection, and each connection's own. */
static void check_all_gone(void)
{
	assert_int_equal(destroyed, NR_CONNS);
	assert_int_equal(memory_freed, 3 + NR_CONNS);
	assert_int_equal(bed.cqs_destroyed, NR_CONNS);
	assert_int_equal(bed.pds_freed, 1);
	assert_int_equal(shim_module_refs, 0);
	assert_false(sess()->stuck);
}

static void test_flushes(void **state)
{
	unsigned long begin = jiffies;

	flushes = true;
	remove_dead();
	assert_int_equal(jiffies, begin);
	check_all_gone();
}

/* For all connections together one time is waited, and not one for each. */
static void test_never_flushes(void **state)
{
	unsigned long begin = jiffies;

	remove_dead();
	assert_int_equal(jiffies - begin, FLUSH_MS);
	assert_true(shim_log_lines > NR_CONNS);
	check_all_gone();
}

/* One that does not even take what would tell is not waited for. */
static void test_refuses(void **state)
{
	unsigned long begin = jiffies;

	bed.on_marker = refused_marker;
	remove_dead();
	assert_int_equal(jiffies, begin);
	check_all_gone();
}

/* What the admin connection waited for before is posted still, and may be written. */
static void test_late(void **state)
{
	flushes = true;
	bed.admin.waiter.late = true;
	remove_dead();
	check_all_gone();
}

/* The memory of one connection stays, and what events of it may name. */
static void test_keeps_one(void **state)
{
	keeps = &bed.conn[NEW];
	remove_dead();
	assert_int_equal(destroyed, NR_CONNS - 1);
	assert_int_equal(memory_freed, 3 + NR_CONNS - 1);
	assert_int_equal(bed.cqs_destroyed, NR_CONNS - 1);
	assert_int_equal(bed.pds_freed, 0);
	assert_int_equal(shim_module_refs, 1);
	assert_true(sess()->stuck);
	/* As hot_remove does later, of a session that is dead. */
	odrp_sess_hang_up(sess());
	assert_int_equal(shim_module_refs, 1);
	assert_int_equal(bed.pds_freed, 0);
}

static void test_keeps_admin(void **state)
{
	keeps = &bed.admin;
	remove_dead();
	assert_int_equal(memory_freed, NR_CONNS - 1);
	assert_int_equal(shim_module_refs, 1);
}

/* A session that is lost is resumed all the same. */
static void test_resumes(void **state)
{
	unsigned long begin = jiffies;

	bed.dev.dead_after_ms = 10000;
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_LIVE);
	assert_int_equal(jiffies - begin, FLUSH_MS);
	assert_int_equal(destroyed, NR_CONNS);
	assert_int_equal(store->ended, 0);
	bed_drain();
	assert_int_equal(store->bi_status, BLK_STS_OK);
	bed_check_idle();
}

/* But not on memory that the device may still write to. */
static void test_resumes_not(void **state)
{
	keeps = &bed.conn[NEW];
	odrp_sess_fail(sess(), "test");
	run();
	assert_int_equal(odrp_sess_state(sess()), ODRP_DEAD);
	assert_int_equal(bed.connects, 0);
	assert_int_equal(store->ended, 1);
	assert_int_equal(store->bi_status, BLK_STS_IOERR);
	assert_int_equal(shim_module_refs, 1);
	bed_check_idle();
}

int main(void)
{
#define T(f)	cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_flushes),
		T(test_never_flushes),
		T(test_refuses),
		T(test_late),
		T(test_keeps_one),
		T(test_keeps_admin),
		T(test_resumes),
		T(test_resumes_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
