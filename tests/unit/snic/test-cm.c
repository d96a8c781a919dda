// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The life of a connection, between two software NICs in virtual time: set-up,
 * private data, the end, and every message lost at every place.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include "bed/cm.h"
#include "snic/net/net-priv.h"
#include "snic/net/pkt.h"

/* ---- set-up and end -------------------------------------------------------- */

static void test_connect_disconnect(void **state)
{
	struct snic_cm_event ev;
	struct cmbed t;
	struct pair p;

	cmbed_open(&t);
	establish(&t, &p);
	assert_int_equal(qp_state(&t.a, p.qa), SNIC_QP_RTS);
	assert_int_equal(qp_state(&t.b, p.qb), SNIC_QP_RTS);

	assert_int_equal(snic_cm_disconnect(t.a.nic, p.ia), 0);
	assert_int_equal(qp_state(&t.a, p.qa), SNIC_QP_ERR);
	expect(&t, &t.b, SECOND, SNIC_CM_DISCONNECTED, &ev);
	assert_int_equal(ev.id, p.ib);
	assert_int_equal(qp_state(&t.b, p.qb), SNIC_QP_ERR);
	expect(&t, &t.a, SECOND, SNIC_CM_DISCONNECTED, &ev);
	assert_int_equal(ev.id, p.ia);
	assert_int_equal(snic_cm_disconnect(t.a.nic, p.ia), -ENOTCONN);
	assert_int_equal(snic_cm_release(t.a.nic, p.ia), 0);
	assert_int_equal(snic_cm_release(t.a.nic, p.ia), -ENOENT);
	assert_int_equal(snic_cm_release(t.b.nic, p.ib), 0);
	tear_down(&t, &p);
	cmbed_close(&t);
}

static void test_both_disconnect(void **state)
{
	struct snic_cm_event ev;
	struct cmbed t;
	struct pair p;

	cmbed_open(&t);
	establish(&t, &p);
	assert_int_equal(snic_cm_disconnect(t.a.nic, p.ia), 0);
	assert_int_equal(snic_cm_disconnect(t.b.nic, p.ib), 0);
	expect(&t, &t.a, SECOND, SNIC_CM_DISCONNECTED, &ev);
	expect(&t, &t.b, SECOND, SNIC_CM_DISCONNECTED, &ev);
	tear_down(&t, &p);
	cmbed_close(&t);
}

static void test_negotiation(void **state)
{
	struct snic_cm_event ev;
	struct snic_qp *qp;
	uint8_t priv[92];
	struct snic_cm_msg req = make_req(9, 2, 0x1234, 0x55, priv), rep;
	struct cmbed t;
	uint32_t qb;

	cmbed_open(&t);
	inject(&t.b, 9, &req);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	assert_int_equal(ev.peer_ip, host_ip(9));
	assert_int_equal(ev.peer_port, 4000);
	qb = host_qp(&t.b);
	assert_int_equal(accept_b(&t, ev.id, qb, NULL, 0), 0);
	last_sent(&t.b, SNIC_CM_REP, &rep);
	qp = snic_qp_lookup(t.b.nic, qb);
	assert_int_equal(qp->state, SNIC_QP_RTR);
	assert_int_equal(qp->conn.dest_qpn, 0x55);
	assert_int_equal(qp->conn.dest_ip, host_ip(9));
	assert_int_equal(qp->conn.mtu, 1024);
	assert_int_equal(qp->conn.sq_psn, 0x123);
	assert_int_equal(qp->conn.rq_psn, rep.rep.psn);
	assert_int_equal(qp->conn.retry_cnt, 7);
	assert_int_equal(qp->conn.rnr_retry, 7);
	assert_int_equal(qp->conn.min_rnr_timer, 12);
	assert_int_equal(qp->conn.max_rd_atomic, 4);
	assert_int_equal(qp->conn.max_dest_rd_atomic, SNIC_CM_RD_ATOMIC);
	assert_int_equal(rep.tid, req.tid);
	assert_int_equal(rep.remote_id, 0x1234);
	assert_int_equal(rep.rep.qpn, qb);
	assert_int_equal(rep.rep.rnr_retry, 6);
	assert_int_equal(rep.rep.initiator_depth, 4);
	assert_int_equal(rep.rep.responder_resources, SNIC_CM_RD_ATOMIC);
	cmbed_close(&t);
}

static void fill(uint8_t *p, size_t len, uint8_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = seed + i * 7;
}

static void test_private_data(void **state)
{
	uint8_t req[56], rep[196], rej[148];
	struct snic_cm_param bad = { .priv = rep };
	struct snic_cm_event ev;
	uint32_t qa, qb, ia;
	struct cmbed t;

	fill(req, sizeof(req), 1);
	fill(rep, sizeof(rep), 2);
	fill(rej, sizeof(rej), 3);
	cmbed_open(&t);
	qa = host_qp(&t.a);
	qb = host_qp(&t.b);

	bad.qpn = qa;
	bad.priv_len = 57;
	assert_int_equal(snic_cm_connect(t.a.nic, host_ip(2), PORT, &bad,
					 &ia), -EMSGSIZE);
	ia = connect_a(&t, qa, req, sizeof(req));
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	assert_int_equal(ev.listener, t.listener);
	assert_int_equal(ev.peer_ip, host_ip(1));
	assert_int_equal(ev.local_ip, host_ip(2));
	assert_int_equal(ev.peer_qpn, qa);
	assert_int_equal(ev.priv_len, 56);
	assert_memory_equal(ev.priv, req, 56);
	bad.qpn = qb;
	bad.priv_len = 197;
	assert_int_equal(snic_cm_accept(t.b.nic, ev.id, &bad), -EMSGSIZE);
	assert_int_equal(snic_cm_reject(t.b.nic, ev.id, rej, 149), -EMSGSIZE);
	assert_int_equal(accept_b(&t, ev.id, qb, rep, sizeof(rep)), 0);
	expect(&t, &t.a, SECOND, SNIC_CM_ESTABLISHED, &ev);
	assert_int_equal(ev.id, ia);
	assert_int_equal(ev.peer_qpn, qb);
	assert_int_equal(ev.priv_len, 196);
	assert_memory_equal(ev.priv, rep, 196);

	ia = connect_a(&t, host_qp(&t.a), NULL, 0);
	expect(&t, &t.b, SECOND, SNIC_CM_ESTABLISHED, &ev);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	assert_int_equal(snic_cm_reject(t.b.nic, ev.id, rej, 148), 0);
	assert_int_equal(snic_cm_release(t.b.nic, ev.id), -ENOENT);
	expect(&t, &t.a, SECOND, SNIC_CM_REJECTED, &ev);
	assert_int_equal(ev.id, ia);
	assert_int_equal(ev.reason, SNIC_REJ_CONSUMER);
	assert_int_equal(ev.priv_len, 148);
	assert_memory_equal(ev.priv, rej, 148);
	cmbed_close(&t);
}

static void test_bad_calls(void **state)
{
	struct snic_cm_param p = { .retry_cnt = 7 };
	struct snic_cm_event ev;
	uint32_t qa, qb, id, ia, l;
	struct cmbed t;

	cmbed_open(&t);
	qa = p.qpn = host_qp(&t.a);
	assert_int_equal(snic_cm_listen(t.b.nic, PORT, &l), -EADDRINUSE);
	assert_int_equal(snic_cm_listen(t.b.nic, 0, &l), -EINVAL);
	assert_int_equal(snic_cm_unlisten(t.b.nic, 99), -ENOENT);
	assert_int_equal(snic_cm_connect(t.a.nic, host_ip(1), PORT, &p,
					 &id), -EINVAL);
	assert_int_equal(snic_cm_connect(t.a.nic, htobe32(0x0b000001), PORT,
					 &p, &id), -EHOSTUNREACH);
	p.rnr_retry = 8;
	assert_int_equal(snic_cm_connect(t.a.nic, host_ip(2), PORT, &p,
					 &id), -EINVAL);
	p.rnr_retry = 7;
	p.qpn = 0xabcdef;
	assert_int_equal(snic_cm_connect(t.a.nic, host_ip(2), PORT, &p,
					 &id), -ENOENT);
	assert_int_equal(snic_cm_disconnect(t.a.nic, 1), -ENOENT);
	assert_int_equal(snic_cm_reject(t.a.nic, 1, NULL, 0), -ENOENT);

	ia = connect_a(&t, qa, NULL, 0);
	p.qpn = qa;
	assert_int_equal(snic_cm_connect(t.a.nic, host_ip(2), PORT, &p,
					 &id), -EBUSY);
	assert_int_equal(snic_cm_disconnect(t.a.nic, ia), -ENOTCONN);
	assert_int_equal(snic_cm_accept(t.a.nic, ia, &p), -ENOTCONN);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	qb = host_qp(&t.b);
	assert_int_equal(snic_qp_error(t.b.nic, qb), 0);
	assert_int_equal(accept_b(&t, ev.id, qb, NULL, 0), -EINVAL);
	assert_int_equal(snic_qp_reset(t.b.nic, qb), 0);
	assert_int_equal(accept_b(&t, ev.id, qb, NULL, 0), 0);
	assert_int_equal(accept_b(&t, ev.id, qb, NULL, 0), -ENOTCONN);
	assert_int_equal(snic_cm_reject(t.b.nic, ev.id, NULL, 0), -ENOTCONN);
	cmbed_close(&t);
}

static void test_no_listener(void **state)
{
	struct snic_cm_event ev;
	struct cmbed t;

	cmbed_open(&t);
	assert_int_equal(snic_cm_unlisten(t.b.nic, t.listener), 0);
	connect_a(&t, host_qp(&t.a), NULL, 0);
	expect(&t, &t.a, SECOND, SNIC_CM_REJECTED, &ev);
	assert_int_equal(ev.reason, SNIC_REJ_INVALID_SERVICE_ID);
	cmbed_close(&t);
}

/* A request that nobody has taken from the queue dies with its listener. */
static void test_unlisten_refuses(void **state)
{
	struct snic_cm_event ev;
	struct cmbed t;

	cmbed_open(&t);
	connect_a(&t, host_qp(&t.a), NULL, 0);
	cmbed_run(&t, SECOND / 100);
	assert_true(snic_cm_pending(snic_cm_of(t.b.nic)));
	assert_int_equal(snic_cm_unlisten(t.b.nic, t.listener), 0);
	expect_none(&t.b);
	expect(&t, &t.a, SECOND, SNIC_CM_REJECTED, &ev);
	cmbed_close(&t);
}

static void test_mtu(void **state)
{
	struct snic_config big = {
		.mac = { 2, 0, 0, 0, 0, 1 }, .ip = host_ip(1),
		.prefix_len = 24, .mtu = 9000, .seed = 3,
	};
	struct snic_cm_event ev;
	struct cmbed t;

	cmbed_open(&t);
	host_close(&t.a);
	cmbed_open_a(&t, &big);
	connect_a(&t, host_qp(&t.a), NULL, 0);
	expect(&t, &t.a, SECOND, SNIC_CM_REJECTED, &ev);
	assert_int_equal(ev.reason, SNIC_REJ_INVALID_MTU);
	cmbed_close(&t);
}

/* ---- nobody there ------------------------------------------------------------ */

static void test_no_host(void **state)
{
	struct snic_cm_event ev;
	uint64_t begin;
	struct cmbed t;
	uint32_t qa;

	cmbed_open(&t);
	t.a.port.peer = NULL;
	begin = t.vt.now;
	qa = host_qp(&t.a);
	connect_a(&t, qa, NULL, 0);
	expect(&t, &t.a, 60 * SECOND, SNIC_CM_UNREACHABLE, &ev);
	assert_true(t.vt.now - begin < 15 * SECOND);
	assert_int_equal(qp_state(&t.a, qa), SNIC_QP_ERR);
	assert_int_equal(host_stats(&t.a).arp_failed, 1);
	assert_int_equal(snic_cm_release(t.a.nic, ev.id), 0);
	expect_no_connections(&t);
	cmbed_close(&t);
}

static void test_silent_host(void **state)
{
	struct snic_cm_event ev;
	struct cmbed t;

	cmbed_open(&t);
	cmbed_lose(&t, SNIC_CM_REQ, UINT64_MAX);
	connect_a(&t, host_qp(&t.a), NULL, 0);
	expect(&t, &t.a, 60 * SECOND, SNIC_CM_UNREACHABLE, &ev);
	assert_int_equal(host_stats(&t.a).cm_timeouts, 1);
	assert_in_range(host_stats(&t.a).cm_retransmits, 4, 20);
	cmbed_close(&t);
}

/* ---- every message lost at every place --------------------------------------- */

struct fate {
	bool end_a, end_b;		/* a terminal event */
	bool up_a, up_b;
};

/* Both sides until both know how it ended; b accepts or rejects. */
static void follow(struct cmbed *t, bool accept, struct fate *f, struct pair *p)
{
	struct snic_cm_event ev;
	uint64_t end = t->vt.now + 200 * SECOND;

	memset(f, 0, sizeof(*f));
	while (t->vt.now < end) {
		cmbed_run(t, SECOND / 20);
		while (!snic_cm_poll(t->a.nic, &ev)) {
			assert_int_equal(ev.id, p->ia);
			f->up_a |= ev.type == SNIC_CM_ESTABLISHED;
			f->end_a |= ev.type != SNIC_CM_ESTABLISHED;
		}
		while (!snic_cm_poll(t->b.nic, &ev)) {
			if (ev.type == SNIC_CM_REQUEST && accept) {
				p->ib = ev.id;
				assert_int_equal(accept_b(t, ev.id, p->qb,
							  NULL, 0), 0);
			} else if (ev.type == SNIC_CM_REQUEST) {
				assert_int_equal(snic_cm_reject(t->b.nic,
						 ev.id, NULL, 0), 0);
			}
			f->up_b |= ev.type == SNIC_CM_ESTABLISHED;
			f->end_b |= ev.type != SNIC_CM_ESTABLISHED &&
				ev.type != SNIC_CM_REQUEST;
		}
	}
}

static void lose_and_follow(uint16_t attr, uint64_t mask, bool accept)
{
	bool for_ever = mask == UINT64_MAX;
	struct pair p = { 0 };
	struct fate f;
	struct cmbed t;

	cmbed_open(&t);
	cmbed_lose(&t, attr, mask);
	p.qa = host_qp(&t.a);
	p.qb = host_qp(&t.b);
	p.ia = connect_a(&t, p.qa, NULL, 0);
	follow(&t, accept, &f, &p);
	if (!accept) {
		assert_true(f.end_a && !f.up_a && !f.end_b && !f.up_b);
	} else if (!for_ever || attr == SNIC_CM_REJ || attr >= SNIC_CM_DREQ) {
		assert_true(f.up_a && f.up_b && !f.end_a && !f.end_b);
	} else if (attr == SNIC_CM_REQ) {
		assert_true(f.end_a && !f.end_b && !f.up_b);
	} else {
		/* b never hears an answer: it gives up, and a learns of it. */
		assert_true(f.end_a && f.end_b && !f.up_b);
	}
	if (accept && f.up_a && f.up_b) {
		/* DREQ lost for ever: b does not learn of it. */
		cmbed_lose(&t, attr, mask);
		assert_int_equal(snic_cm_disconnect(t.a.nic, p.ia), 0);
		follow(&t, accept, &f, &p);
		assert_true(f.end_a && (f.end_b || attr == SNIC_CM_DREQ));
	}
	tear_down(&t, &p);
	cmbed_close(&t);
}

static void test_losses(void **state)
{
	static const uint64_t masks[] = { 1, 2, 4, 3, 7, 5, 0xf, UINT64_MAX };
	static const uint16_t attrs[] = {
		SNIC_CM_REQ, SNIC_CM_REP, SNIC_CM_RTU, SNIC_CM_REJ,
		SNIC_CM_DREQ, SNIC_CM_DREP,
	};
	unsigned int i, k;

	for (i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
		for (k = 0; k < sizeof(masks) / sizeof(masks[0]); k++) {
			lose_and_follow(attrs[i], masks[k], true);
			if (attrs[i] == SNIC_CM_REQ || attrs[i] == SNIC_CM_REJ)
				lose_and_follow(attrs[i], masks[k], false);
		}
}

/* ---- many ------------------------------------------------------------------------ */

static void cycles(unsigned int n, const struct snic_faults *faults)
{
	struct snic_cm_event ev;
	unsigned int i, up = 0;
	struct pair p;
	struct fate f;
	struct cmbed t;

	cmbed_open(&t);
	if (faults) {
		assert_int_equal(snic_set_faults(t.a.nic, faults), 0);
		assert_int_equal(snic_set_faults(t.b.nic, faults), 0);
	}
	for (i = 0; i < n; i++) {
		p = (struct pair) { 0 };
		if (!faults) {
			establish(&t, &p);
			snic_cm_disconnect(i & 1 ? t.a.nic : t.b.nic,
					   i & 1 ? p.ia : p.ib);
			expect(&t, &t.a, SECOND, SNIC_CM_DISCONNECTED, &ev);
			expect(&t, &t.b, SECOND, SNIC_CM_DISCONNECTED, &ev);
			up++;
		} else {
			p.qa = host_qp(&t.a);
			p.qb = host_qp(&t.b);
			p.ia = connect_a(&t, p.qa, NULL, 0);
			follow(&t, true, &f, &p);
			assert_true(f.end_a || f.up_a);
			assert_true(!f.up_b || f.up_a);
			up += f.up_a && f.up_b;
			if (f.up_a && !f.end_a) {
				snic_cm_disconnect(t.a.nic, p.ia);
				follow(&t, true, &f, &p);
				assert_true(f.end_a);
			}
		}
		snic_cm_release(t.a.nic, p.ia);
		snic_cm_release(t.b.nic, p.ib);
		assert_int_equal(snic_qp_destroy(t.a.nic, p.qa), 0);
		assert_int_equal(snic_qp_destroy(t.b.nic, p.qb), 0);
	}
	assert_true(up > n / 2);
	expect_no_connections(&t);
	cmbed_close(&t);
}

static void test_1000_cycles(void **state)
{
	cycles(1000, NULL);
}

static void test_bad_wire(void **state)
{
	static const struct snic_faults faults = {
		.loss = 0.3, .duplicate = 0.2, .reorder = 0.3, .corrupt = 0.1,
		.delay_ns = 300000000,
	};

	cycles(40, &faults);
}

/* ---- data instead of an RTU ---------------------------------------------------------- */

static void test_data_establishes(void **state)
{
	struct snic_pkt pkt = {
		.opcode = SNIC_OP_SEND_ONLY, .pkey = SNIC_PKEY_DEFAULT,
	};
	uint8_t hdr[SNIC_PKT_HDR_MAX];
	struct iovec iov = { .iov_base = hdr };
	struct snic_cm_event ev;
	struct pair p;
	struct cmbed t;

	cmbed_open(&t);
	cmbed_lose(&t, SNIC_CM_RTU, UINT64_MAX);
	p.qa = host_qp(&t.a);
	p.qb = host_qp(&t.b);
	p.ia = connect_a(&t, p.qa, NULL, 0);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	p.ib = ev.id;
	assert_int_equal(accept_b(&t, p.ib, p.qb, NULL, 0), 0);
	expect(&t, &t.a, SECOND, SNIC_CM_ESTABLISHED, &ev);
	cmbed_run(&t, SECOND);
	expect_none(&t.b);
	assert_int_equal(qp_state(&t.b, p.qb), SNIC_QP_RTR);

	pkt.qpn = p.qb;
	pkt.psn = snic_qp_lookup(t.a.nic, p.qa)->conn.sq_psn;
	iov.iov_len = snic_pkt_build(&pkt, hdr);
	assert_int_equal(snic_net_send(t.a.nic, host_ip(2), 0xc000, &iov,
				       1), 0);
	expect(&t, &t.b, SECOND / 100, SNIC_CM_ESTABLISHED, &ev);
	assert_int_equal(qp_state(&t.b, p.qb), SNIC_QP_RTS);
	tear_down(&t, &p);
	cmbed_close(&t);
}

/* ---- the user goes away, at any time ---------------------------------------------------- */

static void test_qp_destroyed(void **state)
{
	struct snic_cm_event ev;
	struct pair p;
	struct cmbed t;
	uint32_t id;

	cmbed_open(&t);
	establish(&t, &p);
	assert_int_equal(snic_qp_destroy(t.a.nic, p.qa), 0);
	expect(&t, &t.b, SECOND, SNIC_CM_DISCONNECTED, &ev);
	expect(&t, &t.a, SECOND, SNIC_CM_DISCONNECTED, &ev);
	snic_cm_release(t.a.nic, p.ia);
	snic_cm_release(t.b.nic, p.ib);
	assert_int_equal(snic_qp_destroy(t.b.nic, p.qb), 0);

	/* while it connects */
	p.qa = host_qp(&t.a);
	id = connect_a(&t, p.qa, NULL, 0);
	assert_int_equal(snic_qp_destroy(t.a.nic, p.qa), 0);
	expect(&t, &t.a, SECOND, SNIC_CM_UNREACHABLE, &ev);
	assert_int_equal(ev.id, id);
	snic_cm_release(t.a.nic, id);

	/* b accepts what a has forgotten: a says so */
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	p.qb = host_qp(&t.b);
	assert_int_equal(accept_b(&t, ev.id, p.qb, NULL, 0), 0);
	expect(&t, &t.b, SECOND, SNIC_CM_REJECTED, &ev);
	assert_int_equal(ev.reason, SNIC_REJ_INVALID_COMM_ID);
	snic_cm_release(t.b.nic, ev.id);
	expect_no_connections(&t);

	/* between REP and RTU */
	cmbed_lose(&t, SNIC_CM_RTU, 1);
	p.qa = host_qp(&t.a);
	assert_int_equal(snic_qp_reset(t.b.nic, p.qb), 0);
	id = connect_a(&t, p.qa, NULL, 0);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	assert_int_equal(accept_b(&t, ev.id, p.qb, NULL, 0), 0);
	assert_int_equal(snic_qp_destroy(t.b.nic, p.qb), 0);
	expect(&t, &t.b, SECOND, SNIC_CM_DISCONNECTED, &ev);
	snic_cm_release(t.b.nic, ev.id);
	cmbed_run(&t, SECOND);
	snic_cm_release(t.a.nic, id);
	expect_no_connections(&t);
	cmbed_close(&t);
}

static void test_release_without_a_word(void **state)
{
	struct snic_cm_event ev;
	struct pair p;
	struct cmbed t;

	cmbed_open(&t);
	establish(&t, &p);
	assert_int_equal(snic_cm_release(t.b.nic, p.ib), 0);
	assert_int_equal(qp_state(&t.b, p.qb), SNIC_QP_ERR);
	cmbed_run(&t, 5 * SECOND);
	expect_none(&t.a);
	/* a's DREQ is answered all the same */
	assert_int_equal(snic_cm_disconnect(t.a.nic, p.ia), 0);
	expect(&t, &t.a, SECOND, SNIC_CM_DISCONNECTED, &ev);
	assert_int_equal(host_stats(&t.a).cm_timeouts, 0);
	tear_down(&t, &p);

	/* a request left alone */
	p.qa = host_qp(&t.a);
	p.ia = connect_a(&t, p.qa, NULL, 0);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	assert_int_equal(snic_cm_release(t.b.nic, ev.id), 0);
	expect(&t, &t.a, 60 * SECOND, SNIC_CM_REJECTED, &ev);
	cmbed_close(&t);
}

/* snic_free() with connections in every state. */
static void test_free_in_use(void **state)
{
	struct snic_cm_event ev;
	struct pair p;
	struct cmbed t;

	cmbed_open(&t);
	establish(&t, &p);
	connect_a(&t, host_qp(&t.a), NULL, 0);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	connect_a(&t, host_qp(&t.a), NULL, 0);
	expect(&t, &t.b, SECOND, SNIC_CM_REQUEST, &ev);
	assert_int_equal(accept_b(&t, ev.id, host_qp(&t.b), NULL, 0), 0);
	cmbed_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connect_disconnect),
		cmocka_unit_test(test_both_disconnect),
		cmocka_unit_test(test_negotiation),
		cmocka_unit_test(test_private_data),
		cmocka_unit_test(test_bad_calls),
		cmocka_unit_test(test_no_listener),
		cmocka_unit_test(test_unlisten_refuses),
		cmocka_unit_test(test_mtu),
		cmocka_unit_test(test_no_host),
		cmocka_unit_test(test_silent_host),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_1000_cycles),
		cmocka_unit_test(test_bad_wire),
		cmocka_unit_test(test_data_establishes),
		cmocka_unit_test(test_qp_destroyed),
		cmocka_unit_test(test_release_without_a_word),
		cmocka_unit_test(test_free_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
