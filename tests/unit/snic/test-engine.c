// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine on loopback queue pairs: every opcode, the order of completions,
 * managed queues, the wraps of rings and counters.
 */
#include "bed/end.h"

struct pair {
	struct host b;
	struct end x, y;
	uint8_t *src, *dst;
};

static void pair_open(struct pair *p, const struct end_opts *o)
{
	unsigned int i;

	host_open(&p->b, NULL);
	end_open(&p->b, o, &p->x);
	end_open(&p->b, o, &p->y);
	end_join(&p->x, &p->y);
	p->src = host_alloc(&p->b, 8192);
	p->dst = host_alloc(&p->b, 8192);
	for (i = 0; i < 8192; i++)
		p->src[i] = i * 7 + (i >> 8);
}

/* Runs what was written; the queue goes on or fails with this syndrome. */
static void go(struct pair *p)
{
	ring(&p->x);
	host_run(&p->b);
}

/* ---- operations ----------------------------------------------------------- */

static void nop_of_any_length(void **state)
{
	struct pair p;
	struct wqe w;
	int i;

	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_NOP, 0x55, CE);
	for (i = 0; i < 40; i++)
		wqe_u64x2(&w, ~0ull, ~0ull);
	wqe_end(&w);
	put_nop(&p.x, 0);
	put_nop(&p.x, CE);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 12);
	expect_empty(&p.b, p.x.scqn);
	host_close(&p.b);
}

static void write_and_read(void **state)
{
	struct pair p;

	pair_open(&p, NULL);
	put_write(&p.x, CE, p.src + 1, 4096, p.dst + 3);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	assert_memory_equal(p.dst + 3, p.src + 1, 4096);
	memset(p.dst, 0, 8192);
	put_read(&p.x, CE, p.dst, 4096, p.src + 8);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 1);
	assert_memory_equal(p.dst, p.src + 8, 4096);
	expect_empty(&p.b, p.y.rcqn);
	host_close(&p.b);
}

/* The paper's EndianSwap: 8 one-byte scatter entries, reversed. */
static void read_scatters_bytes(void **state)
{
	struct pair p;
	struct wqe w;
	int i;

	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_READ, 0, CE);
	wqe_raddr(&w, host_iova(&p.b, p.src), p.b.key);
	for (i = 7; i >= 0; i--)
		wqe_data(&w, p.dst + i, 1);
	wqe_end(&w);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(p.dst[i], p.src[7 - i]);
	assert_int_equal(p.x.pi, 3);
	host_close(&p.b);
}

static void inline_data(void **state)
{
	struct pair p;
	struct wqe w;

	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_WRITE, 0, CE);
	wqe_raddr(&w, host_iova(&p.b, p.dst), p.b.key);
	wqe_inline(&w, p.src, 37);
	wqe_end(&w);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	assert_memory_equal(p.dst, p.src, 37);
	assert_int_equal(p.dst[37], 0);
	host_close(&p.b);
}

static void send_scatters(void **state)
{
	struct pair p;
	struct wqe w;
	struct wrc_cqe cqe;
	struct wrc_wqe_data *d;

	pair_open(&p, NULL);
	post_recv(&p.y, p.dst, 5);
	d = (struct wrc_wqe_data *)p.y.rq;
	d[1] = (struct wrc_wqe_data){
		.byte_count = htobe32(100), .lkey = htobe32(p.b.key),
		.addr = htobe64(host_iova(&p.b, p.dst + 1000)),
	};
	d[2] = (struct wrc_wqe_data){ .lkey = htobe32(WRC_WQE_END_LKEY) };
	w = wqe_begin(&p.x, WRC_WQE_SEND_IMM, 0, CE | WRC_WQE_SE);
	wqe_imm(&w, 0xabcd1234);
	wqe_data(&w, p.src, 3);
	wqe_data(&w, p.src + 3, 60);
	wqe_end(&w);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	assert_int_equal(snic_cq_poll(p.b.nic, p.y.rcqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_RESP_SEND_IMM);
	assert_int_equal(cqe.op_own & 2, 2);
	assert_int_equal(be32toh(cqe.imm), 0xabcd1234);
	assert_int_equal(be32toh(cqe.byte_cnt), 63);
	assert_int_equal(be32toh(cqe.srqn_uidx), 0x123);
	assert_int_equal(be32toh(cqe.sop_qpn) & 0xffffff, p.y.qpn);
	assert_memory_equal(p.dst, p.src, 5);
	assert_int_equal(p.dst[5], 0);
	assert_memory_equal(p.dst + 1000, p.src + 5, 58);
	host_close(&p.b);
}

static void write_imm_leaves_list_alone(void **state)
{
	struct pair p;
	struct wqe w;
	struct wrc_cqe cqe;

	pair_open(&p, NULL);
	post_recv(&p.y, p.dst + 4096, 64);
	w = wqe_begin(&p.x, WRC_WQE_WRITE_IMM, 0, 0);
	wqe_imm(&w, 77);
	wqe_raddr(&w, host_iova(&p.b, p.dst), p.b.key);
	wqe_data(&w, p.src, 64);
	wqe_end(&w);
	go(&p);
	expect_empty(&p.b, p.x.scqn);
	assert_int_equal(snic_cq_poll(p.b.nic, p.y.rcqn, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_RESP_WR_IMM);
	assert_int_equal(be32toh(cqe.imm), 77);
	assert_int_equal(be32toh(cqe.byte_cnt), 64);
	assert_memory_equal(p.dst, p.src, 64);
	assert_int_equal(p.dst[4096], 0);
	host_close(&p.b);
}

static void rnr_until_posted(void **state)
{
	struct pair p;
	struct wqe w;

	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_SEND, 0, CE);
	wqe_data(&w, p.src, 16);
	wqe_end(&w);
	go(&p);
	host_wait(&p.b, 1000000);
	expect_empty(&p.b, p.x.scqn);
	post_recv(&p.y, p.dst, 16);
	host_wait(&p.b, 20000);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	expect_cqe(&p.b, p.y.rcqn, WRC_CQE_RESP_SEND, 0);
	assert_memory_equal(p.dst, p.src, 16);
	host_close(&p.b);
}

/* ---- atomics ---------------------------------------------------------------- */

static void put_atomic(struct pair *p, uint8_t opcode, uint8_t opmod,
		       const uint64_t *operands, unsigned int nr, uint32_t size)
{
	struct wqe w = wqe_begin(&p->x, opcode, opmod, CE);
	unsigned int i;

	wqe_raddr(&w, host_iova(&p->b, p->dst), p->b.key);
	for (i = 0; i < nr; i += 2)
		wqe_u64x2(&w, operands[i], operands[i + 1]);
	wqe_data(&w, p->src, size);
	wqe_end(&w);
}

struct atomic_case {
	uint8_t opcode;
	uint64_t before, operand[4], after;
};

static const struct atomic_case atomic_cases[] = {
	{ WRC_WQE_FA, 5, { 3, 0 }, 8 },
	{ WRC_WQE_FA, ~0ull, { 1, 0 }, 0 },
	{ WRC_WQE_FA, 1, { ~0ull, 0 }, 0 },
	/* swap, compare */
	{ WRC_WQE_CS, 7, { 9, 7 }, 9 },
	{ WRC_WQE_CS, 7, { 9, 8 }, 7 },
	/* add, boundary: none is a plain add */
	{ WRC_WQE_MASKED_FA, 0xffffffff, { 1, 0 }, 0x100000000 },
	/* all ones is XOR */
	{ WRC_WQE_MASKED_FA, 0xf0f0, { 0xff00, ~0ull }, 0x0ff0 },
	/* a ring of 2^6 bytes: the slot moves on, the base above stays */
	{ WRC_WQE_MASKED_FA, 0x1238, { 8, 1 << 5 }, 0x1200 },
	{ WRC_WQE_MASKED_FA, 0x1230, { 8, 1 << 5 }, 0x1238 },
	{ WRC_WQE_MASKED_FA, 0xffffffffffffffff, { 8, 1 << 5 },
	  0xffffffffffffffc7 },
	/* two fields in one word, both wrap by themselves */
	{ WRC_WQE_MASKED_FA, 0xffff0000ffffffff,
	  { 0x0001000000000001, 1ull << 63 | 1ull << 31 }, 0 },
	/* a boundary at bit 63 changes nothing, at bit 0 cuts bit 0 off */
	{ WRC_WQE_MASKED_FA, ~0ull, { 1, 1ull << 63 }, 0 },
	{ WRC_WQE_MASKED_FA, 3, { 1, 1 }, 2 },
	/* swap, compare, swap mask, compare mask */
	{ WRC_WQE_MASKED_CS, 0x1122, { 0xff, 0x1100, 0xff, 0xff00 }, 0x11ff },
	{ WRC_WQE_MASKED_CS, 0x1122, { 0xff, 0x1200, 0xff, 0xff00 }, 0x1122 },
	/* compare mask 0: an unconditional swap */
	{ WRC_WQE_MASKED_CS, 0xdeadbeef, { 0, 0, ~0ull, 0 }, 0 },
	{ WRC_WQE_MASKED_CS, 0x55, { 0xaa, 0x55, ~0ull, ~0ull }, 0xaa },
};

static void atomics(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(atomic_cases) / sizeof(atomic_cases[0]); i++) {
		const struct atomic_case *c = &atomic_cases[i];
		bool masked = c->opcode >= WRC_WQE_MASKED_CS;
		struct pair p;
		uint64_t v;

		pair_open(&p, NULL);
		v = htole64(c->before);
		memcpy(p.dst, &v, 8);
		put_atomic(&p, c->opcode, masked ? WRC_WQE_OPMOD_MASKED_8 : 0,
			   c->operand,
			   c->opcode == WRC_WQE_MASKED_CS ? 4 : 2, 8);
		go(&p);
		expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
		memcpy(&v, p.dst, 8);
		assert_int_equal(le64toh(v), c->after);
		memcpy(&v, p.src, 8);
		assert_int_equal(le64toh(v), c->before);
		host_close(&p.b);
	}
}

/* 4 bytes: only the low half of the word changes; the result is big endian. */
static void atomics_of_4_bytes(void **state)
{
	/* each holds two 32-bit operands */
	uint64_t fa[2] = { (uint64_t)8 << 32 | 1 << 5, 0 };
	uint64_t cs[2] = { (uint64_t)7 << 32 | 0x1200, 0xffull << 32 | 0xff00 };
	struct pair p;
	uint32_t v;

	pair_open(&p, NULL);
	v = htole32(0x1238);
	memcpy(p.dst, &v, 4);
	memset(p.dst + 4, 0xee, 4);
	put_atomic(&p, WRC_WQE_MASKED_FA, WRC_WQE_OPMOD_MASKED_4, fa, 2, 4);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	memcpy(&v, p.src, 4);
	assert_int_equal(be32toh(v), 0x1238);
	memcpy(&v, p.dst, 4);
	assert_int_equal(le32toh(v), 0x1200);
	put_atomic(&p, WRC_WQE_MASKED_CS, WRC_WQE_OPMOD_MASKED_4, cs, 2, 4);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 1);
	memcpy(&v, p.dst, 4);
	assert_int_equal(le32toh(v), 0x1207);
	assert_int_equal(p.dst[4], 0xee);
	host_close(&p.b);
}

/* ---- waiting and enabling ---------------------------------------------------- */

static const struct end_opts managed = { .master = true, .slave = true };

static void managed_queue_waits_for_enable(void **state)
{
	struct pair p;

	pair_open(&p, &managed);
	put_write(&p.y, CE, p.src, 8, p.dst);
	put_nop(&p.y, CE);
	put_nop(&p.y, CE);
	host_run(&p.b);
	assert_int_equal(cq_count(&p.b, p.y.scqn), 0);
	put_enable(&p.x, CE, p.y.qpn, 2);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	assert_int_equal(cq_count(&p.b, p.y.scqn), 2);
	/* an index behind the limit does nothing, one above 16 bits is cut */
	put_enable(&p.x, 0, p.y.qpn, 1);
	put_enable(&p.x, 0, p.y.qpn, 2);
	go(&p);
	assert_int_equal(cq_count(&p.b, p.y.scqn), 2);
	put_enable(&p.x, 0, p.y.qpn, 3);
	go(&p);
	assert_int_equal(cq_count(&p.b, p.y.scqn), 3);
	host_close(&p.b);
}

static void wait_holds_its_queue(void **state)
{
	struct pair p;
	uint32_t n;

	pair_open(&p, &managed);
	put_wait(&p.x, 0, p.y.scqn, 2);
	put_write(&p.x, CE, p.src, 8, p.dst);
	go(&p);
	for (n = 1; n <= 3; n++) {
		assert_int_equal(cq_count(&p.b, p.x.scqn), 0);
		put_nop(&p.y, CE);
		ring(&p.y);
		host_run(&p.b);
	}
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 1);
	assert_memory_equal(p.dst, p.src, 8);
	/* it does not consume: another WAIT for the same passes at once */
	put_wait(&p.x, CE, p.y.scqn, 2);
	put_wait(&p.x, 0, p.y.scqn, 0xff000000 | 1);
	put_nop(&p.x, CE);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 2);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 4);
	host_close(&p.b);
}

/* The counter of CQEs wraps at 24 bits. */
static void wait_across_counter_wrap(void **state)
{
	struct pair p;
	struct snic_cq *cq;
	int i;

	pair_open(&p, &managed);
	cq = snic_cq_lookup(p.b.nic, p.y.scqn);
	cq->count = 0xfffffe;
	cq->ci = cq->count;
	put_wait(&p.x, CE, p.y.scqn, 0xffffff);
	put_wait(&p.x, CE, p.y.scqn, 0);
	put_wait(&p.x, CE, p.y.scqn, 1);
	go(&p);
	for (i = 0; i < 4; i++) {
		uint32_t done = i < 1 ? 0 : i - 1;

		assert_int_equal(cq_count(&p.b, p.x.scqn), done);
		put_nop(&p.y, CE);
		ring(&p.y);
		host_run(&p.b);
	}
	assert_int_equal(cq_count(&p.b, p.y.scqn), 2);
	assert_int_equal(cq_count(&p.b, p.x.scqn), 3);
	host_close(&p.b);
}

/* Completions of both kinds of the queues that WAIT are in order. */
static void own_cq_and_own_queue(void **state)
{
	struct host b;
	struct end x;
	uint64_t *a;

	host_open(&b, NULL);
	end_open(&b, &managed, &x);
	end_join(&x, &x);
	a = host_alloc(&b, 64);
	a[0] = 42;
	put_read(&x, CE, &a[1], 8, &a[0]);
	put_wait(&x, 0, x.scqn, 0);
	put_enable(&x, 0, x.qpn, 4);
	put_write(&x, CE, &a[1], 8, &a[2]);
	assert_int_equal(snic_qp_doorbell(b.nic, x.qpn, 3), 0);
	host_run(&b);
	expect_cqe(&b, x.scqn, WRC_CQE_REQ, 0);
	expect_cqe(&b, x.scqn, WRC_CQE_REQ, 3);
	assert_int_equal(a[2], 42);
	host_close(&b);
}

/*
 * READ patches the length of a later WRITE.  Enabled together, the early
 * fetch takes the WRITE as it was; with a SEND_EN between them it may not.
 */
static uint8_t patched_write(enum snic_fetch fetch, bool enable_late)
{
	struct snic_config cfg = host_default;
	struct host b;
	struct end x;
	uint8_t *data, *write_wqe, first;
	__be32 *len;

	cfg.fetch = fetch;
	host_open(&b, &cfg);
	end_open(&b, &managed, &x);
	end_join(&x, &x);
	data = host_alloc(&b, 64);
	len = host_alloc(&b, 4);
	*len = htobe32(2);
	memset(data, 'x', 8);
	write_wqe = x.sq + 3 * 64;
	put_read(&x, CE, write_wqe + 32, 4, len);
	put_wait(&x, 0, x.scqn, 0);
	put_enable(&x, 0, x.qpn, 4);
	put_write(&x, CE, data, 1, data + 16);
	assert_int_equal(snic_qp_doorbell(b.nic, x.qpn, enable_late ? 3 : 4),
			 0);
	host_run(&b);
	assert_int_equal(cq_count(&b, x.scqn), 2);
	first = data[17];
	host_close(&b);
	return first;
}

static void early_fetch_finds_missing_enable(void **state)
{
	assert_int_equal(patched_write(SNIC_FETCH_LATE, false), 'x');
	assert_int_equal(patched_write(SNIC_FETCH_LATE, true), 'x');
	assert_int_equal(patched_write(SNIC_FETCH_EARLY, true), 'x');
	assert_int_equal(patched_write(SNIC_FETCH_EARLY, false), 0);
}

/* ---- what READs bring, late --------------------------------------------------- */

enum order { ORDER_NONE, ORDER_WAIT, ORDER_FENCE };

/*
 * A READ into the length of another queue's WRITE, and then that WRITE is
 * enabled.  Returns whether it was as long as the READ has made it.
 */
static bool is_patched(enum snic_fetch fetch, enum snic_land land,
		       enum order order)
{
	struct snic_config cfg = host_default;
	struct end x, y;
	struct host b;
	uint8_t *data;
	__be32 *len;
	bool longer;

	cfg.fetch = fetch;
	cfg.land = land;
	host_open(&b, &cfg);
	end_open(&b, &managed, &x);
	end_open(&b, &managed, &y);
	end_join(&x, &x);
	end_join(&y, &y);
	data = host_alloc(&b, 64);
	len = host_alloc(&b, 4);
	*len = htobe32(2);
	memset(data, 'x', 8);
	put_read(&x, CE, y.sq + 32, 4, len);
	if (order == ORDER_WAIT)
		put_wait(&x, 0, x.scqn, 0);
	put_enable(&x, order == ORDER_FENCE ? WRC_WQE_FM_FENCE : 0, y.qpn, 1);
	put_write(&y, CE, data, 1, data + 16);
	ring(&x);
	host_run(&b);
	assert_int_equal(cq_count(&b, x.scqn), 1);
	assert_int_equal(cq_count(&b, y.scqn), 1);
	longer = data[17] == 'x';
	host_close(&b);
	return longer;
}

/* What is not waited for is not there, whoever uses it. */
static void reads_land_late(void **state)
{
	for (int fetch = SNIC_FETCH_LATE; fetch <= SNIC_FETCH_EARLY; fetch++) {
		assert_true(is_patched(fetch, SNIC_LAND_AT_ONCE, ORDER_NONE));
		assert_false(is_patched(fetch, SNIC_LAND_LATE, ORDER_NONE));
		assert_true(is_patched(fetch, SNIC_LAND_LATE, ORDER_WAIT));
		assert_true(is_patched(fetch, SNIC_LAND_LATE, ORDER_FENCE));
	}
}

/* More than can be on their way, NOPs and WRITEs between them, and an error. */
static void late_completions_in_order(void **state)
{
	struct snic_config cfg = host_default;
	struct end_opts o = { .log_sq = 6 };
	struct host b;
	struct end x;
	uint64_t *m;
	int i;

	cfg.land = SNIC_LAND_LATE;
	host_open(&b, &cfg);
	end_open(&b, &o, &x);
	end_join(&x, &x);
	m = host_alloc(&b, 4096);
	for (i = 0; i < 6; i++) {
		m[i] = i + 1;
		put_read(&x, i % 2 ? CE : 0, &m[16 + i], 8, &m[i]);
		put_write(&x, i % 2 ? 0 : CE, &m[i], 8, &m[32 + i]);
	}
	put_nop(&x, CE);
	put_read(&x, CE, &m[22], 8, &m[0]);
	put_read(&x, CE, &m[64], 1024, &m[192]);	/* lands at once */
	put_read(&x, CE, &m[23], 8, &m[0]);
	put_write(&x, CE, &m[0], 8, NULL);		/* fails */
	put_nop(&x, CE);
	ring(&x);
	host_run(&b);
	for (i = 0; i < 6; i++) {
		expect_cqe(&b, x.scqn, WRC_CQE_REQ, 2 * i + (i % 2 ? 0 : 1));
		assert_int_equal(m[16 + i], i + 1);
		assert_int_equal(m[32 + i], i + 1);
	}
	for (i = 12; i < 16; i++)
		expect_cqe(&b, x.scqn, WRC_CQE_REQ, i);
	assert_int_equal(m[22], 1);
	assert_int_equal(m[23], 1);
	expect_cqe(&b, x.scqn, WRC_CQE_REQ_ERR, 16);
	expect_cqe(&b, x.scqn, WRC_CQE_REQ_ERR, 17);
	host_close(&b);
}

/* ---- rings ------------------------------------------------------------------- */

/* WQEs of 1, 2 and 3 BBs wander over the end of the ring, at every offset. */
static void ring_wraps(void **state)
{
	struct pair p;
	uint32_t bbs = 0, n, i;

	pair_open(&p, NULL);
	for (n = 0; bbs < 3u << 16; n++) {
		uint16_t before = p.x.pi;
		struct wqe w = wqe_begin(&p.x, WRC_WQE_WRITE, 0,
					 n % 64 ? 0 : CE);
		uint32_t pieces = 1 + n % 9, expect = 0;

		wqe_raddr(&w, host_iova(&p.b, p.dst), p.b.key);
		for (i = 0; i < pieces; i++) {
			wqe_data(&w, p.src + (n + i) % 4096, 1 + i);
			expect += 1 + i;
		}
		wqe_end(&w);
		bbs += (uint16_t)(p.x.pi - before);
		p.dst[expect] = 0x5a;
		go(&p);
		assert_int_equal(p.dst[0], p.src[n % 4096]);
		assert_int_equal(p.dst[expect - 1],
				 p.src[(n + pieces - 1) % 4096 + pieces - 1]);
		assert_int_equal(p.dst[expect], 0x5a);
		if (n % 64 == 0)
			expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, before);
	}
	assert_int_equal(state_of(&p.x), SNIC_QP_RTS);
	host_close(&p.b);
}

static void largest_ring_filled_at_once(void **state)
{
	struct end_opts o = { .log_sq = 15, .oi = true };
	struct host b;
	struct end x;
	int i;

	host_open(&b, NULL);
	end_open(&b, &o, &x);
	end_join(&x, &x);
	for (i = 0; i < 32768; i++)
		put_nop(&x, CE);
	ring(&x);
	host_run(&b);
	assert_int_equal(cq_count(&b, x.scqn), 32768);
	host_close(&b);
}

/* A ring that re-arms itself by an atomic runs on and on. */
static void endless_ring(void **state)
{
	struct snic_config cfg = host_default;
	struct end_opts o = { .master = true, .slave = true, .log_sq = 8 };
	struct snic_stats st;
	struct host b;
	struct end x;
	uint64_t next;

	cfg.relaxed_index = true;
	host_open(&b, &cfg);
	end_open(&b, &o, &x);
	end_join(&x, &x);
	put_endless(&x);
	ring(&x);
	do {
		assert_int_equal(snic_step(b.nic, b.vt->now, &next), 0);
		assert_int_equal(next, b.vt->now);
		snic_get_stats(b.nic, &st);
	} while (st.wqes < 1 << 19);
	assert_int_equal(state_of(&x), SNIC_QP_RTS);
	assert_in_range(st.enables, st.nops / 254, st.nops / 254 + 1);
	host_close(&b);
}

static void queues_take_turns(void **state)
{
	struct end_opts o = { .log_sq = 15, .oi = true };
	struct end x, y, z;
	struct snic_qp_info ix, iy, iz;
	struct host b;
	uint64_t next;
	int i;

	host_open(&b, NULL);
	end_open(&b, &o, &x);
	end_open(&b, &o, &y);
	end_open(&b, NULL, &z);
	end_join(&x, &x);
	end_join(&y, &y);
	end_join(&z, &z);
	for (i = 0; i < 20000; i++) {
		put_nop(&x, 0);
		put_nop(&y, 0);
	}
	put_nop(&z, CE);
	ring(&x);
	ring(&y);
	ring(&z);
	assert_int_equal(snic_step(b.nic, b.vt->now, &next), 0);
	assert_int_equal(snic_qp_query(b.nic, x.qpn, &ix), 0);
	assert_int_equal(snic_qp_query(b.nic, y.qpn, &iy), 0);
	assert_int_equal(snic_qp_query(b.nic, z.qpn, &iz), 0);
	assert_int_equal(iz.sq_executed, 1);
	assert_in_range(ix.sq_executed, 1, 19999);
	assert_in_range(iy.sq_executed, ix.sq_executed / 2,
			ix.sq_executed * 2);
	host_close(&b);
}

/* A loopback peer that comes up later is waited for. */
static void peer_comes_up_later(void **state)
{
	struct snic_qp_conn conn = { .loopback = true };
	struct host b;
	struct end x, y;
	uint8_t *m;

	host_open(&b, NULL);
	end_open(&b, NULL, &x);
	end_open(&b, NULL, &y);
	m = host_alloc(&b, 64);
	m[0] = 3;
	conn.dest_qpn = y.qpn;
	assert_int_equal(snic_qp_connect(b.nic, x.qpn, &conn), 0);
	put_write(&x, CE, m, 1, m + 8);
	ring(&x);
	host_wait(&b, 1000000000);
	assert_int_equal(cq_count(&b, x.scqn), 0);
	conn.dest_qpn = x.qpn;
	assert_int_equal(snic_qp_connect(b.nic, y.qpn, &conn), 0);
	host_run(&b);
	assert_int_equal(cq_count(&b, x.scqn), 1);
	assert_int_equal(m[8], 3);
	host_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nop_of_any_length),
		cmocka_unit_test(write_and_read),
		cmocka_unit_test(read_scatters_bytes),
		cmocka_unit_test(inline_data),
		cmocka_unit_test(send_scatters),
		cmocka_unit_test(write_imm_leaves_list_alone),
		cmocka_unit_test(rnr_until_posted),
		cmocka_unit_test(atomics),
		cmocka_unit_test(atomics_of_4_bytes),
		cmocka_unit_test(managed_queue_waits_for_enable),
		cmocka_unit_test(wait_holds_its_queue),
		cmocka_unit_test(wait_across_counter_wrap),
		cmocka_unit_test(own_cq_and_own_queue),
		cmocka_unit_test(early_fetch_finds_missing_enable),
		cmocka_unit_test(reads_land_late),
		cmocka_unit_test(late_completions_in_order),
		cmocka_unit_test(ring_wraps),
		cmocka_unit_test(largest_ring_filled_at_once),
		cmocka_unit_test(endless_ring),
		cmocka_unit_test(queues_take_turns),
		cmocka_unit_test(peer_comes_up_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
