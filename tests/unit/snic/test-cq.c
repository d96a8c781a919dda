// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion queues: layout and owner bits of entries, overrun in both modes,
 * polling.
 */
#include <stdlib.h>
#include "bed/end.h"

/* A queue pair that completes NOPs into a CQ of 2^3. */
static void open8(struct host *b, struct end *x, bool oi)
{
	struct end_opts o = { .log_cq = 3, .oi = oi };

	host_open(b, NULL);
	end_open(b, &o, x);
	end_join(x, x);
}

static void complete(struct end *x, unsigned int n)
{
	while (n--) {
		put_nop(x, CE);
		ring(x);
		host_run(x->host);
	}
}

static struct wrc_cqe *entries(struct end *x)
{
	return snic_cq_lookup(x->host->nic, x->scqn)->attr.buf;
}

static void entry_bytes(void **state)
{
	struct wrc_cqe *c;
	struct host b;
	struct end x;
	unsigned int i;

	open8(&b, &x, true);
	c = entries(&x);
	for (i = 0; i < 8; i++)
		assert_int_equal(c[i].op_own, 0xf1);
	b.vt->now = 0x1122334455667788;
	complete(&x, 2);
	assert_int_equal(be32toh(c[1].srqn_uidx), 0x123);
	assert_int_equal(be32toh(c[1].sop_qpn), WRC_WQE_NOP << 24 | x.qpn);
	assert_int_equal(be16toh(c[1].wqe_counter), 1);
	assert_int_equal(be64toh(c[1].timestamp), b.vt->now);
	assert_int_equal(be32toh(c[1].byte_cnt), 0);
	assert_int_equal(c[1].op_own, WRC_CQE_REQ << 4);
	assert_int_equal(c[2].op_own, 0xf1);
	host_close(&b);
}

static void owner_bit_turns_each_lap(void **state)
{
	struct host b;
	struct end x;
	unsigned int n;

	open8(&b, &x, true);
	for (n = 0; n < 40; n++) {
		complete(&x, 1);
		assert_int_equal(entries(&x)[n % 8].op_own & 1, (n / 8) & 1);
		assert_int_equal(cq_count(&b, x.scqn), n + 1);
	}
	host_close(&b);
}

static void owner_bit_across_24_bits(void **state)
{
	struct snic_cq *cq;
	struct host b;
	struct end x;
	unsigned int n;

	open8(&b, &x, true);
	cq = snic_cq_lookup(b.nic, x.scqn);
	cq->count = 0xfffff8;
	cq->ci = cq->count;
	for (n = 0; n < 8; n++) {
		complete(&x, 1);
		assert_int_equal(entries(&x)[n].op_own & 1, 1);
	}
	assert_int_equal(cq_count(&b, x.scqn), 0);
	complete(&x, 1);
	assert_int_equal(entries(&x)[0].op_own & 1, 0);
	for (n = 0; n < 8; n++)
		expect_cqe(&b, x.scqn, WRC_CQE_REQ, n + 1);
	expect_empty(&b, x.scqn);
	host_close(&b);
}

static void overrun_ignored(void **state)
{
	struct snic_stats st;
	struct host b;
	struct end x;
	unsigned int n;

	open8(&b, &x, true);
	complete(&x, 30);
	assert_int_equal(cq_count(&b, x.scqn), 30);
	assert_int_equal(state_of(&x), SNIC_QP_RTS);
	/* polling goes on with what is still there */
	for (n = 22; n < 30; n++)
		expect_cqe(&b, x.scqn, WRC_CQE_REQ, n);
	expect_empty(&b, x.scqn);
	snic_get_stats(b.nic, &st);
	assert_int_equal(st.cq_overruns, 0);
	host_close(&b);
}

static void overrun_is_an_error(void **state)
{
	struct end_opts o = { 0 };
	struct snic_qp_info info;
	struct snic_stats st;
	struct end x, other;
	struct host b;
	unsigned int n;

	open8(&b, &x, false);
	end_open(&b, &o, &other);
	end_join(&other, &other);
	complete(&x, 8);
	assert_int_equal(state_of(&x), SNIC_QP_RTS);
	expect_cqe(&b, x.scqn, WRC_CQE_REQ, 0);
	complete(&x, 1);
	assert_int_equal(state_of(&x), SNIC_QP_RTS);
	put_nop(&x, CE);
	put_nop(&x, CE);
	ring(&x);
	host_run(&b);
	assert_int_equal(snic_qp_query(b.nic, x.qpn, &info), 0);
	assert_int_equal(info.state, SNIC_QP_ERR);
	assert_int_equal(state_of(&other), SNIC_QP_RTS);
	/* what was there stays; nothing is written any more */
	assert_int_equal(cq_count(&b, x.scqn), 9);
	for (n = 1; n < 9; n++)
		expect_cqe(&b, x.scqn, WRC_CQE_REQ, n);
	expect_empty(&b, x.scqn);
	snic_get_stats(b.nic, &st);
	assert_int_equal(st.cq_overruns, 1);
	host_close(&b);
}

/* One failure spreads over CQs that two queue pairs share, and ends. */
static void overruns_spread(void **state)
{
	struct end_opts o = { .log_cq = 1 };
	struct end x, y;
	struct host b;
	int i;

	host_open(&b, NULL);
	end_open(&b, &o, &x);
	end_open(&b, &o, &y);
	/* y reports its receives to the CQ of x */
	assert_int_equal(snic_qp_destroy(b.nic, y.qpn), 0);
	{
		struct snic_qp_attr attr = {
			.pdn = b.pdn, .scqn = y.scqn, .rcqn = x.scqn,
			.sq = y.sq, .log_sq = y.log_sq, .rq = y.rq,
			.log_rq = y.log_rq, .log_rq_stride = y.log_rq_stride,
			.dbr = y.dbr,
		};

		assert_int_equal(snic_qp_create(b.nic, &attr, &y.qpn), 0);
	}
	end_join(&x, &x);
	end_join(&y, &y);
	for (i = 0; i < 9; i++)
		post_recv(&y, b.arena, 8);
	for (i = 0; i < 3; i++)
		put_nop(&x, CE);
	ring(&x);
	host_run(&b);
	assert_int_equal(state_of(&x), SNIC_QP_ERR);
	assert_int_equal(state_of(&y), SNIC_QP_ERR);
	host_close(&b);
}

/* A CQE exists when the counter has passed it, within half of 24 bits. */
static void counter_is_cyclic(void **state)
{
	static const struct { uint32_t count, index; bool reached; } cases[] = {
		{ 0, 0, false }, { 1, 0, true }, { 1, 1, false },
		{ 0, 0xffffff, true }, { 0xffffff, 0xffffff, false },
		{ 0xffffff, 0xfffffe, true }, { 5, 0xfffff0, true },
		{ 0xfffff0, 5, false }, { 0x800000, 0, true },
		{ 0x800001, 0, false }, { 1, 0xff000000, true },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct snic_cq cq = { .count = cases[i].count };

		assert_int_equal(snic_cq_reached(&cq, cases[i].index),
				 cases[i].reached);
	}
}

static void create_and_destroy(void **state)
{
	struct snic_cq_attr attr = { .log_size = 2 };
	struct wrc_cqe room[5];
	struct wrc_cqe cqe;
	struct host b;
	uint32_t cqn;

	host_open(&b, NULL);
	assert_int_equal(snic_cq_create(b.nic, &attr, &cqn), -EINVAL);
	attr.buf = (char *)room + 1;
	assert_int_equal(snic_cq_create(b.nic, &attr, &cqn), -EINVAL);
	attr.buf = room;
	attr.log_size = 23;
	assert_int_equal(snic_cq_create(b.nic, &attr, &cqn), -EINVAL);
	attr.log_size = 2;
	assert_int_equal(snic_cq_create(b.nic, &attr, &cqn), 0);
	assert_in_range(cqn, 0x100, 0xffffff);
	assert_int_equal(snic_cq_destroy(b.nic, cqn), 0);
	assert_int_equal(snic_cq_destroy(b.nic, cqn), -ENOENT);
	assert_int_equal(snic_cq_poll(b.nic, cqn, &cqe), -ENOENT);
	assert_int_equal(snic_cq_count(b.nic, cqn, &cqn), -ENOENT);
	host_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entry_bytes),
		cmocka_unit_test(owner_bit_turns_each_lap),
		cmocka_unit_test(owner_bit_across_24_bits),
		cmocka_unit_test(overrun_ignored),
		cmocka_unit_test(overrun_is_an_error),
		cmocka_unit_test(overruns_spread),
		cmocka_unit_test(counter_is_cyclic),
		cmocka_unit_test(create_and_destroy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
