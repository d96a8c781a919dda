// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A compute node that keeps its lease, and one of whose invalidates stands still
 * between the ring's tail and its slot for longer than the others of its own need to
 * use up the slack: as many as there is slack may overtake it, the next store comes to
 * an empty slot.  That costs connections, no page, and is nobody else's affair.
 */
#include <endian.h>
#include <errno.h>
#include "bed/load.h"
#include "snic/engine/engine.h"

#define SLOTS		64
#define SLACK		2	/* as many as queues, which are as few as can overtake */
#define STEP_NS		100
#define LONG_NS		(3600 * 1000000000ull)
#define TIMES		3
#define STORE		ODRP_WIRE_UNMAPPED_STORE
#define INVALIDATE	ODRP_WIRE_INVALIDATE

static struct bed bed;
static struct load other;
static struct cnode *c;
static uint32_t version[SLOTS];		/* 0: not mapped */
static uint32_t stamp;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static struct sess *sess(void)
{
	return bed.m.sess[0];
}

/* ---- requests --------------------------------------------------------------- */

static void store(uint64_t slot)
{
	bed_fill(page, 0, slot, ++stamp);
	assert_int_equal(cnode_do(c, 1, STORE, slot, page), 0);
	version[slot] = stamp;
}

static void invalidate(uint64_t slot)
{
	assert_int_equal(cnode_do(c, 1, INVALIDATE, slot, NULL), 0);
	version[slot] = 0;
}

static void submit(unsigned int queue, enum odrp_wire_chain chain, uint64_t slot)
{
	assert_int_equal(cnode_submit(c, queue, chain, slot, page, 0), 0);
	cnode_flush(c);
}

/* What the table says, each page with what was last stored to its slot. */
static unsigned int verify(void)
{
	uint64_t entries[SLOTS], slot;
	unsigned int mapped = 0;
	struct cnode_info info;

	assert_int_equal(cnode_read_table(c, 0, SLOTS, entries), 0);
	for (slot = 0; slot < SLOTS; slot++) {
		assert_int_equal(!entries[slot], !version[slot]);
		if (!version[slot])
			continue;
		mapped++;
		assert_int_equal(cnode_do(c, slot % 2, ODRP_WIRE_LOAD, slot,
					  page), 0);
		assert_true(bed_is(page, 0, slot, version[slot]));
	}
	cnode_info(c, &info);
	assert_int_equal(info.used, mapped);
	return mapped;
}

/* ---- the stage ---------------------------------------------------------------- */

static void open_all(void)
{
	struct cnode_info info;
	struct bed_options o;
	uint64_t slot;

	bed_options(&o);
	o.conf.reserve = SLACK;
	o.conf.dead_ms = 60000;
	o.cost_ns = STEP_NS;
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, SLOTS, SLACK, 7);
	bed_connect(&bed, 1, 200, SLACK, 7);
	c = bed.nodes[0].cnode;
	load_init(&other, &bed, 1, 200, 1);
	bed.want = 200;
	bed_pass(&bed, 1000);
	load_run(&other, 200);
	cnode_info(c, &info);
	assert_int_equal(info.lease, SLOTS);
	for (slot = 0; slot < SLOTS; slot++)
		store(slot);
}

static void expect_undisturbed(void)
{
	unsigned int q, chain;

	load_run(&other, 50);
	assert_true(sess_attached(bed.m.sess[1]));
	assert_false(cnode_admin_broken(other.cnode));
	for (q = 0; q < SLACK; q++) {
		for (chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
			assert_false(cnode_broken(other.cnode, q, chain));
	}
}

/* All it was lent is mapped, and so its ring has the slack, in order. */
static void expect_full(void)
{
	bed_settle(&bed);
	bed_check(&bed, SLOTS + other.mapped);
	assert_int_equal(ring_pages(&sess()->ring), SLACK);
	assert_false(sess()->lease.overdrawn);
}

static void close_all(void)
{
	load_verify(&other);
	load_fini(&other);
	bed_settle(&bed);
	bed_check_translations(&bed);
	assert_int_equal(bed.m.sess_total, 2);
	assert_int_equal(bed.m.nr_sess, 2);
	assert_int_equal(bed.m.lender.nr_foreign, 0);
	manager_kill(&bed.m, sess(), WHY_EVICTED);
	manager_kill(&bed.m, bed.m.sess[1], WHY_EVICTED);
	bed_settle(&bed);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	bed_close(&bed);
}

/* ---- the invalidate that stands still ------------------------------------------ */

static struct snic_qp *loop_of(unsigned int queue, enum odrp_wire_chain chain)
{
	struct snic_qp *qp = snic_qp_lookup(bed.host.nic,
				sess()->queues[queue][chain]->loop_qpn);

	assert_non_null(qp);
	return qp;
}

static void busy_until(struct snic_qp *qp, uint64_t when)
{
	snic_timer_set(bed.host.nic, &qp->sq_timer, when);
}

/* It has advanced the tail from there, and is busy for an hour. */
static uint64_t stand_still(uint64_t slot)
{
	struct ring *ring = &sess()->ring;
	uint64_t tail = *ring->tail;

	submit(0, INVALIDATE, slot);
	while (*ring->tail == tail)
		bed_run_ns(&bed, STEP_NS);
	busy_until(loop_of(0, INVALIDATE), bed.now + LONG_NS);
	version[slot] = 0;
	return tail;
}

static bool is_empty(uint64_t at)
{
	const struct ring *ring = &sess()->ring;

	return !ring->slot[ring_index(ring->log_len, at)];
}

/* The ring's slack is used up, and nothing has happened; then one more. */
static void overtake(uint64_t at)
{
	uint64_t slot;

	for (slot = 1; slot <= SLACK; slot++) {
		invalidate(slot);
		store(slot);
		expect_undisturbed();
	}
	bed_pass(&bed, 300);
	assert_true(is_empty(at));
	assert_true(sess_attached(sess()));
	assert_false(cnode_broken(c, 1, STORE));
	invalidate(slot);
	bed_fill(page, 0, slot, ++stamp);
	submit(1, STORE, slot);
	while (loop_of(1, STORE)->state != SNIC_QP_ERR)
		bed_run_ns(&bed, STEP_NS);
	assert_true(is_empty(at));
}

/* What was answered before the end, and what the table says of the store that was
 * not: done, or not begun. */
static void settle_doubt(void)
{
	uint64_t entry;

	assert_int_equal(cnode_read_table(c, SLACK + 1, 1, &entry), 0);
	version[SLACK + 1] = entry ? stamp : 0;
}

static void fill_up(void)
{
	uint64_t slot;

	for (slot = 0; slot < SLOTS; slot++) {
		if (!version[slot])
			store(slot);
	}
	assert_int_equal(verify(), SLOTS);
	expect_undisturbed();
	expect_full();
}

static void resume(void)
{
	struct cnode_refusal no;
	int r;

	do {
		r = cnode_resume(c, &no);
	} while (r && no.status == ODRP_WIRE_E_BUSY && bed_pump(&bed));
	assert_int_equal(r, 0);
}

/* The session is taken down, and taken up again: the ring is put in order. */
static void test_taken_up_again(void **state)
{
	unsigned int i;

	open_all();
	expect_full();
	for (i = 1; i <= TIMES; i++) {
		overtake(stand_still(0));
		while (!cnode_admin_broken(c))
			assert_true(bed_pump(&bed));
		assert_false(sess_attached(sess()));
		resume();
		assert_int_equal(bed.m.sess_resumed, i);
		assert_int_equal(bed.m.queues_broken, i);
		settle_doubt();
		verify();
		fill_up();
	}
	close_all();
}

/* True: the store was answered before its chain failed. */
static bool until_broken(void)
{
	struct cnode_done done;
	bool answered = false;

	while (!cnode_broken(c, 1, STORE)) {
		assert_true(bed_pump(&bed));
		while (!cnode_poll(c, &done))
			answered |= done.chain == STORE;
	}
	return answered;
}

/* It goes on before the agent has noticed: its page comes to the slot that the store
 * has taken, where the agent finds it, and one connection is all that it costs; but
 * for a compute node that has no answer, and takes its session up to know. */
static void test_goes_on_in_time(void **state)
{
	unsigned int i, resumed = 0;
	struct cnode_refusal no;
	bool answered;
	uint64_t at;

	open_all();
	expect_full();
	for (i = 1; i <= TIMES; i++) {
		at = stand_still(0);
		overtake(at);
		busy_until(loop_of(0, INVALIDATE), bed.now);
		while (is_empty(at))
			bed_run_ns(&bed, STEP_NS);
		answered = until_broken();
		assert_true(sess_attached(sess()));
		if (answered)
			assert_int_equal(cnode_reconnect(c, 1, STORE, &no), 0);
		else
			resume();
		resumed += !answered;
		assert_int_equal(bed.m.sess_resumed, resumed);
		assert_int_equal(bed.m.queues_broken, i);
		settle_doubt();
		fill_up();
	}
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken_up_again),
		cmocka_unit_test(test_goes_on_in_time),
	};

	return bed_run_tests(tests);
}
