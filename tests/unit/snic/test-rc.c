// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC transport over a cable with faults: every operation, in every size, arrives
 * complete and once; and what it costs in packets.
 */
#include <stdio.h>
#include <stdlib.h>
#include "bed/cable.h"
#include "snic/transport/transport.h"

static bool is_send(uint8_t op)
{
	return op == WRC_WQE_SEND || op == WRC_WQE_SEND_IMM;
}

static bool has_recv(uint8_t op)
{
	return is_send(op) || op == WRC_WQE_WRITE_IMM;
}

/* ---- the matrix ------------------------------------------------------------ */

static const uint8_t ops[] = {
	WRC_WQE_SEND, WRC_WQE_SEND_IMM, WRC_WQE_WRITE, WRC_WQE_WRITE_IMM,
	WRC_WQE_READ,
};

static void expect_recv(struct pair *p, uint8_t op, uint32_t len, uint32_t imm)
{
	static const uint8_t opcode[] = {
		[WRC_WQE_SEND] = WRC_CQE_RESP_SEND,
		[WRC_WQE_SEND_IMM] = WRC_CQE_RESP_SEND_IMM,
		[WRC_WQE_WRITE_IMM] = WRC_CQE_RESP_WR_IMM,
	};
	struct wrc_cqe cqe;

	assert_int_equal(snic_cq_poll(p->b.host->nic, p->b.rcqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, opcode[op]);
	assert_int_equal(be32toh(cqe.byte_cnt), len);
	if (op != WRC_WQE_SEND)
		assert_int_equal(be32toh(cqe.imm), imm);
}

/* Three messages of one kind and size, back to back. */
static void one_case(struct pair *p, uint8_t op, uint32_t len, uint32_t seed)
{
	uint32_t n = len > 100000 ? 1 : 3, i;
	uint32_t sent = cq_count(p->a.host, p->a.scqn);
	uint32_t received = cq_count(p->b.host, p->b.rcqn);
	uint8_t *from = op == WRC_WQE_READ ? p->dst : p->src;
	uint8_t *to = op == WRC_WQE_READ ? p->src : p->dst;
	uint16_t first = p->a.pi;

	fill(from, n * len, seed);
	memset(to, 0xee, n * len + 64);
	for (i = 0; i < n; i++) {
		if (is_send(op))
			post_recv(&p->b, p->dst + i * len, len);
		else if (op == WRC_WQE_WRITE_IMM)
			post_recv(&p->b, NULL, 0);
		put(p, op, i * len, len, seed + i);
	}
	ring(&p->a);
	run_until(p, p->a.host, p->a.scqn, sent + n);
	expect_filled(to, n * len, seed);
	for (i = 0; i < 64; i++)
		assert_int_equal(to[n * len + i], 0xee);
	for (i = 0; i < n; i++) {
		/* READ: 32 bytes and a list; else what fits one block too. */
		expect_cqe(p->a.host, p->a.scqn, WRC_CQE_REQ, first + i);
		if (has_recv(op))
			expect_recv(p, op, len, seed + i);
	}
	/* Late duplicates change nothing. */
	cable_run(&p->c, MS);
	assert_int_equal(cq_count(p->b.host, p->b.rcqn),
			 received + (has_recv(op) ? n : 0));
}

static void matrix(const struct cable_faults *faults, uint16_t mtu, uint32_t psn)
{
	uint32_t sizes[] = {
		0, 1, 255, mtu - 1, mtu, mtu + 1, 4096, 4096 + 150, 1 << 20,
	};
	struct snic_qp_conn conn = pair_conn;
	struct pair p;
	unsigned int o, s;

	conn.mtu = mtu;
	pair_open(&p, mtu + psn, psn, &conn);
	p.c.faults = *faults;
	for (o = 0; o < sizeof(ops); o++)
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			one_case(&p, ops[o], sizes[s], o * 100 + s);
	assert_int_equal(state_of(&p.a), SNIC_QP_RTS);
	assert_int_equal(state_of(&p.b), SNIC_QP_RTS);
	pair_close(&p);
}

static const struct cable_faults no_faults = { 0 };
static const struct cable_faults lossy = { .loss = 0.05 };
static const struct cable_faults doubling = { .duplicate = 0.1 };
static const struct cable_faults disorder = { .reorder = 0.05 };
static const struct cable_faults damaging = { .corrupt = 0.05 };
static const struct cable_faults everything = {
	.loss = 0.01, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.01,
};

static void all_mtus(const struct cable_faults *faults)
{
	matrix(faults, 256, 0x1000);
	matrix(faults, 1024, 0xffff80);		/* wraps */
	matrix(faults, 4096, 0xfffffe);
}

static void test_clean(void **state) { all_mtus(&no_faults); }
static void test_loss(void **state) { all_mtus(&lossy); }
static void test_duplicates(void **state) { all_mtus(&doubling); }
static void test_reorder(void **state) { all_mtus(&disorder); }
static void test_corrupt(void **state) { all_mtus(&damaging); }
static void test_everything(void **state) { all_mtus(&everything); }

/* ---- atomics ------------------------------------------------------------------ */

static void test_fetch_add_once(void **state)
{
	struct pair p;
	unsigned int round, i, n = 0;

	pair_open(&p, 1, 0xfffff0, NULL);
	p.c.faults = (struct cable_faults){
		.loss = 0.1, .duplicate = 0.1, .reorder = 0.05, .corrupt = 0.02,
	};
	*p.word = 1000;
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 16; i++)
			put_atomic(&p, WRC_WQE_FA, i, 3, 0);
		ring(&p.a);
		run_until(&p, p.a.host, p.a.scqn, n + 16);
		for (i = 0; i < 16; i++)
			assert_int_equal(p.old[i], 1000 + 3 * (n + i));
		n += 16;
	}
	cable_run(&p.c, SECOND);
	assert_int_equal(*p.word, 1000 + 3 * n);
	assert_true(stats(&p, 1).duplicates > 0);
	pair_close(&p);
}

static void test_compare_swap(void **state)
{
	struct pair p;
	unsigned int i;

	pair_open(&p, 2, 5, NULL);
	p.c.faults = everything;
	for (i = 0; i < 64; i++)	/* i -> i + 1; each second one fails */
		put_atomic(&p, WRC_WQE_CS, i, i / 2 + 1, i / 2);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 64);
	for (i = 0; i < 64; i++)
		assert_int_equal(p.old[i], i / 2 + i % 2);
	assert_int_equal(*p.word, 32);
	pair_close(&p);
}

/* ---- mixtures ------------------------------------------------------------------- */

/* Operations of all kinds in flight at once, checked one by one. */
static void test_mixture(void **state)
{
	enum { N = 16, LEN = 3000 };
	struct pair p;
	unsigned int round, i, sent = 0, received = 0, adds = 0;
	uint32_t imm = 0;

	pair_open(&p, 3, 0xffff00, NULL);
	p.c.faults = everything;
	for (round = 0; round < 60; round++) {
		uint8_t kind[N];

		memset(p.old, 0xff, 8 * N);
		for (i = 0; i < N; i++) {
			unsigned int r = cable_random(&p.c) % 6;
			uint32_t off = i * LEN;

			kind[i] = r < 5 ? ops[r] : WRC_WQE_FA;
			fill(p.src + off, LEN, i + round);
			fill(p.dst + off, LEN, i + round + 1000);
			p.unsignaled = i < N - 1 && cable_random(&p.c) % 2;
			sent += r == 5 || !p.unsignaled;
			if (r == 5)
				put_atomic(&p, WRC_WQE_FA, i, 1, 0);
			else
				put(&p, kind[i], off, LEN, imm + i);
			if (is_send(kind[i]))
				post_recv(&p.b, p.dst + off, LEN);
			else if (has_recv(kind[i]))
				post_recv(&p.b, NULL, 0);
		}
		ring(&p.a);
		run_until(&p, p.a.host, p.a.scqn, sent);
		for (i = 0; i < N; i++) {
			uint32_t seed = i + round;

			if (kind[i] == WRC_WQE_FA) {
				assert_int_equal(p.old[i], adds++);
				continue;
			}
			if (kind[i] == WRC_WQE_READ)
				seed += 1000;
			expect_filled(p.src + i * LEN, LEN, seed);
			expect_filled(p.dst + i * LEN, LEN, seed);
			if (has_recv(kind[i])) {
				expect_recv(&p, kind[i], LEN, imm + i);
				received++;
			}
		}
		imm += N;
	}
	cable_run(&p.c, SECOND);
	assert_int_equal(*p.word, adds);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), received);
	pair_close(&p);
}

/* Lists of many small pieces on both sides; more than fit one packet's iovec. */
static void test_scattered(void **state)
{
	struct pair p;
	struct wqe w;
	unsigned int i;

	pair_open(&p, 4, 7, NULL);
	fill(p.src, 30 * 40, 9);
	w = wqe_begin(&p.a, WRC_WQE_WRITE, 0, CE);
	wqe_raddr(&w, host_iova(p.b.host, p.dst + 1), p.b.host->key);
	for (i = 0; i < 30; i++)
		wqe_data(&w, p.src + i * 40, 40);
	wqe_end(&w);
	w = wqe_begin(&p.a, WRC_WQE_READ, 0, CE);
	wqe_raddr(&w, host_iova(p.b.host, p.dst + 1), p.b.host->key);
	for (i = 0; i < 30; i++)
		wqe_data(&w, p.src + 4096 + i * 64, 40);
	wqe_end(&w);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 2);
	expect_filled(p.dst + 1, 30 * 40, 9);
	for (i = 0; i < 30; i++)
		assert_memory_equal(p.src + 4096 + i * 64, p.src + i * 40, 40);
	pair_close(&p);
}

static void test_inline(void **state)
{
	struct pair p;
	struct wqe w;
	uint8_t data[100];

	pair_open(&p, 5, 7, NULL);
	fill(data, sizeof(data), 1);
	post_recv(&p.b, p.dst, 200);
	w = wqe_begin(&p.a, WRC_WQE_SEND, 0, CE);
	wqe_inline(&w, data, sizeof(data));
	wqe_end(&w);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 1);
	expect_filled(p.dst, sizeof(data), 1);
	expect_recv(&p, WRC_WQE_SEND, sizeof(data), 0);
	pair_close(&p);
}

/* ---- what it costs ----------------------------------------------------------------- */

static void test_few_acks(void **state)
{
	struct pair p;
	unsigned int i;

	pair_open(&p, 6, 1, NULL);
	for (i = 0; i < 64; i++)
		put(&p, WRC_WQE_WRITE, i * 100, 100, 0);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 64);
	assert_int_equal(p.c.packets[0], 64);
	assert_true(p.c.acks[1] <= 5);
	assert_int_equal(stats(&p, 1).acks, p.c.acks[1]);
	/* Alone, each is acknowledged at once. */
	for (i = 0; i < 3; i++) {
		put(&p, WRC_WQE_WRITE, 0, 100, 0);
		ring(&p.a);
		cable_run(&p.c, 3 * CABLE_LATENCY);
		assert_int_equal(cq_count(p.a.host, p.a.scqn), 65 + i);
	}
	pair_close(&p);
}

static unsigned int asked;

static bool count_asked(struct cable *c, unsigned int from,
			const struct snic_pkt *pkt)
{
	asked += !from && pkt->ack_req;
	return true;
}

/* Often enough that the window does not close, but not for each message. */
static void test_ack_requests(void **state)
{
	struct pair p;
	unsigned int i;

	pair_open(&p, 20, 1, NULL);
	p.c.filter = count_asked;
	asked = 0;
	for (i = 0; i < 64; i++)
		put(&p, WRC_WQE_WRITE, i * 100, 100, 0);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 64);
	assert_in_range(asked, 2, 8);
	asked = 0;
	put(&p, WRC_WQE_WRITE, 0, 96 * 1024, 0);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 65);
	assert_in_range(asked, 3, 12);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	pair_close(&p);
}

static unsigned int pending(struct pair *p)
{
	return snic_rc_pending(snic_qp_lookup(p->a.host->nic, p->a.qpn));
}

/* Answers to requests that come one by one, as a chain sends them. */
static void some_answers(struct pair *p, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		post_recv(&p->b, NULL, 0);
		put(p, WRC_WQE_WRITE_IMM, 0, 2000, i);
		ring(&p->a);
		cable_run(&p->c, 300000);
		expect_recv(p, WRC_WQE_WRITE_IMM, 2000, i);
	}
}

/* If nobody waits for its completion, not every message asks for an ACK. */
static void test_lazy_acks(void **state)
{
	struct pair p;
	unsigned int i;
	uint64_t sent;

	pair_open(&p, 23, 0xffffe0, NULL);
	p.unsignaled = true;
	p.c.filter = count_asked;
	asked = 0;
	some_answers(&p, 100);
	assert_in_range(asked, 200 / 16, 200 / 15);
	assert_int_equal(p.c.packets[0], 200);
	/* When no more come, the last one asks for all. */
	asked = 0;
	cable_run(&p.c, 3 * MS);
	assert_int_equal(asked, 1);
	assert_int_equal(pending(&p), 0);
	assert_int_equal(p.c.packets[0], 201);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	cable_run(&p.c, SECOND);
	assert_int_equal(p.c.packets[0], 201);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), 100);

	/* A WQE that is waited for asks at once, for all before it. */
	some_answers(&p, 3);	/* the first asks: it came alone */
	assert_int_equal(pending(&p), 2);
	p.unsignaled = false;
	put(&p, WRC_WQE_WRITE, 0, 100, 0);
	p.unsignaled = true;
	put(&p, WRC_WQE_WRITE, 0, 100, 0);
	ring(&p.a);
	cable_run(&p.c, 3 * CABLE_LATENCY);
	expect_cqe(p.a.host, p.a.scqn, WRC_CQE_REQ, p.a.pi - 2);
	assert_int_equal(pending(&p), 0);

	/* So does a CQE that has to come after theirs. */
	some_answers(&p, 3);
	sent = p.c.packets[0];
	put_nop(&p.a, CE);
	ring(&p.a);
	cable_run(&p.c, CABLE_LATENCY);
	put_nop(&p.a, CE);
	ring(&p.a);
	cable_run(&p.c, 3 * CABLE_LATENCY);
	expect_cqe(p.a.host, p.a.scqn, WRC_CQE_REQ, p.a.pi - 2);
	expect_cqe(p.a.host, p.a.scqn, WRC_CQE_REQ, p.a.pi - 1);
	assert_int_equal(p.c.packets[0], sent + 1);

	/* Messages that come seldom ask at once, bursts of them too. */
	cable_run(&p.c, SECOND);
	sent = p.c.packets[0];
	for (i = 0; i < 10; i++) {
		put(&p, WRC_WQE_WRITE, 0, 100, 0);
		put(&p, WRC_WQE_WRITE, 0, 100, 0);
		ring(&p.a);
		cable_run(&p.c, 3 * MS);
	}
	assert_int_equal(p.c.packets[0], sent + 20);
	pair_close(&p);
}

static bool drop_one(struct cable *c, unsigned int from,
		     const struct snic_pkt *pkt);
static unsigned int drop_nr, seen;

/* An answer that is lost comes long before the time-out. */
static void test_lazy_loss(void **state)
{
	struct snic_qp_conn conn = pair_conn;
	struct pair p;

	conn.timeout = 18;	/* 1 s */
	for (drop_nr = 0; drop_nr < 3; drop_nr++) {
		pair_open(&p, 24, 1, &conn);
		p.unsignaled = true;
		some_answers(&p, 1);
		seen = 0;
		p.c.filter = drop_one;
		post_recv(&p.b, NULL, 0);
		put(&p, WRC_WQE_WRITE_IMM, 0, 3000, 5);
		ring(&p.a);
		cable_run(&p.c, 3 * MS);
		assert_int_equal(cq_count(p.b.host, p.b.rcqn), 2);
		cable_run(&p.c, 3 * MS);
		assert_int_equal(pending(&p), 0);
		assert_int_equal(stats(&p, 0).timeouts, 0);
		pair_close(&p);
	}
}

/* Bursts of them over a bad wire: what is sent again asks at once, so that it is
 * seldom left to the time-out. */
static void test_lazy_bursts(void **state)
{
	struct snic_qp_conn conn = pair_conn;
	struct pair p;
	unsigned int round, i;

	conn.timeout = 18;
	pair_open(&p, 25, 1, &conn);
	p.unsignaled = true;
	p.c.faults.loss = 0.04;
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 6; i++) {
			post_recv(&p.b, NULL, 0);
			put(&p, WRC_WQE_WRITE_IMM, 0, 2000, i);
		}
		ring(&p.a);
		run_until(&p, p.b.host, p.b.rcqn, (round + 1) * 6);
		for (i = 0; i < 6; i++)
			expect_recv(&p, WRC_WQE_WRITE_IMM, 2000, i);
	}
	assert_in_range(stats(&p, 0).timeouts, 0, 40);
	pair_close(&p);
}

static unsigned int solicited, writes_seen, reads_done;

static bool watch(struct cable *c, unsigned int from,
		  const struct snic_pkt *pkt)
{
	solicited += pkt->solicited;
	if (pkt->flags & SNIC_OPF_WRITE)
		writes_seen++;
	if (pkt->flags & SNIC_OPF_READ_RESP && pkt->flags & SNIC_OPF_LAST)
		reads_done++;
	/* Nothing of a fenced WRITE before the READ is answered. */
	return !writes_seen || reads_done == 1;
}

static void test_flags_of_wqes(void **state)
{
	struct pair p;
	struct wqe w;

	pair_open(&p, 21, 1, NULL);
	p.c.filter = watch;
	solicited = writes_seen = reads_done = 0;
	put(&p, WRC_WQE_READ, 0, 3000, 0);
	w = wqe_begin(&p.a, WRC_WQE_WRITE_IMM, 0,
		      CE | WRC_WQE_SE | WRC_WQE_FM_FENCE);
	wqe_raddr(&w, host_iova(p.b.host, p.dst), p.b.host->key);
	wqe_data(&w, p.src, 3000);
	wqe_end(&w);
	post_recv(&p.b, NULL, 0);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 2);
	assert_int_equal(writes_seen, 3);
	assert_int_equal(solicited, 1);		/* the last of the three */
	assert_int_equal(stats(&p, 0).retransmits, 0);
	pair_close(&p);
}

static uint32_t dropped;
static bool asked_again;

/* Loses the drop_nr'th data packet of side 0. */
static bool drop_one(struct cable *c, unsigned int from,
		     const struct snic_pkt *pkt)
{
	if (from)
		return true;
	if (seen > drop_nr && pkt->psn == dropped)
		asked_again = pkt->ack_req;
	if (seen++ != drop_nr)
		return true;
	dropped = pkt->psn;
	return false;
}

static void test_one_nak_per_gap(void **state)
{
	struct pair p;

	pair_open(&p, 7, 1, NULL);
	fill(p.src, 32 * 1024, 1);
	drop_nr = 3;
	seen = 0;
	p.c.filter = drop_one;
	put(&p, WRC_WQE_WRITE, 0, 32 * 1024, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 1);
	expect_filled(p.dst, 32 * 1024, 1);
	assert_int_equal(stats(&p, 1).naks, 1);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	/* From the lost one on, which asks for an early ACK. */
	assert_true(asked_again);
	assert_int_equal(stats(&p, 0).retransmits, 29);
	pair_close(&p);
}

static bool drop_some(struct cable *c, unsigned int from,
		      const struct snic_pkt *pkt)
{
	return from || seen++ % 23 != 20;
}

/* Loss after loss, each is noticed by its gap. */
static void test_many_gaps(void **state)
{
	struct pair p;

	pair_open(&p, 22, 1, NULL);
	fill(p.src, 300 * 1024, 1);
	seen = 0;
	p.c.filter = drop_some;
	put(&p, WRC_WQE_WRITE, 0, 300 * 1024, 0);
	put(&p, WRC_WQE_WRITE, 0, 300 * 1024, 0);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 2);
	expect_filled(p.dst, 300 * 1024, 1);
	assert_in_range(stats(&p, 1).naks, 3, 15);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	pair_close(&p);
}

/* Loses the drop_nr'th packet of side 1. */
static bool drop_answer(struct cable *c, unsigned int from,
			const struct snic_pkt *pkt)
{
	return !from || seen++ != drop_nr;
}

/* A READ whose data has a gap goes on from the gap, without a time-out. */
static void test_read_resumes(void **state)
{
	struct pair p;

	pair_open(&p, 8, 0xfffffc, NULL);
	fill(p.dst, 16 * 1024, 1);
	drop_nr = 5;
	seen = 0;
	p.c.filter = drop_answer;
	put(&p, WRC_WQE_READ, 0, 16 * 1024, 0);
	put(&p, WRC_WQE_WRITE, 20000, 100, 0);
	ring(&p.a);
	cable_run(&p.c, 10 * CABLE_LATENCY);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 2);
	expect_filled(p.src, 16 * 1024, 1);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	assert_int_equal(p.c.packets[0], 4);	/* both again, from packet 5 */
	pair_close(&p);
}

/* The ACK of a later WRITE does not complete a READ whose answer is lost. */
static void test_ack_is_no_data(void **state)
{
	struct pair p;

	pair_open(&p, 9, 1, NULL);
	fill(p.dst, 100, 1);
	drop_nr = 0;
	seen = 0;
	p.c.filter = drop_answer;
	put(&p, WRC_WQE_READ, 0, 100, 0);
	ring(&p.a);
	cable_run(&p.c, 3 * CABLE_LATENCY / 2);
	put(&p, WRC_WQE_WRITE, 200, 100, 0);
	ring(&p.a);
	cable_run(&p.c, 10 * CABLE_LATENCY);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 2);
	expect_filled(p.src, 100, 1);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	pair_close(&p);
}

static unsigned int reads_open, reads_most;

static bool count_reads(struct cable *c, unsigned int from,
			const struct snic_pkt *pkt)
{
	if (pkt->opcode == SNIC_OP_READ_REQ && ++reads_open > reads_most)
		reads_most = reads_open;
	if (pkt->flags & SNIC_OPF_READ_RESP && pkt->flags & SNIC_OPF_LAST)
		reads_open--;
	return true;
}

static void test_max_rd_atomic(void **state)
{
	struct pair p;
	unsigned int i;

	pair_open(&p, 10, 1, NULL);
	p.c.filter = count_reads;
	reads_open = reads_most = 0;
	for (i = 0; i < 20; i++)
		put(&p, WRC_WQE_READ, i * 2000, 2000, 0);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 20);
	assert_int_equal(reads_most, 4);
	pair_close(&p);
}

/* While one QP is sent a megabyte, another one's message does not wait. */
static void test_long_read_is_paced(void **state)
{
	struct end_opts opts = { 0 };
	struct pair p;
	struct end c, d;
	uint8_t *buf;
	uint64_t packets;

	pair_open(&p, 11, 1, NULL);
	end_open(p.a.host, &opts, &c);
	end_open(p.b.host, &opts, &d);
	buf = host_alloc(p.a.host, 64);
	pair_join(&c, &d, 9, NULL);
	post_recv(&c, buf, 64);
	put(&p, WRC_WQE_READ, 0, 1 << 20, 0);
	ring(&p.a);
	cable_run(&p.c, CABLE_LATENCY + 1);	/* d begins to answer */
	packets = p.c.packets[1];
	assert_true(packets > 0 && packets < 1024);
	put_nop(&d, 0);
	put_write(&d, CE, d.host->arena, 0, d.host->arena);
	ring(&d);
	cable_run(&p.c, 4 * CABLE_LATENCY);
	assert_int_equal(cq_count(d.host, d.scqn), 1);
	run_until(&p, p.a.host, p.a.scqn, 1);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_reorder),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_fetch_add_once),
		cmocka_unit_test(test_compare_swap),
		cmocka_unit_test(test_mixture),
		cmocka_unit_test(test_scattered),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_few_acks),
		cmocka_unit_test(test_ack_requests),
		cmocka_unit_test(test_lazy_acks),
		cmocka_unit_test(test_lazy_loss),
		cmocka_unit_test(test_lazy_bursts),
		cmocka_unit_test(test_flags_of_wqes),
		cmocka_unit_test(test_one_nak_per_gap),
		cmocka_unit_test(test_many_gaps),
		cmocka_unit_test(test_read_resumes),
		cmocka_unit_test(test_ack_is_no_data),
		cmocka_unit_test(test_max_rd_atomic),
		cmocka_unit_test(test_long_read_is_paced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
