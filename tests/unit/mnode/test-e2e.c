// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compute nodes and a memory node end to end: connect, store, load, free, die,
 * on good and on bad wires.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/nightly.h"
#include "bed/load.h"

#define PAGE	ODRP_WIRE_PAGE_SIZE

static struct bed bed;
static struct load loads[BED_NODES];
static uint8_t page[PAGE] __attribute__((aligned(8)));

static void open_one(struct bed_options *o, uint64_t nr_slots,
		     unsigned int queues, unsigned int depth)
{
	bed_open(&bed, o, 1);
	bed_connect(&bed, 0, nr_slots, queues, depth);
}

static void test_every_chain_once(void **state)
{
	struct bed_options o;
	struct cnode *c;

	bed_options(&o);
	open_one(&o, 256, 1, 8);
	c = bed.nodes[0].cnode;
	bed_check(&bed, 0);
	bed_fill(page, 0, 5, 1);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, 5, page), 0);
	bed_check(&bed, 1);
	memset(page, 0, PAGE);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 5, page), 0);
	assert_true(bed_is(page, 0, 5, 1));
	bed_fill(page, 0, 5, 2);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_MAPPED_STORE, 5, page), 0);
	memset(page, 0, PAGE);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 5, page), 0);
	assert_true(bed_is(page, 0, 5, 2));
	bed_check(&bed, 1);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_INVALIDATE, 5, NULL), 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* ---- under load ------------------------------------------------------------- */

static void run_load(struct bed_options *o, uint64_t requests)
{
	struct load *l = &loads[0];
	struct cnode_info info;
	unsigned int i;

	open_one(o, 700, 2, 15);
	load_init(l, &bed, 0, 700, o->seed);
	for (i = 0; i < 10; i++) {
		load_run(l, requests / 10);
		bed_check(&bed, l->mapped);
	}
	cnode_info(bed.nodes[0].cnode, &info);
	if (o->answer_every)
		assert_true(info.answers < requests * 9 / 10);
	else
		assert_true(info.answers >= requests);
	load_verify(l);
	load_fini(l);
	bed_close(&bed);
}

static void test_load(void **state)
{
	struct bed_options o;

	bed_options(&o);
	run_load(&o, 10000);
}

static void test_load_early_fetch(void **state)
{
	struct bed_options o;

	bed_options(&o);
	o.fetch = SNIC_FETCH_EARLY;
	run_load(&o, 10000);
}

/* The chains of order=fence, which the agent arms when it is told to. */
static void test_load_fenced(void **state)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.order = CONF_ORDER_FENCE;
	o.fetch = SNIC_FETCH_EARLY;
	run_load(&o, 10000);
}

static void test_load_relaxed(void **state)
{
	struct bed_options o;

	bed_options(&o);
	o.relaxed = true;
	run_load(&o, 10000);
}

/* Most requests want no answer: one for several speaks for them. */
static void test_load_quiet(void **state)
{
	struct bed_options o;

	bed_options(&o);
	o.answer_every = 6;
	o.fetch = SNIC_FETCH_EARLY;
	run_load(&o, 10000);
	bed_options(&o);
	o.answer_every = 4;
	o.relaxed = true;
	run_load(&o, 10000);
}

static void test_load_bad_wire(void **state)
{
	struct bed_options o;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		bed_options(&o);
		o.seed = 10 + i;
		o.answer_every = i < 2 ? 0 : 5;
		o.faults = (struct snic_faults){
			.loss = i % 2 ? 0.05 : 0.01, .duplicate = 0.01,
			.reorder = i % 2 ? 0.05 : 0.01, .corrupt = 0.01,
			.delay_ns = 20000,
		};
		o.conf.dead_ms = 3600 * 1000;
		run_load(&o, 3000);
	}
}

/* Every index, count and doorbell wraps: more than 2^16 requests on one
 * connection, and the free ring goes around many times.  By day with what is armed
 * by default: no other run wraps otherwise, and this is most of each. */
static void test_wrap(void **state)
{
	struct load *l = &loads[0];
	struct bed_options o;
	struct cnode *c;

	if (bed_keyed && !nightly())
		return;
	bed_options(&o);
	open_one(&o, 64, 1, 15);
	c = bed.nodes[0].cnode;
	load_init(l, &bed, 0, 64, 3);
	l->free_chance = 240;
	l->load_chance = 8;
	while (cnode_requests(c, 0, ODRP_WIRE_UNMAPPED_STORE) <= 70000 ||
	       cnode_requests(c, 0, ODRP_WIRE_INVALIDATE) <= 65536)
		load_run(l, 1000);
	bed_check(&bed, l->mapped);
	load_verify(l);
	l->free_chance = 1;
	l->load_chance = 128;
	load_run(l, 140000);
	assert_true(cnode_requests(c, 0, ODRP_WIRE_LOAD) > 65536);
	assert_true(cnode_requests(c, 0, ODRP_WIRE_MAPPED_STORE) > 65536);
	bed_check(&bed, l->mapped);
	load_verify(l);
	load_fini(l);
	bed_close(&bed);
}

/* ---- several, and death ------------------------------------------------------ */

static void open_some(struct bed_options *o, unsigned int nr)
{
	unsigned int i;

	bed_open(&bed, o, nr);
	for (i = 0; i < nr; i++) {
		bed_connect(&bed, i, 300, 2, 7);
		load_init(&loads[i], &bed, i, 300, 7);
	}
}

static void close_some(unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		load_fini(&loads[i]);
	bed_close(&bed);
}

static void test_two_nodes(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	open_some(&o, 2);
	for (i = 0; i < 10; i++) {
		load_submit(&loads[0], 10);
		load_run(&loads[1], 100);
		load_run(&loads[0], 100);
		bed_check(&bed, loads[0].mapped + loads[1].mapped);
	}
	load_verify(&loads[0]);
	load_verify(&loads[1]);
	close_some(2);
}

/* One machine dies in the middle of its requests, at some point of time; its
 * pages come back, and the other one is not disturbed. */
static void die_in_the_middle(unsigned int seed, bool bad_wire)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	o.seed = seed;
	if (bad_wire)
		o.faults = (struct snic_faults){
			.loss = 0.02, .reorder = 0.02, .delay_ns = 5000,
		};
	open_some(&o, 2);
	load_run(&loads[0], 200 + seed * 7);
	load_run(&loads[1], 200);
	load_submit(&loads[0], 40);
	for (i = 0; i < seed % 5; i++)
		bed_pump(&bed);
	bed.nodes[0].silent = true;
	for (i = 0; i < 100 && bed.m.nr_sess == 2; i++) {
		bed_pass(&bed, 100);
		load_run(&loads[1], 20);
	}
	assert_int_equal(bed.m.nr_sess, 1);
	assert_int_equal(bed.m.sess_dead, 1);
	bed_check(&bed, loads[1].mapped);
	load_run(&loads[1], 200);
	load_verify(&loads[1]);
	bed_check(&bed, loads[1].mapped);
	close_some(2);
}

static void test_death(void **state)
{
	unsigned int seed;

	for (seed = 0; seed < 20; seed++)
		die_in_the_middle(seed, seed & 1);
}

/* ---- at every step ----------------------------------------------------------- */

#define STEP_NS	100

/* Starts a request on slot 5 and lets the memory node execute that many steps
 * of it. */
static void stop_at(enum odrp_wire_chain chain, unsigned int steps, bool mapped)
{
	struct bed_options o;
	struct cnode *c;

	bed_options(&o);
	o.cost_ns = STEP_NS;
	o.conf.pool = 1 << 20;
	open_one(&o, 64, 1, 7);
	c = bed.nodes[0].cnode;
	bed_fill(page, 0, 5, 1);
	if (mapped)
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, 5,
					  page), 0);
	assert_int_equal(cnode_submit(c, 0, chain, 5, page, 0), 0);
	bed_run_ns(&bed, steps * STEP_NS);
}

static unsigned int mapped_now(void)
{
	struct check_result res;

	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_true(check_ok(&res));
	return res.mapped;
}

/* At each step of each chain every page is in one place; if the session ends
 * there, all come back. */
static void every_step(enum odrp_wire_chain chain, bool mapped)
{
	unsigned int steps, held = 0, swapped = 0, pages;
	bool own = false;
	struct check_result res;
	struct cnode_done done;
	bool answered = false;

	for (steps = 0; !answered; steps++) {
		assert_in_range(steps, 0, 200);
		stop_at(chain, steps, mapped);
		answered = !cnode_poll(bed.nodes[0].cnode, &done);
		assert_int_equal(check_pages(&bed.m, &res), 0);
		assert_true(check_ok(&res));
		held += res.held;
		/* The stores have 8 instances; one may be without a page. */
		own = wrc_has_register(&bed.m.progs[ODRP_WIRE_UNMAPPED_STORE]);
		pages = bed_registers(&bed, 8);
		assert_in_range(res.armed, pages - own, pages);
		swapped += res.armed + 1 == pages;
		manager_kill(&bed.m, bed.m.sess[0], WHY_EVICTED);
		bed_settle(&bed);
		assert_int_equal(bed.m.nr_sess, 0);
		bed_check(&bed, 0);
		assert_int_equal(manager_free_pages(&bed.m),
				 bed.m.pool.pages);
		bed_close(&bed);
	}
	assert_true(steps > 5);
	if (own && chain == ODRP_WIRE_UNMAPPED_STORE)
		assert_true(swapped > 0);
	if ((!own && chain == ODRP_WIRE_UNMAPPED_STORE) ||
	    (chain == ODRP_WIRE_INVALIDATE && mapped))
		assert_true(held > 0);
	else
		assert_int_equal(held, 0);
}

static void test_death_at_every_step(void **state)
{
	every_step(ODRP_WIRE_UNMAPPED_STORE, false);
	every_step(ODRP_WIRE_INVALIDATE, true);
	every_step(ODRP_WIRE_INVALIDATE, false);
	every_step(ODRP_WIRE_MAPPED_STORE, true);
	every_step(ODRP_WIRE_LOAD, true);
}

/* One chain ends there, the session goes on: the chain can be connected again
 * and the slot be used. */
static void every_step_reconnect(enum odrp_wire_chain chain, bool mapped)
{
	struct cnode_refusal no;
	struct cnode_done done;
	unsigned int steps, n;
	bool answered = false;
	struct cnode *c;

	for (steps = 0; !answered; steps++) {
		assert_in_range(steps, 0, 200);
		stop_at(chain, steps, mapped);
		c = bed.nodes[0].cnode;
		answered = !cnode_poll(c, &done);
		manager_close_queue(&bed.m, bed.m.sess[0], 0, chain);
		bed_settle(&bed);
		assert_true(cnode_broken(c, 0, chain));
		n = mapped_now();
		assert_int_equal(cnode_reconnect(c, 0, chain, &no), 0);
		bed_fill(page, 0, 5, 2);
		assert_int_equal(cnode_do(c, 0, n ? ODRP_WIRE_MAPPED_STORE :
					  ODRP_WIRE_UNMAPPED_STORE, 5, page),
				 0);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 5, page), 0);
		assert_true(bed_is(page, 0, 5, 2));
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_INVALIDATE, 5, NULL),
				 0);
		bed_check(&bed, 0);
		bed_close(&bed);
	}
}

static void test_reconnect_at_every_step(void **state)
{
	every_step_reconnect(ODRP_WIRE_UNMAPPED_STORE, false);
	every_step_reconnect(ODRP_WIRE_INVALIDATE, true);
	every_step_reconnect(ODRP_WIRE_MAPPED_STORE, true);
	every_step_reconnect(ODRP_WIRE_LOAD, true);
}

/* ---- connections that break ---------------------------------------------------- */

/* The memory node may not have noticed yet that the old one is gone. */
static int reconnect(struct cnode *c, enum odrp_wire_chain chain)
{
	struct cnode_refusal no;
	unsigned int tries;
	int r;

	for (tries = 0; tries < 100; tries++) {
		r = cnode_reconnect(c, 0, chain, &no);
		if (!r || no.status != ODRP_WIRE_E_BUSY)
			break;
		bed_pump(&bed);
	}
	return r;
}

/* Any of the connections breaks while nothing is under way, after that many
 * requests on it: the flushed receive entries complete, and must run nothing. */
static void break_idle(bool relaxed, unsigned int requests,
		       enum odrp_wire_chain chain)
{
	struct load *l = &loads[0];
	struct bed_options o;

	bed_options(&o);
	o.relaxed = relaxed;
	open_one(&o, 40, 1, 7);
	load_init(l, &bed, 0, 40, requests);
	load_run(l, requests);
	manager_close_queue(&bed.m, bed.m.sess[0], 0, chain);
	bed_settle(&bed);
	bed_check(&bed, l->mapped);
	assert_int_equal(reconnect(bed.nodes[0].cnode, chain), 0);
	/* This time the compute node begins. */
	assert_int_equal(reconnect(bed.nodes[0].cnode, chain), 0);
	bed_settle(&bed);
	bed_check(&bed, l->mapped);
	load_verify(l);
	load_run(l, 100);
	load_verify(l);
	bed_check(&bed, l->mapped);
	load_fini(l);
	bed_close(&bed);
}

static void test_break_idle(void **state)
{
	static const unsigned int requests[] = { 5, 60, 300 };
	unsigned int i, chain;

	for (i = 0; i < 6; i++) {
		for (chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
			break_idle(i & 1, requests[i / 2], chain);
	}
}

/* Counted while chains run, in the middle of anything. */
static void test_check_under_way(void **state)
{
	struct load *l = &loads[0];
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	o.cost_ns = STEP_NS;
	open_one(&o, 300, 4, 15);
	load_init(l, &bed, 0, 300, 11);
	load_run(l, 300);
	for (i = 0; i < 3000; i++) {
		load_submit(l, 4);
		bed_run_ns(&bed, 700);
		mapped_now();
		load_poll(l);
	}
	load_run(l, 1);
	load_verify(l);
	load_fini(l);
	bed_close(&bed);
}

/* A graceful leave gives all back at once, without waiting for silence. */
static void test_leave(void **state)
{
	struct bed_options o;

	bed_options(&o);
	open_some(&o, 2);
	load_run(&loads[0], 500);
	load_run(&loads[1], 500);
	bed_leave(&bed, 0);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_int_equal(bed.m.sess_left, 1);
	bed_check(&bed, loads[1].mapped);
	load_verify(&loads[1]);
	bed_connect(&bed, 0, 300, 2, 7);
	assert_int_equal(bed.m.nr_sess, 2);
	close_some(2);
}

static void test_evict(void **state)
{
	struct bed_options o;
	struct cnode_info info;

	bed_options(&o);
	open_some(&o, 2);
	load_run(&loads[0], 500);
	load_run(&loads[1], 500);
	cnode_info(bed.nodes[0].cnode, &info);
	manager_kill(&bed.m, manager_find_wire(&bed.m, info.session), WHY_EVICTED);
	bed_settle(&bed);
	assert_true(cnode_broken(bed.nodes[0].cnode, 0, ODRP_WIRE_LOAD));
	bed_check(&bed, loads[1].mapped);
	load_verify(&loads[1]);
	close_some(2);
}

/* ---- leases ------------------------------------------------------------------- */

/* More is wanted than there is: stores beyond the lease are refused on the
 * compute node, nothing breaks, and what is freed can be used again. */
static void test_small_pool(void **state)
{
	struct load *l = &loads[0];
	struct bed_options o;
	struct cnode_info info;

	bed_options(&o);
	o.conf.pool = 1 << 20;		/* 256 pages, 64 in reserve */
	open_one(&o, 1000, 2, 15);
	load_init(l, &bed, 0, 1000, 5);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.lease, 192);
	l->free_chance = 20;
	load_run(l, 3000);
	assert_true(l->refused > 0);
	assert_in_range(l->mapped, 1, 192);
	bed_check(&bed, l->mapped);
	load_verify(l);
	load_fini(l);
	bed_close(&bed);
}

static void test_lease_moves(void **state)
{
	struct bed_options o;
	struct cnode_info info;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 2000, 1, 7);	/* alone: gets all it can use */
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.lease, 960);
	bed_connect(&bed, 1, 2000, 1, 7);
	cnode_info(bed.nodes[1].cnode, &info);
	assert_int_equal(info.lease, 0);
	bed.want = 800;
	bed_pass(&bed, 2000);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.lease, (1024 - 2 * 64) / 2);
	cnode_info(bed.nodes[1].cnode, &info);
	assert_int_equal(info.lease, (1024 - 2 * 64) / 2);
	load_init(&loads[0], &bed, 0, 2000, 9);
	load_init(&loads[1], &bed, 1, 2000, 9);
	load_run(&loads[0], 2000);
	load_run(&loads[1], 2000);
	bed_check(&bed, loads[0].mapped + loads[1].mapped);
	close_some(2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_chain_once),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_load_early_fetch),
		cmocka_unit_test(test_load_fenced),
		cmocka_unit_test(test_load_relaxed),
		cmocka_unit_test(test_load_quiet),
		cmocka_unit_test(test_load_bad_wire),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_two_nodes),
		cmocka_unit_test(test_death),
		cmocka_unit_test(test_death_at_every_step),
		cmocka_unit_test(test_reconnect_at_every_step),
		cmocka_unit_test(test_break_idle),
		cmocka_unit_test(test_check_under_way),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_evict),
		cmocka_unit_test(test_small_pool),
		cmocka_unit_test(test_lease_moves),
	};

	/* Tables take their time: what is the default on an unknown card only. */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
