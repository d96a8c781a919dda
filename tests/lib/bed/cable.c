// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two hosts and a faulty cable for the transport's tests: see cable.h. */
#include <stdlib.h>
#include "cable.h"
#include "frame.h"
#include "snic/net/frame.h"
#include "snic/net/net.h"

uint64_t cable_random(struct cable *c)
{
	c->rng ^= c->rng << 13;
	c->rng ^= c->rng >> 7;
	c->rng ^= c->rng << 17;
	return c->rng;
}

static bool chance(struct cable *c, double p)
{
	return p > 0 && (cable_random(c) >> 11) * 0x1p-53 < p;
}

static bool is_roce(const uint8_t *f, size_t len)
{
	return len >= SNIC_NET_HLEN + 12 + SNIC_ICRC_LEN && f[12] == 8 &&
	       !f[13] && f[SNIC_ETH_HLEN + 9] == 17;
}

static bool look(struct cable *c, unsigned int from, const uint8_t *f,
		 size_t len)
{
	struct snic_pkt pkt;

	assert_int_equal(snic_pkt_parse(f + SNIC_NET_HLEN,
					len - SNIC_NET_HLEN - SNIC_ICRC_LEN,
					&pkt), 0);
	c->packets[from]++;
	if (pkt.opcode == SNIC_OP_ACK)
		c->acks[from]++;
	return !c->filter || c->filter(c, from, &pkt);
}

static uint64_t tap(void *arg, uint8_t *f, size_t len)
{
	struct cable_side *s = arg;
	struct cable *c = s->cable;

	assert_true(len <= CABLE_FRAME_LEN);
	/* ARP has its own tests. */
	if (!is_roce(f, len))
		return 0;
	if (!look(c, s->nr, f, len) || chance(c, c->faults.loss))
		return LINK_LOST;
	if (chance(c, c->faults.duplicate))
		link_inject(&c->host[!s->nr].port, f, len,
			    cable_random(c) % (20 * CABLE_LATENCY));
	if (chance(c, c->faults.corrupt))
		f[SNIC_ETH_HLEN + cable_random(c) % (len - SNIC_ETH_HLEN)] ^=
			1 << cable_random(c) % 8;
	if (chance(c, c->faults.reorder))
		return cable_random(c) % (10 * CABLE_LATENCY);
	return 0;
}

static void open_side(struct cable *c, unsigned int i, uint64_t seed)
{
	struct host_conf conf = {
		.nic = host_config(i + 1, seed + i), .vt = &c->vt,
		.arena = ARENA_LEN, .open = true, .plugged = true,
	};
	struct link_port *p = &c->host[i].port;

	conf.nic.mtu = 4300;
	host_init(&c->host[i], &conf);
	c->side[i] = (struct cable_side){ .cable = c, .nr = i };
	p->latency = CABLE_LATENCY;
	p->tap = tap;
	p->tap_arg = &c->side[i];
}

void cable_open(struct cable *c, uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	c->rng = seed * 2 + 1;
	snic_vt_init(&c->vt, HOST_EPOCH);
	open_side(c, 0, seed);
	open_side(c, 1, seed);
	link_join(&c->host[0].port, &c->host[1].port);
}

void cable_close(struct cable *c)
{
	host_close(&c->host[0]);
	host_close(&c->host[1]);
}

void cable_run(struct cable *c, uint64_t ns)
{
	host_wait(&c->host[0], ns);
}

void cable_inject(struct cable *c, unsigned int from, const void *bth,
		  size_t len)
{
	uint8_t f[CABLE_FRAME_LEN];
	size_t n = frame_roce(f, from + 1, !from + 1, bth, len);

	link_inject(&c->host[!from].port, f, n, 0);
}

void fill(void *p, size_t len, uint32_t seed)
{
	uint8_t *b = p;
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		b[i] = seed >> 24;
	}
}

void expect_filled(const void *p, size_t len, uint32_t seed)
{
	const uint8_t *b = p;
	size_t i;

	for (i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		if (b[i] != (uint8_t)(seed >> 24))
			fail_msg("byte %zu of %zu is %02x, not %02x", i, len,
				 b[i], (uint8_t)(seed >> 24));
	}
}

/* ---- pairs ------------------------------------------------------------------------ */

const struct snic_qp_conn pair_conn = {
	.mtu = 1024, .retry_cnt = 7, .rnr_retry = 7, .timeout = 10,
	.min_rnr_timer = 1, .max_rd_atomic = 4, .max_dest_rd_atomic = 4,
};

void pair_join(struct end *a, struct end *b, uint32_t psn,
	       const struct snic_qp_conn *conn)
{
	struct snic_qp_conn c = conn ? *conn : pair_conn;
	struct end *e[2] = { a, b };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		c.dest_qpn = e[!i]->qpn;
		c.dest_ip = snic_config(e[!i]->host->nic)->ip;
		c.sq_psn = i ? 0x123 : psn;
		c.rq_psn = i ? psn : 0x123;
		assert_int_equal(snic_qp_connect(e[i]->host->nic, e[i]->qpn, &c),
				 0);
	}
}

void pair_open(struct pair *p, uint64_t seed, uint32_t psn,
	       const struct snic_qp_conn *conn)
{
	struct end_opts opts = { .log_sq = 8, .log_cq = 12 };

	p->unsignaled = false;
	cable_open(&p->c, seed);
	end_open(&p->c.host[0], &opts, &p->a);
	end_open(&p->c.host[1], &opts, &p->b);
	p->src = host_alloc(p->a.host, PAIR_BUF);
	p->dst = host_alloc(p->b.host, PAIR_BUF);
	p->old = host_alloc(p->a.host, 4096);
	p->word = host_alloc(p->b.host, 64);
	pair_join(&p->a, &p->b, psn, conn);
	/* Addresses are known before anything is counted. */
	snic_net_resolve(p->a.host->nic, htobe32(0x0a000002));
	cable_run(&p->c, MS);
	snic_net_resolve(p->b.host->nic, htobe32(0x0a000001));
	cable_run(&p->c, MS);
}

void pair_close(struct pair *p)
{
	cable_close(&p->c);
}

void put(struct pair *p, uint8_t opcode, uint32_t off, uint32_t len,
	 uint32_t imm)
{
	struct wqe w = wqe_begin(&p->a, opcode, 0, p->unsignaled ? 0 : CE);

	if (opcode != WRC_WQE_SEND && opcode != WRC_WQE_SEND_IMM)
		wqe_raddr(&w, host_iova(p->b.host, p->dst + off), p->b.host->key);
	if (len)
		wqe_data(&w, p->src + off, len);
	wqe_imm(&w, imm);
	wqe_end(&w);
}

void put_atomic(struct pair *p, uint8_t opcode, unsigned int i, uint64_t x,
		uint64_t y)
{
	struct wqe w = wqe_begin(&p->a, opcode, 0, CE);

	wqe_raddr(&w, host_iova(p->b.host, p->word), p->b.host->key);
	wqe_u64x2(&w, x, y);
	wqe_data(&w, &p->old[i], 8);
	wqe_end(&w);
}

/* 100 s of its time are enough for anything. */
void run_until(struct pair *p, struct host *b, uint32_t cqn, uint32_t n)
{
	unsigned int i;

	for (i = 0; i < 100000 && cq_count(b, cqn) < n; i++)
		cable_run(&p->c, MS);
	assert_int_equal(cq_count(b, cqn), n);
}

struct snic_stats stats(struct pair *p, unsigned int side)
{
	return host_stats(&p->c.host[side]);
}

struct snic_qp *qp_of(struct end *e)
{
	return snic_qp_lookup(e->host->nic, e->qpn);
}

void expect_req_error(struct pair *p, uint8_t syndrome, uint16_t counter)
{
	expect_error(p->a.host, p->a.scqn, WRC_CQE_REQ_ERR, syndrome, counter);
	assert_int_equal(state_of(&p->a), SNIC_QP_ERR);
}

void expect_done(struct pair *p, uint16_t counter)
{
	expect_cqe(p->a.host, p->a.scqn, WRC_CQE_REQ, counter);
}

bool drop_all(struct cable *c, unsigned int from, const struct snic_pkt *pkt)
{
	return false;
}
