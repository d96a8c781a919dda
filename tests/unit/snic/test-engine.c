// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine on loopback queue pairs: every opcode, the order of completions,
 * managed queues, and each way to fail.
 */
#include "loop.h"

struct pair {
	struct bed b;
	struct end x, y;
	uint8_t *src, *dst;
};

static void pair_open(struct pair *p, const struct end_opts *o)
{
	unsigned int i;

	bed_open(&p->b, NULL);
	end_open(&p->b, o, &p->x);
	end_open(&p->b, o, &p->y);
	end_join(&p->x, &p->y);
	p->src = bed_alloc(&p->b, 8192);
	p->dst = bed_alloc(&p->b, 8192);
	for (i = 0; i < 8192; i++)
		p->src[i] = i * 7 + (i >> 8);
}

/* Runs what was written; the queue goes on or fails with this syndrome. */
static void go(struct pair *p)
{
	ring(&p->x);
	bed_run(&p->b);
}

static void fails(struct pair *p, uint8_t synd)
{
	go(p);
	expect_error(&p->b, p->x.scqn, WRC_CQE_REQ_ERR, synd, 0);
	assert_int_equal(state_of(&p->x), SNIC_QP_ERR);
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
	bed_close(&p.b);
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
	bed_close(&p.b);
}

/* The paper's EndianSwap: 8 one-byte scatter entries, reversed. */
static void read_scatters_bytes(void **state)
{
	struct pair p;
	struct wqe w;
	int i;

	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_READ, 0, CE);
	wqe_raddr(&w, bed_iova(&p.b, p.src), p.b.key);
	for (i = 7; i >= 0; i--)
		wqe_data(&w, p.dst + i, 1);
	wqe_end(&w);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(p.dst[i], p.src[7 - i]);
	assert_int_equal(p.x.pi, 3);
	bed_close(&p.b);
}

static void inline_data(void **state)
{
	struct pair p;
	struct wqe w;

	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_WRITE, 0, CE);
	wqe_raddr(&w, bed_iova(&p.b, p.dst), p.b.key);
	wqe_inline(&w, p.src, 37);
	wqe_end(&w);
	go(&p);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	assert_memory_equal(p.dst, p.src, 37);
	assert_int_equal(p.dst[37], 0);
	bed_close(&p.b);
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
		.addr = htobe64(bed_iova(&p.b, p.dst + 1000)),
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
	bed_close(&p.b);
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
	wqe_raddr(&w, bed_iova(&p.b, p.dst), p.b.key);
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
	bed_close(&p.b);
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
	bed_wait(&p.b, 1000000);
	expect_empty(&p.b, p.x.scqn);
	post_recv(&p.y, p.dst, 16);
	bed_wait(&p.b, 20000);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	expect_cqe(&p.b, p.y.rcqn, WRC_CQE_RESP_SEND, 0);
	assert_memory_equal(p.dst, p.src, 16);
	bed_close(&p.b);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
