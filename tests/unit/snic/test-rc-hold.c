// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RC transport: the ACK of a message waits for the answer to it, not for long,
 * and for not too many messages.
 */
#include "bed/cable.h"
#include "snic/transport/transport-priv.h"

#define LEN 64

/* a sends n messages, one by one, so that each asks for an ACK. */
static void send_some(struct pair *p, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		post_recv(&p->b, p->dst + i * LEN, LEN);
		put(p, WRC_WQE_SEND, i * LEN, LEN, 0);
		ring(&p->a);
		cable_run(&p->c, 100);
	}
	cable_run(&p->c, 4 * CABLE_LATENCY);
}

/* b answers the way a chain does. */
static void answer(struct pair *p)
{
	struct wqe w = wqe_begin(&p->b, WRC_WQE_WRITE_IMM, 0, 0);

	post_recv(&p->a, NULL, 0);
	wqe_raddr(&w, host_iova(p->a.host, p->src), p->a.host->key);
	wqe_imm(&w, 7);
	wqe_end(&w);
	ring(&p->b);
	cable_run(&p->c, 4 * CABLE_LATENCY);
}

static void test_with_the_answer(void **state)
{
	struct pair p;

	pair_open(&p, 1, 0xfffffe, NULL);
	send_some(&p, 5);
	assert_int_equal(p.c.acks[1], 0);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 0);
	answer(&p);
	assert_int_equal(p.c.acks[1], 0);
	cable_run(&p.c, RC_HOLD_ON_NS);
	assert_int_equal(p.c.acks[1], 1);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 5);
	pair_close(&p);
}

/* One for all answers that follow each other, but not for ever. */
static void test_with_more_answers(void **state)
{
	struct pair p;

	pair_open(&p, 5, 0xfffff0, NULL);
	send_some(&p, 4);
	answer(&p);
	answer(&p);
	assert_int_equal(p.c.acks[1], 0);
	cable_run(&p.c, RC_HOLD_ON_NS);
	assert_int_equal(p.c.acks[1], 1);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 4);
	send_some(&p, 1);
	cable_run(&p.c, RC_HOLD_NS - RC_HOLD_ON_NS);
	answer(&p);
	cable_run(&p.c, RC_HOLD_ON_NS - 1000);
	assert_int_equal(p.c.acks[1], 2);
	pair_close(&p);
}

static void test_long_message(void **state)
{
	struct pair p;

	pair_open(&p, 6, 1, NULL);
	send_some(&p, 1);
	post_recv(&p.b, p.dst + LEN, 1500);
	put(&p, WRC_WQE_SEND, 0, 1500, 0);
	ring(&p.a);
	cable_run(&p.c, 4 * CABLE_LATENCY);
	assert_int_equal(p.c.acks[1], 0);
	answer(&p);
	assert_int_equal(p.c.acks[1], 1);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 2);
	pair_close(&p);
}

static void test_without_an_answer(void **state)
{
	struct pair p;

	pair_open(&p, 2, 1, NULL);
	send_some(&p, 3);
	assert_int_equal(p.c.acks[1], 0);
	cable_run(&p.c, RC_HOLD_NS);
	assert_int_equal(p.c.acks[1], 1);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 3);
	/* The next one waits as long again. */
	send_some(&p, 1);
	assert_int_equal(p.c.acks[1], 1);
	cable_run(&p.c, RC_HOLD_NS);
	assert_int_equal(p.c.acks[1], 2);
	pair_close(&p);
}

static void test_many_messages(void **state)
{
	struct pair p;

	pair_open(&p, 3, 1, NULL);
	send_some(&p, RC_HOLD_MAX - 1);
	assert_int_equal(p.c.acks[1], 0);
	send_some(&p, 1);
	assert_int_equal(p.c.acks[1], 1);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), RC_HOLD_MAX);
	send_some(&p, 1);
	assert_int_equal(p.c.acks[1], 1);
	pair_close(&p);
}

/* The end that WRITEs waits for the ACK itself. */
static void test_writes_do_not_wait(void **state)
{
	struct pair p;

	pair_open(&p, 4, 1, NULL);
	send_some(&p, 1);
	put(&p, WRC_WQE_WRITE, 0, LEN, 0);
	ring(&p.a);
	cable_run(&p.c, 4 * CABLE_LATENCY);
	assert_int_equal(p.c.acks[1], 1);
	assert_int_equal(cq_count(p.a.host, p.a.scqn), 2);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_with_the_answer),
		cmocka_unit_test(test_with_more_answers),
		cmocka_unit_test(test_long_message),
		cmocka_unit_test(test_without_an_answer),
		cmocka_unit_test(test_many_messages),
		cmocka_unit_test(test_writes_do_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
