// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages on their way back: in batches, around the ring's end, with holes, and
 * when the agent's own queue pair fails.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "load.h"

static struct bed bed;
static struct load load;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static void map_all(unsigned int node, uint64_t nr_slots)
{
	struct cnode *c = bed.nodes[node].cnode;
	uint64_t slot;

	for (slot = 0; slot < nr_slots; slot++) {
		bed_fill(page, node, slot, 1);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, slot,
					  page), 0);
	}
}

static void check_all_free(void)
{
	bed_check(&bed, 0);
	assert_int_equal(manager_free_pages(&bed.m), bed.m.pool.pages);
}

/* More than one batch, and the tail passes the ring's end several times. */
static void test_batches(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	for (i = 0; i < 6; i++) {
		bed_connect(&bed, 0, 900, 1, 7);
		map_all(0, 900);
		bed_check(&bed, 900);
		cnode_close(bed.nodes[0].cnode);
		bed.nodes[0].cnode = NULL;
		bed_settle(&bed);
		assert_int_equal(bed.m.nr_sess, 0);
		check_all_free();
	}
	/* Copying, recycle=node: and the one that a stopped store has taken. */
	assert_int_equal(bed.m.reclaim.nr_pages,
			 6 * (900 + (o.conf.node_recycles &&
				     !o.conf.exchange ? 1 : 0)));
	bed_close(&bed);
}

/* Counted while a table is half emptied. */
static void test_check_in_between(void **state)
{
	struct bed_options o;
	struct check_result res;
	unsigned int between = 0, i;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 900, 1, 7);
	map_all(0, 900);
	manager_kill(&bed.m, bed.m.sess[0], WHY_EVICTED);
	for (i = 0; bed.m.nr_sess; i++) {
		assert_in_range(i, 0, 10000);
		manager_work(&bed.m);
		bed_run_ns(&bed, 1000);
		/* The batch under way needs the NIC, which we step. */
		if (check_pages(&bed.m, &res))
			continue;
		assert_true(check_ok(&res));
		between += res.mapped > 0 && res.mapped < 900;
	}
	assert_true(between > 0);
	check_all_free();
	bed_close(&bed);
}

static void test_many_sessions(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 4);
	for (i = 0; i < 4; i++)
		bed_connect(&bed, i, 100, 1, 7);
	assert_int_equal(bed.m.nr_sess, 4);
	for (i = 0; i < 4; i++)
		map_all(i, i == 3 ? 60 : 100);
	for (i = 0; i < 4; i++)
		manager_kill(&bed.m, bed.m.sess[i], WHY_EVICTED);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	check_all_free();
	bed_close(&bed);
}

/* 200 lives, and nothing is left of any. */
static void test_cycles(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	for (i = 0; i < 200; i++) {
		bed_connect(&bed, 0, 40, 2, 7);
		map_all(0, i % 7);
		if (i % 3)
			cnode_close(bed.nodes[0].cnode);
		else
			cnode_die(bed.nodes[0].cnode);
		bed.nodes[0].cnode = NULL;
		if (i % 3 == 0)
			bed_pass(&bed, 1500);
		bed_settle(&bed);
		assert_int_equal(bed.m.nr_sess, 0);
		check_all_free();
	}
	assert_int_equal(bed.m.nr_free_queues, 0);
	bed_close(&bed);
}

/* ---- holes ------------------------------------------------------------------------ */

/* Stores the page; -EAGAIN: there is no credit for it, and comes none. */
static int store_soon(struct cnode *c, unsigned int queue, uint64_t slot)
{
	struct cnode_done d;
	unsigned int i;
	int r = -EAGAIN;

	for (i = 0; i < 1000 && r == -EAGAIN; i++) {
		r = cnode_submit(c, queue, ODRP_WIRE_UNMAPPED_STORE, slot, page,
				 0);
		bed_pump(&bed);
		while (!cnode_poll(c, &d))
			;
	}
	return r;
}

/* A CNode that takes more pages than there are: its chain finds the ring empty
 * and stops.  Nobody's page is lost, and the ring recovers. */
static void test_empty_ring(void **state)
{
	struct bed_options o;
	struct cnode_refusal no;
	struct cnode *c;
	/* The page of an exchanging store was taken by the one before it. */
	unsigned int full, free;
	bool own;
	uint64_t slot = 0;
	int r;

	bed_options(&o);
	o.conf.pool = 1 << 20;
	o.conf.reserve = 1;	/* so that nobody is to blame */
	bed_open(&bed, &o, 1);
	own = wrc_has_register(&bed.m.progs[ODRP_WIRE_UNMAPPED_STORE]);
	full = 256 + own;
	free = 10 - own;
	bed.nodes[0].cfg.ignore_lease = true;
	bed_connect(&bed, 0, 1000, 1, 7);
	c = bed.nodes[0].cnode;
	do {
		bed_fill(page, 0, slot, 1);
		r = store_soon(c, 0, slot);
	} while (!r && ++slot < 300);
	assert_true(r == -EAGAIN || r == -ENOTCONN);
	assert_in_range(slot, 256, 300);
	bed_pass(&bed, 500);
	bed_settle(&bed);
	assert_int_equal(bed.m.reclaim.holes.nr, 1);
	/* What is freed now comes to the hole first, and out of it again. */
	for (slot = 0; slot < 10; slot++)
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_INVALIDATE, slot,
					  NULL), 0);
	bed_settle(&bed);
	bed_check(&bed, full - 10);
	assert_int_equal(bed.m.reclaim.holes.nr, 0);
	/* Of an exchanging store the first of them is the page it lacks. */
	assert_int_equal(pool_free_pages(&bed.m.pool), free);
	assert_int_equal(stock_short(&bed.m.stock), 0);
	assert_int_equal(cnode_reconnect(c, 0, ODRP_WIRE_UNMAPPED_STORE, &no),
			 0);
	for (slot = 0; slot < free; slot++) {
		bed_fill(page, 0, slot, 2);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, slot,
					  page), 0);
	}
	bed_check(&bed, 256);
	cnode_close(c);
	bed.nodes[0].cnode = NULL;
	bed_settle(&bed);
	check_all_free();
	bed_close(&bed);
}

/* The same with many queues at once, then all of them die. */
static void test_empty_ring_many(void **state)
{
	struct bed_options o;
	struct cnode *c;
	uint64_t slot;

	bed_options(&o);
	o.conf.pool = 1 << 20;
	o.conf.reserve = 1;	/* which leaves no room for invalidates */
	bed_open(&bed, &o, 1);
	bed.nodes[0].cfg.ignore_lease = true;
	bed.nodes[0].cfg.chains = 1 << ODRP_WIRE_UNMAPPED_STORE;
	bed_connect(&bed, 0, 1000, 4, 7);
	c = bed.nodes[0].cnode;
	for (slot = 0; slot < 400; slot++) {
		store_soon(c, slot % 4, slot);
	}
	bed_pass(&bed, 500);
	bed_settle(&bed);
	assert_int_equal(bed.m.reclaim.holes.nr, 4);
	cnode_close(c);
	bed.nodes[0].cnode = NULL;
	bed_settle(&bed);
	assert_int_equal(bed.m.reclaim.holes.nr, 0);
	check_all_free();
	bed_connect(&bed, 0, 100, 1, 7);
	map_all(0, 100);
	bed_check(&bed, 100);
	bed_close(&bed);
}

/* ---- compute nodes that break the rules ------------------------------------------- */

/* Stores to mapped slots as if they were not: the pages that lay there are in
 * no place, until the one who dropped them is gone. */
static void test_dropped_pages(void **state)
{
	struct check_result res;
	struct bed_options o;
	struct cnode *c;
	uint64_t slot, n;

	bed_options(&o);
	o.conf.exchange = false;	/* one that does not break by it */
	bed_open(&bed, &o, 2);
	bed.nodes[0].cfg.ignore_lease = true;
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 200, 1, 7);
	load_init(&load, &bed, 1, 200, 9);
	load_run(&load, 300);
	c = bed.nodes[0].cnode;
	for (n = 0; n < 3; n++) {
		for (slot = 0; slot < 20; slot++)
			assert_int_equal(cnode_do(c, 0,
					ODRP_WIRE_UNMAPPED_STORE, slot, page),
					0);
	}
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_int_equal(res.lost, 40);
	assert_int_equal(check_repair(&bed.m, &n), 0);
	assert_int_equal(n, 40);
	bed_check(&bed, load.mapped + 20);
	bed_settle(&bed);
	bed_check(&bed, load.mapped + 20);
	for (slot = 0; slot < 20; slot++)
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE,
					  slot, page), 0);
	bed.nodes[0].silent = true;
	bed_pass(&bed, 1500);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	bed_check(&bed, load.mapped);
	assert_int_equal(bed.m.reclaim.nr_lost, 60);
	load_run(&load, 100);
	load_verify(&load);
	load_fini(&load);
	bed_close(&bed);
}

/* A client of a node whose chain exchanges pages, or the test is skipped. */
static struct cnode *open_exchanging(enum odrp_wire_chain chain)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.exchange = true;
	bed_open(&bed, &o, 1);
	if (!wrc_has_register(&bed.m.progs[chain])) {
		bed_close(&bed);
		skip();
	}
	bed_connect(&bed, 0, 64, 1, 7);
	return bed.nodes[0].cnode;
}

/* With page exchange that store keeps the page that lay there, and breaks. */
static void test_dropped_page_is_kept(void **state)
{
	struct cnode_refusal no;
	struct cnode *c;
	unsigned int i;

	c = open_exchanging(ODRP_WIRE_UNMAPPED_STORE);
	map_all(0, 4);
	for (i = 2; i < 10; i++) {
		bed_fill(page, 0, 3, i);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, 3,
					  page), 0);
		bed_pass(&bed, 300);
		assert_true(cnode_broken(c, 0, ODRP_WIRE_UNMAPPED_STORE));
		bed_settle(&bed);
		bed_check(&bed, 4);
		assert_int_equal(stock_short(&bed.m.stock), 0);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 3, page), 0);
		assert_true(bed_is(page, 0, 3, i));
		assert_int_equal(cnode_reconnect(c, 0,
				 ODRP_WIRE_UNMAPPED_STORE, &no), 0);
	}
	assert_int_equal(bed.m.reclaim.nr_lost, 0);
	bed_close(&bed);
}

/* And a mapped store to a slot that is not: it maps its page, breaks, and the
 * stock gets another one out of the ring. */
static void test_stock_is_refilled(void **state)
{
	struct cnode_refusal no;
	struct cnode *c;
	unsigned int i;

	c = open_exchanging(ODRP_WIRE_MAPPED_STORE);
	for (i = 0; i < 10; i++) {
		bed_fill(page, 0, i, i);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_MAPPED_STORE, i,
					  page), 0);
		bed_pass(&bed, 300);
		assert_true(cnode_broken(c, 0, ODRP_WIRE_MAPPED_STORE));
		bed_settle(&bed);
		bed_check(&bed, i + 1);
		assert_int_equal(stock_short(&bed.m.stock), 0);
		assert_int_equal(pool_free_pages(&bed.m.pool), 1024 - 1 - i);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, i, page), 0);
		assert_true(bed_is(page, 0, i, i));
		assert_int_equal(cnode_reconnect(c, 0,
				 ODRP_WIRE_MAPPED_STORE, &no), 0);
	}
	cnode_close(c);
	bed.nodes[0].cnode = NULL;
	bed_settle(&bed);
	check_all_free();
	assert_int_equal(bed.m.stock.claimed, 0);
	assert_int_equal(bed.m.stock.out, 0);
	bed_close(&bed);
}

/* Takes far more than it was given: put out when that begins to hurt. */
static void test_overdraft(void **state)
{
	struct bed_options o;
	struct cnode *c;
	uint64_t slot;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 1, 400, 1, 7);
	load_init(&load, &bed, 1, 400, 9);
	load_run(&load, 500);
	bed.nodes[0].cfg.ignore_lease = true;
	bed_connect(&bed, 0, 2000, 1, 7);
	c = bed.nodes[0].cnode;
	for (slot = 0; slot < 1024; slot++) {
		if (cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, slot, page))
			break;
		if (slot % 10 == 0)
			bed_pass(&bed, 100);
	}
	bed_pass(&bed, 300);
	bed_settle(&bed);
	assert_int_equal(bed.m.sess_evicted, 1);
	assert_int_equal(bed.m.nr_sess, 1);
	bed_check(&bed, load.mapped);
	load_run(&load, 500);
	load_verify(&load);
	load_fini(&load);
	bed_close(&bed);
}

/* ---- the agent's own queue pair ---------------------------------------------------- */

static void test_queue_fails(void **state)
{
	struct bed_options o;
	unsigned int i;

	for (i = 0; i < 12; i++) {
		bed_options(&o);
		o.cost_ns = 1000;
		bed_open(&bed, &o, 1);
		bed_connect(&bed, 0, 900, 1, 7);
		map_all(0, 900);
		manager_kill(&bed.m, bed.m.sess[0], WHY_EVICTED);
		manager_work(&bed.m);
		bed_run_ns(&bed, i * 1000);
		manager_work(&bed.m);
		bed.nic->ops->qp_error(bed.nic, bed.m.reclaim.q.qpn);
		bed_settle(&bed);
		assert_int_equal(bed.m.reclaim.nr_failures, 1);
		assert_int_equal(bed.m.nr_sess, 0);
		check_all_free();
		bed_close(&bed);
	}
}

/* ---- nobody is disturbed ------------------------------------------------------------ */

static void test_others_run_on(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	o.cost_ns = 100;
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 500, 1, 7);
	bed_connect(&bed, 1, 200, 2, 7);
	map_all(0, 500);
	load_init(&load, &bed, 1, 200, 21);
	load_run(&load, 300);
	manager_kill(&bed.m, bed.m.sess[0], WHY_EVICTED);
	for (i = 0; i < 400; i++) {
		load_submit(&load, 2);
		bed_run_ns(&bed, 500);
		if (i % 20 == 0)
			manager_work(&bed.m);
		load_poll(&load);
	}
	load_run(&load, 100);
	bed_settle(&bed);
	bed_check(&bed, load.mapped);
	load_verify(&load);
	load_fini(&load);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_check_in_between),
		cmocka_unit_test(test_many_sessions),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_empty_ring),
		cmocka_unit_test(test_empty_ring_many),
		cmocka_unit_test(test_dropped_pages),
		cmocka_unit_test(test_dropped_page_is_kept),
		cmocka_unit_test(test_stock_is_refilled),
		cmocka_unit_test(test_overdraft),
		cmocka_unit_test(test_queue_fails),
		cmocka_unit_test(test_others_run_on),
	};

	return bed_run_tests(tests);
}
