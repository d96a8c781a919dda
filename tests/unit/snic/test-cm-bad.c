// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the connection manager does with peers that repeat, restart, lie or
 * flood.
 */
#include <endian.h>
#include <errno.h>
#include "bed/cm.h"
#include "snic/net/pkt.h"

/* A bed where b is talked to by the test alone: host 9 and others. */
static void open_b(struct cmbed *t)
{
	cmbed_open(t);
	t->b.port.peer = NULL;
}

static void step_b(struct cmbed *t)
{
	cmbed_run(t, SECOND / 1000);
}

/* The reason of b's latest message, which must be a REJ to comm_id. */
static uint16_t rej_reason(struct cmbed *t, uint32_t comm_id)
{
	struct snic_cm_msg m;

	last_sent(&t->b, SNIC_CM_REJ, &m);
	assert_int_equal(m.remote_id, comm_id);
	return m.rej.reason;
}

static unsigned int count_sent(struct cmbed *t)
{
	return t->b.port.nr_sent;
}

/* ---- repetition ------------------------------------------------------------ */

static void test_duplicate_req(void **state)
{
	uint8_t priv[92];
	struct snic_cm_msg req = make_req(9, 2, 77, 0x55, priv), m;
	struct snic_cm_event ev;
	unsigned int n;
	struct cmbed t;

	open_b(&t);
	inject(&t.b, 9, &req);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);

	/* not answered yet: silence, and no second event */
	n = count_sent(&t);
	inject(&t.b, 9, &req);
	step_b(&t);
	expect_none(&t.b);
	assert_int_equal(count_sent(&t), n);

	/* accepted: the REP again */
	assert_int_equal(accept_b(&t, ev.id, host_qp(&t.b), NULL, 0), 0);
	step_b(&t);
	n = count_sent(&t);
	inject(&t.b, 9, &req);
	step_b(&t);
	assert_int_equal(count_sent(&t), n + 1);
	last_sent(&t.b, SNIC_CM_REP, &m);
	expect_none(&t.b);

	/* over: stale, for a while */
	assert_int_equal(snic_cm_release(t.b.nic, ev.id), 0);
	inject(&t.b, 9, &req);
	step_b(&t);
	assert_int_equal(rej_reason(&t, 77), SNIC_REJ_STALE_CONN);
	cmbed_run(&t, 5 * SECOND);
	inject(&t.b, 9, &req);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);

	/* refused: forgotten, so that whoever repeats it asks anew */
	assert_int_equal(snic_cm_reject(t.b.nic, ev.id, "no", 2), 0);
	step_b(&t);
	last_sent(&t.b, SNIC_CM_REJ, &m);
	assert_int_equal(m.rej.reason, SNIC_REJ_CONSUMER);
	assert_memory_equal(m.priv, "no", 2);
	assert_int_equal(snic_cm_of(t.b.nic)->nr_conns, 0);
	inject(&t.b, 9, &req);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	cmbed_close(&t);
}

static void establish_9(struct cmbed *t, uint8_t *priv, uint32_t *ret_id,
			uint32_t *ret_qpn)
{
	struct snic_cm_msg m = make_req(9, 2, 77, 0x55, priv);
	struct snic_cm_event ev;

	inject(&t->b, 9, &m);
	expect(t, &t->b, SECOND, SNIC_CM_REQUEST, &ev);
	*ret_qpn = host_qp(&t->b);
	assert_int_equal(accept_b(t, ev.id, *ret_qpn, NULL, 0), 0);
	m = (struct snic_cm_msg) {
		.attr = SNIC_CM_RTU, .local_id = 77, .remote_id = ev.id,
	};
	inject(&t->b, 9, &m);
	expect(t, &t->b, SECOND, SNIC_CM_ESTABLISHED, &ev);
	*ret_id = ev.id;
}

/* ---- restart ------------------------------------------------------------------ */

/*
 * A REQ with the QP number of a connection that stands: the peer has restarted, or
 * somebody has forged it, and nobody can tell which.  It ends nothing.
 */
static void test_same_qp_again(void **state)
{
	uint8_t priv[92];
	struct snic_cm_event ev;
	struct snic_cm_msg req;
	uint32_t id, qpn;
	struct cmbed t;

	open_b(&t);
	establish_9(&t, priv, &id, &qpn);
	req = make_req(9, 2, 1234, 0x55, priv);
	inject(&t.b, 9, &req);
	step_b(&t);
	expect_none(&t.b);
	assert_int_equal(rej_reason(&t, 1234), SNIC_REJ_STALE_CONN);
	assert_int_equal(host_stats(&t.b).cm_stale, 1);
	assert_int_equal(qp_state(&t.b, qpn), SNIC_QP_RTS);
	/* another of its QPs is welcome */
	req = make_req(9, 2, 1235, 0x56, priv);
	inject(&t.b, 9, &req);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	/* and so is this one, when the user has noticed that nobody is there */
	assert_int_equal(snic_cm_disconnect(t.b.nic, id), 0);
	req = make_req(9, 2, 1236, 0x55, priv);
	inject(&t.b, 9, &req);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	assert_int_equal(host_stats(&t.b).cm_stale, 1);
	cmbed_close(&t);
}

/* Two requests for one QP, of which at most one is its owner's: both are heard, and
 * the connection is his who answers. */
static void test_two_requests(void **state)
{
	uint8_t priv[92];
	struct snic_cm_msg req = make_req(9, 2, 77, 0x55, priv), rtu;
	struct snic_cm_event ev;
	uint32_t old, qpn = 0, id = 0;
	struct cmbed t;
	int i;

	open_b(&t);
	inject(&t.b, 9, &req);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	old = ev.id;
	for (i = 0; i < 2; i++) {
		/* the first is waiting for its answer, then for the peer's */
		req = make_req(9, 2, 78 + i, 0x55, priv);
		inject(&t.b, 9, &req);
		expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
		id = ev.id;
		qpn = host_qp(&t.b);
		assert_int_equal(accept_b(&t, i ? id : old, qpn, NULL, 0), 0);
		step_b(&t);
	}
	rtu = (struct snic_cm_msg) {
		.attr = SNIC_CM_RTU, .local_id = 79, .remote_id = id,
	};
	inject(&t.b, 9, &rtu);
	expect(&t, &t.b, SECOND, SNIC_CM_ESTABLISHED, &ev);
	assert_int_equal(ev.id, id);
	assert_int_equal(qp_state(&t.b, qpn), SNIC_QP_RTS);
	assert_int_equal(host_stats(&t.b).cm_stale, 0);
	cmbed_close(&t);
}

/* The peer gives up: REJ with reason "timeout", without our id. */
static void test_peer_times_out(void **state)
{
	uint8_t priv[92];
	struct snic_cm_msg req = make_req(9, 2, 77, 0x55, priv), rej = {
		.attr = SNIC_CM_REJ, .local_id = 77,
		.rej = { .which = SNIC_CM_WHICH_OTHER,
			 .reason = SNIC_REJ_TIMEOUT, .ari_len = 8 },
	};
	__be64 guid = htobe64(req.req.ca_guid);
	struct snic_cm_event ev;
	struct cmbed t;

	open_b(&t);
	inject(&t.b, 9, &req);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	inject(&t.b, 9, &rej);			/* another GUID: nobody */
	step_b(&t);
	expect_none(&t.b);
	memcpy(rej.rej.ari, &guid, 8);
	inject(&t.b, 9, &rej);
	expect(&t, &t.b, SECOND, SNIC_CM_REJECTED, &ev);
	assert_int_equal(ev.reason, SNIC_REJ_TIMEOUT);
	cmbed_close(&t);
}

/* ---- more time ------------------------------------------------------------------- */

static void test_mra(void **state)
{
	struct snic_cm_msg mra = { .attr = SNIC_CM_MRA, .local_id = 99 };
	struct snic_cm_event ev;
	uint64_t begin;
	unsigned int n;
	struct cmbed t;

	cmbed_open(&t);
	cmbed_lose(&t, SNIC_CM_REQ, UINT64_MAX);
	mra.remote_id = connect_a(&t, host_qp(&t.a), NULL, 0);
	begin = t.vt.now;
	cmbed_run(&t, SECOND);
	mra.mra.which = SNIC_CM_WHICH_REQ;
	mra.mra.service_timeout = 22;		/* 17 s */
	inject(&t.a, 2, &mra);
	cmbed_run(&t, SECOND / 100);
	n = host_stats(&t.a).cm_retransmits;
	cmbed_run(&t, 20 * SECOND);
	assert_int_equal(host_stats(&t.a).cm_retransmits, n);
	expect_none(&t.a);
	expect(&t, &t.a, 60 * SECOND, SNIC_CM_UNREACHABLE, &ev);
	assert_true(t.vt.now - begin > 21 * SECOND);
	/* an MRA for a REP is none for a REQ */
	mra.remote_id = connect_a(&t, host_qp(&t.a), NULL, 0);
	mra.mra.which = SNIC_CM_WHICH_REP;
	cmbed_run(&t, SECOND / 100);
	inject(&t.a, 2, &mra);
	cmbed_run(&t, SECOND);
	assert_int_equal(host_stats(&t.a).cm_ignored, 1);
	assert_true(host_stats(&t.a).cm_retransmits > n + 1);
	cmbed_close(&t);
}

/* ---- forged --------------------------------------------------------------------------- */

static void test_foreign_messages(void **state)
{
	static const uint16_t attrs[] = { SNIC_CM_DREQ, SNIC_CM_REJ,
					  SNIC_CM_DREP, SNIC_CM_RTU };
	uint8_t priv[92];
	struct snic_cm_msg m = { .local_id = 77 };
	uint32_t id, qpn;
	unsigned int i;
	struct cmbed t;

	open_b(&t);
	establish_9(&t, priv, &id, &qpn);
	for (i = 0; i < 4; i++) {
		m = (struct snic_cm_msg) { .attr = attrs[i], .local_id = 77,
					   .remote_id = id };
		if (attrs[i] == SNIC_CM_DREQ)
			m.dreq_qpn = qpn;
		inject(&t.b, 8, &m);		/* another host */
		m.local_id = 78;
		inject(&t.b, 9, &m);		/* another id of its own */
		m.local_id = 77;
		m.remote_id = id ^ 1;
		inject(&t.b, 9, &m);		/* another id of ours */
	}
	m = (struct snic_cm_msg) { .attr = SNIC_CM_DREQ, .local_id = 77,
				   .remote_id = id, .dreq_qpn = qpn + 1 };
	inject(&t.b, 9, &m);			/* another QP */
	cmbed_run(&t, SECOND);
	expect_none(&t.b);
	assert_int_equal(qp_state(&t.b, qpn), SNIC_QP_RTS);
	assert_int_equal(host_stats(&t.b).cm_unknown, 12);
	assert_int_equal(host_stats(&t.b).rx_cm_malformed, 1);
	cmbed_close(&t);
}

static void expect_refused(struct cmbed *t, const struct snic_cm_msg *req,
			   uint16_t reason)
{
	inject(&t->b, 9, req);
	step_b(t);
	expect_none(&t->b);
	assert_int_equal(rej_reason(t, req->local_id), reason);
}

static void test_bad_requests(void **state)
{
	uint8_t priv[92];
	struct snic_cm_msg m;
	struct cmbed t;

	open_b(&t);
	m = make_req(9, 2, 1, 0x55, priv);
	m.req.transport = 1;			/* UC */
	expect_refused(&t, &m, SNIC_REJ_INVALID_TRANSPORT);
	m = make_req(9, 2, 2, 0x55, priv);
	m.req.local_gid[15]++;
	expect_refused(&t, &m, SNIC_REJ_INVALID_GID);
	m = make_req(9, 2, 3, 0x55, priv);
	m.req.remote_gid[15]++;
	expect_refused(&t, &m, SNIC_REJ_INVALID_GID);
	m = make_req(9, 2, 4, 0x55, priv);
	priv[19]++;				/* source in the CMA header */
	expect_refused(&t, &m, SNIC_REJ_INVALID_GID);
	m = make_req(9, 2, 5, 0x55, priv);
	priv[1] = 0x60;				/* IPv6 */
	expect_refused(&t, &m, SNIC_REJ_UNSUPPORTED);
	m = make_req(9, 2, 6, 0x55, priv);
	m.req.service_id++;
	expect_refused(&t, &m, SNIC_REJ_INVALID_SERVICE_ID);
	m = make_req(9, 2, 7, 0x55, priv);
	m.req.service_id = 0x0000000001110000ull | PORT;	/* UDP */
	expect_refused(&t, &m, SNIC_REJ_INVALID_SERVICE_ID);
	m = make_req(9, 2, 8, 0x55, priv);
	m.req.mtu = 5;
	expect_refused(&t, &m, SNIC_REJ_INVALID_MTU);
	assert_int_equal(snic_cm_of(t.b.nic)->nr_conns, 0);
	cmbed_close(&t);
}

static void test_unknown_messages(void **state)
{
	uint8_t mad[300] = { 1, 7, 2, 3 };
	struct snic_cm_msg m = { .attr = SNIC_CM_DREQ, .local_id = 5,
				 .remote_id = 6, .tid = 0xabc }, back;
	struct cmbed t;

	open_b(&t);
	mad[17] = 0x17;				/* SIDR REQ */
	inject_mad(&t.b, 9, mad, SNIC_MAD_LEN);
	inject_mad(&t.b, 9, mad, 200);
	inject_mad(&t.b, 9, mad, 300);
	inject_mad(&t.b, 9, mad, 0);
	step_b(&t);
	assert_int_equal(host_stats(&t.b).cm_ignored, 1);
	assert_int_equal(host_stats(&t.b).rx_cm_malformed, 3);
	/* a DREQ for what is gone is answered, so that the peer is done */
	inject(&t.b, 9, &m);
	step_b(&t);
	last_sent(&t.b, SNIC_CM_DREP, &back);
	assert_int_equal(back.local_id, 6);
	assert_int_equal(back.remote_id, 5);
	assert_true(back.tid == 0xabc);
	/* and so is a REP, with a refusal */
	m = (struct snic_cm_msg) { .attr = SNIC_CM_REP, .local_id = 7,
				   .remote_id = 8, .rep.qpn = 0x11 };
	inject(&t.b, 9, &m);
	step_b(&t);
	assert_int_equal(rej_reason(&t, 7), SNIC_REJ_INVALID_COMM_ID);
	cmbed_close(&t);
}

/* ---- floods ---------------------------------------------------------------------------- */

static void test_flood(void **state)
{
	unsigned int i, n = 0;
	struct snic_cm_event ev;
	struct snic_cm_msg m;
	uint8_t priv[92];
	struct cmbed t;

	open_b(&t);
	for (i = 0; i < 300; i++) {
		m = make_req(9, 2, 1000 + i, 0x100 + i, priv);
		inject(&t.b, 9, &m);
	}
	/* the other hosts are not shut out */
	m = make_req(8, 2, 1000, 0x100, priv);
	inject(&t.b, 8, &m);
	cmbed_run(&t, SECOND);
	assert_int_equal(snic_cm_of(t.b.nic)->nr_pending,
			 SNIC_CM_PEER_PENDING + 1);
	assert_int_equal(host_stats(&t.b).cm_limited,
			 300 - SNIC_CM_PEER_PENDING);
	while (!snic_cm_poll(t.b.nic, &ev)) {
		assert_int_equal(ev.type, SNIC_CM_REQUEST);
		assert_int_equal(snic_cm_release(t.b.nic, ev.id), 0);
		n++;
	}
	assert_int_equal(n, SNIC_CM_PEER_PENDING + 1);
	assert_int_equal(snic_cm_of(t.b.nic)->nr_pending, 0);
	cmbed_run(&t, 5 * SECOND);
	assert_int_equal(snic_cm_of(t.b.nic)->nr_conns, 0);
	cmbed_close(&t);
}

/* A host connects, and gets no answer to its own request or to anything else. */
static bool connect_and_go(struct cmbed *t, uint8_t host, unsigned int nr)
{
	uint8_t priv[92];
	struct snic_cm_msg m = make_req(host, 2, 1000 + nr, 0x100 + nr, priv);
	struct snic_cm_event ev;
	uint32_t qpn;

	inject(&t->b, host, &m);
	cmbed_run(t, 1000);
	if (snic_cm_poll(t->b.nic, &ev) || ev.type != SNIC_CM_REQUEST)
		return false;
	qpn = host_qp(&t->b);
	assert_int_equal(accept_b(t, ev.id, qpn, NULL, 0), 0);
	assert_int_equal(snic_cm_disconnect(t->b.nic, ev.id), 0);
	assert_int_equal(snic_cm_release(t->b.nic, ev.id), 0);
	assert_int_equal(snic_qp_destroy(t->b.nic, qpn), 0);
	return true;
}

/* Hosts that connect again and again, and let each connection's end wait for them: they
 * shut out neither themselves nor others. */
static void test_many_ends(void **state)
{
	unsigned int i, hosts = SNIC_CM_MAX_CONNS / SNIC_CM_PEER_OVER + 1;
	uint8_t host;
	struct cmbed t;

	open_b(&t);
	for (i = 0; i < SNIC_CM_PEER_CONNS + 1; i++)
		assert_true(connect_and_go(&t, 9, i));
	assert_in_range(snic_cm_of(t.b.nic)->nr_conns, 1, SNIC_CM_PEER_OVER + 1);
	for (host = 10; host < 10 + hosts; host++)
		for (i = 0; i < SNIC_CM_PEER_OVER; i++)
			assert_true(connect_and_go(&t, host, i));
	assert_int_equal(snic_cm_of(t.b.nic)->nr_conns, SNIC_CM_MAX_CONNS);
	assert_true(connect_and_go(&t, 8, 0));
	cmbed_close(&t);
}

/* Requests that are refused leave nothing, and shut nobody out, their sender neither. */
static void test_many_refusals(void **state)
{
	struct snic_cm_event ev;
	struct snic_cm_msg m;
	uint8_t priv[92];
	unsigned int i;
	struct cmbed t;

	open_b(&t);
	for (i = 0; i < SNIC_CM_PEER_CONNS + 100; i++) {
		m = make_req(9, 2, 1000 + i, 0x100 + i, priv);
		inject(&t.b, 9, &m);
		cmbed_run(&t, 1000);
		assert_int_equal(snic_cm_poll(t.b.nic, &ev), 0);
		assert_int_equal(ev.type, SNIC_CM_REQUEST);
		assert_int_equal(snic_cm_reject(t.b.nic, ev.id, NULL, 0), 0);
	}
	assert_int_equal(snic_cm_of(t.b.nic)->nr_conns, 0);
	assert_int_equal(host_stats(&t.b).cm_limited, 0);
	/* connections in use are not given up for new ones */
	for (i = 0; i <= SNIC_CM_PEER_CONNS; i++) {
		m = make_req(9, 2, 1000 + i, 0x100 + i, priv);
		inject(&t.b, 9, &m);
		cmbed_run(&t, 1000);
		if (snic_cm_poll(t.b.nic, &ev))
			break;
		snic_cm_conn_find(t.b.nic, ev.id)->state =
			SNIC_CM_ST_ESTABLISHED;
		snic_cm_of(t.b.nic)->nr_pending--;
	}
	assert_int_equal(i, SNIC_CM_PEER_CONNS);
	assert_int_equal(rej_reason(&t, 1000 + i), SNIC_REJ_NO_RESOURCES);
	cmbed_close(&t);
}

/* Ids of connections that are gone find nothing, however many there were. */
static void test_ids_do_not_come_back(void **state)
{
	struct snic_cm_event ev;
	uint32_t first = 0;
	unsigned int i;
	uint8_t priv[92];
	struct snic_cm_msg m;
	struct cmbed t;

	open_b(&t);
	for (i = 0; i < 2 * SNIC_CM_MAX_CONNS / 100; i++) {
		m = make_req(9, 2, 1000 + i, 0x100 + i, priv);
		inject(&t.b, 9, &m);
		expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
		assert_int_not_equal(ev.id, first);
		if (!first)
			first = ev.id;
		assert_int_equal(snic_cm_release(t.b.nic, ev.id), 0);
		assert_int_equal(snic_cm_release(t.b.nic, first), -ENOENT);
		cmbed_run(&t, 3 * SECOND);
	}
	cmbed_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duplicate_req),
		cmocka_unit_test(test_same_qp_again),
		cmocka_unit_test(test_two_requests),
		cmocka_unit_test(test_peer_times_out),
		cmocka_unit_test(test_mra),
		cmocka_unit_test(test_foreign_messages),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_unknown_messages),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_many_refusals),
		cmocka_unit_test(test_many_ends),
		cmocka_unit_test(test_ids_do_not_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
