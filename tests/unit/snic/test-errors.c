// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Everything a ring can hold that it should not: each is reported by its
 * syndrome, stops its queue pair, and flushes what was posted, in order.
 */
#include "bed/end.h"

struct pair {
	struct host b;
	struct end x, y;
	uint8_t *m;
};

static void pair_open(struct pair *p, const struct end_opts *o)
{
	host_open(&p->b, NULL);
	end_open(&p->b, o, &p->x);
	end_open(&p->b, o, &p->y);
	end_join(&p->x, &p->y);
	p->m = host_alloc(&p->b, 8192);
	memset(p->m, 0x11, 8192);
}

/* The first WQE fails so, without having done anything to m. */
static void fails(struct pair *p, uint8_t synd)
{
	struct snic_qp_info info;
	unsigned int i;

	ring(&p->x);
	host_run(&p->b);
	expect_error(&p->b, p->x.scqn, WRC_CQE_REQ_ERR, synd, 0);
	assert_int_equal(snic_qp_query(p->b.nic, p->x.qpn, &info), 0);
	assert_int_equal(info.state, SNIC_QP_ERR);
	assert_int_equal(info.syndrome, synd);
	assert_int_equal(info.sq_executed, 0);
	for (i = 0; i < 8192; i++)
		assert_int_equal(p->m[i], 0x11);
}

/* ---- control segment ------------------------------------------------------- */

static uint8_t *one_nop(struct pair *p, const struct end_opts *o)
{
	pair_open(p, o);
	return put_nop(&p->x, 0);
}

static void bad_control_segments(void **state)
{
	/* byte, value: of a NOP at 0 */
	static const uint8_t bad[][2] = {
		{ 1, 1 }, { 2, 1 },		/* index */
		{ 4, 0xff }, { 5, 0xff }, { 6, 0xff },	/* QPN */
		{ 7, 0 }, { 7, 0x41 }, { 7, 0x80 },	/* ds */
		{ 3, 0x01 }, { 3, 0x0e }, { 3, 0x13 }, { 3, 0x16 },
		{ 3, 0x18 }, { 3, 0x25 }, { 3, 0xff },	/* opcode */
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pair p;
		uint8_t *c = one_nop(&p, NULL);

		c[bad[i][0]] = bad[i][1];
		fails(&p, WRC_SYND_LOCAL_QP_OP);
		host_close(&p.b);
	}
}

static void relaxed_checks(void **state)
{
	struct snic_config cfg = host_default;
	struct host b;
	struct end x;
	uint8_t *c;

	cfg.relaxed_index = true;
	cfg.relaxed_qpn = true;
	host_open(&b, &cfg);
	end_open(&b, NULL, &x);
	end_join(&x, &x);
	c = put_nop(&x, CE);
	memset(c + 1, 0x77, 2);
	memset(c + 4, 0x88, 3);
	ring(&x);
	host_run(&b);
	expect_cqe(&b, x.scqn, WRC_CQE_REQ, 0);
	host_close(&b);
}

/* ---- shapes ------------------------------------------------------------------ */

static void wrong_shapes(void **state)
{
	/* opcode, opmod, segments behind the control segment */
	static const uint8_t bad[][3] = {
		{ WRC_WQE_WRITE, 0, 0 }, { WRC_WQE_WRITE_IMM, 0, 0 },
		{ WRC_WQE_READ, 0, 0 },
		{ WRC_WQE_FA, 0, 0 }, { WRC_WQE_FA, 0, 1 },
		{ WRC_WQE_CS, 0, 1 }, { WRC_WQE_CS, 1, 3 },
		{ WRC_WQE_MASKED_FA, WRC_WQE_OPMOD_MASKED_8, 1 },
		{ WRC_WQE_MASKED_FA, 0, 3 }, { WRC_WQE_MASKED_FA, 0x0a, 3 },
		{ WRC_WQE_MASKED_CS, WRC_WQE_OPMOD_MASKED_8, 2 },
		{ WRC_WQE_MASKED_CS, WRC_WQE_OPMOD_MASKED_4, 1 },
		{ WRC_WQE_WAIT, 0, 0 }, { WRC_WQE_WAIT, 0, 2 },
		{ WRC_WQE_WAIT, 1, 1 }, { WRC_WQE_SEND_EN, 0, 0 },
		{ WRC_WQE_SEND_EN, 0, 3 },
	};
	struct end_opts o = { .master = true };
	unsigned int i, k;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pair p;
		struct wqe w;

		pair_open(&p, &o);
		w = wqe_begin(&p.x, bad[i][0], bad[i][1], 0);
		for (k = 0; k < bad[i][2]; k++)
			wqe_u64x2(&w, 0, 0);
		wqe_end(&w);
		fails(&p, WRC_SYND_LOCAL_QP_OP);
		host_close(&p.b);
	}
}

static void wrong_lengths(void **state)
{
	static const uint8_t opcodes[] = { WRC_WQE_FA, WRC_WQE_CS };
	struct pair p;
	struct wqe w;
	unsigned int i;

	/* the results of atomics have their length */
	for (i = 0; i < 4; i++) {
		pair_open(&p, NULL);
		w = wqe_begin(&p.x, opcodes[i & 1], 0, 0);
		wqe_raddr(&w, host_iova(&p.b, p.m), p.b.key);
		wqe_u64x2(&w, 1, 1);
		if (i & 2)
			wqe_data(&w, p.m, 4);
		wqe_end(&w);
		fails(&p, WRC_SYND_LOCAL_LENGTH);
		host_close(&p.b);
	}
	/* a length of 0 means 2 GB; two of those are too much */
	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_SEND, 0, 0);
	wqe_data(&w, p.m, 0);
	wqe_end(&w);
	fails(&p, WRC_SYND_LOCAL_PROT);
	host_close(&p.b);
	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_SEND, 0, 0);
	wqe_data(&w, p.m, 0);
	wqe_data(&w, p.m, 0);
	wqe_end(&w);
	fails(&p, WRC_SYND_LOCAL_LENGTH);
	host_close(&p.b);
}

static void wrong_inline(void **state)
{
	struct pair p;
	struct wqe w;
	uint32_t seg[4] = { htobe32(WRC_WQE_INLINE | 13) };

	/* longer than its WQE */
	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_WRITE, 0, 0);
	wqe_raddr(&w, host_iova(&p.b, p.m), p.b.key);
	wqe_seg(&w, seg);
	wqe_end(&w);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
	/* mixed with a list, both ways */
	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_SEND, 0, 0);
	wqe_inline(&w, "abc", 3);
	wqe_data(&w, p.m, 8);
	wqe_end(&w);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_SEND, 0, 0);
	wqe_data(&w, p.m, 8);
	wqe_inline(&w, "abc", 3);
	wqe_end(&w);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
	/* where data comes in */
	pair_open(&p, NULL);
	w = wqe_begin(&p.x, WRC_WQE_READ, 0, 0);
	wqe_raddr(&w, host_iova(&p.b, p.m), p.b.key);
	wqe_inline(&w, "abc", 3);
	wqe_end(&w);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
}

/* ---- control operations ------------------------------------------------------- */

static void only_masters_wait_and_enable(void **state)
{
	struct end_opts o = { .master = true }, slave = { .slave = true };
	struct pair p;

	pair_open(&p, NULL);
	put_wait(&p.x, 0, p.y.scqn, 0);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
	pair_open(&p, &slave);
	put_enable(&p.x, 0, p.y.qpn, 1);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
	/* and only managed queues are enabled */
	pair_open(&p, &o);
	put_enable(&p.x, 0, p.y.qpn, 1);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
	pair_open(&p, &o);
	put_wait(&p.x, 0, 0xabcdef, 0);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
	pair_open(&p, &o);
	put_enable(&p.x, 0, 0xabcdef, 0);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
}

static void enable_stays_in_its_domain(void **state)
{
	struct end_opts o = { .master = true, .slave = true };
	struct end z;
	struct pair p;
	uint32_t pdn;

	pair_open(&p, &o);
	pdn = p.b.pdn;
	assert_int_equal(snic_pd_alloc(p.b.nic, &p.b.pdn), 0);
	end_open(&p.b, &o, &z);
	p.b.pdn = pdn;
	put_enable(&p.x, 0, z.qpn, 1);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
}

static void waited_for_cq_goes_away(void **state)
{
	struct end_opts o = { .master = true };
	struct end z;
	struct pair p;

	pair_open(&p, &o);
	end_open(&p.b, NULL, &z);
	put_wait(&p.x, 0, z.scqn, 0);
	ring(&p.x);
	host_run(&p.b);
	assert_int_equal(snic_cq_destroy(p.b.nic, z.scqn), -EBUSY);
	assert_int_equal(snic_qp_destroy(p.b.nic, z.qpn), 0);
	assert_int_equal(snic_cq_destroy(p.b.nic, z.scqn), 0);
	fails(&p, WRC_SYND_LOCAL_QP_OP);
	host_close(&p.b);
}

/* ---- memory ---------------------------------------------------------------------- */

enum where { LOCAL, REMOTE };

/* opcode with one side's key or address changed */
static void touch(struct pair *p, uint8_t opcode, enum where where,
		  uint32_t key, uint64_t addr)
{
	struct wqe w = wqe_begin(&p->x, opcode, 0, 0);
	uint64_t ok = host_iova(&p->b, p->m);

	wqe_raddr(&w, where == REMOTE ? addr : ok,
		  where == REMOTE ? key : p->b.key);
	if (opcode == WRC_WQE_FA)
		wqe_u64x2(&w, 1, 0);
	wqe_u64x2(&w, 8ull << 32 | (where == LOCAL ? key : p->b.key),
		  where == LOCAL ? addr : ok + 64);
	wqe_end(&w);
}

static const uint8_t movers[] = { WRC_WQE_WRITE, WRC_WQE_READ, WRC_WQE_FA };
static const unsigned int rights[] = {
	SNIC_REMOTE_WRITE, SNIC_REMOTE_READ, SNIC_REMOTE_ATOMIC,
};

static void memory_errors(void **state)
{
	static const uint64_t addrs[] = {
		0, ARENA_IOVA - 8, ARENA_IOVA + ARENA_LEN - 7 - 1 + 8,
		ARENA_IOVA + ARENA_LEN, ~0ull - 7, 1ull << 63,
	};
	unsigned int i, k, side;

	for (i = 0; i < 3; i++) {
		for (k = 0; k < 6; k++) {
			for (side = LOCAL; side <= REMOTE; side++) {
				struct pair p;

				pair_open(&p, NULL);
				touch(&p, movers[i], side, p.b.key, addrs[k]);
				fails(&p, side == LOCAL ? WRC_SYND_LOCAL_PROT :
					  WRC_SYND_REMOTE_ACCESS);
				host_close(&p.b);
			}
		}
	}
}

static uint32_t key_with(struct pair *p, bool other_pd, unsigned int access)
{
	uint32_t pdn = p->b.pdn, key;

	if (other_pd)
		assert_int_equal(snic_pd_alloc(p->b.nic, &pdn), 0);
	assert_int_equal(snic_mkey_reg(p->b.nic, pdn, p->b.arena, ARENA_LEN,
				       ARENA_IOVA, access, &key), 0);
	return key;
}

static void key_errors(void **state)
{
	unsigned int i;
	struct pair p;

	for (i = 0; i < 3; i++) {
		uint8_t local_synd = movers[i] == WRC_WQE_WRITE ? 0 :
				     WRC_SYND_LOCAL_PROT;

		pair_open(&p, NULL);		/* another domain's */
		touch(&p, movers[i], LOCAL, key_with(&p, true, ALL_RIGHTS),
		      host_iova(&p.b, p.m));
		fails(&p, WRC_SYND_LOCAL_PROT);
		host_close(&p.b);

		pair_open(&p, NULL);
		touch(&p, movers[i], REMOTE, key_with(&p, true, ALL_RIGHTS),
		      host_iova(&p.b, p.m));
		fails(&p, WRC_SYND_REMOTE_ACCESS);
		assert_int_equal(state_of(&p.y), SNIC_QP_ERR);
		host_close(&p.b);

		pair_open(&p, NULL);		/* without the one right */
		touch(&p, movers[i], REMOTE,
		      key_with(&p, false, ALL_RIGHTS & ~rights[i]),
		      host_iova(&p.b, p.m));
		fails(&p, WRC_SYND_REMOTE_ACCESS);
		host_close(&p.b);

		pair_open(&p, NULL);		/* without local write */
		touch(&p, movers[i], LOCAL,
		      key_with(&p, false, SNIC_REMOTE_READ),
		      host_iova(&p.b, p.m));
		if (local_synd) {
			fails(&p, local_synd);
		} else {
			ring(&p.x);
			host_run(&p.b);
			assert_int_equal(state_of(&p.x), SNIC_QP_RTS);
		}
		host_close(&p.b);

		pair_open(&p, NULL);		/* deregistered */
		touch(&p, movers[i], REMOTE, p.b.key, host_iova(&p.b, p.m));
		assert_int_equal(snic_mkey_dereg(p.b.nic, p.b.key), 0);
		fails(&p, WRC_SYND_LOCAL_PROT);
		host_close(&p.b);
	}
}

static void peers_rights(void **state)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct end_opts o = { .no_access = rights[i] };
		struct pair p;

		pair_open(&p, &o);
		touch(&p, movers[i], REMOTE, p.b.key, host_iova(&p.b, p.m));
		fails(&p, WRC_SYND_REMOTE_ACCESS);
		assert_int_equal(state_of(&p.y), SNIC_QP_ERR);
		host_close(&p.b);
	}
}

static void misaligned_atomics(void **state)
{
	unsigned int i;

	for (i = 1; i < 8; i++) {
		struct pair p;

		pair_open(&p, NULL);
		touch(&p, WRC_WQE_FA, REMOTE, p.b.key,
		      host_iova(&p.b, p.m) + i);
		fails(&p, WRC_SYND_REMOTE_INVAL);
		host_close(&p.b);
	}
}

/* ---- receivers --------------------------------------------------------------------- */

static void put_send(struct pair *p, uint32_t len)
{
	struct wqe w = wqe_begin(&p->x, WRC_WQE_SEND, 0, 0);

	wqe_data(&w, p->m, len);
	wqe_end(&w);
}

static void receive_entry_too_small(void **state)
{
	struct pair p;

	pair_open(&p, NULL);
	post_recv(&p.y, p.m + 100, 15);
	post_recv(&p.y, p.m + 100, 16);
	put_send(&p, 16);
	fails(&p, WRC_SYND_REMOTE_INVAL);
	expect_error(&p.b, p.y.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_LOCAL_LENGTH,
		     0);
	expect_error(&p.b, p.y.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_WR_FLUSH, 1);
	assert_int_equal(state_of(&p.y), SNIC_QP_ERR);
	host_close(&p.b);
}

static void receive_entry_forbidden(void **state)
{
	struct wrc_wqe_data *d;
	struct pair p;

	pair_open(&p, NULL);
	post_recv(&p.y, p.m, 64);
	d = (struct wrc_wqe_data *)p.y.rq;
	d->lkey = htobe32(key_with(&p, false, SNIC_REMOTE_READ));
	put_send(&p, 16);
	fails(&p, WRC_SYND_REMOTE_OP);
	expect_error(&p.b, p.y.rcqn, WRC_CQE_RESP_ERR, WRC_SYND_LOCAL_PROT, 0);
	host_close(&p.b);
}

/* An entry without a terminator ends with its stride. */
static void receive_entry_full(void **state)
{
	struct wrc_wqe_data *d;
	struct pair p;
	unsigned int i;

	pair_open(&p, NULL);
	post_recv(&p.y, p.m, 1);
	d = (struct wrc_wqe_data *)p.y.rq;
	for (i = 0; i < 8; i++)
		d[i] = (struct wrc_wqe_data){
			.byte_count = htobe32(1), .lkey = htobe32(p.b.key),
			.addr = htobe64(host_iova(&p.b, p.m + 4096 + i)),
		};
	d[8] = d[7];
	put_send(&p, 9);
	fails(&p, WRC_SYND_REMOTE_INVAL);
	host_close(&p.b);
}

static void doorbell_record_nonsense(void **state)
{
	static const uint32_t bad[] = { 0x8000, 17, 0xffff, 0 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct pair p;

		pair_open(&p, NULL);
		post_recv(&p.y, p.m, 64);
		p.y.dbr->rcv = htobe32(bad[i]);
		put_send(&p, 16);
		ring(&p.x);
		host_run(&p.b);
		assert_int_equal(state_of(&p.x), SNIC_QP_RTS);
		assert_int_equal(cq_count(&p.b, p.y.rcqn), 0);
		host_close(&p.b);
	}
}

static void reconnect(struct pair *p, const struct snic_qp_conn *conn)
{
	assert_int_equal(snic_qp_reset(p->b.nic, p->x.qpn), 0);
	assert_int_equal(snic_qp_connect(p->b.nic, p->x.qpn, conn), 0);
}

static void rnr_retries_run_out(void **state)
{
	struct snic_qp_conn conn = { .loopback = true, .rnr_retry = 3 };
	struct snic_stats st;
	struct pair p;

	pair_open(&p, NULL);
	conn.dest_qpn = p.y.qpn;
	reconnect(&p, &conn);
	put_send(&p, 16);
	ring(&p.x);
	host_wait(&p.b, 1000000);
	fails(&p, WRC_SYND_RNR_EXC);
	snic_get_stats(p.b.nic, &st);
	assert_int_equal(st.rnr_received, 4);
	host_close(&p.b);
}

static void nobody_answers(void **state)
{
	struct snic_qp_conn conn = {
		.loopback = true, .retry_cnt = 2, .timeout = 1,
	};
	struct pair p;

	pair_open(&p, NULL);
	conn.dest_qpn = p.y.qpn;
	reconnect(&p, &conn);
	assert_int_equal(snic_qp_destroy(p.b.nic, p.y.qpn), 0);
	put_send(&p, 16);
	ring(&p.x);
	host_run(&p.b);
	assert_int_equal(state_of(&p.x), SNIC_QP_RTS);
	host_wait(&p.b, 1000000);
	fails(&p, WRC_SYND_RETRY_EXC);
	host_close(&p.b);
}

/* ---- flush ---------------------------------------------------------------------------- */

static void flush_in_order(void **state)
{
	struct pair p;
	struct wqe w;
	int i;

	pair_open(&p, NULL);
	for (i = 0; i < 3; i++)
		post_recv(&p.x, p.m, 16);
	put_nop(&p.x, CE);				/* 0 */
	touch(&p, WRC_WQE_READ, REMOTE, 0, 0);		/* 1, unsignalled */
	w = wqe_begin(&p.x, WRC_WQE_NOP, 0, 0);		/* 2, 3 BBs */
	for (i = 0; i < 8; i++)
		wqe_u64x2(&w, 0, 0);
	wqe_end(&w);
	put_nop(&p.x, CE);				/* 5 */
	ring(&p.x);
	host_run(&p.b);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	expect_error(&p.b, p.x.scqn, WRC_CQE_REQ_ERR, WRC_SYND_REMOTE_ACCESS, 1);
	expect_error(&p.b, p.x.scqn, WRC_CQE_REQ_ERR, WRC_SYND_WR_FLUSH, 2);
	expect_error(&p.b, p.x.scqn, WRC_CQE_REQ_ERR, WRC_SYND_WR_FLUSH, 5);
	expect_empty(&p.b, p.x.scqn);
	for (i = 0; i < 3; i++)
		expect_error(&p.b, p.x.rcqn, WRC_CQE_RESP_ERR,
			     WRC_SYND_WR_FLUSH, i);
	expect_empty(&p.b, p.x.rcqn);
	/* what is posted afterwards is flushed too */
	put_nop(&p.x, 0);
	ring(&p.x);
	expect_error(&p.b, p.x.scqn, WRC_CQE_REQ_ERR, WRC_SYND_WR_FLUSH, 6);
	host_close(&p.b);
}

static void error_on_request(void **state)
{
	struct end_opts o = { .master = true };
	struct snic_qp_info info;
	struct pair p;

	pair_open(&p, &o);
	put_nop(&p.x, 0);
	put_wait(&p.x, 0, p.y.scqn, 5);
	put_nop(&p.x, 0);
	ring(&p.x);
	host_run(&p.b);
	assert_int_equal(snic_qp_error(p.b.nic, p.x.qpn), 0);
	assert_int_equal(snic_qp_query(p.b.nic, p.x.qpn, &info), 0);
	assert_int_equal(info.sq_executed, 1);
	expect_error(&p.b, p.x.scqn, WRC_CQE_REQ_ERR, WRC_SYND_WR_FLUSH, 1);
	expect_error(&p.b, p.x.scqn, WRC_CQE_REQ_ERR, WRC_SYND_WR_FLUSH, 2);
	expect_empty(&p.b, p.x.scqn);
	/* nothing is left behind: the CQ may fill as it likes */
	put_nop(&p.y, CE);
	ring(&p.y);
	host_run(&p.b);
	assert_int_equal(snic_qp_reset(p.b.nic, p.x.qpn), 0);
	assert_int_equal(snic_qp_query(p.b.nic, p.x.qpn, &info), 0);
	assert_int_equal(info.state, SNIC_QP_RESET);
	assert_int_equal(info.sq_executed, 0);
	assert_int_equal(snic_qp_doorbell(p.b.nic, p.x.qpn, 1), -EINVAL);
	host_close(&p.b);
}

/* Flush CQEs count: another queue's WAIT is satisfied by them. */
static void flush_wakes_waiters(void **state)
{
	struct end_opts o = { .master = true };
	struct pair p;

	pair_open(&p, &o);
	put_wait(&p.x, CE, p.y.scqn, 1);
	ring(&p.x);
	put_wait(&p.y, 0, p.x.scqn, 100);
	put_nop(&p.y, 0);
	ring(&p.y);
	host_run(&p.b);
	assert_int_equal(cq_count(&p.b, p.x.scqn), 0);
	assert_int_equal(snic_qp_error(p.b.nic, p.y.qpn), 0);
	host_run(&p.b);
	expect_cqe(&p.b, p.x.scqn, WRC_CQE_REQ, 0);
	host_close(&p.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_control_segments),
		cmocka_unit_test(relaxed_checks),
		cmocka_unit_test(wrong_shapes),
		cmocka_unit_test(wrong_lengths),
		cmocka_unit_test(wrong_inline),
		cmocka_unit_test(only_masters_wait_and_enable),
		cmocka_unit_test(enable_stays_in_its_domain),
		cmocka_unit_test(waited_for_cq_goes_away),
		cmocka_unit_test(memory_errors),
		cmocka_unit_test(key_errors),
		cmocka_unit_test(peers_rights),
		cmocka_unit_test(misaligned_atomics),
		cmocka_unit_test(receive_entry_too_small),
		cmocka_unit_test(receive_entry_forbidden),
		cmocka_unit_test(receive_entry_full),
		cmocka_unit_test(doorbell_record_nonsense),
		cmocka_unit_test(rnr_retries_run_out),
		cmocka_unit_test(nobody_answers),
		cmocka_unit_test(flush_in_order),
		cmocka_unit_test(error_on_request),
		cmocka_unit_test(flush_wakes_waiters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
