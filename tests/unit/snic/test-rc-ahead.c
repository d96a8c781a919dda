// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC responder: requests that come before their turn are held, bounded, and
 * executed once, in order; what is missing is said when it does not come.
 */
#include "bed/cable.h"
#include "bed/frame.h"
#include "snic/transport/transport-priv.h"

#define LEN 64		/* payload */

static unsigned int held_by_nic(struct pair *p)
{
	return snic_rc_of(p->b.host->nic)->nr_ahead;
}

/* ---- what side 1 says ------------------------------------------------------ */

static struct snic_pkt answers[64];
static unsigned int nr_answers;

static bool watch(struct cable *c, unsigned int from,
		  const struct snic_pkt *pkt)
{
	if (from) {
		assert_true(nr_answers < 64);
		answers[nr_answers++] = *pkt;
	}
	return true;
}

static void expect_answer(unsigned int i, uint8_t syndrome, uint32_t psn)
{
	assert_true(i < nr_answers);
	assert_int_equal(answers[i].opcode, SNIC_OP_ACK);
	assert_int_equal(answers[i].syndrome, syndrome);
	assert_int_equal(answers[i].psn, psn & SNIC_PSN_MASK);
}

static uint32_t first_psn;

static void open_at(struct pair *p, uint32_t psn)
{
	pair_open(p, 60, psn, NULL);
	first_psn = psn;
	p->c.filter = watch;
	nr_answers = 0;
}

/* ---- what side 0 says ------------------------------------------------------- */

/* pkt goes from one QP to another; its payload is LEN bytes filled with seed. */
static void say_to(struct pair *p, uint32_t qpn, struct snic_pkt pkt,
		   uint32_t len, uint32_t seed)
{
	uint8_t buf[SNIC_PKT_HDR_MAX + 2048] = { 0 };
	size_t n;

	pkt.qpn = qpn;
	pkt.pkey = SNIC_PKEY_DEFAULT;
	n = snic_pkt_build(&pkt, buf);
	fill(buf + n, len, seed);
	cable_inject(&p->c, 0, buf, n + len);
}

/* A SEND, the psn'th packet; nobody asks for an ACK. */
static void say_send(struct pair *p, int32_t psn)
{
	say_to(p, p->b.qpn, (struct snic_pkt){
		.opcode = SNIC_OP_SEND_ONLY,
		.psn = snic_psn_add(first_psn, psn),
	}, LEN, psn);
}

static void say_add(struct pair *p, int32_t psn, uint64_t add)
{
	say_to(p, p->b.qpn, (struct snic_pkt){
		.opcode = SNIC_OP_FETCH_ADD,
		.psn = snic_psn_add(first_psn, psn),
		.va = host_iova(p->b.host, p->word), .rkey = p->b.host->key,
		.swap_add = add,
	}, 0, 0);
}

static void say_read(struct pair *p, int32_t psn, uint32_t len)
{
	say_to(p, p->b.qpn, (struct snic_pkt){
		.opcode = SNIC_OP_READ_REQ,
		.psn = snic_psn_add(first_psn, psn),
		.va = host_iova(p->b.host, p->dst), .rkey = p->b.host->key,
		.dma_len = len,
	}, 0, 0);
}

static void post(struct pair *p, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		post_recv(&p->b, p->dst + i * LEN, LEN);
}

/* SENDs 0 to before n are here, in that order and once. */
static void expect_sends(struct pair *p, unsigned int n)
{
	unsigned int i;

	assert_int_equal(cq_count(p->b.host, p->b.rcqn), n);
	for (i = 0; i < n; i++)
		expect_filled(p->dst + i * LEN, LEN, i);
}

/* ---- order --------------------------------------------------------------------- */

/* Overtaking costs nothing: no NAK, one ACK for all. */
static void test_reordered(void **state)
{
	static const uint32_t psns[] = { 1, 0, 0xfffffe, 0xffffff, 0x7ffffe };
	static const uint8_t order[] = { 4, 2, 1, 3, 0, 6, 5 };
	struct pair p;
	unsigned int i, k;

	for (i = 0; i < sizeof(psns) / sizeof(psns[0]); i++) {
		open_at(&p, psns[i]);
		post(&p, 8);
		for (k = 0; k < sizeof(order); k++) {
			say_send(&p, order[k]);
			cable_run(&p.c, 20 * 1000);
		}
		cable_run(&p.c, 50 * MS);
		expect_sends(&p, 7);
		assert_int_equal(stats(&p, 1).naks, 0);
		assert_int_equal(stats(&p, 1).reordered, 5);
		assert_int_equal(nr_answers, 2);
		expect_answer(0, SNIC_ACK_UNLIMITED, psns[i] + 4);
		expect_answer(1, SNIC_ACK_UNLIMITED, psns[i] + 6);
		assert_int_equal(held_by_nic(&p), 0);
		pair_close(&p);
	}
}

/* What is missing is said once, later again, and not for ever. */
static void test_lost(void **state)
{
	struct pair p;
	unsigned int i;

	open_at(&p, 0xfffffd);
	post(&p, 8);
	say_send(&p, 0);
	say_send(&p, 2);
	say_send(&p, 3);
	cable_run(&p.c, RC_REORDER_NS - MS / 10);
	assert_int_equal(nr_answers, 0);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 1);
	expect_answer(0, SNIC_NAK_SEQ, first_psn + 1);
	say_send(&p, 6);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 1);
	cable_run(&p.c, 10 * SECOND);
	assert_int_equal(nr_answers, RC_NAKS);
	for (i = 0; i < nr_answers; i++)
		expect_answer(i, SNIC_NAK_SEQ, first_psn + 1);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), 1);

	/* What came is not held for ever either. */
	assert_int_equal(held_by_nic(&p), 0);
	say_send(&p, 6);
	cable_run(&p.c, SECOND);
	assert_int_equal(held_by_nic(&p), 0);
	assert_int_equal(nr_answers, RC_NAKS);
	nr_answers = 0;
	say_send(&p, 1);
	cable_run(&p.c, MS);
	expect_sends(&p, 2);
	assert_int_equal(nr_answers, 2);
	expect_answer(0, SNIC_ACK_UNLIMITED, first_psn + 1);
	expect_answer(1, SNIC_NAK_SEQ, first_psn + 2);
	pair_close(&p);
}

/* Gap after gap: progress is said at once, then what is missing next. */
static void test_two_gaps(void **state)
{
	struct pair p;
	int32_t i;

	open_at(&p, 0xfffffd);
	post(&p, 12);
	say_send(&p, 0);
	say_send(&p, 2);
	say_send(&p, 3);
	say_send(&p, 5);
	say_send(&p, 6);
	cable_run(&p.c, MS);
	expect_answer(0, SNIC_NAK_SEQ, first_psn + 1);
	nr_answers = 0;
	say_send(&p, 1);
	cable_run(&p.c, MS);
	expect_sends(&p, 4);
	assert_int_equal(nr_answers, 2);
	/* What it sends again is acknowledged when it does. */
	expect_answer(0, SNIC_ACK_UNLIMITED, first_psn + 1);
	expect_answer(1, SNIC_NAK_SEQ, first_psn + 4);
	for (i = 2; i < 7; i++) {
		nr_answers = 0;
		say_send(&p, i);
		cable_run(&p.c, 20 * 1000);
		assert_int_equal(nr_answers, 1);
		expect_answer(0, SNIC_ACK_UNLIMITED, first_psn + i);
	}
	expect_sends(&p, 7);
	assert_int_equal(held_by_nic(&p), 0);
	/* It has caught up: as usual. */
	nr_answers = 0;
	say_send(&p, 8);
	say_send(&p, 7);
	cable_run(&p.c, SECOND);
	assert_int_equal(nr_answers, 1);
	expect_answer(0, SNIC_ACK_UNLIMITED, first_psn + 8);
	pair_close(&p);
}

/* Told to go back, it is behind even if the gap closes and opens again; what it
 * sent meanwhile comes first. */
static void test_told_to_go_back(void **state)
{
	struct pair p;

	open_at(&p, 0xfffffd);
	post(&p, 12);
	say_send(&p, 1);
	cable_run(&p.c, MS);
	say_send(&p, 3);		/* sent before it heard */
	cable_run(&p.c, MS);
	say_send(&p, 0);
	cable_run(&p.c, MS / 10);
	say_send(&p, 2);
	cable_run(&p.c, MS / 10);
	expect_sends(&p, 4);
	assert_int_equal(nr_answers, 3);
	expect_answer(0, SNIC_NAK_SEQ, first_psn);
	expect_answer(1, SNIC_ACK_UNLIMITED, first_psn);
	expect_answer(2, SNIC_ACK_UNLIMITED, first_psn + 2);
	say_send(&p, 5);
	say_send(&p, 4);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 4);
	expect_answer(3, SNIC_ACK_UNLIMITED, first_psn + 5);
	pair_close(&p);
}

/* A NAK that is due is not sent when the packet comes in the same step. */
static void test_just_in_time(void **state)
{
	struct pair p;

	open_at(&p, 1);
	post(&p, 2);
	say_send(&p, 1);
	cable_run(&p.c, CABLE_LATENCY);
	p.c.vt.now += RC_REORDER_NS - CABLE_LATENCY;
	say_send(&p, 0);
	p.c.vt.now += CABLE_LATENCY;
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 1);
	expect_answer(0, SNIC_ACK_UNLIMITED, 2);
	expect_sends(&p, 2);
	pair_close(&p);
}

/* Long after a gap its PSNs mean nothing, half the PSN space later neither. */
static void test_old_gap(void **state)
{
	struct pair p;

	open_at(&p, 5);
	post(&p, 4);
	say_send(&p, 1);
	say_send(&p, 0);
	cable_run(&p.c, MS);
	nr_answers = 0;
	qp_of(&p.b)->resp->epsn = snic_psn_add(first_psn, 2 + (1 << 23));
	first_psn = snic_psn_add(first_psn, 1 << 23);
	say_send(&p, 2);
	cable_run(&p.c, SECOND);
	assert_int_equal(nr_answers, 0);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), 3);
	pair_close(&p);
}

/* ---- once ------------------------------------------------------------------------- */

static void test_duplicates(void **state)
{
	struct pair p;
	unsigned int i;

	open_at(&p, 0xffffff);
	post(&p, 8);
	*p.word = 1000;
	for (i = 0; i < 3; i++) {
		say_add(&p, 2, 5);
		say_send(&p, 1);
	}
	say_send(&p, 0);
	say_send(&p, 1);
	say_add(&p, 2, 5);
	say_send(&p, 0);
	cable_run(&p.c, MS);
	assert_int_equal(*p.word, 1005);
	expect_sends(&p, 2);
	assert_int_equal(qp_of(&p.b)->resp->epsn, 2);
	assert_int_equal(stats(&p, 1).duplicates, 3);
	assert_int_equal(held_by_nic(&p), 0);
	pair_close(&p);
}

/* A READ takes the PSNs of its answers: what is held for one of them is not
 * what it says it is. */
static void test_within_a_read(void **state)
{
	struct pair p;

	open_at(&p, 0xfffff0);
	post(&p, 8);
	say_send(&p, 3);
	say_send(&p, 5);
	say_send(&p, 12);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(held_by_nic(&p), 3);
	say_read(&p, 0, 10 * 1024);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(qp_of(&p.b)->resp->epsn, 0xfffffa);
	assert_int_equal(held_by_nic(&p), 1);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), 0);
	pair_close(&p);

	/* one that takes more of them than can be held */
	open_at(&p, 1);
	say_send(&p, 127);
	say_read(&p, 0, 300 * 1024);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(qp_of(&p.b)->resp->epsn, 301);
	assert_int_equal(held_by_nic(&p), 0);
	assert_false(qp_of(&p.b)->resp->ahead.gap);
	pair_close(&p);
}

/* READs and atomics that are held wait until there is room for their replies. */
static void test_more_replies_than_room(void **state)
{
	struct pair p;
	int32_t i;

	open_at(&p, 1);
	post(&p, 1);
	*p.word = 0;
	for (i = 1; i <= 20; i++)
		say_add(&p, i, i);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(held_by_nic(&p), 20);
	say_send(&p, 0);
	cable_run(&p.c, MS);
	assert_int_equal(held_by_nic(&p), 0);
	assert_int_equal(stats(&p, 1).naks, 0);
	assert_int_equal(qp_of(&p.b)->resp->epsn, 22);
	assert_int_equal(nr_answers, 20);
	for (i = 0; i < 20; i++) {
		assert_int_equal(answers[i].opcode, SNIC_OP_ATOMIC_ACK);
		assert_int_equal(answers[i].psn, i + 2);
		assert_int_equal(answers[i].orig, i * (i + 1) / 2);
	}
	pair_close(&p);
}

/* ---- receiver not ready ---------------------------------------------------------------- */

/* What is held does not run past a SEND that finds no receive entry. */
static void test_not_ready(void **state)
{
	struct pair p;

	open_at(&p, 1);
	post(&p, 2);
	say_send(&p, 1);
	say_send(&p, 2);
	say_send(&p, 3);
	say_send(&p, 0);
	cable_run(&p.c, SECOND);
	expect_sends(&p, 2);
	assert_int_equal(stats(&p, 1).rnr_naks, 1);
	assert_int_equal(stats(&p, 1).naks, 0);	/* it knows */
	assert_int_equal(answers[nr_answers - 1].psn, 3);
	/* All of it has to come again. */
	assert_int_equal(held_by_nic(&p), 0);
	say_send(&p, 4);
	cable_run(&p.c, SECOND);
	assert_int_equal(held_by_nic(&p), 0);
	assert_int_equal(stats(&p, 1).naks, 0);
	say_send(&p, 2);		/* not yet */
	cable_run(&p.c, MS);
	assert_int_equal(stats(&p, 1).rnr_naks, 2);
	post_recv(&p.b, p.dst + 2 * LEN, LEN);
	post_recv(&p.b, p.dst + 3 * LEN, LEN);
	say_send(&p, 3);		/* after the one that was announced */
	cable_run(&p.c, MS);
	assert_int_equal(held_by_nic(&p), 0);
	say_send(&p, 2);
	say_send(&p, 3);
	cable_run(&p.c, MS);
	expect_sends(&p, 4);
	assert_int_equal(held_by_nic(&p), 0);
	pair_close(&p);
}

/* ---- bounds ------------------------------------------------------------------------------- */

static void test_too_far(void **state)
{
	struct pair p;

	open_at(&p, 0xffff00);
	post(&p, 1);
	say_send(&p, RC_AHEAD);
	say_send(&p, 1 << 22);
	say_send(&p, (1 << 23) - 1);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(held_by_nic(&p), 0);
	say_send(&p, RC_AHEAD - 1);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(held_by_nic(&p), 1);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 1);
	expect_answer(0, SNIC_NAK_SEQ, 0xffff00);
	/* more than a packet of this connection can be */
	say_to(&p, p.b.qpn, (struct snic_pkt){
		.opcode = SNIC_OP_SEND_ONLY, .psn = snic_psn_add(first_psn, 1),
	}, 1028, 0);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(held_by_nic(&p), 1);
	pair_close(&p);
}

#define PEERS 24

/* Nobody gets more than half of what is free, and everything is given back:
 * with the queue pair, and after a time by itself. */
static void test_flood(void **state)
{
	struct end_opts opts = { .log_sq = 4, .log_cq = 4 };
	struct end a[PEERS], b[PEERS];
	struct snic_rc *rc;
	unsigned int i, n, free_frames;
	struct pair p;
	int32_t psn;

	open_at(&p, 1);
	rc = snic_rc_of(p.b.host->nic);
	for (i = 0; i < PEERS; i++) {
		end_open(p.a.host, &opts, &a[i]);
		end_open(p.b.host, &opts, &b[i]);
		pair_join(&a[i], &b[i], 1, NULL);
	}
	p.c.filter = NULL;
	for (i = 0; i < PEERS; i++) {
		for (psn = 1; psn < 2 * RC_AHEAD; psn++)
			say_to(&p, b[i].qpn, (struct snic_pkt){
				.opcode = SNIC_OP_SEND_ONLY,
				.psn = snic_psn_add(1, psn),
			}, LEN, psn);
		cable_run(&p.c, MS / 10);
		n = qp_of(&b[i])->resp->ahead.nr;
		free_frames = RC_AHEAD_POOL - rc->nr_ahead + n;
		assert_int_equal(n, free_frames / 2 < RC_AHEAD ?
				 (free_frames + 1) / 2 : RC_AHEAD - 1);
	}
	assert_int_equal(rc->nr_ahead, RC_AHEAD_POOL);
	/* One of them gives its share back: in ERR, in RESET, or gone. */
	psn = rc->nr_ahead - qp_of(&b[0])->resp->ahead.nr;
	assert_int_equal(snic_qp_error(p.b.host->nic, b[0].qpn), 0);
	assert_int_equal(rc->nr_ahead, psn);
	psn -= qp_of(&b[1])->resp->ahead.nr;
	assert_int_equal(snic_qp_reset(p.b.host->nic, b[1].qpn), 0);
	assert_int_equal(rc->nr_ahead, psn);
	cable_run(&p.c, SECOND);
	assert_int_equal(rc->nr_ahead, 0);
	for (i = 0; i < PEERS; i++)
		assert_int_equal(snic_qp_destroy(p.b.host->nic, b[i].qpn), 0);
	/* No timer of theirs is left. */
	cable_run(&p.c, SECOND);
	pair_close(&p);
}

/* ---- forged requests ------------------------------------------------------------ */

/* As say_send(), with this payload, from this UDP port; 0: the peer's. */
static void say_as(struct pair *p, int32_t psn, uint32_t seed, uint16_t port)
{
	uint8_t buf[SNIC_PKT_HDR_MAX + LEN] = { 0 }, f[2048];
	struct snic_pkt pkt = {
		.opcode = SNIC_OP_SEND_ONLY, .qpn = p->b.qpn,
		.pkey = SNIC_PKEY_DEFAULT, .psn = snic_psn_add(first_psn, psn),
	};
	size_t n = snic_pkt_build(&pkt, buf);

	fill(buf + n, LEN, seed);
	n = frame_roce(f, 1, 2, buf, n + LEN);
	if (port) {		/* the ICRC covers it */
		f[34] = port >> 8;
		f[35] = port;
		frame_fix(f, n);
	}
	link_inject(&p->c.host[1].port, f, n, 0);
}

/* What comes from elsewhere before its turn is not held: the peer's is executed. */
static void test_other_origin(void **state)
{
	struct pair p;

	open_at(&p, 100);
	post(&p, 4);
	say_send(&p, 0);
	cable_run(&p.c, CABLE_LATENCY);
	say_as(&p, 2, 77, 0xabcd);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(held_by_nic(&p), 0);
	assert_int_equal(stats(&p, 1).rx_strange, 1);
	say_send(&p, 1);
	say_send(&p, 2);
	cable_run(&p.c, SECOND);
	expect_sends(&p, 3);
	assert_int_equal(state_of(&p.b), SNIC_QP_RTS);
	pair_close(&p);
}

/* The forged one came first of all: the peer's first request shows who it is. */
static void test_other_origin_first(void **state)
{
	struct pair p;

	open_at(&p, 100);
	post(&p, 4);
	say_as(&p, 1, 77, 0xabcd);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(held_by_nic(&p), 1);
	say_send(&p, 0);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(held_by_nic(&p), 0);
	say_send(&p, 1);
	cable_run(&p.c, SECOND);
	expect_sends(&p, 2);
	pair_close(&p);
}

/* Two for one turn: nobody knows which is the peer's, and none of the two is held. */
static void test_two_contents(void **state)
{
	struct pair p;

	open_at(&p, 0xffffff);
	post(&p, 4);
	say_send(&p, 0);
	say_as(&p, 2, 77, 0);
	say_send(&p, 2);
	say_send(&p, 2);
	say_send(&p, 3);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(stats(&p, 1).rx_conflicts, 1);
	assert_int_equal(held_by_nic(&p), 1);
	say_send(&p, 1);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), 2);
	say_send(&p, 2);	/* again, as it was told */
	cable_run(&p.c, SECOND);
	expect_sends(&p, 4);
	pair_close(&p);
}

/* One was executed out of its turn, and now comes the other. */
static void test_other_one_after(void **state)
{
	struct pair p;

	open_at(&p, 5);
	post(&p, 4);
	say_send(&p, 1);
	say_send(&p, 0);
	cable_run(&p.c, CABLE_LATENCY);
	expect_sends(&p, 2);
	say_send(&p, 1);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(state_of(&p.b), SNIC_QP_RTS);
	say_to(&p, p.b.qpn, (struct snic_pkt){
		.opcode = SNIC_OP_SEND_ONLY_IMM, .psn = 6, .imm = 1,
	}, LEN, 1);
	cable_run(&p.c, SECOND);
	assert_int_equal(state_of(&p.b), SNIC_QP_ERR);
	assert_int_equal(stats(&p, 1).rx_conflicts, 1);
	pair_close(&p);
}

/* ---- errors ------------------------------------------------------------------------------ */

/* A held packet that cannot be executed ends the queue pair when its turn
 * comes, and what is held behind it goes. */
static void test_bad_one(void **state)
{
	struct pair p;

	open_at(&p, 1);
	post(&p, 4);
	say_send(&p, 3);
	say_to(&p, p.b.qpn, (struct snic_pkt){
		.opcode = SNIC_OP_WRITE_ONLY, .psn = 3, .va = 1, .rkey = 77,
		.dma_len = LEN,
	}, LEN, 0);
	say_send(&p, 1);
	cable_run(&p.c, CABLE_LATENCY);
	assert_int_equal(state_of(&p.b), SNIC_QP_RTS);
	say_send(&p, 0);
	cable_run(&p.c, SECOND);
	assert_int_equal(state_of(&p.b), SNIC_QP_ERR);
	assert_int_equal(held_by_nic(&p), 0);
	expect_cqe(p.b.host, p.b.rcqn, WRC_CQE_RESP_SEND, 0);
	expect_cqe(p.b.host, p.b.rcqn, WRC_CQE_RESP_SEND, 1);
	assert_int_equal(nr_answers, 1);
	expect_answer(0, SNIC_NAK_REMOTE_ACCESS, 3);
	/* Nothing is held in ERR. */
	say_send(&p, 9);
	cable_run(&p.c, SECOND);
	assert_int_equal(held_by_nic(&p), 0);
	assert_int_equal(nr_answers, 1);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reordered),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_two_gaps),
		cmocka_unit_test(test_told_to_go_back),
		cmocka_unit_test(test_just_in_time),
		cmocka_unit_test(test_old_gap),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_within_a_read),
		cmocka_unit_test(test_more_replies_than_room),
		cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_too_far),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_other_origin),
		cmocka_unit_test(test_other_origin_first),
		cmocka_unit_test(test_two_contents),
		cmocka_unit_test(test_other_one_after),
		cmocka_unit_test(test_bad_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
