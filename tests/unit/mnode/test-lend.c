// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages to and fro between the pool and the rings: when leases move, while pages
 * are under way, when a compute node takes more than it was given, when sessions
 * end, and when the agent's own queue pair fails.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/load.h"
#include "bed/cnode-priv.h"

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

static struct sess *sess_of(unsigned int node)
{
	struct cnode_info info;
	struct sess *s;

	cnode_info(bed.nodes[node].cnode, &info);
	s = manager_find_wire(&bed.m, info.session);
	assert_non_null(s);
	return s;
}

/* As if it had confirmed that. */
static void set_lease(struct sess *s, uint64_t pages)
{
	s->lease.granted = s->lease.ceiling = s->lease.target = pages;
	s->lease.held = s->lease.cap = pages;
	bed.m.stirred = true;
}

static void test_lives(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	for (i = 0; i < 6; i++) {
		bed_connect(&bed, 0, 900, 1, 7);
		map_all(0, 900);
		bed_check(&bed, 900);
		bed_leave(&bed, 0);
		bed_settle(&bed);
		assert_int_equal(bed.m.nr_sess, 0);
		check_all_free();
	}
	assert_int_equal(bed.m.lender.nr_lent, bed.m.lender.nr_back);
	bed_close(&bed);
}

/* Counted before it is buried. */
static void test_check_in_between(void **state)
{
	struct bed_options o;
	struct check_result res;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 400, 1, 7);
	bed_connect(&bed, 1, 400, 1, 7);
	map_all(0, 300);
	map_all(1, 50);
	manager_kill(&bed.m, bed.m.sess[0], WHY_EVICTED);
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_true(check_ok(&res));
	assert_int_equal(res.mapped, 50);
	assert_int_equal(res.returning, bed.m.sess[0]->lent);
	bed_settle(&bed);
	bed_check(&bed, 50);
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
			bed_leave(&bed, 0);
		else
			bed_die(&bed, 0);
		if (i % 3 == 0)
			bed_pass(&bed, 1500);
		bed_settle(&bed);
		assert_int_equal(bed.m.nr_sess, 0);
		check_all_free();
	}
	bed_close(&bed);
}

/* ---- leases that move ----------------------------------------------------------- */

/* What the CNode has been told is in its ring: L1, in pages. */
static void check_told(void)
{
	unsigned int i;

	for (i = 0; i < bed.m.nr_sess; i++) {
		const struct sess *s = bed.m.sess[i];

		if (s->lease.granted && bed.m.lender.sess != s)
			assert_true(lend_about(s) >=
				    s->lease.granted + s->lease.slack);
	}
}

static void free_all(struct load *l)
{
	uint64_t slot;

	for (slot = 0; slot < l->nr_slots; slot++) {
		if (!l->slots[slot].version)
			continue;
		assert_int_equal(cnode_do(l->cnode, slot % l->queues,
					  ODRP_WIRE_INVALIDATE, slot, NULL), 0);
		l->slots[slot].version = 0;
		l->mapped--;
	}
}

/* Two CNodes that want all, and less, and all again: pages move, around the ends
 * of both rings, and nobody is told of pages that are not there. */
static void test_leases_move(void **state)
{
	struct load loads[2];
	struct bed_options o;
	unsigned int i, k, n;

	bed_options(&o);
	o.conf.queues = 2;
	bed_open(&bed, &o, 2);
	for (n = 0; n < 2; n++) {
		bed_connect(&bed, n, 900, 2, 7);
		load_init(&loads[n], &bed, n, 900, 7 + n);
	}
	for (i = 0; i < 6; i++) {
		n = i % 2;
		bed.nodes[n].want = 900;
		bed.nodes[!n].want = 1;
		loads[n].free_chance = 20;
		free_all(&loads[!n]);
		for (k = 0; k < 10; k++) {
			load_run(&loads[n], 150);
			bed_pass(&bed, BED_TICK_MS);
			check_told();
		}
		bed_check(&bed, loads[0].mapped + loads[1].mapped);
	}
	assert_true(bed.m.lender.nr_back > 1500);
	for (n = 0; n < 2; n++) {
		assert_false(bed.m.sess[n]->lease.overdrawn);
		load_verify(&loads[n]);
		load_fini(&loads[n]);
	}
	assert_int_equal(bed.m.queues_broken, 0);
	bed_close(&bed);
}

/* All but what is set aside for registers is away: a newcomer is armed, and gets
 * its lease when there are pages for it. */
static void test_pages_come_later(void **state)
{
	static __u64 away[1024];
	struct cnode_info info;
	struct bed_options o;
	unsigned int i, nr;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	nr = bed.m.pool.pages - bed.m.stock.target - 5;
	assert_int_equal(pool_take(&bed.m.pool, 77, nr, away), 0);
	bed_connect(&bed, 0, 300, 4, 15);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.lease, 0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.stock.target + 5 -
			 manager_armed_pages(&bed.m));
	bed.want = 300;
	bed_pass(&bed, 5 * BED_TICK_MS);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.lease, 0);
	assert_true(bed.m.pool.nr_free + manager_armed_pages(&bed.m) >=
		    bed.m.stock.target);
	for (i = 0; i < nr; i++)
		assert_int_equal(pool_give(&bed.m.pool, 77, away[i]), 0);
	bed_pass(&bed, 5 * BED_TICK_MS);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.lease, 300);
	map_all(0, 300);
	bed_check(&bed, 300);
	bed_close(&bed);
}

static void cut_down(struct sess *s, uint64_t pages)
{
	unsigned int i;

	set_lease(s, pages);
	for (i = 0; i < 50; i++) {
		manager_work(&bed.m);
		bed_run_ns(&bed, 10000);
	}
}

/* A load whose page has not been acknowledged: what was taken back may be the
 * page that is being sent. */
static void test_grace(void **state)
{
	struct bed_options o;
	struct cnode_done done;
	uint64_t before, executed;
	struct queue *q;
	struct sess *s;

	bed_options(&o);
	o.cost_ns = 100;
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 300, 1, 7);
	map_all(0, 10);
	s = sess_of(0);
	q = s->queues[0][ODRP_WIRE_LOAD];
	queue_count(q);
	executed = q->executed;
	assert_int_equal(cnode_submit(bed.nodes[0].cnode, 0, ODRP_WIRE_LOAD, 3,
				      NULL, 0), 0);
	cnode_flush(bed.nodes[0].cnode);
	while (q->executed == executed) {
		bed_run_ns(&bed, 100);
		queue_count(q);
	}
	bed.nodes[0].silent = true;	/* and acknowledges nothing */
	before = bed.m.pool.nr_free;
	cut_down(s, 100);
	assert_int_equal(s->held.nr, 200);
	assert_int_equal(s->held.waiting, 200);
	assert_int_equal(bed.m.pool.nr_free, before);
	bed.nodes[0].silent = false;
	while (s->held.nr) {
		assert_true(bed_pump(&bed));
		cnode_poll(bed.nodes[0].cnode, &done);
	}
	assert_int_equal(bed.m.pool.nr_free, before + 200);
	bed_check(&bed, 10);
	bed_close(&bed);
}

/* What is received after they were taken does not keep them; and a chain that
 * answers all the time does not either. */
static void test_grace_ends_under_load(void **state)
{
	struct bed_options o;
	struct sess *s;

	bed_options(&o);
	o.cost_ns = 100;	/* else no time passes */
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 400, 2, 7);
	load_init(&load, &bed, 0, 50, 5);
	load_run(&load, 200);
	s = sess_of(0);
	set_lease(s, 100);
	bed.work_at = bed.now;
	load_run(&load, 2000);
	assert_int_equal(s->held.nr, 0);
	assert_int_equal(lend_about(s), lend_goal(s));
	bed_check(&bed, load.mapped);
	load_verify(&load);
	load_close(&load, &bed);
}

/* An invalidate has advanced the tail, and not filled its slot: the agent, which
 * has it all to take, waits for that page. */
static void test_slot_is_filled_late(void **state)
{
	struct bed_options o;
	uint64_t slot, addr;
	struct sess *s;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 300, 1, 7);
	s = sess_of(0);
	slot = ring_advance(s->ring.log_len, *s->ring.head, 20);
	addr = ring_take_slot(&s->ring, slot);
	cut_down(s, 100);
	assert_int_equal(s->held.nr, 20);
	assert_int_equal(s->nr_taken, 180);
	assert_int_equal(s->taken, slot);
	s->ring.slot[ring_index(s->ring.log_len, slot)] = htobe64(addr);
	bed_settle(&bed);
	assert_int_equal(s->nr_taken, 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* It says that it keeps to a smaller lease, and has used the pages. */
static void test_debtor(void **state)
{
	struct bed_options o;
	struct sess *s;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 300, 1, 7);
	bed_connect(&bed, 1, 100, 1, 7);
	map_all(0, 300);
	map_all(1, 100);
	s = sess_of(0);
	set_lease(s, 100);
	s->lease.reachable = false;	/* no more grants */
	bed_pass(&bed, 500);
	assert_int_equal(bed.m.nr_sess, 2);
	bed_pass(&bed, 1000);
	assert_int_equal(bed.m.sess_evicted, 1);
	bed_settle(&bed);
	bed_check(&bed, 100);
	bed_close(&bed);
}

/* ---- more than was lent ------------------------------------------------------------ */

/* Stores the page, or finds that it cannot. */
static int store_soon(struct cnode *c, unsigned int queue, uint64_t slot)
{
	struct cnode_done d;
	int r = -EAGAIN;

	while (r == -EAGAIN && !cnode_admin_broken(c)) {
		r = cnode_submit(c, queue, ODRP_WIRE_UNMAPPED_STORE, slot, page,
				 0);
		bed_pump(&bed);
		while (!cnode_poll(c, &d))
			;
	}
	return r;
}

/* A CNode that takes more pages than it was lent: its own chains find its own
 * ring empty and stop.  Others do not notice; and when it has come back, its ring
 * is as it was. */
static void empty_ring(unsigned int queues)
{
	struct cnode_refusal no;
	struct bed_options o;
	uint64_t slot, most;
	struct sess *s;
	struct cnode *c;
	unsigned int q;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed.nodes[0].cfg.ignore_lease = true;
	bed_connect(&bed, 0, 500, queues, 7);
	bed_connect(&bed, 1, 200, 1, 7);
	load_init(&load, &bed, 1, 200, 9);
	load_run(&load, 300);
	c = bed.nodes[0].cnode;
	s = sess_of(0);
	set_lease(s, 300);
	bed_settle(&bed);
	most = lend_about(s);
	for (slot = 0; slot < 500 && !cnode_admin_broken(c); slot++) {
		bed_fill(page, 0, slot, 1);
		store_soon(c, slot % queues, slot);
		if (slot % 50 == 0)
			load_run(&load, 50);
	}
	assert_in_range(slot, most - 10, most + 4 * 7 * queues);
	bed_pass(&bed, BED_TICK_MS);
	assert_false(sess_attached(s));
	for (q = 0; q < queues; q++)
		assert_true(cnode_broken(c, q, ODRP_WIRE_UNMAPPED_STORE));
	load_run(&load, 500);
	load_verify(&load);
	/* All of it is put in order when it takes its session up again. */
	assert_int_equal(cnode_resume(c, &no), 0);
	assert_in_range(lend_about(s), lend_goal(s),
			lend_goal(s) + 8 * queues);
	for (slot = 0; slot < 100; slot++)
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_INVALIDATE, slot,
					  NULL), 0);
	bed_settle(&bed);
	assert_int_equal(lend_about(s), lend_goal(s));
	for (slot = 0; slot < 10; slot++)
		assert_int_equal(cnode_do(c, slot % queues,
					  ODRP_WIRE_UNMAPPED_STORE, slot,
					  page), 0);
	bed_leave(&bed, 0);
	bed_settle(&bed);
	bed_check(&bed, load.mapped);
	assert_int_equal(bed.m.sess[0]->id, 2);
	load_close(&load, &bed);
}

static void test_empty_ring(void **state)
{
	empty_ring(1);
}

static void test_empty_ring_many(void **state)
{
	empty_ring(4);
}

/* ---- compute nodes that break the rules ------------------------------------------- */

/* Pages that are in no place, until the one whose they are is gone. */
static void test_dropped_pages(void **state)
{
	struct check_result res;
	struct bed_options o;
	struct cnode *c;
	uint64_t slot, n;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed.nodes[0].cfg.ignore_lease = true;
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 200, 1, 7);
	load_init(&load, &bed, 1, 200, 9);
	load_run(&load, 300);
	c = bed.nodes[0].cnode;
	for (n = 0; n < 3; n++) {
		for (slot = 0; slot < 20; slot++) {
			if (n)
				bed_drop(&bed, 0, slot);
			assert_int_equal(cnode_do(c, 0,
					ODRP_WIRE_UNMAPPED_STORE, slot, page),
					0);
		}
	}
	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_int_equal(res.lost, 40);
	bed.nodes[0].silent = true;
	bed_pass(&bed, 1500);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	bed_check(&bed, load.mapped);
	load_run(&load, 100);
	load_verify(&load);
	load_close(&load, &bed);
}

/* An unmapped store to any byte of the table. */
static void store_at(struct cnode *c, uint64_t tt_addr)
{
	static uint8_t msg[REQ_ROOM + ODRP_WIRE_PAGE_SIZE];
	struct odrp_wire_req req = { .tt_addr = htobe64(tt_addr) };

	memcpy(msg, &req, sizeof(req));
	msg[sizeof(req)] = ODRP_WIRE_NEXT_ANSWERED;
	assert_int_equal(cnode_send_raw(c, 0, ODRP_WIRE_UNMAPPED_STORE, msg,
					ODRP_WIRE_REQ_LEN + ODRP_WIRE_PAGE_SIZE +
					ODRP_WIRE_END_LEN), 0);
	bed_run_ns(&bed, 1000000);
}

/*
 * Plain bytes of two page addresses, one beginning six bytes behind the other,
 * would make the address of another's page.  The swap refuses such an address.
 */
static void test_store_between_entries(void **state)
{
	uint8_t got[ODRP_WIRE_PAGE_SIZE];
	struct cnode_done done;
	struct bed_options o;
	struct cnode *c;

	bed_options(&o);
	o.conf.reserve = 4;
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 4, 1, 7);
	bed_connect(&bed, 1, 64, 1, 7);
	map_all(1, 64);
	c = bed.nodes[0].cnode;
	store_at(c, 0);
	/* The completion is of a request that it knows nothing of. */
	assert_int_equal(cnode_poll(c, &done), -EPROTO);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 0, got), 0);
	store_at(c, 6);
	bed_pass(&bed, 300);
	assert_true(cnode_broken(c, 0, ODRP_WIRE_UNMAPPED_STORE));
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 0, page), 0);
	assert_memory_equal(got, page, sizeof(got));
	bed_close(&bed);
}

/* The one client of a node. */
static struct cnode *open_alone(void)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 64, 1, 7);
	return bed.nodes[0].cnode;
}

/* With page exchange that store keeps the page that lay there, and breaks. */
static void test_dropped_page_is_kept(void **state)
{
	struct cnode_refusal no;
	struct cnode *c;
	unsigned int i;

	c = open_alone();
	map_all(0, 4);
	for (i = 2; i < 10; i++) {
		bed_fill(page, 0, 3, i);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, 3,
					  page), 0);
		bed_pass(&bed, 300);
		assert_true(cnode_broken(c, 0, ODRP_WIRE_UNMAPPED_STORE));
		bed_settle(&bed);
		bed_check(&bed, 4);
		assert_int_equal(lend_about(sess_of(0)), lend_goal(sess_of(0)));
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 3, page), 0);
		assert_true(bed_is(page, 0, 3, i));
		assert_int_equal(cnode_reconnect(c, 0,
				 ODRP_WIRE_UNMAPPED_STORE, &no), 0);
	}
	bed_close(&bed);
}

/* And a mapped store to a slot that is not: it maps its page, breaks, and the
 * agent takes another one out of the ring instead. */
static void test_register_left_in_table(void **state)
{
	struct cnode_refusal no;
	struct cnode *c;
	unsigned int i;

	c = open_alone();
	for (i = 0; i < 10; i++) {
		bed_fill(page, 0, i, i);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_MAPPED_STORE, i,
					  page), 0);
		bed_pass(&bed, 300);
		assert_true(cnode_broken(c, 0, ODRP_WIRE_MAPPED_STORE));
		bed_settle(&bed);
		bed_check(&bed, i + 1);
		assert_int_equal(lend_about(sess_of(0)), lend_goal(sess_of(0)));
		assert_int_equal(ring_pages(&sess_of(0)->ring),
				 lend_goal(sess_of(0)) - 1 - i);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, i, page), 0);
		assert_true(bed_is(page, 0, i, i));
		assert_int_equal(cnode_reconnect(c, 0,
				 ODRP_WIRE_MAPPED_STORE, &no), 0);
	}
	bed_leave(&bed, 0);
	bed_settle(&bed);
	check_all_free();
	assert_int_equal(bed.m.stock.claimed, 0);
	bed_close(&bed);
}

/* ---- the agent's own queue pair ---------------------------------------------------- */

/* Wherever it fails, no page is lost and none comes twice. */
static void fail_after(unsigned int ns, bool cut)
{
	struct bed_options o;
	struct sess *s;

	bed_options(&o);
	o.cost_ns = 1000;
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 900, 1, 7);
	map_all(0, 200);
	s = sess_of(0);
	if (!cut)
		cut_down(s, 300);
	set_lease(s, cut ? 300 : 800);
	manager_work(&bed.m);
	bed_run_ns(&bed, ns);
	manager_work(&bed.m);
	bed_run_ns(&bed, ns);
	manager_work(&bed.m);
	bed.nic->ops->qp_error(bed.nic, bed.m.lender.q.qpn);
	bed_settle(&bed);
	/* If all was done before: the next time. */
	set_lease(s, 500);
	bed_settle(&bed);
	assert_true(bed.m.lender.nr_failures > 0);
	assert_int_equal(lend_about(s), lend_goal(s));
	bed_check(&bed, 200);
	bed_close(&bed);
}

static void test_queue_fails(void **state)
{
	unsigned int i;

	for (i = 0; i < 12; i++) {
		fail_after(i * 500, true);
		fail_after(i * 500, false);
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
	load_close(&load, &bed);
}

/* ---- a fence of the NIC ------------------------------------------------------------- */

/* All chains of the session stand still; the NIC has done nothing since. */
static void stop_all(struct sess *s)
{
	unsigned int i;

	for (i = 0; i < 100 && !sess_has_no_chains(s); i++)
		manager_work(&bed.m);
	assert_true(sess_has_no_chains(s));
}

/* What a chain has written may still be on the way when the chain is gone.  The pages of
 * its session go to nobody before a READ of the NIC has shown that it has arrived. */
static void test_ended_behind_a_fence(void **state)
{
	struct bed_options o;
	struct sess *s;
	uint64_t lent;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 100, 2, 7);
	map_all(0, 100);
	s = sess_of(0);
	lent = s->lent;
	manager_kill(&bed.m, s, WHY_EVICTED);
	stop_all(s);
	for (i = 0; i < 10; i++) {
		assert_int_equal(manager_work(&bed.m), LEND_WAIT);
		assert_int_equal(bed.m.nr_sess, 1);
		assert_int_equal(s->lent, lent);
	}
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* The same where pages leave a session that is resumed. */
static void test_settled_behind_a_fence(void **state)
{
	struct bed_options o;
	struct sess *s;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 100, 2, 7);
	map_all(0, 100);
	s = sess_of(0);
	cnode_lose(bed.nodes[0].cnode, false);
	manager_lost(&bed.m, s);
	stop_all(s);
	assert_int_equal(lend_settle(&bed.m.lender, s), -EBUSY);
	assert_int_equal(s->state, SESS_DETACHED);
	assert_int_equal(cnode_resume_status(bed.nodes[0].cnode), 0);
	bed_settle(&bed);
	bed_check(&bed, 100);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_check_in_between),
		cmocka_unit_test(test_many_sessions),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_leases_move),
		cmocka_unit_test(test_pages_come_later),
		cmocka_unit_test(test_grace),
		cmocka_unit_test(test_grace_ends_under_load),
		cmocka_unit_test(test_slot_is_filled_late),
		cmocka_unit_test(test_debtor),
		cmocka_unit_test(test_empty_ring),
		cmocka_unit_test(test_empty_ring_many),
		cmocka_unit_test(test_dropped_pages),
		cmocka_unit_test(test_store_between_entries),
		cmocka_unit_test(test_dropped_page_is_kept),
		cmocka_unit_test(test_register_left_in_table),
		cmocka_unit_test(test_queue_fails),
		cmocka_unit_test(test_others_run_on),
		cmocka_unit_test(test_ended_behind_a_fence),
		cmocka_unit_test(test_settled_behind_a_fence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
