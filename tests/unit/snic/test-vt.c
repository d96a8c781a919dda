// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The virtual-time runner: two NICs on a port pair, what work costs, the order
 * of completions on a queue that uses the wire, and that all of it repeats.
 */
#include <stdlib.h>
#include "bed/end.h"
#include "snic/vt.h"

struct net {
	struct snic_vt vt;
	struct host b[2];
	struct end e[2];
	struct snic_port *port[2];
	struct snic *nics[2];
	uint8_t *m[2];
};

static void net_open(struct net *n, uint64_t seed)
{
	struct end_opts o = { .master = true };
	int i;

	snic_vt_init(&n->vt, 0);
	for (i = 0; i < 2; i++) {
		struct host_conf conf = {
			.nic = host_config(i + 1, seed + i), .vt = &n->vt,
			.arena = ARENA_LEN, .open = true,
		};

		conf.nic.mtu = 4500;
		host_init(&n->b[i], &conf);
		end_open(&n->b[i], &o, &n->e[i]);
		n->nics[i] = n->b[i].nic;
		n->m[i] = host_alloc(&n->b[i], 65536);
	}
	host_cord(&n->b[0], &n->b[1], n->port);
	for (i = 0; i < 2; i++) {
		struct snic_qp_conn conn = {
			.dest_qpn = n->e[!i].qpn,
			.dest_ip = host_ip(1 + !i),
			.mtu = 1024, .rq_psn = 100 + !i, .sq_psn = 100 + i,
			.retry_cnt = 7, .rnr_retry = 7, .timeout = 14,
			.min_rnr_timer = 12, .max_rd_atomic = 4,
			.max_dest_rd_atomic = 4,
		};

		assert_int_equal(snic_qp_connect(n->nics[i], n->e[i].qpn,
						 &conn), 0);
	}
	for (i = 0; i < 65536; i++)
		n->m[0][i] = i * 31 + (i >> 8);
}

static void net_close(struct net *n)
{
	int i;

	for (i = 0; i < 2; i++) {
		host_close(&n->b[i]);
		n->port[i]->ops->close(n->port[i]);
	}
}

static void run_until(struct net *n, uint64_t until)
{
	assert_int_equal(snic_vt_run(&n->vt, until, NULL, NULL), 0);
}

/* Remote addresses are of the other bed: same layout, its own key. */
static void put_remote(struct net *n, uint8_t opcode, uint8_t flags,
		       size_t local, uint32_t len, size_t remote)
{
	struct wqe w = wqe_begin(&n->e[0], opcode, 0, flags);

	if (opcode != WRC_WQE_SEND)
		wqe_raddr(&w, host_iova(&n->b[1], n->m[1] + remote),
			  n->b[1].key);
	wqe_data(&w, n->m[0] + local, len);
	wqe_end(&w);
}

static void over_the_wire(void **state)
{
	struct net n;

	net_open(&n, 1);
	post_recv(&n.e[1], n.m[1], 5000);
	put_remote(&n, WRC_WQE_SEND, CE, 0, 5000, 0);
	put_remote(&n, WRC_WQE_WRITE, 0, 100, 20000, 10000);
	put_remote(&n, WRC_WQE_READ, CE, 40000, 20000, 10000);
	ring(&n.e[0]);
	run_until(&n, 10000000000);
	expect_cqe(&n.b[0], n.e[0].scqn, WRC_CQE_REQ, 0);
	expect_cqe(&n.b[0], n.e[0].scqn, WRC_CQE_REQ, 2);
	expect_cqe(&n.b[1], n.e[1].rcqn, WRC_CQE_RESP_SEND, 0);
	assert_memory_equal(n.m[1], n.m[0], 5000);
	assert_memory_equal(n.m[0] + 40000, n.m[0] + 100, 20000);
	net_close(&n);
}

/* Local WQEs complete, and fail, after those on the wire before them. */
static void completions_are_in_order(void **state)
{
	struct net n;
	uint8_t *nop;

	net_open(&n, 1);
	put_remote(&n, WRC_WQE_WRITE, CE, 0, 4096, 0);
	put_nop(&n.e[0], CE);
	put_remote(&n, WRC_WQE_WRITE, CE, 0, 4096, 4096);
	put_wait(&n.e[0], CE, n.e[0].scqn, 0);
	put_remote(&n, WRC_WQE_WRITE, CE, 0, 4096, 8192);
	nop = put_nop(&n.e[0], 0);
	nop[2] ^= 0x80;			/* not its index */
	put_nop(&n.e[0], 0);
	ring(&n.e[0]);
	run_until(&n, 10000000000);
	expect_cqe(&n.b[0], n.e[0].scqn, WRC_CQE_REQ, 0);
	expect_cqe(&n.b[0], n.e[0].scqn, WRC_CQE_REQ, 1);
	expect_cqe(&n.b[0], n.e[0].scqn, WRC_CQE_REQ, 2);
	expect_cqe(&n.b[0], n.e[0].scqn, WRC_CQE_REQ, 3);
	expect_cqe(&n.b[0], n.e[0].scqn, WRC_CQE_REQ, 4);
	expect_error(&n.b[0], n.e[0].scqn, WRC_CQE_REQ_ERR,
		     WRC_SYND_LOCAL_QP_OP, 5);
	expect_error(&n.b[0], n.e[0].scqn, WRC_CQE_REQ_ERR,
		     WRC_SYND_WR_FLUSH, 6);
	expect_empty(&n.b[0], n.e[0].scqn);
	assert_memory_equal(n.m[1] + 8192, n.m[0], 4096);
	net_close(&n);
}

/* A fence holds the WRITE back until what it writes has been read. */
static void fence_waits_for_reads(void **state)
{
	struct net n;

	net_open(&n, 1);
	memset(n.m[1], 0xab, 8192);
	put_remote(&n, WRC_WQE_READ, 0, 0, 8192, 0);
	put_remote(&n, WRC_WQE_WRITE, CE | WRC_WQE_FM_FENCE, 0, 8192, 16384);
	ring(&n.e[0]);
	run_until(&n, 10000000000);
	expect_cqe(&n.b[0], n.e[0].scqn, WRC_CQE_REQ, 1);
	assert_memory_equal(n.m[1] + 16384, n.m[1], 8192);
	net_close(&n);
}

/* In flight when the queue fails: flushed, oldest first. */
static void flush_of_the_wire(void **state)
{
	struct net n;
	unsigned int i;

	net_open(&n, 1);
	for (i = 0; i < 4; i++)
		put_remote(&n, WRC_WQE_WRITE, 0, 0, 8192, 0);
	put_wait(&n.e[0], 0, n.e[0].rcqn, 0);
	put_nop(&n.e[0], 0);
	ring(&n.e[0]);
	/* no ARP answer yet: the other side is not stepped */
	snic_vt_remove(&n.vt, &n.b[1].actor.actor);
	run_until(&n, 1000);
	snic_vt_add(&n.vt, &n.b[1].actor.actor);
	assert_int_equal(snic_qp_error(n.nics[0], n.e[0].qpn), 0);
	for (i = 0; i < 6; i++)
		expect_error(&n.b[0], n.e[0].scqn, WRC_CQE_REQ_ERR,
			     WRC_SYND_WR_FLUSH, i);
	expect_empty(&n.b[0], n.e[0].scqn);
	run_until(&n, 10000000000);
	net_close(&n);
}

/* Masked atomics have no form on the wire. */
static void masked_atomics_stay_home(void **state)
{
	struct net n;
	struct wqe w;

	net_open(&n, 1);
	w = wqe_begin(&n.e[0], WRC_WQE_MASKED_FA, WRC_WQE_OPMOD_MASKED_8, 0);
	wqe_raddr(&w, host_iova(&n.b[1], n.m[1]), n.b[1].key);
	wqe_u64x2(&w, 1, 0);
	wqe_data(&w, n.m[0], 8);
	wqe_end(&w);
	ring(&n.e[0]);
	run_until(&n, 10000000000);
	expect_error(&n.b[0], n.e[0].scqn, WRC_CQE_REQ_ERR,
		     WRC_SYND_LOCAL_QP_OP, 0);
	net_close(&n);
}

/* ---- time ------------------------------------------------------------------ */

static uint64_t cost(void *arg, const struct snic_work *work)
{
	switch (work->kind) {
	case SNIC_COST_FETCH:
		return 100;
	case SNIC_COST_EXECUTE:
		return work->opcode == WRC_WQE_NOP ? 10 : 1000 + work->bytes;
	default:
		return 7;
	}
}

static void work_takes_time(void **state)
{
	struct end_opts o = { .master = true };
	struct host b;
	struct snic_vt_nic actor;
	struct snic_vt vt;
	struct end x, y;
	uint8_t *m;

	host_open(&b, NULL);
	snic_vt_init(&vt, 0);
	snic_vt_add_nic(&vt, &actor, b.nic);
	end_open(&b, &o, &x);
	end_open(&b, &o, &y);
	end_join(&x, &x);
	end_join(&y, &y);
	m = host_alloc(&b, 64);
	snic_set_cost(b.nic, cost, NULL);
	put_nop(&x, 0);
	put_write(&x, CE, m, 32, m + 32);
	put_nop(&x, CE);
	/* fetched meanwhile; its own execution begins with the CQE */
	put_wait(&y, CE, x.scqn, 0);
	ring(&x);
	ring(&y);
	assert_int_equal(snic_vt_run(&vt, 500, NULL, NULL), 0);
	assert_int_equal(vt.now, 500);
	assert_int_equal(cq_count(&b, x.scqn), 0);
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, NULL, NULL), 0);
	assert_int_equal(cq_count(&b, x.scqn), 2);
	{
		struct wrc_cqe c[2], w;

		assert_int_equal(snic_cq_poll(b.nic, x.scqn, &c[0]), 0);
		assert_int_equal(snic_cq_poll(b.nic, x.scqn, &c[1]), 0);
		assert_int_equal(snic_cq_poll(b.nic, y.scqn, &w), 0);
		assert_int_equal(be64toh(c[0].timestamp), 110 + 1132);
		assert_int_equal(be64toh(c[1].timestamp), 110 + 1132 + 110);
		assert_int_equal(be64toh(w.timestamp), 110 + 1132 + 1000);
	}
	assert_int_equal(vt.now, 110 + 1132 + 1000);
	host_close(&b);
}

struct result {
	uint64_t now;
	struct snic_stats st[2];
};

static struct result lossy_run(uint64_t seed)
{
	struct snic_faults f = { .loss = 0.05, .delay_ns = 3000 };
	struct result r;
	struct net n;
	int i;

	net_open(&n, seed);
	for (i = 0; i < 2; i++) {
		snic_set_cost(n.nics[i], cost, NULL);
		assert_int_equal(snic_set_faults(n.nics[i], &f), 0);
	}
	for (i = 0; i < 10; i++)
		put_remote(&n, WRC_WQE_WRITE, CE, 0, 30000, 0);
	ring(&n.e[0]);
	run_until(&n, 100000000000);
	assert_int_equal(cq_count(&n.b[0], n.e[0].scqn), 10);
	assert_memory_equal(n.m[0], n.m[1], 30000);
	r.now = n.vt.now;
	for (i = 0; i < 2; i++)
		snic_get_stats(n.nics[i], &r.st[i]);
	net_close(&n);
	return r;
}

static void same_seed_same_run(void **state)
{
	struct result a = lossy_run(5), b = lossy_run(5), c = lossy_run(6);

	assert_memory_equal(&a, &b, sizeof(a));
	assert_memory_not_equal(&a, &c, sizeof(a));
	assert_true(a.st[0].fault_lost > 0);
}

static bool two_done(void *arg)
{
	struct end *e = arg;

	return cq_count(e->host, e->scqn) >= 2;
}

static void stops_when_done(void **state)
{
	struct snic_vt_nic actor;
	struct snic_vt vt;
	struct host b;
	struct end x;
	int i;

	host_open(&b, NULL);
	snic_vt_init(&vt, 0);
	snic_vt_add_nic(&vt, &actor, b.nic);
	end_open(&b, NULL, &x);
	end_join(&x, &x);
	snic_set_cost(b.nic, cost, NULL);
	for (i = 0; i < 10; i++)
		put_nop(&x, CE);
	ring(&x);
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, two_done, &x), 0);
	assert_int_equal(cq_count(&b, x.scqn), 2);
	assert_int_equal(vt.now, 220);
	host_close(&b);
}

/* A ring that runs for ever and costs nothing would stop the clock. */
static void endless_instant(void **state)
{
	struct snic_config cfg = host_default;
	struct end_opts o = { .master = true, .slave = true, .log_sq = 8 };
	struct snic_vt_nic actor;
	struct snic_vt vt;
	struct host b;
	struct end x;

	cfg.relaxed_index = true;
	host_open(&b, &cfg);
	snic_vt_init(&vt, 0);
	snic_vt_add_nic(&vt, &actor, b.nic);
	end_open(&b, &o, &x);
	end_join(&x, &x);
	put_endless(&x);
	ring(&x);
	assert_int_equal(snic_vt_run(&vt, SNIC_NEVER, NULL, NULL), -ELOOP);
	snic_set_cost(b.nic, cost, NULL);
	assert_int_equal(snic_vt_run(&vt, 1000000, NULL, NULL), 0);
	assert_int_equal(vt.now, 1000000);
	host_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_the_wire),
		cmocka_unit_test(completions_are_in_order),
		cmocka_unit_test(fence_waits_for_reads),
		cmocka_unit_test(flush_of_the_wire),
		cmocka_unit_test(masked_atomics_stay_home),
		cmocka_unit_test(work_takes_time),
		cmocka_unit_test(same_seed_same_run),
		cmocka_unit_test(stops_when_done),
		cmocka_unit_test(endless_instant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
