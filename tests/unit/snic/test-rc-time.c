// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC requester: what it does when no answer comes.  It asks again early, which
 * is no retry, and gives up when the time-outs of its connection say so.  All
 * times are simulated.
 */
#include "bed/cable.h"
#include "snic/transport/transport-priv.h"

static struct snic_rc_req *req_of(struct end *e)
{
	return snic_qp_lookup(e->host->nic, e->qpn)->req;
}

static void open_with(struct pair *p, uint8_t timeout, uint8_t retry_cnt)
{
	struct snic_qp_conn conn = pair_conn;

	conn.timeout = timeout;
	conn.retry_cnt = retry_cnt;
	pair_open(p, 70, 0xfffffe, &conn);
}

/* Loses the next `lose` packets of one side. */
static unsigned int lose, loser;

static bool lossy(struct cable *c, unsigned int from,
		  const struct snic_pkt *pkt)
{
	if (from != loser || !lose)
		return true;
	lose--;
	return false;
}

static void write_one(struct pair *p, uint32_t len)
{
	fill(p->src, len, 3);
	put(p, WRC_WQE_WRITE, 0, len, 0);
	ring(&p->a);
}

/* The last packet lost, its ACK lost, several times: no time-out is waited for,
 * which is one second here. */
static void test_tail(void **state)
{
	struct pair p;

	for (loser = 0; loser < 2; loser++) {
		open_with(&p, 18, 7);
		p.c.filter = lossy;
		lose = 1;
		write_one(&p, 100);
		cable_run(&p.c, 20 * MS);
		assert_int_equal(cq_count(p.a.host, p.a.scqn), 1);
		assert_int_equal(stats(&p, 0).probes, 1);
		lose = 4;
		write_one(&p, 1000);
		cable_run(&p.c, 200 * MS);
		assert_int_equal(cq_count(p.a.host, p.a.scqn), 2);
		assert_int_equal(stats(&p, 0).probes, 5);
		assert_int_equal(stats(&p, 0).timeouts, 0);
		expect_filled(p.dst, 1000, 3);
		pair_close(&p);
	}
}

/* A dead peer: 67 ms, twice that, four times that; probes change nothing. */
static void test_gives_up_in_time(void **state)
{
	struct pair p;

	open_with(&p, 14, 2);
	p.c.filter = lossy;
	loser = 0;
	lose = 1000000;
	write_one(&p, 100);
	cable_run(&p.c, 465 * MS);
	assert_int_equal(state_of(&p.a), SNIC_QP_RTS);
	assert_int_equal(stats(&p, 0).timeouts, 2);
	cable_run(&p.c, 10 * MS);
	assert_int_equal(stats(&p, 0).timeouts, 3);
	expect_error(p.a.host, p.a.scqn, WRC_CQE_REQ_ERR, WRC_SYND_RETRY_EXC, 0);
	/* Each pause is twice the one before. */
	assert_in_range(stats(&p, 0).probes, 6, 18);
	cable_run(&p.c, 10 * SECOND);
	assert_in_range(stats(&p, 0).probes, 6, 18);
	pair_close(&p);
}

/* A peer that may be only late is asked with one packet, not sent all again. */
static void test_late_peer(void **state)
{
	struct pair p;
	uint64_t before;

	open_with(&p, 18, 7);
	write_one(&p, 100);
	cable_run(&p.c, MS);
	before = stats(&p, 0).retransmits;
	p.c.filter = lossy;
	loser = 1;
	lose = 1000000;
	write_one(&p, 20000);
	cable_run(&p.c, 6 * MS);
	assert_int_equal(stats(&p, 0).probes, 1);
	assert_int_equal(stats(&p, 0).retransmits, before + 1);
	lose = 0;
	cable_run(&p.c, 20 * MS);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 2);
	pair_close(&p);
}

/* No time-out was agreed on: for ever, and silently. */
static void test_never(void **state)
{
	struct pair p;

	open_with(&p, 0, 7);
	p.c.filter = lossy;
	loser = 0;
	lose = 1000000;
	write_one(&p, 100);
	cable_run(&p.c, 100 * SECOND);
	assert_int_equal(lose, 1000000 - 1);
	assert_int_equal(state_of(&p.a), SNIC_QP_RTS);
	pair_close(&p);
}

/* The first probe waits for about as long as answers take. */
static void test_slow_peer(void **state)
{
	struct pair p;

	open_with(&p, 18, 7);
	write_one(&p, 100);
	cable_run(&p.c, MS);
	assert_in_range(req_of(&p.a)->rtt, 2 * CABLE_LATENCY,
			3 * CABLE_LATENCY);
	req_of(&p.a)->rtt = 50 * MS;
	req_of(&p.a)->rtt_dev = 5 * MS;
	p.c.filter = lossy;
	loser = 0;
	lose = 1;
	write_one(&p, 100);
	cable_run(&p.c, 69 * MS);
	assert_int_equal(stats(&p, 0).probes, 0);
	cable_run(&p.c, 2 * MS);
	assert_int_equal(stats(&p, 0).probes, 1);
	/* An answer to a packet that was sent twice says nothing of it. */
	assert_int_equal(req_of(&p.a)->rtt, 50 * MS);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 2);
	write_one(&p, 100);
	cable_run(&p.c, MS);
	assert_in_range(req_of(&p.a)->rtt, 40 * MS, 45 * MS);
	pair_close(&p);
}

/* While a receiver is not ready, nobody asks and no time-out runs. */
static void test_not_ready(void **state)
{
	struct snic_qp_conn conn = pair_conn;
	struct pair p;

	conn.timeout = 12;		/* 17 ms */
	conn.retry_cnt = 1;
	conn.min_rnr_timer = 27;	/* 122 ms */
	pair_open(&p, 71, 1, &conn);
	put(&p, WRC_WQE_SEND, 0, 100, 0);
	ring(&p.a);
	cable_run(&p.c, 2 * SECOND);
	assert_int_equal(state_of(&p.a), SNIC_QP_RTS);
	assert_int_equal(stats(&p, 0).probes, 0);
	assert_int_equal(stats(&p, 0).timeouts, 0);
	post_recv(&p.b, p.dst, 100);
	cable_run(&p.c, SECOND);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 1);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tail),
		cmocka_unit_test(test_gives_up_in_time),
		cmocka_unit_test(test_late_peer),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_slow_peer),
		cmocka_unit_test(test_not_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
