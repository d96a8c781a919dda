// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Direct slabs, from a grant to the next one: what a compute node reaches and what it finds
 * there, who gets a slab that was given back, and what a loss, a restart of the agent or a
 * compute node that gives nothing back changes.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed/load.h"

#define SLAB	ODRP_WIRE_SLAB_PAGES
#define POOL	8u	/* slabs */

static struct bed bed;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static void begin(unsigned int nr_nodes)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.translate = CONF_TRANSLATE_DIRECT;
	o.conf.pool = POOL << ODRP_WIRE_LOG_SLAB;
	o.conf.store_pages = 0;
	bed_open(&bed, &o, nr_nodes);
}

static struct cnode *node(unsigned int i)
{
	return bed.nodes[i].cnode;
}

static struct sess *sess_of(unsigned int i)
{
	struct cnode_info info;

	cnode_info(node(i), &info);
	return manager_find_wire(&bed.m, info.session);
}

static void connect_slabs(unsigned int i, unsigned int slabs)
{
	struct cnode_info info;

	bed_connect(&bed, i, slabs * SLAB, 2, 7);
	cnode_info(node(i), &info);
	assert_true(info.direct);
	assert_int_equal(info.lease % SLAB, 0);
}

static void store(unsigned int i, uint64_t slot, uint32_t version)
{
	bed_fill(page, i, slot, version);
	assert_int_equal(cnode_do(node(i), 0, ODRP_WIRE_MAPPED_STORE, slot, page), 0);
}

static void load(unsigned int i, uint64_t slot)
{
	assert_int_equal(cnode_do(node(i), 1, ODRP_WIRE_LOAD, slot, page), 0);
}

static bool is_clear(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(page); i++)
		if (page[i])
			return false;
	return true;
}

/* Each page is in one place; so many are in slabs. */
static void check(unsigned int slabs)
{
	struct check_result res;

	assert_int_equal(check_pages(&bed.m, &res), 0);
	assert_true(check_ok(&res));
	assert_int_equal(res.slabs, slabs * SLAB);
	assert_int_equal(res.withheld, manager_withheld_pages(&bed.m));
	assert_int_equal(res.slabs + res.pool + res.returning + res.withheld,
			 bed.m.pool.pages);
}

static void leave(unsigned int i)
{
	cnode_close(node(i));
	bed.nodes[i].cnode = NULL;
	bed_settle(&bed);
}

static void test_stores(void **state)
{
	uint64_t slot;

	begin(1);
	connect_slabs(0, 3);
	assert_int_equal(cnode_slabs(node(0)), 3);
	check(3);
	for (slot = 0; slot < 3 * SLAB; slot += 37)
		store(0, slot, 1);
	store(0, 37, 2);
	for (slot = 0; slot < 3 * SLAB; slot += 37) {
		load(0, slot);
		assert_true(bed_is(page, 0, slot, slot == 37 ? 2 : 1));
	}
	bed_pass(&bed, 500);
	assert_int_equal(sess_of(0)->lease.used, 3 * SLAB);
	leave(0);
	check(0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	bed_close(&bed);
}

/* A slab can be READ before it was written: nobody else's bytes are there. */
static void test_clear(void **state)
{
	unsigned int life;
	uint64_t slot;

	begin(1);
	for (life = 0; life < 3; life++) {
		connect_slabs(0, POOL);
		for (slot = 0; slot < POOL * SLAB; slot += 61) {
			load(0, slot);
			assert_true(is_clear());
			store(0, slot, life);
		}
		leave(0);
	}
	bed_close(&bed);
}

static uint32_t key_of(unsigned int i, unsigned int nr)
{
	return be32toh(cnode_slab(node(i), nr)->rkey);
}

static struct cnode_info info_of(unsigned int i)
{
	struct cnode_info info;

	cnode_info(node(i), &info);
	return info;
}

/* Node 0 has all slabs, and uses three; node 1 wants four, and gets none at first. */
static void share(void)
{
	unsigned int i;

	begin(2);
	connect_slabs(0, POOL);
	for (i = 0; i < POOL; i++)
		store(0, i * SLAB + 5, 1);
	cnode_idle_slabs(node(0), 5);
	bed.nodes[0].want = 3 * SLAB;
	bed_pass(&bed, 300);
	bed_connect(&bed, 1, 4 * SLAB, 2, 7);
	bed.nodes[1].want = 4 * SLAB;
	bed_pass(&bed, 700);
	assert_int_equal(info_of(0).lease, 4 * SLAB);
	assert_int_equal(info_of(0).back, 4);
	assert_int_equal(info_of(1).lease, 0);
	check(POOL);
}

static void test_give_back(void **state)
{
	uint64_t slot;
	unsigned int i;

	share();
	for (i = 4; i < POOL; i++)
		cnode_leave_slab(node(0), i);
	bed_pass(&bed, 700);
	bed_settle(&bed);
	assert_int_equal(info_of(1).lease, 4 * SLAB);
	assert_int_equal(cnode_take_slabs(node(1)), 0);
	assert_int_equal(cnode_slabs(node(1)), 4);
	check(POOL);
	/* The pages that were stored there are gone, the others as they were. */
	for (slot = 0; slot < 4 * SLAB; slot += 5) {
		load(1, slot);
		assert_true(is_clear());
	}
	for (i = 0; i < 4; i++) {
		load(0, i * SLAB + 5);
		assert_true(bed_is(page, 0, i * SLAB + 5, 1));
	}
	bed_close(&bed);
}

static void lend(struct sess *s)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		lend_run(&bed.m.lender, &s, 1);
}

/*
 * While a grant may be on its way, the compute node may take a slab that its last heartbeat did
 * not name: none is cut.
 */
static void test_grant_on_its_way(void **state)
{
	struct lease *l;
	struct sess *s;

	begin(1);
	connect_slabs(0, 3);
	cnode_leave_slab(node(0), 2);
	bed.nodes[0].want = 3 * SLAB;
	bed_pass(&bed, 700);
	s = sess_of(0);
	assert_int_equal(s->slabs.nr, 3);
	l = &s->lease;
	l->target = l->ceiling = l->granted = 2 * SLAB;
	l->writing = true;
	lend(s);
	assert_int_equal(s->slabs.nr, 3);
	l->writing = false;
	l->beats = LEASE_SETTLE_BEATS - 1;
	lend(s);
	assert_int_equal(s->slabs.nr, 3);
	l->beats = LEASE_SETTLE_BEATS;
	lend(s);
	assert_int_equal(s->slabs.nr, 2);
	bed_close(&bed);
}

/* The key of a slab that was given back opens nothing, whoever has it now. */
static void test_old_key(void **state)
{
	uint32_t key;

	share();
	key = key_of(0, 4);
	cnode_leave_slab(node(0), 4);
	bed_pass(&bed, 700);
	assert_int_equal(cnode_rdma_raw(node(0), 0, ODRP_WIRE_MAPPED_STORE, true,
					be64toh(cnode_slab(node(0), 4)->addr), key, 64), 0);
	bed_pass(&bed, 200);
	assert_true(cnode_broken(node(0), 0, ODRP_WIRE_MAPPED_STORE));
	bed_close(&bed);
}

/* Neither is the key of somebody else's slab of use. */
static void test_foreign_key(void **state)
{
	begin(2);
	connect_slabs(0, 2);
	connect_slabs(1, 2);
	store(1, 0, 1);
	assert_int_equal(cnode_rdma_raw(node(0), 0, ODRP_WIRE_MAPPED_STORE, true,
					be64toh(cnode_slab(node(1), 0)->addr),
					key_of(1, 0), 64), 0);
	bed_pass(&bed, 200);
	assert_true(cnode_broken(node(0), 0, ODRP_WIRE_MAPPED_STORE));
	load(1, 0);
	assert_true(bed_is(page, 1, 0, 1));
	bed_close(&bed);
}

/* The agent takes no slab that the compute node holds, whatever was granted. */
static void test_keeps_all(void **state)
{
	share();
	bed_pass(&bed, 2500);
	check(POOL);
	store(0, 7 * SLAB + 9, 3);
	load(0, 7 * SLAB + 9);
	assert_true(bed_is(page, 0, 7 * SLAB + 9, 3));
	assert_int_equal(info_of(1).lease, 0);
	bed_close(&bed);
}

/* A bitmap without the right hash may be half written. */
static void test_wrong_hash(void **state)
{
	unsigned int i;

	begin(2);
	bed.nodes[0].cfg.wrong_hash = true;
	connect_slabs(0, POOL);
	cnode_idle_slabs(node(0), 5);
	bed.nodes[0].want = 3 * SLAB;
	bed_pass(&bed, 300);
	bed_connect(&bed, 1, 4 * SLAB, 2, 7);
	bed.nodes[1].want = 4 * SLAB;
	bed_pass(&bed, 400);
	for (i = 4; i < POOL; i++)
		cnode_leave_slab(node(0), i);
	bed_pass(&bed, 500);
	check(POOL);
	assert_int_equal(sess_of(0)->slabs.nr, POOL);
	bed_close(&bed);
}

static void resume(unsigned int i)
{
	struct cnode_refusal no;
	int r = cnode_resume(node(i), &no);

	if (r)
		fail_msg("cnode_resume: %d, status %u", r, no.status);
}

static void check_all(unsigned int i, unsigned int slabs)
{
	uint64_t slot;

	for (slot = 3; slot < slabs * SLAB; slot += 41) {
		load(i, slot);
		assert_true(bed_is(page, i, slot, 1));
	}
}

static void store_all(unsigned int i, unsigned int slabs)
{
	uint64_t slot;

	for (slot = 3; slot < slabs * SLAB; slot += 41)
		store(i, slot, 1);
}

static void test_resume(void **state)
{
	begin(1);
	connect_slabs(0, 3);
	store_all(0, 3);
	cnode_lose(node(0), false);
	bed_pass(&bed, 100);
	resume(0);
	check_all(0, 3);
	check(3);
	bed_close(&bed);
}

/* Another agent: same pages, same generations, other keys. */
static void test_restart(void **state)
{
	int fd[KEEP_FILES];
	unsigned int i;

	begin(2);
	connect_slabs(0, 3);
	connect_slabs(1, 2);
	store_all(0, 3);
	store_all(1, 2);
	bed_pass(&bed, 300);
	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	bed_settle(&bed);
	for (i = 0; i < 2; i++)
		resume(i);
	check_all(0, 3);
	check_all(1, 2);
	check(5);
	bed_pass(&bed, 300);
	for (i = 0; i < 2; i++)
		leave(i);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	bed_close(&bed);
}

#define OTHER	77u	/* an owner that is no session */

/* Takes one page out of each of the first @nr slabs of the pool. */
static void pieces(unsigned int nr)
{
	static __u64 addr[POOL * SLAB];
	uint64_t i;

	assert_int_equal(pool_take(&bed.m.pool, OTHER, bed.m.pool.nr_free, addr), 0);
	for (i = 0; i < POOL * SLAB; i++)
		if (bed.m.pool.owner[i] == OTHER && (i >= nr * SLAB || i % SLAB != SLAB / 2))
			assert_int_equal(pool_give(&bed.m.pool, OTHER, page_addr(i)), 0);
}

/* Gives these back. */
static void whole(void)
{
	uint64_t i;

	for (i = 0; i < POOL * SLAB; i++)
		if (bed.m.pool.owner[i] == OTHER)
			assert_int_equal(pool_give(&bed.m.pool, OTHER, page_addr(i)), 0);
}

/* Slabs that cannot be made in time for the accept come with a grant. Until then the compute
 * node knows that it has none. */
static void test_later(void **state)
{
	uint64_t grants;

	begin(1);
	pieces(POOL);
	connect_slabs(0, 3);
	assert_int_equal(info_of(0).lease, 0);
	assert_int_equal(sess_of(0)->lease.ceiling, 0);
	assert_int_equal(cnode_slabs(node(0)), 0);
	bed.nodes[0].want = 3 * SLAB;
	bed_pass(&bed, 700);
	assert_int_equal(info_of(0).lease, 0);
	grants = sess_of(0)->grants;
	whole();
	bed_pass(&bed, 700);
	assert_int_equal(sess_of(0)->slabs.nr, 3);
	assert_true(sess_of(0)->grants > grants);
	grants = sess_of(0)->grants;
	assert_int_equal(info_of(0).lease, 3 * SLAB);
	assert_int_equal(cnode_take_slabs(node(0)), 0);
	assert_int_equal(cnode_slabs(node(0)), 3);
	/* Once is enough. */
	bed_pass(&bed, 700);
	assert_int_equal(sess_of(0)->grants, grants);
	store_all(0, 3);
	check_all(0, 3);
	check(3);
	bed_close(&bed);
}

/* A node that asks for more slabs than there are whole ones gets these at once, is told that
 * there are no more, and gets the others when their pages are together. */
static void test_some(void **state)
{
	begin(1);
	bed.nodes[0].cfg.asks = true;
	pieces(POOL - 3);
	connect_slabs(0, 6);
	assert_int_equal(cnode_slabs(node(0)), 1);
	bed.nodes[0].want = 6 * SLAB;
	bed_pass(&bed, 700);
	assert_int_equal(sess_of(0)->slabs.nr, 3);
	assert_int_equal(info_of(0).lease, 3 * SLAB);
	assert_int_equal(cnode_take_slabs(node(0)), 0);
	assert_int_equal(cnode_slabs(node(0)), 3);
	store_all(0, 3);
	bed_pass(&bed, 700);
	assert_int_equal(sess_of(0)->unanswered, 0);
	assert_int_equal(info_of(0).lease, 3 * SLAB);
	whole();
	bed_pass(&bed, 700);
	assert_int_equal(info_of(0).lease, 6 * SLAB);
	assert_int_equal(cnode_take_slabs(node(0)), 0);
	assert_int_equal(cnode_slabs(node(0)), 6);
	check_all(0, 3);
	check(6);
	bed_close(&bed);
}

/* The second node has chains, and the pool pages in pieces and two whole slabs. */
static void begin_mixed(void)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.translate = CONF_TRANSLATE_DIRECT;
	o.conf.pool = POOL << ODRP_WIRE_LOG_SLAB;
	o.conf.store_pages = 64;
	bed_open(&bed, &o, 2);
	bed.nodes[0].cfg.asks = bed.nodes[1].cfg.asks = true;
	bed.nodes[1].cfg.direct = false;
	pieces(POOL - 2);
}

/* Pages that no slab can be made of are for a node with chains that uses what it gets. */
static void test_pieces_for_chains(void **state)
{
	uint64_t slot = 0, most = 5 * SLAB;
	unsigned int ms;

	begin_mixed();
	connect_slabs(0, 6);
	bed_connect(&bed, 1, 6 * SLAB, 1, 7);
	bed.nodes[0].want = 6 * SLAB;
	bed.nodes[1].want = most;
	for (ms = 0; slot < most && ms < 5000; ms += 200) {
		for (; slot < info_of(1).lease && slot < most; slot++)
			assert_int_equal(cnode_do(node(1), 0, ODRP_WIRE_UNMAPPED_STORE, slot,
						  page), 0);
		bed_pass(&bed, 200);
	}
	assert_int_equal(slot, most);
	assert_int_equal(info_of(0).lease, 2 * SLAB);
	bed_close(&bed);
}

/* The last free slab is promised whole. */
static void test_last_slab(void **state)
{
	begin(2);
	connect_slabs(0, POOL - 1);
	bed.nodes[0].want = (POOL - 1) * SLAB;
	bed_pass(&bed, 300);
	connect_slabs(1, 4);
	assert_int_equal(info_of(1).lease, SLAB);
	assert_int_equal(cnode_slabs(node(1)), 1);
	store(1, 5, 1);
	check(POOL);
	bed_close(&bed);
}

/* Records that no agent would have written: the session is dropped, with its pages. */
static void test_bad_record(void **state)
{
	struct slab_record *rec;
	int fd[KEEP_FILES];

	begin(1);
	connect_slabs(0, 2);
	bed_pass(&bed, 300);
	rec = (struct slab_record *)sess_of(0)->slabs.record;
	rec[1].page = rec[0].page + 1;
	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	assert_int_equal(bed.m.nr_sess, 0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	bed_close(&bed);
}

/* ---- keys that the NIC does not destroy --------------------------------------------- */

static const struct nic_ops *real;
static struct nic_ops wrapped;
static uint32_t stuck_key;
static unsigned int nr_refusals;	/* how often it is not destroyed */

static int mr_dereg(struct nic *nic, uint32_t key)
{
	if (key != stuck_key || !nr_refusals)
		return real->mr_dereg(nic, key);
	nr_refusals--;
	return -EBUSY;
}

/* The key of that slab of node 0 is not destroyed, so often. Returns its first page. */
static uint64_t stick(unsigned int nr, unsigned int times)
{
	real = bed.nic->ops;
	wrapped = *real;
	wrapped.mr_dereg = mr_dereg;
	bed.nic->ops = &wrapped;
	stuck_key = key_of(0, nr);
	nr_refusals = times;
	return sess_of(0)->slabs.record[nr].page;
}

/* The former holder reaches the pages for ever, and so no other session gets them. */
static void cut_fails(unsigned int times, uint64_t withheld)
{
	uint64_t page0, budget, i;

	share();
	page0 = stick(7, times);
	budget = bed.m.budget;
	cnode_leave_slab(node(0), 7);
	bed_pass(&bed, 700);
	bed_settle(&bed);
	assert_int_equal(nr_refusals, 0);
	assert_int_equal(bed.m.sess_evicted, 1);
	assert_int_equal(bed.m.nr_sess, 1);
	bed_pass(&bed, 700);
	assert_int_equal(info_of(1).lease, 4 * SLAB);
	check(4);
	assert_int_equal(manager_withheld_pages(&bed.m), withheld);
	assert_int_equal(bed.m.budget, budget - withheld);
	for (i = page0; withheld && i < page0 + SLAB; i++)
		assert_int_equal(bed.m.pool.owner[i], POOL_WITHHELD);
	bed_close(&bed);
}

static void test_cut_fails(void **state)
{
	cut_fails(1, 0);	/* it is destroyed when the session ends */
	cut_fails(2, SLAB);
}

/* The same at the end of a session, and then another one has all the others. */
static void test_drop_fails(void **state)
{
	uint64_t page0, i;

	begin(1);
	connect_slabs(0, 3);
	page0 = stick(1, 1);
	leave(0);
	assert_int_equal(nr_refusals, 0);
	assert_int_equal(manager_withheld_pages(&bed.m), SLAB);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages - SLAB);
	check(0);
	connect_slabs(0, POOL);
	assert_int_equal(cnode_slabs(node(0)), POOL - 1);
	for (i = page0; i < page0 + SLAB; i++)
		assert_int_equal(bed.m.pool.owner[i], POOL_WITHHELD);
	check(POOL - 1);
	bed_close(&bed);
}

static int qp_stays(struct nic *nic, uint32_t qpn)
{
	return -EBUSY;
}

/* Pages of a session whose chains do not stop come back to nobody: a node that asks for slabs
 * gets those that there are, and does not wait for these. */
static void test_no_room_of_unstopped(void **state)
{
	begin_mixed();
	bed_connect(&bed, 1, 2 * SLAB, 1, 7);
	bed.nodes[1].want = 2 * SLAB;
	bed_pass(&bed, 700);
	assert_int_equal(info_of(1).lease, 2 * SLAB);
	real = bed.nic->ops;
	wrapped = *real;
	wrapped.qp_error = wrapped.qp_destroy = qp_stays;
	bed.nic->ops = &wrapped;
	manager_kill(&bed.m, sess_of(1), WHY_EVICTED);
	bed_pass(&bed, 200);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_true(sess_unstopped(bed.m.sess[0]));
	connect_slabs(0, 6);
	bed.nodes[0].want = 6 * SLAB;
	bed_pass(&bed, 700);
	assert_int_equal(info_of(0).lease, 2 * SLAB);
	bed.nic->ops = real;
	bed_close(&bed);
}

/* A compute node that does not know slabs has chains. */
static void test_chains_too(void **state)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.translate = CONF_TRANSLATE_DIRECT;
	o.conf.pool = POOL << ODRP_WIRE_LOG_SLAB;
	bed_open(&bed, &o, 2);
	bed.nodes[0].cfg.direct = false;
	bed_connect(&bed, 0, 300, 1, 7);
	connect_slabs(1, 2);
	bed_fill(page, 0, 3, 1);
	assert_int_equal(cnode_do(node(0), 0, ODRP_WIRE_UNMAPPED_STORE, 3, page), 0);
	store(1, 3, 1);
	assert_int_equal(cnode_do(node(0), 0, ODRP_WIRE_LOAD, 3, page), 0);
	assert_true(bed_is(page, 0, 3, 1));
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stores),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_give_back),
		cmocka_unit_test(test_grant_on_its_way),
		cmocka_unit_test(test_old_key),
		cmocka_unit_test(test_foreign_key),
		cmocka_unit_test(test_keeps_all),
		cmocka_unit_test(test_wrong_hash),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_some),
		cmocka_unit_test(test_pieces_for_chains),
		cmocka_unit_test(test_last_slab),
		cmocka_unit_test(test_bad_record),
		cmocka_unit_test(test_cut_fails),
		cmocka_unit_test(test_drop_fails),
		cmocka_unit_test(test_no_room_of_unstopped),
		cmocka_unit_test(test_chains_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
