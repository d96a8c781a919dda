// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Admission: limits, tokens, silence, and compute nodes that try what they may not and
 * are put out.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bed/load.h"

static struct bed bed;
static struct load load;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static int try_open(unsigned int node, uint64_t nr_slots, unsigned int queues,
		    unsigned int depth, struct cnode_refusal *no)
{
	struct bed_node *n = &bed.nodes[node];

	n->cfg.nr_slots = nr_slots;
	n->cfg.queues = queues;
	n->cfg.depth = depth;
	return cnode_open(&n->cfg, &n->cnode, no);
}

/* ---- limits -------------------------------------------------------------------- */

static void test_too_many_sessions(void **state)
{
	struct cnode_refusal no;
	struct bed_options o;

	bed_options(&o);
	o.conf.max_sessions = 2;
	bed_open(&bed, &o, 3);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 64, 1, 7);
	assert_int_equal(try_open(2, 64, 1, 7, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_LIMIT);
	assert_int_equal(no.detail, 2);
	assert_int_equal(bed.m.rejects[ODRP_WIRE_E_LIMIT], 1);
	bed_leave(&bed, 0);
	bed_settle(&bed);
	bed_connect(&bed, 2, 64, 1, 7);
	bed_close(&bed);
}

/* A ConnectX has receive entries of 512 bytes; 128 are enough. */
static void test_small_receive_entries(void **state)
{
	const struct wrc_prog *store = &bed.m.progs[ODRP_WIRE_UNMAPPED_STORE];
	struct bed_options o;

	bed_options(&o);
	o.max_recv_len = 128;
	bed_open(&bed, &o, 1);
	assert_true(store->strict);
	assert_true(wrc_has_register(store));
	assert_true(wrc_has_register(&bed.m.progs[ODRP_WIRE_MAPPED_STORE]));
	bed_connect(&bed, 0, 64, 1, 7);
	assert_int_equal(cnode_do(bed.nodes[0].cnode, 0,
				  ODRP_WIRE_UNMAPPED_STORE, 3, page), 0);
	bed_check(&bed, 1);
	bed_close(&bed);
}

static void test_granted_sizes(void **state)
{
	struct bed_options o;
	struct cnode_info info;

	bed_options(&o);
	o.conf.queues = 2;
	o.conf.depth = 8;
	o.conf.max_pages = 100;
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 640, 100, 1000);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.queues, 2);
	assert_int_equal(info.depth, 7);
	assert_int_equal(info.nr_slots, 640);
	assert_int_equal(info.lease, 100);
	assert_int_equal(info.beat_ms, o.conf.beat_ms);
	assert_int_equal(info.dead_ms, o.conf.dead_ms);
	bed.want = 640;
	bed_pass(&bed, 1000);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.lease, 100);
	bed_close(&bed);
}

static void test_no_pages_left(void **state)
{
	struct cnode_refusal no;
	struct bed_options o;
	uint64_t slot;

	bed_options(&o);
	o.conf.pool = 1 << 20;
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 1000, 1, 7);
	for (slot = 0; slot < 192; slot++)
		assert_int_equal(cnode_do(bed.nodes[0].cnode, 0,
					  ODRP_WIRE_UNMAPPED_STORE, slot,
					  page), 0);
	bed_pass(&bed, 500);
	assert_int_equal(try_open(1, 64, 1, 7, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_NOMEM);
	bed_close(&bed);
}

/* The invalidate of each queue may have a slot of the ring that it has not filled:
 * no more queues than the ring has pages beyond the lease. */
static void test_queues_fit_reserve(void **state)
{
	struct cnode_info info;
	struct bed_options o;

	bed_options(&o);
	o.conf.reserve = 3;
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 64, 4, 7);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.queues, 3);
	bed_connect(&bed, 1, 64, 2, 7);
	cnode_info(bed.nodes[1].cnode, &info);
	assert_int_equal(info.queues, 2);
	bed_close(&bed);
}

/* Each store has a page for every instance: a newcomer gets as many queues and
 * requests as half of what is set aside is enough for. */
static void test_stock_is_shared(void **state)
{
	struct cnode_refusal no;
	struct cnode_info info;
	struct bed_options o;

	bed_options(&o);
	o.conf.store_pages = 128;
	bed_open(&bed, &o, 4);
	bed_connect(&bed, 0, 64, 4, 15);	/* would be 128 */
	cnode_info(bed.nodes[0].cnode, &info);
	assert_int_equal(info.queues, 2);
	assert_int_equal(info.depth, 15);
	assert_int_equal(bed.m.stock.claimed, 64);
	assert_int_equal(manager_armed_pages(&bed.m), 2 * bed_registers(&bed, 16));
	assert_int_equal(bed.m.budget, bed.m.pool.pages - 128);
	bed_connect(&bed, 1, 64, 1, 7);
	bed_check(&bed, 0);
	bed_connect(&bed, 2, 64, 4, 15);
	cnode_info(bed.nodes[2].cnode, &info);
	assert_int_equal(info.queues, 1);
	assert_int_equal(info.depth, 15);	/* each name can have 32 */
	assert_int_equal(bed.m.stock.claimed, 112);
	bed_connect(&bed, 3, 64, 1, 15);
	cnode_info(bed.nodes[3].cnode, &info);
	assert_int_equal(info.depth, 3);
	assert_int_equal(bed.m.stock.claimed, 120);
	bed_check(&bed, 0);
	bed_leave(&bed, 3);
	bed_settle(&bed);
	assert_int_equal(bed.m.stock.claimed, 112);
	bed.m.stock.claimed += 9;	/* as if somebody else had them */
	assert_int_equal(try_open(3, 64, 1, 7, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_NOMEM);
	bed_close(&bed);
}

static void test_no_larger_than_pool(void **state)
{
	struct cnode_refusal no;
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	assert_int_equal(try_open(0, (1 << 18) + 1, 1, 7, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_RANGE);
	assert_int_equal(no.detail, 1 << 18);
	bed_close(&bed);
}

/* ---- turns of the event loop ------------------------------------------------------- */

static struct nic_ops counting_ops;
static struct nic_node_ops counting_node;
static const struct nic_ops *real_ops;
static const struct nic_node_ops *real_node;
static unsigned int nr_made, made_in_turn, most_made, nr_unmade, nr_events;
static enum nic_event_type sent_type;

static int count_ksm(struct nic *nic, uint32_t pdn, uint32_t entries,
		     unsigned int access, uint8_t variant, uint32_t *ret_key)
{
	nr_made++;
	if (++made_in_turn > most_made)
		most_made = made_in_turn;
	return real_node->ksm_create(nic, pdn, entries, access, variant, ret_key);
}

static int count_dereg(struct nic *nic, uint32_t key)
{
	nr_unmade++;
	return real_ops->mr_dereg(nic, key);
}

/* A turn of the agent begins with that. */
static int count_turn(struct nic *nic, struct nic_event *ret_event)
{
	made_in_turn = 0;
	return real_ops->event(nic, ret_event);
}

/* Ever more of them, from nobody. */
static int send_events(struct nic *nic, struct nic_event *ret_event)
{
	memset(ret_event, 0, sizeof(*ret_event));
	ret_event->type = sent_type;
	ret_event->id = 1;
	nr_events++;
	return 0;
}

static void count_calls(void)
{
	real_ops = bed.nic->ops;
	real_node = bed.nic->node->ops;
	counting_ops = *real_ops;
	counting_node = *real_node;
	counting_ops.mr_dereg = count_dereg;
	counting_ops.event = count_turn;
	counting_node.ksm_create = count_ksm;
	bed.nic->ops = &counting_ops;
	bed.nic->node->ops = &counting_node;
}

static void test_events_by_turns(void **state)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 0);
	count_calls();
	counting_ops.event = send_events;
	nr_events = 0;
	sent_type = NIC_REQUEST;
	manager_events(&bed.m);
	assert_int_equal(nr_events, 1);
	sent_type = NIC_GONE;
	manager_events(&bed.m);
	assert_in_range(nr_events, 2, 1 + 64);
	bed.nic->ops = real_ops;
	bed_close(&bed);
}

/* Keys are made, and unmade, some at a time; and none is left when the first page goes
 * to somebody else. */
static void test_keys_by_turns(void **state)
{
	struct odrp_wire_hello h;
	struct bed_options o;
	struct cnode *c;
	unsigned int turns = 0;

	if (!bed_keyed)
		skip();
	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	bed_open(&bed, &o, 1);
	count_calls();
	bed_admin_hello(&h, 1 << 18);
	nr_made = most_made = 0;
	assert_int_equal(cnode_request(&bed.nodes[0].cfg, &h, sizeof(h), &c), 0);
	assert_in_range(nr_made, 32, 64);
	assert_in_range(most_made, 1, 12);
	manager_kill(&bed.m, bed.m.sess[0], WHY_EVICTED);
	for (; bed.m.nr_sess; turns++) {
		nr_unmade = 0;
		manager_work(&bed.m);
		assert_in_range(nr_unmade, 0, 64);
	}
	assert_true(turns > 1);
	while (bed.m.nr_old)
		manager_work(&bed.m);
	cnode_die(c);
	bed.nic->ops = real_ops;
	bed.nic->node->ops = real_node;
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* ---- I/O hellos ------------------------------------------------------------------- */

static void io_hello(struct odrp_wire_hello *h, unsigned int queue,
		     unsigned int chain)
{
	struct cnode_info info;

	cnode_info(bed.nodes[0].cnode, &info);
	cnode_hello(h, ODRP_WIRE_IO);
	h->chain = chain;
	h->queue = htobe16(queue);
	h->depth = htobe16(3);
	h->session = htobe64(info.session);
	h->token = htobe64(info.token);
}

static void expect_no(const struct odrp_wire_hello *h,
		      enum odrp_wire_status status)
{
	struct cnode_refusal no;

	assert_int_equal(cnode_try_hello(&bed.nodes[1].cfg, h, sizeof(*h),
					 &no), -ECONNREFUSED);
	assert_int_equal(no.status, status);
}

static void test_io_hello(void **state)
{
	struct odrp_wire_hello h;
	struct cnode_refusal no;
	struct bed_options o;

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	bed_open(&bed, &o, 2);
	bed.nodes[0].cfg.chains = 1 << ODRP_WIRE_LOAD;
	bed_connect(&bed, 0, 64, 1, 7);

	io_hello(&h, 0, ODRP_WIRE_MAPPED_STORE);
	h.token ^= htobe64(1);
	expect_no(&h, ODRP_WIRE_E_SESSION);
	h.token = 0;
	expect_no(&h, ODRP_WIRE_E_SESSION);
	io_hello(&h, 0, ODRP_WIRE_MAPPED_STORE);
	h.session = htobe64(77);
	expect_no(&h, ODRP_WIRE_E_SESSION);
	io_hello(&h, 1, ODRP_WIRE_MAPPED_STORE);
	expect_no(&h, ODRP_WIRE_E_RANGE);
	io_hello(&h, 0, ODRP_WIRE_LOAD);
	expect_no(&h, ODRP_WIRE_E_BUSY);
	io_hello(&h, 0, ODRP_WIRE_MAPPED_STORE);
	h.version = htobe16(ODRP_WIRE_VERSION - 1);
	expect_no(&h, ODRP_WIRE_E_VERSION);
	io_hello(&h, 0, ODRP_WIRE_MAPPED_STORE);
	assert_int_equal(cnode_try_hello(&bed.nodes[1].cfg, &h, sizeof(h),
					 &no), 0);
	/* That one hung up again: the place is free. */
	bed_settle(&bed);
	assert_int_equal(cnode_reconnect(bed.nodes[0].cnode, 0,
					 ODRP_WIRE_MAPPED_STORE, &no), 0);
	/* A session that is dying takes no more connections. */
	manager_kill(&bed.m, bed.m.sess[0], WHY_EVICTED);
	io_hello(&h, 0, ODRP_WIRE_INVALIDATE);
	expect_no(&h, ODRP_WIRE_E_SESSION);
	bed_close(&bed);
}

/* A device that fails to be added after its admin connection is there. */
static void test_no_queue(void **state)
{
	struct odrp_wire_hello h;
	struct cnode_refusal no;
	struct bed_options o;

	bed_options(&o);
	o.conf.auth = CONF_AUTH_NONE;
	bed_open(&bed, &o, 1);
	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.queue = htobe16(1);
	h.depth = htobe16(7);
	h.nr_slots = htobe64(64);
	assert_int_equal(cnode_try_hello(&bed.nodes[0].cfg, &h, sizeof(h),
					 &no), 0);
	/* No time passes: nobody waits for it to come again. */
	bed_settle(&bed);
	assert_int_equal(bed.m.sess_total, 1);
	assert_int_equal(bed.m.sess_left, 1);
	assert_int_equal(bed.m.nr_sess, 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

static void test_garbage(void **state)
{
	uint8_t priv[56];
	struct cnode_refusal no;
	struct bed_options o;
	unsigned int i, j;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	srand(1);
	for (i = 0; i < 300; i++) {
		unsigned int len = i % (sizeof(priv) + 1);
		struct odrp_wire_hello h;

		cnode_hello(&h, 1 + i % 2);
		memcpy(priv, &h, sizeof(priv));
		for (j = i % 4 ? i % 5 : 0; j < sizeof(priv); j += 1 + i % 7)
			priv[j] = rand();
		cnode_try_hello(&bed.nodes[0].cfg, priv, len, &no);
	}
	bed_settle(&bed);
	bed_pass(&bed, 3000);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	bed_check(&bed, 0);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_close(&bed);
}

/* ---- silence ------------------------------------------------------------------------ */

static void test_heartbeat(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 64, 1, 7);
	bed_pass(&bed, 5000);
	assert_int_equal(bed.m.nr_sess, 2);
	/* Silent for a while, several times: nobody adds that up. */
	for (i = 0; i < 5; i++) {
		bed.nodes[0].silent = true;
		bed_pass(&bed, 700);
		bed.nodes[0].silent = false;
		bed_pass(&bed, 400);
		assert_int_equal(bed.m.nr_sess, 2);
	}
	/* We were away ourselves: not the compute nodes' silence. */
	manager_tick(&bed.m, 1000 * 1000);
	assert_int_equal(bed.m.sess_dead, 0);
	bed_pass(&bed, 400);
	assert_int_equal(bed.m.nr_sess, 2);
	bed.nodes[0].silent = true;
	bed_pass(&bed, 1500);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_int_equal(bed.m.sess_dead, 1);
	bed_close(&bed);
}

/* It was let in and never spoke again. */
static void test_never_beats(void **state)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 64, 1, 7);
	bed.nodes[0].silent = true;
	bed_pass(&bed, 1500);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	bed_close(&bed);
}

static void test_drain(void **state)
{
	struct cnode_refusal no;
	struct bed_options o;
	struct cnode_info info;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_pass(&bed, 300);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_false(info.drain);
	manager_drain(&bed.m, true);
	bed_pass(&bed, 500);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_true(info.drain);
	assert_true(info.lease > 0);
	assert_int_equal(try_open(1, 64, 1, 7, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_LIMIT);

	manager_drain(&bed.m, false);
	bed_pass(&bed, 500);
	cnode_info(bed.nodes[0].cnode, &info);
	assert_false(info.drain);
	bed_connect(&bed, 1, 64, 1, 7);
	bed_pass(&bed, 500);
	cnode_info(bed.nodes[1].cnode, &info);
	assert_false(info.drain);
	bed_close(&bed);
}

static void restart(void)
{
	int fd[KEEP_FILES];

	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	bed_settle(&bed);
}

static void expect_drained(void)
{
	struct cnode_refusal no = { 0 };

	assert_int_equal(try_open(1, 64, 1, 7, &no), -ECONNREFUSED);
	assert_int_equal(no.status, ODRP_WIRE_E_LIMIT);
}

/* The next agent goes on with it, also if nobody has a session any more. */
static void test_drain_is_kept(void **state)
{
	struct cnode_refusal no;
	struct bed_options o;
	struct cnode_info info;
	struct cnode *c;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 64, 1, 7);
	c = bed.nodes[0].cnode;
	manager_drain(&bed.m, true);
	restart();
	assert_int_equal(cnode_resume(c, &no), 0);
	bed_pass(&bed, 500);
	cnode_info(c, &info);
	assert_true(info.drain);
	expect_drained();
	bed_leave(&bed, 0);
	bed_settle(&bed);
	restart();
	assert_false(bed.m.keep.adopted);
	expect_drained();
	restart();
	expect_drained();
	manager_drain(&bed.m, false);
	restart();
	bed_connect(&bed, 1, 64, 1, 7);
	bed_close(&bed);
}

/* ---- trespassers ----------------------------------------------------------------------- */

struct region {
	const char *name;
	uint64_t addr;
	uint32_t key;
};

static unsigned int regions(struct region r[9])
{
	const struct sess *other = bed.m.sess[1], *own = bed.m.sess[0];
	const struct queue *q = own->queues[0][ODRP_WIRE_LOAD];
	unsigned int n = 0;

	r[n++] = (struct region){ "pool", page_addr(0), bed.m.pool.page_key };
	r[n++] = (struct region){ "own ring", RING_IOVA, own->ring.key };
	r[n++] = (struct region){ "other's ring", RING_IOVA, other->ring.key };
	r[n++] = (struct region){ "own table", 0, own->tt.key };
	r[n++] = (struct region){ "other's table", 0, other->tt.key };
	r[n++] = (struct region){ "other's table to read", 0, other->tt_rkey };
	r[n++] = (struct region){ "own chain", (uintptr_t)q->arena.va,
				  q->arena_key };
	r[n++] = (struct region){ "other's heartbeat",
				  SESS_BEAT_IOVA, other->beat_key };
	return n;
}

/* One WRITE or READ of one's own on one connection: it breaks it, and changes
 * nothing. */
static void trespass(unsigned int which, int queue, bool write)
{
	struct bed_options o;
	struct region r[9];
	struct cnode *c;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 64, 1, 7);
	c = bed.nodes[0].cnode;
	load_init(&load, &bed, 1, 64, 3);
	load_run(&load, 100);
	bed_fill(page, 0, 1, 1);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, 1, page), 0);
	assert_true(which < regions(r));
	assert_int_equal(cnode_rdma_raw(c, queue, ODRP_WIRE_LOAD, write,
					r[which].addr, r[which].key, 64), 0);
	bed_pass(&bed, 300);
	if (queue < 0 ? !cnode_admin_broken(c) :
			!cnode_broken(c, 0, ODRP_WIRE_LOAD))
		fail_msg("%s of %s is allowed", write ? "WRITE" : "READ",
			 r[which].name);
	/* The last READ's bytes would lie where requests are made. */
	bed_settle(&bed);
	bed_check(&bed, load.mapped + 1);
	assert_true(sess_attached(bed.m.sess[0]) == (queue >= 0));
	load_verify(&load);
	load_run(&load, 50);
	load_close(&load, &bed);
}

static void test_trespassers(void **state)
{
	unsigned int which;

	for (which = 0; which < 8; which++) {
		trespass(which, 0, true);
		trespass(which, 0, false);
		trespass(which, -1, true);
		trespass(which, -1, false);
	}
}

/* On the admin connection one's heartbeat may be written, and one's table be
 * read; nothing behind them, and not the other way round. */
static const struct own {
	bool table, write;
	uint32_t off, len;
	bool allowed;
} own[] = {
	{ false, true, 0, 128, true },
	{ false, true, 0, 129, false },
	{ false, false, 0, 128, false },
	{ true, false, 0, 64 * 8, true },
	{ true, false, 63 * 8, 8, true },
	{ true, false, 63 * 8, 9, false },
	{ true, false, 64 * 8, 8, false },
	{ true, true, 0, 8, false },
};

static void touch_own(const struct own *t)
{
	struct bed_options o;
	struct cnode *c;
	struct sess *s;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 64, 1, 7);
	c = bed.nodes[0].cnode;
	s = bed.m.sess[0];
	assert_int_equal(cnode_rdma_raw(c, -1, 0, t->write, t->off +
					(t->table ? 0 : SESS_BEAT_IOVA),
					t->table ? s->tt_rkey : s->beat_key,
					t->len), 0);
	bed_pass(&bed, 200);
	assert_true(cnode_admin_broken(c) == !t->allowed);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_true(sess_attached(s) == t->allowed);
	bed_close(&bed);
}

static void test_admin_bounds(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		touch_own(&own[i]);
}

/* SENDs of any length and any bytes on all chains: the sender breaks his own
 * connections; others are served, and no page is lost to them. */
static void test_garbage_requests(void **state)
{
	static uint8_t junk[ODRP_WIRE_PAGE_SIZE];
	unsigned int seed, i, j;

	for (seed = 0; seed < 30; seed++) {
		struct bed_options o;
		struct cnode *c;

		srand(seed);
		bed_options(&o);
		o.fetch = seed & 1;
		bed_open(&bed, &o, 2);
		bed_connect(&bed, 0, 64, 1, 7);
		bed_connect(&bed, 1, 64, 1, 7);
		c = bed.nodes[0].cnode;
		load_init(&load, &bed, 1, 64, seed);
		load_run(&load, 50);
		for (i = 0; i < 20; i++) {
			for (j = 0; j < sizeof(junk); j++)
				junk[j] = rand();
			cnode_send_raw(c, 0, rand() % ODRP_WIRE_NR_CHAINS, junk,
				       rand() % sizeof(junk));
			load_run(&load, 5);
		}
		bed_pass(&bed, 500);
		bed_leave(&bed, 0);
		bed_settle(&bed);
		bed_check(&bed, load.mapped);
		load_verify(&load);
		load_close(&load, &bed);
	}
}

/* A grant that goes where the compute node did not mean it to: his loss. */
static void test_bad_grant_address(void **state)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_pass(&bed, 300);
	manager_tick(&bed.m, 1);
	bed.m.sess[0]->accepted.ctl_rkey = htobe32(0x12345600);
	manager_drain(&bed.m, true);
	manager_tick(&bed.m, 1);
	bed_pass(&bed, 500);
	assert_false(sess_attached(bed.m.sess[0]));
	bed_pass(&bed, 1500);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many_sessions),
		cmocka_unit_test(test_small_receive_entries),
		cmocka_unit_test(test_granted_sizes),
		cmocka_unit_test(test_no_pages_left),
		cmocka_unit_test(test_queues_fit_reserve),
		cmocka_unit_test(test_stock_is_shared),
		cmocka_unit_test(test_no_larger_than_pool),
		cmocka_unit_test(test_events_by_turns),
		cmocka_unit_test(test_keys_by_turns),
		cmocka_unit_test(test_io_hello),
		cmocka_unit_test(test_no_queue),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_heartbeat),
		cmocka_unit_test(test_never_beats),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_drain_is_kept),
		cmocka_unit_test(test_trespassers),
		cmocka_unit_test(test_admin_bounds),
		cmocka_unit_test(test_garbage_requests),
		cmocka_unit_test(test_bad_grant_address),
	};

	return bed_run_tests(tests);
}
