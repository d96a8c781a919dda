// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC transport: single packets that a correct peer would not send, or not now,
 * and what each of them gets for an answer.
 */
#include "bed/cable.h"
#include "snic/transport/transport.h"

/* ---- requests -------------------------------------------------------------- */

#define PAYLOAD 2048

static bool quiet;	/* no AckReq */

/* Side 0's queue pair says something to side 1's; psn: from the first one. */
static void say(struct pair *p, uint8_t opcode, int32_t psn, uint32_t len,
		const struct snic_pkt *more)
{
	uint8_t buf[SNIC_PKT_HDR_MAX + PAYLOAD + 4] = { 0 };
	struct snic_pkt pkt = more ? *more : (struct snic_pkt){ 0 };
	size_t n;

	pkt.opcode = opcode;
	pkt.psn = snic_psn_add(1, psn);
	pkt.qpn = p->b.qpn;
	pkt.pad = -len & 3;
	pkt.ack_req = !quiet;
	if (!pkt.pkey)
		pkt.pkey = SNIC_PKEY_DEFAULT;
	n = snic_pkt_build(&pkt, buf);
	cable_inject(&p->c, 0, buf, n + len + pkt.pad);
}

static uint8_t last_syndrome, last_opcode;
static unsigned int nr_answers, nr_disordered;
static uint32_t last_psn;

static bool watch(struct cable *c, unsigned int from,
		  const struct snic_pkt *pkt)
{
	if (from) {
		if (nr_answers++ && snic_psn_diff(pkt->psn, last_psn) < 0)
			nr_disordered++;
		last_syndrome = pkt->syndrome;
		last_opcode = pkt->opcode;
		last_psn = pkt->psn;
	}
	return true;
}

static void open_watched(struct pair *p, uint64_t seed)
{
	pair_open(p, seed, 1, NULL);
	p->c.filter = watch;
	nr_answers = nr_disordered = 0;
	last_syndrome = 0xff;
}

static void expect_invalid(struct pair *p)
{
	cable_run(&p->c, MS);
	assert_int_equal(state_of(&p->b), SNIC_QP_ERR);
	assert_int_equal(last_syndrome, SNIC_NAK_INVALID_REQ);
	assert_int_equal(nr_answers, 1);
	pair_close(p);
}

static void test_sequence_errors(void **state)
{
	struct snic_pkt reth = { 0 };
	struct pair p;

	open_watched(&p, 20);
	say(&p, SNIC_OP_SEND_MIDDLE, 0, 1024, NULL);
	expect_invalid(&p);

	open_watched(&p, 21);
	say(&p, SNIC_OP_WRITE_LAST, 0, 100, NULL);
	expect_invalid(&p);

	open_watched(&p, 22);	/* a message in a message */
	post_recv(&p.b, p.dst, 4000);
	say(&p, SNIC_OP_SEND_FIRST, 0, 1024, NULL);
	cable_run(&p.c, MS);
	nr_answers = 0;
	say(&p, SNIC_OP_SEND_ONLY, 1, 10, NULL);
	cable_run(&p.c, MS);
	expect_error(p.b.host, p.b.rcqn, WRC_CQE_RESP_ERR,
		     WRC_SYND_REMOTE_INVAL, 0);
	expect_empty(p.b.host, p.b.rcqn);
	expect_invalid(&p);

	open_watched(&p, 28);	/* a message that changes its mind */
	post_recv(&p.b, p.dst, 4000);
	say(&p, SNIC_OP_SEND_FIRST, 0, 1024, NULL);
	cable_run(&p.c, MS);
	nr_answers = 0;
	say(&p, SNIC_OP_WRITE_LAST, 1, 10, NULL);
	expect_invalid(&p);

	open_watched(&p, 29);	/* ends with nothing */
	post_recv(&p.b, p.dst, 4000);
	say(&p, SNIC_OP_SEND_FIRST, 0, 1024, NULL);
	cable_run(&p.c, MS);
	nr_answers = 0;
	say(&p, SNIC_OP_SEND_LAST, 1, 0, NULL);
	expect_invalid(&p);

	open_watched(&p, 23);	/* not the path MTU */
	post_recv(&p.b, p.dst, 4000);
	say(&p, SNIC_OP_SEND_FIRST, 0, 1000, NULL);
	expect_invalid(&p);

	open_watched(&p, 24);	/* more than it */
	post_recv(&p.b, p.dst, 4000);
	say(&p, SNIC_OP_SEND_ONLY, 0, 1025, NULL);
	expect_invalid(&p);

	open_watched(&p, 25);	/* more than announced */
	reth.va = host_iova(p.b.host, p.dst);
	reth.rkey = p.b.host->key;
	reth.dma_len = 99;
	say(&p, SNIC_OP_WRITE_ONLY, 0, 100, &reth);
	expect_invalid(&p);

	open_watched(&p, 26);	/* less */
	reth.rkey = p.b.host->key;
	reth.dma_len = 101;
	say(&p, SNIC_OP_WRITE_ONLY, 0, 100, &reth);
	expect_invalid(&p);

	open_watched(&p, 27);	/* ends too early */
	reth.rkey = p.b.host->key;
	reth.dma_len = 3000;
	say(&p, SNIC_OP_WRITE_FIRST, 0, 1024, &reth);
	cable_run(&p.c, MS);
	nr_answers = 0;
	say(&p, SNIC_OP_WRITE_LAST, 1, 1024, NULL);
	expect_invalid(&p);
}

static void test_dropped(void **state)
{
	struct snic_pkt odd = { .pkey = 0x1234 };
	uint8_t raw[64] = { 0 };
	struct pair p;
	uint64_t bad;

	open_watched(&p, 30);
	post_recv(&p.b, p.dst, 100);
	bad = stats(&p, 1).rx_malformed;
	say(&p, SNIC_OP_SEND_ONLY, 0, 10, &odd);	/* partition */
	say(&p, SNIC_OP_UD_SEND_ONLY, 0, 12, NULL);	/* transport */
	raw[0] = 0x15;					/* no such opcode */
	raw[5] = p.b.qpn >> 16;
	raw[6] = p.b.qpn >> 8;
	raw[7] = p.b.qpn;
	cable_inject(&p.c, 0, raw, 16);
	raw[0] = SNIC_OP_SEND_ONLY;
	raw[1] = 0x01;					/* version */
	cable_inject(&p.c, 0, raw, 16);
	raw[1] = 0x30;					/* pad without payload */
	cable_inject(&p.c, 0, raw, 12);
	raw[0] = SNIC_OP_CMP_SWAP;			/* half a header */
	raw[1] = 0;
	cable_inject(&p.c, 0, raw, 20);
	cable_run(&p.c, MS);
	assert_int_equal(stats(&p, 1).rx_malformed, bad + 6);
	assert_int_equal(nr_answers, 0);
	assert_int_equal(state_of(&p.b), SNIC_QP_RTS);

	/* Somebody else's address. */
	qp_of(&p.b)->conn.dest_ip = htobe32(0x0a000003);
	say(&p, SNIC_OP_SEND_ONLY, 0, 10, NULL);
	cable_run(&p.c, MS);
	assert_int_equal(stats(&p, 1).rx_malformed, bad + 7);
	qp_of(&p.b)->conn.dest_ip = htobe32(0x0a000001);

	/* A limited member of the partition is heard. */
	odd.pkey = 0x7fff;
	say(&p, SNIC_OP_SEND_ONLY, 0, 10, &odd);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 1);
	expect_cqe(p.b.host, p.b.rcqn, WRC_CQE_RESP_SEND, 0);

	/* In ERR, nobody. */
	snic_qp_error(p.b.host->nic, p.b.qpn);
	odd = (struct snic_pkt){
		.va = host_iova(p.b.host, p.dst), .rkey = p.b.host->key,
		.dma_len = 10,
	};
	memset(p.dst, 0xee, 10);
	say(&p, SNIC_OP_WRITE_ONLY, 1, 10, &odd);
	cable_run(&p.c, MS);
	assert_int_equal(p.dst[0], 0xee);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(stats(&p, 1).rx_malformed, bad + 7);
	pair_close(&p);
}

static void test_send_with_invalidate(void **state)
{
	struct snic_pkt inv = { .inv_rkey = 0x12345678 };
	struct wrc_cqe cqe;
	struct pair p;

	open_watched(&p, 31);
	post_recv(&p.b, p.dst, 100);
	say(&p, SNIC_OP_SEND_ONLY_INV, 0, 10, &inv);
	cable_run(&p.c, MS);
	assert_int_equal(snic_cq_poll(p.b.host->nic, p.b.rcqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_RESP_SEND_INV);
	assert_int_equal(be32toh(cqe.imm), 0x12345678);
	assert_int_equal(be32toh(cqe.byte_cnt), 10);
	pair_close(&p);
}

/* An old READ again: answered, but not for more than it was, nor with data it
 * may not have. */
static void test_old_reads(void **state)
{
	struct snic_pkt reth = { .dma_len = 3000 };
	struct pair p;

	open_watched(&p, 32);
	reth.va = host_iova(p.b.host, p.dst);
	reth.rkey = p.b.host->key;
	say(&p, SNIC_OP_READ_REQ, 0, 0, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 3);
	say(&p, SNIC_OP_READ_REQ, 0, 0, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 6);
	assert_int_equal(last_psn, 3);
	reth.dma_len = 1000;	/* from the third packet on */
	say(&p, SNIC_OP_READ_REQ, 2, 0, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 7);
	assert_int_equal(last_psn, 3);
	reth.dma_len = 4000;
	say(&p, SNIC_OP_READ_REQ, 0, 0, &reth);
	reth.dma_len = 1u << 31;
	say(&p, SNIC_OP_READ_REQ, 0, 0, &reth);
	reth.dma_len = 1000;
	reth.rkey ^= 1;
	say(&p, SNIC_OP_READ_REQ, 0, 0, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 7);
	assert_int_equal(state_of(&p.b), SNIC_QP_RTS);
	pair_close(&p);
}

/* More at once than max_dest_rd_atomic: the rest has to be asked for again. */
static void too_many(uint8_t opcode)
{
	struct snic_pkt pkt = { .dma_len = 8, .swap_add = 1 };
	struct pair p;
	int i;

	open_watched(&p, 34);
	pkt.va = host_iova(p.b.host, p.word);
	pkt.rkey = p.b.host->key;
	for (i = 0; i < 6; i++)
		say(&p, opcode, i, 0, &pkt);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 5);	/* and one NAK */
	assert_int_equal(last_syndrome, SNIC_NAK_SEQ);
	assert_int_equal(last_psn, 5);
	for (i = 4; i < 8; i++)
		say(&p, opcode, i, 0, &pkt);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 9);
	/* Old ones too, with a new one among them. */
	for (i = 3; i < 10; i++)
		say(&p, opcode, i, 0, &pkt);
	cable_run(&p.c, MS);
	assert_int_equal(nr_disordered, 1);	/* back to the old ones */
	if (opcode == SNIC_OP_FETCH_ADD)
		assert_int_equal(*p.word, 8);
	pair_close(&p);
}

static void test_too_many(void **state)
{
	too_many(SNIC_OP_READ_REQ);
	too_many(SNIC_OP_FETCH_ADD);
}

/* Whatever arrives within one step is answered in PSN order. */
static void test_answers_in_order(void **state)
{
	struct snic_pkt reth = { .dma_len = 3000 };
	struct pair p;

	open_watched(&p, 35);
	reth.va = host_iova(p.b.host, p.dst);
	reth.rkey = p.b.host->key;
	say(&p, SNIC_OP_READ_REQ, 0, 0, &reth);
	cable_run(&p.c, MS);
	nr_answers = 0;
	say(&p, SNIC_OP_READ_REQ, 3, 0, &reth);
	say(&p, SNIC_OP_READ_REQ, 0, 0, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 6);
	assert_int_equal(nr_disordered, 0);
	assert_int_equal(last_opcode, SNIC_OP_READ_RESP_LAST);

	/* A READ's answer acknowledges the WRITE before it, not the one after. */
	nr_answers = 0;
	reth.dma_len = 10;
	say(&p, SNIC_OP_WRITE_ONLY, 6, 10, &reth);
	say(&p, SNIC_OP_READ_REQ, 7, 0, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(last_opcode, SNIC_OP_READ_RESP_ONLY);
	nr_answers = 0;
	say(&p, SNIC_OP_READ_REQ, 8, 0, &reth);
	say(&p, SNIC_OP_WRITE_ONLY, 9, 10, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 2);
	assert_int_equal(last_opcode, SNIC_OP_ACK);
	assert_int_equal(last_psn, 10);

	/* One ACK for all, the latest. */
	nr_answers = 0;
	say(&p, SNIC_OP_WRITE_ONLY, 10, 10, &reth);
	say(&p, SNIC_OP_WRITE_ONLY, 11, 10, &reth);
	say(&p, SNIC_OP_WRITE_ONLY, 9, 10, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(last_psn, 12);

	/* A gap that is closed at once: nothing is missing. */
	nr_answers = 0;
	say(&p, SNIC_OP_WRITE_ONLY, 13, 10, &reth);
	say(&p, SNIC_OP_WRITE_ONLY, 12, 10, &reth);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 1);
	assert_int_equal(last_syndrome, SNIC_ACK_UNLIMITED);
	assert_int_equal(last_psn, 14);

	/* A requester that does not ask gets no ACK. */
	nr_answers = 0;
	quiet = true;
	say(&p, SNIC_OP_WRITE_ONLY, 14, 10, &reth);
	cable_run(&p.c, MS);
	quiet = false;
	assert_int_equal(nr_answers, 0);
	pair_close(&p);
}

/* A READ of which one turn's packets are sent. */
static void open_half_read(struct pair *p, struct snic_pkt *reth)
{
	open_watched(p, 36);
	*reth = (struct snic_pkt){ .dma_len = 128 * 1024, .va = 0x10000 };
	assert_int_equal(snic_mkey_reg(p->b.host->nic, p->b.host->pdn, p->dst,
				       128 * 1024, 0x10000, ALL_RIGHTS,
				       &reth->rkey), 0);
	say(p, SNIC_OP_READ_REQ, 0, 0, reth);
	p->c.vt.now++;
	say(p, SNIC_OP_READ_REQ, 0, 0, reth);
	p->c.vt.now--;
	cable_run(&p->c, CABLE_LATENCY);
	assert_int_equal(nr_answers, 32);
}

static void test_half_sent_read(void **state)
{
	struct snic_pkt reth;
	struct pair p;

	open_half_read(&p, &reth);	/* asked for again: from the start */
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 32 + 128);
	assert_int_equal(last_psn, 128);
	pair_close(&p);

	open_half_read(&p, &reth);
	assert_int_equal(snic_mkey_dereg(p.b.host->nic, reth.rkey), 0);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 33);
	assert_int_equal(last_syndrome, SNIC_NAK_REMOTE_ACCESS);
	assert_int_equal(state_of(&p.b), SNIC_QP_ERR);
	pair_close(&p);

	/* Nobody's turn comes when the queue pair is gone. */
	open_half_read(&p, &reth);
	assert_int_equal(snic_qp_reset(p.b.host->nic, p.b.qpn), 0);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 32);
	pair_close(&p);
	open_half_read(&p, &reth);
	assert_int_equal(snic_qp_error(p.b.host->nic, p.b.qpn), 0);
	assert_int_equal(snic_qp_destroy(p.b.host->nic, p.b.qpn), 0);
	cable_run(&p.c, MS);
	assert_int_equal(nr_answers, 32);
	pair_close(&p);
}

/* ---- answers --------------------------------------------------------------- */

/* Side 1 answers what it was not asked; b has nothing to do with it. */
static void answer(struct pair *p, uint8_t opcode, uint32_t psn,
		   uint8_t syndrome, uint32_t len)
{
	uint8_t buf[SNIC_PKT_HDR_MAX + PAYLOAD] = { 0 };
	struct snic_pkt pkt = {
		.opcode = opcode, .psn = psn, .qpn = p->a.qpn,
		.syndrome = syndrome, .pkey = SNIC_PKEY_DEFAULT,
		.pad = -len & 3,
	};
	size_t n = snic_pkt_build(&pkt, buf);

	cable_inject(&p->c, 1, buf, n + len + pkt.pad);
	cable_run(&p->c, 2 * CABLE_LATENCY);
}

/* One WQE that gets no answer but ours. */
static void open_unanswered(struct pair *p, uint8_t opcode, uint32_t len)
{
	pair_open(p, 40, 1, NULL);
	p->c.filter = drop_all;
	if (opcode == WRC_WQE_FA)
		put_atomic(p, opcode, 0, 1, 0);
	else
		put(p, opcode, 0, len, 0);
	put(p, WRC_WQE_WRITE, 0, 100, 0);
	ring(&p->a);
	cable_run(&p->c, CABLE_LATENCY);
}

static void expect_pending(struct pair *p, unsigned int n)
{
	assert_int_equal(snic_rc_pending(qp_of(&p->a)), n);
	assert_int_equal(state_of(&p->a), SNIC_QP_RTS);
}

static void test_false_acks(void **state)
{
	struct pair p;

	open_unanswered(&p, WRC_WQE_WRITE, 3000);	/* PSN 1 to 3, 4 */
	answer(&p, SNIC_OP_ACK, 5, SNIC_ACK_UNLIMITED, 0);
	answer(&p, SNIC_OP_ACK, 0, SNIC_ACK_UNLIMITED, 0);
	answer(&p, SNIC_OP_ACK, 0x800001, SNIC_ACK_UNLIMITED, 0);
	answer(&p, SNIC_OP_ACK, 4, 0x40, 0);	/* reserved */
	answer(&p, SNIC_OP_ACK, 4, SNIC_AETH_NAK | 5, 0);
	answer(&p, SNIC_OP_ACK, 6, SNIC_NAK_SEQ, 0);
	answer(&p, SNIC_OP_ACK, 0, SNIC_NAK_REMOTE_OP, 0);
	answer(&p, SNIC_OP_READ_RESP_ONLY, 4, SNIC_NAK_SEQ, 100);
	expect_pending(&p, 2);
	answer(&p, SNIC_OP_ACK, 2, SNIC_ACK_UNLIMITED, 0);	/* in part */
	expect_pending(&p, 2);
	answer(&p, SNIC_OP_ACK, 5, SNIC_NAK_SEQ, 0);	/* all before 5 */
	expect_pending(&p, 0);
	expect_done(&p, 0);
	expect_done(&p, 1);
	pair_close(&p);
}

static void bad_response(uint8_t wqe, uint8_t opcode, uint32_t len)
{
	struct pair p;

	open_unanswered(&p, wqe, 3000);
	memset(p.src, 0xee, 4096);
	answer(&p, opcode, 1, SNIC_ACK_UNLIMITED, len);
	expect_req_error(&p, WRC_SYND_BAD_RESP, 0);
	expect_req_error(&p, WRC_SYND_WR_FLUSH, 1);
	assert_int_equal(p.src[0], 0xee);
	pair_close(&p);
}

static void test_bad_responses(void **state)
{
	struct pair p;

	bad_response(WRC_WQE_READ, SNIC_OP_READ_RESP_FIRST, 1000);
	bad_response(WRC_WQE_READ, SNIC_OP_READ_RESP_FIRST, 1028);
	bad_response(WRC_WQE_READ, SNIC_OP_READ_RESP_ONLY, 1024);
	bad_response(WRC_WQE_READ, SNIC_OP_READ_RESP_LAST, 1024);
	bad_response(WRC_WQE_READ, SNIC_OP_ATOMIC_ACK, 0);
	bad_response(WRC_WQE_WRITE, SNIC_OP_READ_RESP_FIRST, 1024);
	bad_response(WRC_WQE_WRITE, SNIC_OP_ATOMIC_ACK, 0);
	bad_response(WRC_WQE_FA, SNIC_OP_READ_RESP_ONLY, 8);

	/* A refusal of the WRITE says nothing about the READ before it. */
	open_unanswered(&p, WRC_WQE_READ, 3000);
	answer(&p, SNIC_OP_ACK, 4, SNIC_NAK_REMOTE_ACCESS, 0);
	expect_pending(&p, 2);
	/* One in the middle of the READ does. */
	answer(&p, SNIC_OP_READ_RESP_FIRST, 1, SNIC_ACK_UNLIMITED, 1024);
	answer(&p, SNIC_OP_ACK, 2, SNIC_NAK_REMOTE_ACCESS, 0);
	expect_req_error(&p, WRC_SYND_REMOTE_ACCESS, 0);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequence_errors),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_false_acks),
		cmocka_unit_test(test_bad_responses),
		cmocka_unit_test(test_send_with_invalidate),
		cmocka_unit_test(test_old_reads),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_answers_in_order),
		cmocka_unit_test(test_half_sent_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
