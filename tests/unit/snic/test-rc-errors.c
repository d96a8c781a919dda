// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC transport: what is refused, what is given up, and what the two sides are
 * told about it.
 */
#include "bed/cable.h"
#include "snic/transport/transport.h"

static struct snic_qp_info info_of(struct end *e)
{
	struct snic_qp_info info;

	assert_int_equal(snic_qp_query(e->host->nic, e->qpn, &info), 0);
	return info;
}

/* ---- nobody answers ---------------------------------------------------------- */

static void test_retries_exhausted(void **state)
{
	struct snic_qp_conn conn = pair_conn;
	struct snic_stats st;
	struct pair p;
	unsigned int i;
	uint64_t start;

	conn.retry_cnt = 3;
	pair_open(&p, 1, 1, &conn);
	p.c.filter = drop_all;
	start = p.c.vt.now;
	for (i = 0; i < 40; i++)
		put(&p, WRC_WQE_WRITE, i * 100, 100, 0);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 40);
	expect_req_error(&p, WRC_SYND_RETRY_EXC, 0);
	for (i = 1; i < 40; i++)
		expect_req_error(&p, WRC_SYND_WR_FLUSH, i);
	st = stats(&p, 0);
	assert_int_equal(st.timeouts, 4);
	assert_int_equal(info_of(&p.a).syndrome, WRC_SYND_RETRY_EXC);
	/* No flood: after a time-out only a few packets are tried. */
	assert_true(p.c.packets[0] <= 40 + 3 * 8);
	/* 4.19 ms << 10: 1 + 2 + 4 + 4 times. */
	assert_in_range(p.c.vt.now - start, 11 * (4096ull << 10),
			11 * (4096ull << 10) + 3 * MS);
	pair_close(&p);
}

static void test_timeout_never(void **state)
{
	struct snic_qp_conn conn = pair_conn;
	struct pair p;

	conn.timeout = 0;
	pair_open(&p, 2, 1, &conn);
	p.c.filter = drop_all;
	put(&p, WRC_WQE_WRITE, 0, 100, 0);
	ring(&p.a);
	cable_run(&p.c, 1000 * SECOND);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 0);
	assert_int_equal(p.c.packets[0], 1);
	pair_close(&p);
}

static unsigned int seen;

/* Side 0 loses its first 105 packets. */
static bool drop_first(struct cable *c, unsigned int from,
		       const struct snic_pkt *pkt)
{
	return from || seen++ >= 105;
}

static void test_timeout_recovers(void **state)
{
	struct pair p;

	pair_open(&p, 3, 0xffffff, NULL);
	seen = 0;
	p.c.filter = drop_first;
	fill(p.src, 100000, 3);
	put(&p, WRC_WQE_WRITE, 0, 100000, 0);
	ring(&p.a);
	run_until(&p, p.a.host, p.a.scqn, 1);
	expect_filled(p.dst, 100000, 3);
	assert_true(stats(&p, 0).timeouts > 0);
	pair_close(&p);
}

/* ---- receiver not ready ---------------------------------------------------------- */

static void rnr_then_ready(uint8_t opcode, uint32_t len)
{
	struct pair p;

	pair_open(&p, 4, 1, NULL);
	fill(p.src, len, 3);
	put(&p, opcode, 0, len, 77);
	put(&p, WRC_WQE_WRITE, 8192, 100, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 0);
	/* 10 us and the way there and back, each time. */
	assert_in_range(stats(&p, 1).rnr_naks, 30, 60);
	assert_int_equal(stats(&p, 1).naks, 0);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	post_recv(&p.b, p.dst, len);
	cable_run(&p.c, MS);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 2);
	assert_int_equal(cq_count(p.b.host, p.b.rcqn), 1);
	expect_filled(p.dst, len, 3);
	pair_close(&p);
}

static void test_rnr(void **state)
{
	rnr_then_ready(WRC_WQE_SEND, 3000);
	rnr_then_ready(WRC_WQE_WRITE_IMM, 3000);
	rnr_then_ready(WRC_WQE_SEND_IMM, 0);
}

static void test_rnr_exhausted(void **state)
{
	struct snic_qp_conn conn = pair_conn;
	struct pair p;

	conn.rnr_retry = 2;
	pair_open(&p, 5, 1, &conn);
	put(&p, WRC_WQE_WRITE, 0, 100, 0);
	put(&p, WRC_WQE_SEND, 0, 100, 0);
	put(&p, WRC_WQE_SEND, 0, 100, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_done(&p, 0);
	expect_req_error(&p, WRC_SYND_RNR_EXC, 1);
	expect_req_error(&p, WRC_SYND_WR_FLUSH, 2);
	assert_int_equal(stats(&p, 1).rnr_naks, 3);
	/* Its peer has done nothing wrong. */
	assert_int_equal(state_of(&p.b), SNIC_QP_RTS);
	pair_close(&p);
}

/* Progress in between, and the count begins anew. */
static void test_rnr_count_restarts(void **state)
{
	struct snic_qp_conn conn = pair_conn;
	struct pair p;
	unsigned int i;

	conn.rnr_retry = 3;
	conn.min_rnr_timer = 14;	/* 1 ms */
	pair_open(&p, 50, 1, &conn);
	for (i = 0; i < 4; i++)
		put(&p, WRC_WQE_SEND, 0, 100, 0);
	ring(&p.a);
	for (i = 0; i < 4; i++) {	/* two RNR NAKs each */
		cable_run(&p.c, 2 * MS);
		post_recv(&p.b, p.dst, 100);
	}
	cable_run(&p.c, 10 * MS);
	for (i = 0; i < 4; i++)
		expect_done(&p, i);
	assert_true(stats(&p, 1).rnr_naks > 4);
	pair_close(&p);
}

/* ---- requests that are refused --------------------------------------------------- */

/* A WQE of a with a remote address and key of its own. */
static void put_at(struct pair *p, uint8_t opcode, uint64_t raddr,
		   uint32_t rkey, uint32_t len)
{
	struct wqe w = wqe_begin(&p->a, opcode, 0, CE);

	wqe_raddr(&w, raddr, rkey);
	if (opcode == WRC_WQE_FA)
		wqe_u64x2(&w, 1, 0);
	if (len)
		wqe_data(&w, p->src, len);
	wqe_end(&w);
}

struct refusal {
	uint8_t opcode;
	uint64_t raddr;
	uint32_t len;
	unsigned int rights;	/* of the key */
	unsigned int no_access;	/* of the queue pair */
	bool wrong_key;
	uint8_t syndrome, remote;
};

static void refused(const struct refusal *r)
{
	struct end_opts opts = { .no_access = r->no_access };
	struct end c, d;
	struct pair p;
	uint32_t key;

	pair_open(&p, 6, 1, NULL);
	end_open(p.a.host, &opts, &c);
	end_open(p.b.host, &opts, &d);
	pair_join(&c, &d, 5, NULL);
	p.a = c;
	assert_int_equal(snic_mkey_reg(d.host->nic, d.host->pdn, p.dst, 4096,
				       0x10000, r->rights, &key), 0);
	if (!r->no_access)	/* one that is fine before it */
		put(&p, WRC_WQE_WRITE, 0, 100, 0);
	put_at(&p, r->opcode, r->raddr, r->wrong_key ? key ^ 0x55 : key,
	       r->len);
	put(&p, WRC_WQE_WRITE, 0, 100, 0);
	post_recv(&d, p.dst, 64);
	ring(&p.a);
	cable_run(&p.c, MS);
	if (!r->no_access)
		expect_done(&p, 0);
	expect_req_error(&p, r->syndrome, !r->no_access);
	expect_req_error(&p, WRC_SYND_WR_FLUSH, !r->no_access + 1);
	expect_empty(p.a.host, p.a.scqn);
	assert_int_equal(info_of(&d).state, SNIC_QP_ERR);
	assert_int_equal(info_of(&d).syndrome, r->remote);
	expect_error(d.host, d.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_WR_FLUSH, 0);
	assert_int_equal(stats(&p, 1).naks, 1);
	pair_close(&p);
}

#define ACCESS_REFUSED	WRC_SYND_REMOTE_ACCESS, WRC_SYND_LOCAL_ACCESS
#define INVALID		WRC_SYND_REMOTE_INVAL, WRC_SYND_REMOTE_INVAL

static void test_refused(void **state)
{
	static const struct refusal table[] = {
		/* bounds */
		{ WRC_WQE_WRITE, 0x10000 + 4095, 2, ALL_RIGHTS, 0, false,
		  ACCESS_REFUSED },
		{ WRC_WQE_WRITE, 0xffff, 2, ALL_RIGHTS, 0, false,
		  ACCESS_REFUSED },
		{ WRC_WQE_WRITE, 0x10000, 4097, ALL_RIGHTS, 0, false,
		  ACCESS_REFUSED },
		{ WRC_WQE_WRITE, UINT64_MAX - 10, 100, ALL_RIGHTS, 0, false,
		  ACCESS_REFUSED },
		{ WRC_WQE_READ, 0x10001, 4096, ALL_RIGHTS, 0, false,
		  ACCESS_REFUSED },
		{ WRC_WQE_FA, 0x11000, 8, ALL_RIGHTS, 0, false,
		  ACCESS_REFUSED },
		/* keys */
		{ WRC_WQE_WRITE, 0x10000, 1, ALL_RIGHTS, 0, true,
		  ACCESS_REFUSED },
		{ WRC_WQE_READ, 0x10000, 1, ALL_RIGHTS, 0, true,
		  ACCESS_REFUSED },
		{ WRC_WQE_FA, 0x10000, 8, ALL_RIGHTS, 0, true,
		  ACCESS_REFUSED },
		{ WRC_WQE_WRITE, 0x10000, 1,
		  ALL_RIGHTS & ~SNIC_REMOTE_WRITE, 0, false, ACCESS_REFUSED },
		{ WRC_WQE_READ, 0x10000, 1,
		  ALL_RIGHTS & ~SNIC_REMOTE_READ, 0, false, ACCESS_REFUSED },
		{ WRC_WQE_FA, 0x10000, 8,
		  ALL_RIGHTS & ~SNIC_REMOTE_ATOMIC, 0, false, ACCESS_REFUSED },
		/* what the queue pair may */
		{ WRC_WQE_WRITE, 0x10000, 1, ALL_RIGHTS, SNIC_REMOTE_WRITE,
		  false, INVALID },
		{ WRC_WQE_READ, 0x10000, 1, ALL_RIGHTS, SNIC_REMOTE_READ,
		  false, INVALID },
		{ WRC_WQE_FA, 0x10000, 8, ALL_RIGHTS, SNIC_REMOTE_ATOMIC,
		  false, INVALID },
		/* alignment */
		{ WRC_WQE_FA, 0x10004, 8, ALL_RIGHTS, 0, false, INVALID },
	};
	unsigned int i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		refused(&table[i]);
}

/* An empty WRITE or READ needs no key. */
static void test_empty_needs_no_key(void **state)
{
	struct pair p;

	pair_open(&p, 7, 1, NULL);
	put_at(&p, WRC_WQE_WRITE, 12345, 0xdead, 0);
	put_at(&p, WRC_WQE_READ, 12345, 0xdead, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_done(&p, 0);
	expect_done(&p, 1);
	pair_close(&p);
}

static void test_send_too_long(void **state)
{
	struct pair p;

	pair_open(&p, 8, 1, NULL);
	post_recv(&p.b, p.dst, 2999);
	post_recv(&p.b, p.dst, 4000);
	memset(p.dst, 0xee, 4096);
	put(&p, WRC_WQE_SEND, 0, 3000, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_req_error(&p, WRC_SYND_REMOTE_INVAL, 0);
	expect_error(p.b.host, p.b.rcqn, WRC_CQE_RESP_ERR,
		     WRC_SYND_LOCAL_LENGTH, 0);
	expect_error(p.b.host, p.b.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_WR_FLUSH, 1);
	expect_empty(p.b.host, p.b.rcqn);
	assert_int_equal(p.dst[2999], 0xee);
	pair_close(&p);
}

static void test_bad_recv_list(void **state)
{
	struct wrc_wqe_data *d;
	struct pair p;

	pair_open(&p, 9, 1, NULL);
	post_recv(&p.b, p.dst, 100);
	d = (struct wrc_wqe_data *)p.b.rq;
	d->lkey = htobe32(0xdead);
	put(&p, WRC_WQE_SEND, 0, 100, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_req_error(&p, WRC_SYND_REMOTE_OP, 0);
	expect_error(p.b.host, p.b.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_LOCAL_PROT,
		     0);
	expect_empty(p.b.host, p.b.rcqn);
	pair_close(&p);
}

/* ---- local errors ------------------------------------------------------------------ */

static void test_local_errors(void **state)
{
	struct snic_qp_conn conn = pair_conn;
	struct pair p;
	struct wqe w;

	pair_open(&p, 10, 1, NULL);
	w = wqe_begin(&p.a, WRC_WQE_SEND, 0, CE);
	wqe_u64x2(&w, 100ull << 32 | 0xdead, host_iova(p.a.host, p.src));
	wqe_end(&w);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_req_error(&p, WRC_SYND_LOCAL_PROT, 0);
	assert_int_equal(p.c.packets[0], 0);
	pair_close(&p);

	/* Masked atomics have no place on the wire. */
	pair_open(&p, 11, 1, NULL);
	w = wqe_begin(&p.a, WRC_WQE_MASKED_FA, WRC_WQE_OPMOD_MASKED_8, CE);
	wqe_raddr(&w, host_iova(p.b.host, p.word), p.b.host->key);
	wqe_u64x2(&w, 1, 0);
	wqe_data(&w, p.old, 8);
	wqe_end(&w);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_req_error(&p, WRC_SYND_LOCAL_QP_OP, 0);
	pair_close(&p);

	conn.max_rd_atomic = 0;
	pair_open(&p, 12, 1, &conn);
	put(&p, WRC_WQE_READ, 0, 100, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_req_error(&p, WRC_SYND_LOCAL_QP_OP, 0);
	pair_close(&p);
}

/* Registers a second key for a's buffer and puts a WQE that uses it. */
static uint32_t put_with_key(struct pair *p, uint8_t opcode, uint32_t len)
{
	struct wqe w;
	uint32_t key;

	assert_int_equal(snic_mkey_reg(p->a.host->nic, p->a.host->pdn, p->src,
				       len, 0x1000000, ALL_RIGHTS, &key), 0);
	w = wqe_begin(&p->a, opcode, 0, CE);
	wqe_raddr(&w, host_iova(p->b.host, p->dst), p->b.host->key);
	wqe_u64x2(&w, (uint64_t)len << 32 | key, 0x1000000);
	wqe_end(&w);
	return key;
}

/* The key goes away while the message is under way. */
static void local_key_vanishes(uint8_t opcode)
{
	struct pair p;
	uint32_t key;

	pair_open(&p, 13, 1, NULL);
	put(&p, WRC_WQE_WRITE, 1 << 20, 5000, 0);
	key = put_with_key(&p, opcode, 1 << 20);
	put(&p, WRC_WQE_WRITE, 1 << 20, 5000, 0);
	ring(&p.a);
	cable_run(&p.c, 3 * CABLE_LATENCY);
	assert_int_equal(snic_mkey_dereg(p.a.host->nic, key), 0);
	cable_run(&p.c, 10 * MS);
	expect_done(&p, 0);
	expect_req_error(&p, WRC_SYND_LOCAL_PROT, 1);
	expect_req_error(&p, WRC_SYND_WR_FLUSH, 2);
	pair_close(&p);
}

static void test_local_key_vanishes(void **state)
{
	local_key_vanishes(WRC_WQE_WRITE);
	local_key_vanishes(WRC_WQE_READ);
}

static bool drop_answers(struct cable *c, unsigned int from,
			 const struct snic_pkt *pkt)
{
	return !from;
}

/* The same when older WQEs are not acknowledged yet: they come first. */
static void test_bad_wqe_waits_its_turn(void **state)
{
	struct pair p;
	uint32_t key;
	unsigned int i;

	pair_open(&p, 14, 1, NULL);
	p.c.filter = drop_answers;
	for (i = 0; i < 5; i++)
		put(&p, WRC_WQE_WRITE, 1 << 20, 100, 0);
	key = put_with_key(&p, WRC_WQE_WRITE, 100);
	ring(&p.a);
	cable_run(&p.c, MS);
	assert_int_equal(snic_mkey_dereg(p.a.host->nic, key), 0);
	cable_run(&p.c, 6 * MS);	/* tried again by now */
	p.c.filter = NULL;
	cable_run(&p.c, 100 * MS);
	for (i = 0; i < 5; i++)
		expect_done(&p, i);
	expect_req_error(&p, WRC_SYND_LOCAL_PROT, 5);
	pair_close(&p);
}

static void remote_key_vanishes(uint8_t opcode)
{
	struct pair p;
	uint32_t key;

	pair_open(&p, 15, 1, NULL);
	assert_int_equal(snic_mkey_reg(p.b.host->nic, p.b.host->pdn, p.dst,
				       1 << 20, 0x10000, ALL_RIGHTS, &key), 0);
	put_at(&p, opcode, 0x10000, key, 1 << 20);
	ring(&p.a);
	cable_run(&p.c, 3 * CABLE_LATENCY);
	assert_int_equal(snic_mkey_dereg(p.b.host->nic, key), 0);
	cable_run(&p.c, 10 * MS);
	expect_req_error(&p, WRC_SYND_REMOTE_ACCESS, 0);
	assert_int_equal(state_of(&p.b), SNIC_QP_ERR);
	pair_close(&p);
}

static void test_remote_key_vanishes(void **state)
{
	remote_key_vanishes(WRC_WQE_WRITE);
	remote_key_vanishes(WRC_WQE_READ);
}

/* ---- flush ---------------------------------------------------------------------------- */

static void test_flush_in_order(void **state)
{
	struct pair p;
	unsigned int i;

	pair_open(&p, 16, 1, NULL);
	p.c.filter = drop_all;
	for (i = 0; i < 200; i++)	/* more than are sent at once */
		put(&p, i % 3 ? WRC_WQE_WRITE : WRC_WQE_READ, i * 100, 100, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	assert_int_equal(snic_qp_error(p.a.host->nic, p.a.qpn), 0);
	cable_run(&p.c, MS);
	for (i = 0; i < 200; i++)
		expect_req_error(&p, WRC_SYND_WR_FLUSH, i);
	expect_empty(p.a.host, p.a.scqn);
	assert_int_equal(snic_rc_pending(qp_of(&p.a)), 0);
	pair_close(&p);
}

/* The third packet of side 0 and all after it are lost. */
static bool drop_tail(struct cable *c, unsigned int from,
		      const struct snic_pkt *pkt)
{
	return from || seen++ < 2;
}

static void test_half_message_is_flushed(void **state)
{
	struct pair p;

	pair_open(&p, 17, 1, NULL);
	seen = 0;
	p.c.filter = drop_tail;
	post_recv(&p.b, p.dst, 5000);
	post_recv(&p.b, p.dst, 5000);
	put(&p, WRC_WQE_SEND, 0, 5000, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_empty(p.b.host, p.b.rcqn);
	assert_int_equal(info_of(&p.b).rq_consumed, 1);
	assert_int_equal(snic_qp_error(p.b.host->nic, p.b.qpn), 0);
	expect_error(p.b.host, p.b.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_WR_FLUSH, 0);
	expect_error(p.b.host, p.b.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_WR_FLUSH, 1);
	expect_empty(p.b.host, p.b.rcqn);
	pair_close(&p);
}

/* Reset and connected again, both sides start afresh. */
static void test_reset(void **state)
{
	struct pair p;
	unsigned int i;

	pair_open(&p, 18, 1, NULL);
	for (i = 0; i < 20; i++) {
		put(&p, WRC_WQE_WRITE, 0, 100000, 0);
		put(&p, WRC_WQE_READ, 0, 100000, 0);
		ring(&p.a);
		cable_run(&p.c, 3 * CABLE_LATENCY);
		assert_int_equal(snic_qp_reset(p.a.host->nic, p.a.qpn), 0);
		assert_int_equal(snic_qp_reset(p.b.host->nic, p.b.qpn), 0);
		cable_run(&p.c, MS);	/* stray packets: nobody listens */
		p.a.pi = 0;
		pair_join(&p.a, &p.b, 0x1000 * i, NULL);
	}
	fill(p.src, 5000, 1);
	put(&p, WRC_WQE_WRITE, 0, 5000, 0);
	ring(&p.a);
	cable_run(&p.c, MS);
	expect_filled(p.dst, 5000, 1);
	pair_close(&p);
}

/* What is owed for requests before the one that is refused comes first. */
static void test_refused_behind_replies(void **state)
{
	static const uint8_t bad[] = { WRC_WQE_READ, WRC_WQE_FA, WRC_WQE_WRITE };
	unsigned int i, k;
	struct pair p;

	for (k = 0; k < sizeof(bad); k++) {
		pair_open(&p, 7, 1, NULL);
		fill(p.dst, 20000, 3);
		put(&p, WRC_WQE_READ, 0, 20000, 0);
		for (i = 0; i < 3; i++)
			put_atomic(&p, WRC_WQE_FA, i, 1, 0);
		put_at(&p, bad[k], 0x10000, 0xdead00, 8);
		put_atomic(&p, WRC_WQE_FA, 3, 1, 0);
		ring(&p.a);
		cable_run(&p.c, MS);
		for (i = 0; i < 4; i++)
			expect_done(&p, i);
		expect_req_error(&p, WRC_SYND_REMOTE_ACCESS, 4);
		expect_req_error(&p, WRC_SYND_WR_FLUSH, 5);
		expect_empty(p.a.host, p.a.scqn);
		expect_filled(p.src, 20000, 3);
		assert_int_equal(info_of(&p.b).state, SNIC_QP_ERR);
		assert_int_equal(stats(&p, 1).naks, 1);
		pair_close(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retries_exhausted),
		cmocka_unit_test(test_timeout_never),
		cmocka_unit_test(test_timeout_recovers),
		cmocka_unit_test(test_rnr),
		cmocka_unit_test(test_rnr_exhausted),
		cmocka_unit_test(test_rnr_count_restarts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_behind_replies),
		cmocka_unit_test(test_empty_needs_no_key),
		cmocka_unit_test(test_send_too_long),
		cmocka_unit_test(test_bad_recv_list),
		cmocka_unit_test(test_local_errors),
		cmocka_unit_test(test_local_key_vanishes),
		cmocka_unit_test(test_bad_wqe_waits_its_turn),
		cmocka_unit_test(test_remote_key_vanishes),
		cmocka_unit_test(test_flush_in_order),
		cmocka_unit_test(test_half_message_is_flushed),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
