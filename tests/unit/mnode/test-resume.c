// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections are lost and the session is not: its pages stay where they are,
 * and who has its token takes it up again, until it has been silent too long.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/count.h"
#include "bed/cut.h"
#include "bed/load.h"

#define SLOTS	300

static struct bed bed;
static struct load load;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static struct cnode *open_one(struct bed_options *o, unsigned int nr_nodes)
{
	bed_open(&bed, o, nr_nodes);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	return bed.nodes[0].cnode;
}

static struct sess *sess(void)
{
	assert_true(bed.m.nr_sess > 0);
	return bed.m.sess[0];
}

static void resume(struct cnode *c)
{
	struct cnode_refusal no;
	int r = cnode_resume(c, &no);

	if (r)
		fail_msg("cnode_resume: %d, status %u, detail %lu", r,
			 no.status, (unsigned long)no.detail);
}

static void leave(void)
{
	bed_leave(&bed, 0);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
}

/* As somebody says it who wants the session of node 0. */
static void resume_hello(struct odrp_wire_hello *h)
{
	struct cnode_info info;

	cnode_info(bed.nodes[0].cnode, &info);
	cnode_hello(h, ODRP_WIRE_ADMIN);
	h->session = htobe64(info.session);
	h->token = htobe64(info.token);
	h->queue = htobe16(info.queues);
	h->depth = htobe16(info.depth);
	h->nr_slots = htobe64(info.nr_slots);
}

static void expect_no(const struct odrp_wire_hello *h,
		      enum odrp_wire_status status, uint64_t detail)
{
	struct cnode_refusal no;

	assert_int_equal(cnode_try_hello(&bed.nodes[1].cfg, h, sizeof(*h),
					 &no), -ECONNREFUSED);
	assert_int_equal(no.status, status);
	assert_int_equal(no.detail, detail);
}

/* ---- pages survive ---------------------------------------------------------- */

enum loss { LOSS_SAID, LOSS_SILENT, LOSS_HERE };

static void lose(struct cnode *c, enum loss how)
{
	if (how == LOSS_HERE)
		bed.nic->ops->qp_error(bed.nic, sess()->ctl.qpn);
	else
		cnode_lose(c, how == LOSS_SAID);
	bed_pass(&bed, 300);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_true(sess_is_live(sess()));
	/* Nobody tells it what was lost without a word. */
	assert_true(sess_attached(sess()) == (how == LOSS_SILENT));
}

static void survive(enum loss how)
{
	struct cnode_info before, after;
	struct bed_options o;
	struct cnode *c;
	unsigned int i;

	bed_options(&o);
	c = open_one(&o, 1);
	load_init(&load, &bed, 0, SLOTS, how + 1);
	for (i = 0; i < 3; i++) {
		load_run(&load, 300);
		cnode_info(c, &before);
		lose(c, how);
		bed_check(&bed, load.mapped);
		resume(c);
		assert_true(sess_attached(sess()));
		assert_int_equal(sess()->silent_ms, 0);
		cnode_info(c, &after);
		assert_int_equal(after.session, before.session);
		assert_int_equal(after.token, before.token);
		assert_int_equal(after.lease, sess()->lease.granted);
		assert_int_equal(after.used, load.mapped);
		bed_check(&bed, load.mapped);
		load_verify(&load);
		load_run(&load, 300);
		load_verify(&load);
	}
	assert_int_equal(bed.m.sess_resumed, 3);
	assert_int_equal(bed.m.sess_total, 1);
	/* Heartbeats count again, and so do leases. */
	bed_pass(&bed, 3000);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_true(sess()->lease.reachable);
	bed_check(&bed, load.mapped);
	load_close(&load, &bed);
}

static void test_survives(void **state)
{
	survive(LOSS_SAID);
	survive(LOSS_SILENT);
	survive(LOSS_HERE);
}

/* The others notice nothing, and what it has is not given to them. */
static void test_lease_is_kept(void **state)
{
	struct bed_options o;
	uint64_t ceiling;
	struct cnode *c;
	unsigned int i;

	bed_options(&o);
	o.conf.dead_ms = 20000;
	c = open_one(&o, 2);
	bed_connect(&bed, 1, 2000, 1, 7);
	for (i = 0; i < 200; i++) {
		bed_fill(page, 0, i, 1);
		assert_int_equal(cnode_do(c, i % 2, ODRP_WIRE_UNMAPPED_STORE,
					  i, page), 0);
	}
	bed_pass(&bed, 1000);
	cnode_lose(c, true);
	bed_pass(&bed, 300);
	assert_false(sess_attached(sess()));
	ceiling = sess()->lease.ceiling;
	assert_true(ceiling >= 200);
	bed.want = 2000;
	bed_pass(&bed, 3000);
	assert_int_equal(sess()->lease.ceiling, ceiling);
	assert_true(bed.m.sess[1]->lease.ceiling <= bed.m.budget - ceiling);
	resume(c);
	bed.want = 0;
	bed_pass(&bed, 1000);
	bed_check(&bed, 200);
	bed_close(&bed);
}

static void test_goodbye(void **state)
{
	struct bed_options o;

	bed_options(&o);
	open_one(&o, 1);
	load_init(&load, &bed, 0, SLOTS, 1);
	load_run(&load, 300);
	leave();
	assert_int_equal(bed.m.sess_left, 1);
	bed_check(&bed, 0);
	load_close(&load, &bed);
}

/* A node that is asked to leave may come back for its pages, and is asked again. */
static void test_drain(void **state)
{
	struct bed_options o;
	struct cnode_info info;
	struct cnode *c;

	bed_options(&o);
	c = open_one(&o, 1);
	bed_fill(page, 0, 1, 1);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, 1, page), 0);
	cnode_lose(c, true);
	bed_pass(&bed, 300);
	manager_drain(&bed.m, true);
	resume(c);
	bed_pass(&bed, 500);
	cnode_info(c, &info);
	assert_true(info.drain);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 1, page), 0);
	assert_true(bed_is(page, 0, 1, 1));
	cnode_lose(c, true);
	bed_pass(&bed, 300);
	resume(c);
	bed_pass(&bed, 500);
	cnode_info(c, &info);
	assert_true(info.drain);
	bed_close(&bed);
}

/* ---- who may ------------------------------------------------------------------ */

static void refusals(void)
{
	struct odrp_wire_hello h;

	resume_hello(&h);
	h.token ^= htobe64(1);
	expect_no(&h, ODRP_WIRE_E_SESSION, 0);
	resume_hello(&h);
	h.session = htobe64(77);
	expect_no(&h, ODRP_WIRE_E_SESSION, 0);
	resume_hello(&h);
	h.token = 0;
	expect_no(&h, ODRP_WIRE_E_MALFORMED, 0);
	resume_hello(&h);
	h.nr_slots = htobe64(SLOTS - 1);
	expect_no(&h, ODRP_WIRE_E_RANGE, SLOTS);
	resume_hello(&h);
	h.queue = htobe16(1);
	expect_no(&h, ODRP_WIRE_E_RANGE, 2);
	/* More than is ever granted is not what was granted, either. */
	h.queue = htobe16(1000);
	expect_no(&h, ODRP_WIRE_E_RANGE, 2);
	resume_hello(&h);
	h.depth = htobe16(6);
	expect_no(&h, ODRP_WIRE_E_RANGE, 7);
	h.depth = htobe16(1000);
	expect_no(&h, ODRP_WIRE_E_RANGE, 7);
}

static void test_refused(void **state)
{
	struct odrp_wire_hello h;
	struct bed_options o;
	struct cnode *c;

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	o.conf.max_sessions = 1;
	c = open_one(&o, 2);
	load_init(&load, &bed, 0, SLOTS, 1);
	load_run(&load, 300);
	refusals();
	/* Nothing has happened to the one who is connected. */
	assert_true(sess_attached(sess()));
	load_verify(&load);
	cnode_lose(c, true);
	bed_pass(&bed, 100);
	refusals();
	assert_false(sess_attached(sess()));
	resume_hello(&h);
	h.role = ODRP_WIRE_IO;
	h.queue = h.nr_slots = 0;
	expect_no(&h, ODRP_WIRE_E_SESSION, 0);
	/* Its place is taken as long as it may come back. */
	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.queue = h.depth = htobe16(1);
	h.nr_slots = htobe64(1);
	expect_no(&h, ODRP_WIRE_E_LIMIT, 1);
	resume(c);
	load_verify(&load);
	bed_check(&bed, load.mapped);
	load_close(&load, &bed);
}

static void test_too_late(void **state)
{
	struct cnode_refusal no;
	struct bed_options o;
	struct cnode *c;

	bed_options(&o);
	c = open_one(&o, 1);
	load_init(&load, &bed, 0, SLOTS, 1);
	load_run(&load, 300);
	cnode_lose(c, true);
	bed_pass(&bed, 800);
	assert_int_equal(bed.m.nr_sess, 1);
	bed_pass(&bed, 500);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	assert_int_equal(bed.m.sess_dead, 1);
	bed_check(&bed, 0);
	assert_int_equal(cnode_resume(c, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_SESSION);
	load_close(&load, &bed);
}

static void test_evicted(void **state)
{
	struct cnode_refusal no;
	struct bed_options o;
	struct cnode *c;

	bed_options(&o);
	c = open_one(&o, 1);
	cnode_lose(c, true);
	bed_pass(&bed, 300);
	assert_false(sess_attached(sess()));
	manager_kill(&bed.m, sess(), WHY_EVICTED);
	assert_int_equal(cnode_resume(c, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_SESSION);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* ---- in the middle -------------------------------------------------------------- */

static void lose_under(struct cnode *c, unsigned int steps)
{
	cnode_lose(c, steps & 1);
	resume(c);
}

static void test_cut_in_the_middle(void **state)
{
	cut_each_chain(&bed, lose_under);
}

/* ---- again and again ------------------------------------------------------------- */

static void test_many_times(void **state)
{
	struct bed_options o;
	struct cnode *c;
	unsigned int i;
	long live, idle;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	count_wrap(bed.nic);
	/* The first to come has tables made that stay. */
	bed_connect(&bed, 0, SLOTS, 2, 7);
	leave();
	idle = count_live();
	bed_connect(&bed, 0, SLOTS, 2, 7);
	c = bed.nodes[0].cnode;
	load_init(&load, &bed, 0, SLOTS, 1);
	live = count_live();
	assert_true(live > idle);
	for (i = 0; i < 100; i++) {
		load_run(&load, 20);
		cnode_lose(c, i % 3);
		if (i % 2)
			bed_pass(&bed, 100);
		resume(c);
		assert_int_equal(count_live(), live);
	}
	bed_settle(&bed);
	load_verify(&load);
	bed_check_translations(&bed);
	bed_check(&bed, load.mapped);
	load_fini(&load);
	leave();
	assert_int_equal(count_live(), idle);
	assert_int_equal(manager_armed_pages(&bed.m), 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_survives),
		cmocka_unit_test(test_lease_is_kept),
		cmocka_unit_test(test_goodbye),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_evicted),
		cmocka_unit_test(test_cut_in_the_middle),
		cmocka_unit_test(test_many_times),
	};

	return bed_run_tests(tests);
}
