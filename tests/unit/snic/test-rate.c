// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits of rate: what a queue pair sends, receives, and answers READs with takes the
 * time that its limit says; and limits come, change and go while queue pairs wait for
 * them.
 */
#include <errno.h>
#include "bed/cable.h"

#define LEN		(1u << 20)
#define RATE		(16u << 20)	/* LEN in 62.5 ms */
#define SOON		(50 * MS)
#define LATER		(70 * MS)

static uint32_t limit(struct end *e, uint64_t bytes_per_s)
{
	uint32_t rate;

	assert_int_equal(snic_rate_new(e->host->nic, bytes_per_s, &rate), 0);
	assert_int_not_equal(rate, 0);
	assert_int_equal(snic_qp_limit(e->host->nic, e->qpn, rate), 0);
	return rate;
}

/* No time-out of a connection is as short as what is waited for here. */
static void open_pair(struct pair *p)
{
	struct snic_qp_conn conn = pair_conn;

	conn.timeout = 18;
	pair_open(p, 7, 0xfffffe, &conn);
	fill(p->src, LEN, 1);
	fill(p->dst, LEN, 2);
}

static void begin(struct pair *p, uint8_t opcode)
{
	put(p, opcode, 0, LEN, 0);
	ring(&p->a);
}

static bool is_done(struct pair *p)
{
	return cq_count(p->a.host, p->a.scqn);
}

/* Which end is limited, and what of. */
static void takes_its_time(unsigned int end, uint8_t opcode)
{
	struct pair p;

	open_pair(&p);
	limit(end ? &p.b : &p.a, RATE);
	begin(&p, opcode);
	cable_run(&p.c, SOON);
	assert_false(is_done(&p));
	cable_run(&p.c, LATER - SOON);
	assert_true(is_done(&p));
	assert_int_equal(state_of(&p.a), SNIC_QP_RTS);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	if (opcode == WRC_WQE_READ)
		expect_filled(p.src, LEN, 2);
	else
		expect_filled(p.dst, LEN, 1);
	pair_close(&p);
}

static void test_sent(void **state)
{
	takes_its_time(0, WRC_WQE_WRITE);
}

/* It is there at once, and is said to be when it is paid for. */
static void test_received(void **state)
{
	takes_its_time(1, WRC_WQE_WRITE);
}

static void test_read(void **state)
{
	takes_its_time(1, WRC_WQE_READ);
}

/* One that is not limited takes no such time. */
static void test_none(void **state)
{
	struct pair p;

	open_pair(&p);
	limit(&p.a, 0);
	begin(&p, WRC_WQE_WRITE);
	cable_run(&p.c, 20 * MS);
	assert_true(is_done(&p));
	pair_close(&p);
}

/* It waits, and there is more at once, or no limit any more, or no queue pair. */
static void test_while_it_waits(void **state)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		struct pair p;
		uint32_t rate;

		open_pair(&p);
		rate = limit(&p.a, 1 << 20);
		begin(&p, WRC_WQE_WRITE);
		cable_run(&p.c, 20 * MS);
		assert_false(is_done(&p));
		if (i == 0)
			assert_int_equal(snic_rate_set(p.a.host->nic, rate, 1ull << 34), 0);
		else if (i == 1)
			assert_int_equal(snic_rate_set(p.a.host->nic, rate, 0), 0);
		else if (i == 2)
			assert_int_equal(snic_rate_free(p.a.host->nic, rate), 0);
		else if (i == 3)
			assert_int_equal(snic_qp_limit(p.a.host->nic, p.a.qpn, 0), 0);
		else
			assert_int_equal(snic_qp_error(p.a.host->nic, p.a.qpn), 0);
		assert_false(snic_qp_lookup(p.a.host->nic, p.a.qpn)->rate_parked);
		cable_run(&p.c, 20 * MS);
		assert_true(is_done(&p));
		assert_int_equal(state_of(&p.a), i == 4 ? SNIC_QP_ERR : SNIC_QP_RTS);
		/* Nothing is left that would wait: the clock goes on. */
		cable_run(&p.c, 2000 * MS);
		pair_close(&p);
	}
}

static void test_wrong(void **state)
{
	struct pair p;
	uint32_t rate;

	open_pair(&p);
	assert_int_equal(snic_rate_new(p.a.host->nic, SNIC_RATE_MAX + 1, &rate), -ERANGE);
	rate = limit(&p.a, SNIC_RATE_MAX);
	assert_int_equal(snic_rate_set(p.a.host->nic, rate, SNIC_RATE_MAX + 1), -ERANGE);
	assert_int_equal(snic_rate_set(p.a.host->nic, rate + 1, 1), -ENOENT);
	assert_int_equal(snic_qp_limit(p.a.host->nic, p.a.qpn, rate + 1), -ENOENT);
	assert_int_equal(snic_rate_free(p.a.host->nic, rate + 1), -ENOENT);
	/* Its arithmetic holds after a long time. */
	cable_run(&p.c, 100000 * MS);
	begin(&p, WRC_WQE_WRITE);
	cable_run(&p.c, 20 * MS);
	assert_true(is_done(&p));
	assert_int_equal(snic_rate_free(p.a.host->nic, rate), 0);
	assert_int_equal(snic_rate_free(p.a.host->nic, rate), -ENOENT);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent),
		cmocka_unit_test(test_received),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_while_it_waits),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
