/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Heartbeats and grants of the module, with MACs as the agent makes and checks them.
 * What the memory node writes is written by the test: forged, old, in part, and right.
 */
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../kmod/odrp.h"
#include "../../../userspace/auth/auth.h"

#define SLOTS		1000
#define HANDLE		0x1122334455667788ull
#define FIRST_LEASE	100

static struct odrp_dev dev;
static struct odrp_sess *const s = &dev.sess;
static struct odrp_conn admin;
static struct ib_mr mr = { .iova = 0x1000, .rkey = 7 };
static struct ib_pd pd;
static struct odrp_stats stats;
static struct odrp_wire_beat sent;
static unsigned int nr_sent, nr_asked, nr_failed, nr_slab_beats, nr_held;
static unsigned int nr_released;	/* how often waiting bios have looked again */
static struct odrp_queue queue;
static bool completes;		/* the NIC does, what is posted */

struct workqueue_struct *odrp_wq;

/* ---- what is beside it ---------------------------------------------------------- */

void odrp_reserve_collect(struct odrp_reserve *r) { }
void odrp_sess_restock(struct odrp_sess *sess) { }
void odrp_free_now(struct odrp_dev *d) { }
void odrp_free_release(struct odrp_queue *q) { }

bool odrp_free_wanted(struct odrp_dev *d)
{
	return true;
}

void odrp_issue_released(struct odrp_queue *q)
{
	nr_released++;
}
void odrp_slabs_accepted(struct odrp_sess *sess, u64 lease) { }
void odrp_slabs_granted(struct odrp_sess *sess, const struct odrp_wire_grant *g) { }

void odrp_slabs_beat(struct odrp_sess *sess, struct odrp_wire_beat *w)
{
	nr_slab_beats++;
}

void odrp_sess_fail(struct odrp_sess *sess, const char *fmt, ...)
{
	nr_failed++;
}

void odrp_uevent(struct odrp_dev *d, enum odrp_uevent what)
{
	nr_asked += what == ODRP_UEVENT_DRAIN;
}

int odrp_map(struct ib_device *ibdev, void *p, size_t len,
	     enum dma_data_direction dir, u64 *ret_dma)
{
	*ret_dma = (uintptr_t)p;
	return 0;
}

int odrp_reg_make(struct odrp_conn *conn, struct odrp_reg *reg, const u64 *dma,
		  unsigned int nr)
{
	reg->mr = &mr;
	return 0;
}

void odrp_reg_free(struct odrp_reg *reg)
{
	reg->mr = NULL;
}

static u32 beat_len(void)
{
	return odrp_wire_beat_len(s->features);
}

/* The heartbeat is there at once; the bitmap of held slabs is posted before it. */
int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
		 const struct ib_send_wr **ret_bad)
{
	struct ib_wc wc;

	if (wr->next) {
		nr_held++;
		wr = wr->next;
	}
	wc = (struct ib_wc){ .wr_cqe = wr->wr_cqe };
	assert_int_equal(wr->opcode, IB_WR_RDMA_WRITE);
	assert_int_equal(wr->sg_list->length, beat_len());
	memset(&sent, 0xee, sizeof(sent));
	memcpy(&sent, (void *)(uintptr_t)wr->sg_list->addr, beat_len());
	nr_sent++;
	if (completes)
		wr->wr_cqe->done(NULL, &wc);
	return 0;
}

/* ---- the two ends ----------------------------------------------------------------- */

static void set_key(uint8_t first)
{
	memset(&s->auth.key, 0x33, sizeof(s->auth.key));
	s->auth.key.k[0] = first;
}

static struct auth_key agent_key(void)
{
	struct auth_key key;

	memcpy(key.k, s->auth.key.k, sizeof(key.k));
	return key;
}

static void open_sess(u32 features)
{
	memset(&dev, 0, sizeof(dev));
	admin = (struct odrp_conn){ .sess = s, .established = true };
	nr_sent = nr_asked = nr_failed = nr_slab_beats = 0;
	completes = true;
	dev.stats = &stats;
	dev.slots.nr = SLOTS;
	dev.timeout_ms = 1000;
	s->dev = &dev;
	s->queues = &queue;
	s->nr_queues = 1;
	s->features = features;
	s->pd = &pd;
	s->admin = &admin;
	s->auth.handle = cpu_to_be64(HANDLE);
	set_key(1);
	atomic_set(&s->state, ODRP_LIVE);
	atomic64_set(&dev.lease.limit, FIRST_LEASE);
	odrp_beat_prepare(s);
	assert_int_equal(odrp_beat_init(s), 0);
}

static void close_sess(void)
{
	odrp_beat_exit(s);
}

static void beat(void)
{
	unsigned int before = nr_sent;

	odrp_beat_start(s);
	shim_flush(&s->beat.work.work);
	assert_int_equal(nr_sent, before + 1);
}

static struct odrp_wire_signed_grant a_grant(u64 epoch, u64 lease, u32 flags)
{
	const struct auth_key key = agent_key();
	struct odrp_wire_signed_grant g = {
		.grant = {
			.epoch = cpu_to_be64(epoch), .lease = cpu_to_be64(lease),
			.flags = cpu_to_be32(flags),
		},
	};

	auth_sign_grant(&key, HANDLE, &g);
	return g;
}

/* It is in our memory when the next heartbeat is made. */
static void hear(struct odrp_wire_signed_grant g)
{
	memcpy(s->ctl.page, &g, sizeof(g));
	beat();
}

static void expect(u64 lease, unsigned int asked)
{
	assert_int_equal(dev.lease.limit.v, lease);
	assert_int_equal(be64_to_cpu(sent.lease_held), lease);
	assert_int_equal(nr_asked, asked);
}

/* ---- heartbeats --------------------------------------------------------------------- */

static void signed_beats(u32 features)
{
	struct auth_key key;
	u64 before;

	open_sess(ODRP_WIRE_F_SIGNED | features);
	key = agent_key();
	beat();
	before = be64_to_cpu(sent.beat);
	assert_int_equal(auth_check_beat(&key, HANDLE, &sent, beat_len()), 0);
	assert_int_equal(auth_check_beat(&key, HANDLE + 1, &sent, beat_len()), -EKEYREJECTED);
	beat();
	assert_true(be64_to_cpu(sent.beat) > before);
	assert_int_equal(auth_check_beat(&key, HANDLE, &sent, beat_len()), 0);
	odrp_beat_bye(s);
	assert_int_equal(be32_to_cpu(sent.flags), ODRP_WIRE_BEAT_BYE);
	assert_int_equal(auth_check_beat(&key, HANDLE, &sent, beat_len()), 0);
	sent.flags = 0;
	assert_int_equal(auth_check_beat(&key, HANDLE, &sent, beat_len()), -EKEYREJECTED);
	close_sess();
}

static void test_signed_beats(void **state)
{
	signed_beats(0);
	signed_beats(ODRP_WIRE_F_LONG_BEAT);
}

/* What can be asked for is asked for, and what is reserved is 0. */
static void test_long_beats(void **state)
{
	unsigned int i;

	open_sess(ODRP_WIRE_F_LONG_BEAT);
	dev.dead_after_ms = 60000;
	beat();
	assert_int_equal(be32_to_cpu(sent.dead_ms), 90000);
	for (i = ODRP_WIRE_SHORT_BEAT + sizeof(sent.dead_ms); i < sizeof(sent); i++)
		assert_int_equal(((u8 *)&sent)[i], 0);
	/* The operator may change it at any time. */
	dev.dead_after_ms = ODRP_MAX_TIMEOUT_MS;
	beat();
	assert_int_equal(be32_to_cpu(sent.dead_ms), ODRP_MAX_TIMEOUT_MS / 2 * 3);
	close_sess();
}

/* Freed slots use pages until the answer, and have no contents. */
static void test_kept(void **state)
{
	open_sess(ODRP_WIRE_F_LONG_BEAT | ODRP_WIRE_F_KEPT);
	atomic64_set(&dev.lease.used, 50);
	atomic64_set(&dev.free.pending, 8);
	beat();
	assert_int_equal(be64_to_cpu(sent.used), 50);
	assert_int_equal(be64_to_cpu(sent.kept), 42);
	/* Numbers that are read while others change them. */
	atomic64_set(&dev.free.pending, 51);
	beat();
	assert_int_equal(be64_to_cpu(sent.kept), 0);
	atomic64_set(&dev.free.pending, -1);
	beat();
	assert_int_equal(be64_to_cpu(sent.kept), 50);
	/* An older agent has taken the session up again. */
	s->features = ODRP_WIRE_F_LONG_BEAT;
	beat();
	assert_int_equal(be64_to_cpu(sent.kept), 0);
	close_sess();
}

/* ---- asking ------------------------------------------------------------------------ */

static void opened_asking(void)
{
	open_sess(ODRP_WIRE_F_LONG_BEAT | ODRP_WIRE_F_ASKS);
	s->beat.period_ms = 1000;
	nr_released = 0;
	jiffies += 1000;
	beat();
}

/* The work item as the module queues it. */
static void run_beat(void)
{
	shim_flush(&s->beat.work.work);
}

static u64 wanted(void)
{
	return be64_to_cpu(sent.want);
}

/* It wants what it uses, a little more, and what it grows by until it can ask again. */
static void test_want(void **state)
{
	u64 still;

	opened_asking();
	atomic64_set(&dev.lease.limit, 5000);
	dev.slots.nr = 100000;
	atomic64_set(&dev.lease.used, 200);
	jiffies += 100;
	beat();
	assert_int_equal(dev.ask.rate, 2000);
	assert_int_equal(wanted(), 200 + 128 + 300);
	/* A limit that is about right stays. */
	atomic64_set(&dev.lease.limit, 900);
	beat();
	assert_int_equal(wanted(), 900);
	/* Nothing grows: what it wants falls, and in the end to what it uses and little more. */
	still = wanted();
	for (; jiffies < 100000; jiffies += 1000) {
		atomic64_set(&dev.lease.limit, wanted());
		beat();
		assert_true(wanted() <= still);
		still = wanted();
	}
	assert_in_range(still, 200 + 64, 200 + 2 * 128);
	/* No more than there are slots. */
	dev.slots.nr = 210;
	beat();
	assert_int_equal(wanted(), 210);
	close_sess();
}

/* At low water heartbeats come quickly, until there are pages. */
static void test_hurry(void **state)
{
	opened_asking();
	atomic64_set(&dev.lease.used, FIRST_LEASE - dev.ask.low);
	odrp_ask_if_low(&dev);
	assert_false(odrp_ask_hopes(&dev.ask));
	atomic64_inc(&dev.lease.used);
	odrp_ask_if_low(&dev);
	assert_true(odrp_ask_hopes(&dev.ask));
	assert_int_equal(s->beat.work.delay, 0);
	run_beat();
	run_beat();
	assert_true(odrp_ask_hopes(&dev.ask));
	assert_int_equal(nr_released, 0);
	hear(a_grant(1, 500, 0));
	assert_false(odrp_ask_hopes(&dev.ask));
	assert_int_equal(nr_released, 1);
	assert_false(dev.ask.denied);
	close_sess();
}

static struct odrp_wire_signed_grant an_answer(u64 epoch, u64 lease, u64 heard)
{
	struct odrp_wire_signed_grant g = a_grant(epoch, lease, 0);

	g.grant.heard = cpu_to_be32(heard);
	return g;
}

/* A device that is denied pages waits no longer, and does not hurry before it has more. */
static void test_denied(void **state)
{
	u64 first;

	opened_asking();
	atomic64_set(&dev.lease.used, FIRST_LEASE);
	odrp_ask_now(&dev);
	run_beat();
	first = be64_to_cpu(sent.beat);
	run_beat();
	assert_int_equal(nr_released, 0);
	/* A grant of before is no answer. */
	hear(an_answer(1, FIRST_LEASE, first - 1));
	assert_true(odrp_ask_hopes(&dev.ask));
	hear(an_answer(2, FIRST_LEASE, first));
	assert_int_equal(nr_released, 2);
	assert_false(odrp_ask_hopes(&dev.ask));
	assert_true(dev.ask.denied);
	/* The next heartbeat will be answered, too: it does not come earlier for that. */
	assert_int_equal(s->beat.work.delay, s->beat.period_ms);
	odrp_ask_now(&dev);
	assert_false(odrp_ask_hopes(&dev.ask));
	/* Answers to later heartbeats change nothing; a grant of more does. */
	hear(an_answer(3, FIRST_LEASE, first + 4));
	odrp_ask_now(&dev);
	assert_false(odrp_ask_hopes(&dev.ask));
	hear(an_answer(4, FIRST_LEASE + 1, first + 5));
	odrp_ask_now(&dev);
	assert_true(odrp_ask_hopes(&dev.ask));
	close_sess();
}

/* Pages that were taken back since, and are given again, end the denial like others. */
static void test_denied_less(void **state)
{
	opened_asking();
	atomic64_set(&dev.lease.used, FIRST_LEASE);
	odrp_ask_now(&dev);
	run_beat();
	hear(an_answer(1, FIRST_LEASE, be64_to_cpu(sent.beat)));
	assert_true(dev.ask.denied);
	hear(an_answer(2, FIRST_LEASE - 9, be64_to_cpu(sent.beat)));
	assert_true(dev.ask.denied);
	hear(an_answer(3, FIRST_LEASE, be64_to_cpu(sent.beat)));
	assert_false(dev.ask.denied);
	odrp_ask_now(&dev);
	assert_true(odrp_ask_hopes(&dev.ask));
	close_sess();
}

/* An answer that gives more, though not enough, is no denial: the device asks on. */
static void test_too_few(void **state)
{
	opened_asking();
	atomic64_set(&dev.lease.used, FIRST_LEASE);
	odrp_ask_now(&dev);
	run_beat();
	hear(an_answer(1, FIRST_LEASE + 1, be64_to_cpu(sent.beat)));
	assert_true(odrp_ask_hopes(&dev.ask));
	assert_false(dev.ask.denied);
	hear(an_answer(2, FIRST_LEASE + 1, be64_to_cpu(sent.beat)));
	assert_false(odrp_ask_hopes(&dev.ask));
	assert_true(dev.ask.denied);
	close_sess();
}

/* Without an answer the hurry ends, too. */
static void test_no_answer(void **state)
{
	unsigned int i;

	opened_asking();
	atomic64_set(&dev.lease.used, FIRST_LEASE);
	odrp_ask_now(&dev);
	for (i = 1; i < ODRP_ASK_ROUNDS; i++)
		run_beat();
	assert_int_equal(nr_released, 0);
	assert_true(odrp_ask_hopes(&dev.ask));
	run_beat();
	assert_int_equal(nr_released, 1);
	assert_true(dev.ask.denied);
	close_sess();
}

/* With a page for each slot there is nothing to ask for. */
static void test_all_slots(void **state)
{
	opened_asking();
	dev.slots.nr = FIRST_LEASE;
	atomic64_set(&dev.lease.used, FIRST_LEASE);
	odrp_ask_if_low(&dev);
	assert_false(odrp_ask_hopes(&dev.ask));
	close_sess();
}

/* An agent that does not look for heartbeats is not asked. */
static void test_no_hurry(void **state)
{
	opened_asking();
	s->features = ODRP_WIRE_F_LONG_BEAT;
	odrp_ask_now(&dev);
	assert_false(odrp_ask_hopes(&dev.ask));
	close_sess();
}

/* Stores that need pages while the session is lost wait until it has been resumed. */
static void test_hurry_while_lost(void **state)
{
	unsigned int before;

	opened_asking();
	atomic64_set(&dev.lease.used, FIRST_LEASE);
	atomic_set(&s->state, ODRP_LOST);
	odrp_beat_stop(s);
	before = nr_sent;
	odrp_ask_now(&dev);
	assert_true(odrp_ask_hopes(&dev.ask));
	assert_false(s->beat.work.work.queued);
	assert_int_equal(nr_sent, before);
	atomic_set(&s->state, ODRP_LIVE);
	beat();
	assert_true(odrp_ask_hopes(&dev.ask));
	assert_int_equal(s->beat.work.delay, ODRP_ASK_QUICK_MS);
	hear(a_grant(1, 500, 0));
	assert_false(odrp_ask_hopes(&dev.ask));
	assert_int_equal(nr_released, 1);
	close_sess();
}

/* A memory node that does not know more gets 64 bytes. */
static void test_short_beats(void **state)
{
	open_sess(0);
	dev.dead_after_ms = 60000;
	beat();
	assert_int_equal(be32_to_cpu(sent.dead_ms), 0xeeeeeeee);
	close_sess();
}

/*
 * The device never completed the last one, and its queue pair is gone: nobody waits for
 * it in a session that is resumed, or that would be lost at once, and again.
 */
static void test_not_completed(void **state)
{
	open_sess(0);
	completes = false;
	beat();
	odrp_beat_stop(s);
	jiffies += 2 * dev.timeout_ms;
	beat();
	assert_int_equal(nr_failed, 0);
	close_sess();
}

/* A session whose making failed before it had a bitmap of slabs sends no last heartbeat. */
static void test_bye_half_made(void **state)
{
	static u8 held[8];

	open_sess(ODRP_WIRE_F_DIRECT | ODRP_WIRE_F_LONG_BEAT);
	odrp_beat_bye(s);
	assert_int_equal(nr_slab_beats, 0);
	assert_int_equal(nr_sent, 0);
	s->slabs.held = held;
	nr_held = 0;
	odrp_beat_bye(s);
	assert_int_equal(nr_slab_beats, 1);
	assert_int_equal(nr_held, 1);
	assert_int_equal(nr_sent, 1);
	close_sess();
}

/* ---- grants ------------------------------------------------------------------------ */

/* By somebody who has all numbers of the connection, and not K. */
static void test_forged(void **state)
{
	struct odrp_wire_signed_grant g;

	open_sess(ODRP_WIRE_F_SIGNED);
	hear(a_grant(1, 50, 0));
	expect(50, 0);
	g = a_grant(2, 50, 0);
	g.grant.lease = 0;
	hear(g);
	expect(50, 0);
	g = a_grant(2, 50, 0);
	g.grant.flags = cpu_to_be32(ODRP_WIRE_GRANT_DRAIN);
	hear(g);
	expect(50, 0);
	g = a_grant(2, 900, ODRP_WIRE_GRANT_DRAIN);
	memset(g.mac, 0, sizeof(g.mac));
	hear(g);
	expect(50, 0);
	/* A heartbeat's MAC is none of a grant. */
	memcpy(g.mac, sent.mac, sizeof(g.mac));
	hear(g);
	expect(50, 0);
	/* And nothing of that is in the way of the right one. */
	hear(a_grant(2, 60, ODRP_WIRE_GRANT_DRAIN));
	expect(60, 1);
	close_sess();
}

static void test_replayed(void **state)
{
	struct odrp_wire_signed_grant old;

	open_sess(ODRP_WIRE_F_SIGNED);
	old = a_grant(4, 800, ODRP_WIRE_GRANT_DRAIN);
	hear(old);
	expect(800, 1);
	hear(a_grant(5, 20, 0));
	expect(20, 1);
	hear(old);
	expect(20, 1);
	hear(a_grant(5, 30, 0));
	expect(20, 1);
	close_sess();
}

/* The first bytes of a grant that is on its way; all of it next time. */
static void test_half_seen(void **state)
{
	struct odrp_wire_signed_grant old, new;
	unsigned int len;

	open_sess(ODRP_WIRE_F_SIGNED);
	old = a_grant(1, 50, 0);
	new = a_grant(0x0202020202020202, 70, ODRP_WIRE_GRANT_DRAIN);
	hear(old);
	for (len = 1; len < sizeof(new); len++) {
		struct odrp_wire_signed_grant part = old;

		memcpy(&part, &new, len);
		hear(part);
		expect(50, 0);
		/* Its end first. */
		part = new;
		memcpy(&part, &old, len);
		hear(part);
		expect(50, 0);
	}
	hear(new);
	expect(70, 1);
	close_sess();
}

/* Epochs begin anew, and what was granted before counts no more. */
static void test_next_handshake(void **state)
{
	struct odrp_wire_signed_grant old;

	open_sess(ODRP_WIRE_F_SIGNED);
	old = a_grant(9, 90, 0);
	hear(old);
	expect(90, 0);
	set_key(2);
	odrp_beat_forget(s);
	beat();
	expect(90, 0);
	old.grant.epoch = cpu_to_be64(10);
	hear(old);
	expect(90, 0);
	hear(a_grant(1, 40, 0));
	expect(40, 0);
	close_sess();
}

/* Without a key it is as it was. */
static void test_bare(void **state)
{
	struct odrp_wire_signed_grant g;

	open_sess(0);
	g = a_grant(3, 50, ODRP_WIRE_GRANT_DRAIN);
	memset(g.mac, 0, sizeof(g.mac));
	hear(g);
	expect(50, 1);
	assert_int_equal(sent.mac[0] | sent.mac[15], 0);
	g.grant.epoch = cpu_to_be64(2);
	g.grant.lease = cpu_to_be64(80);
	hear(g);
	expect(80, 1);
	odrp_beat_forget(s);
	beat();
	expect(80, 1);
	close_sess();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signed_beats),
		cmocka_unit_test(test_long_beats),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_want),
		cmocka_unit_test(test_hurry),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_denied_less),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_all_slots),
		cmocka_unit_test(test_no_hurry),
		cmocka_unit_test(test_hurry_while_lost),
		cmocka_unit_test(test_short_beats),
		cmocka_unit_test(test_not_completed),
		cmocka_unit_test(test_bye_half_made),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_replayed),
		cmocka_unit_test(test_half_seen),
		cmocka_unit_test(test_next_handshake),
		cmocka_unit_test(test_bare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
