// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two NICs and a faulty cable for the transport's tests: see cable.h. */
#include <stdlib.h>
#include "cable.h"

#define ETH_HLEN 14
#define HDR_LEN (ETH_HLEN + 20 + 8)

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

/* ---- frames under way ---------------------------------------------------- */

static bool before(const struct cable_frame *a, const struct cable_frame *b)
{
	return a->due < b->due || (a->due == b->due && a->nr < b->nr);
}

static void push(struct cable *c, struct cable_frame *f)
{
	unsigned int i = c->nr_frames++;

	assert_true(i < CABLE_FRAMES);
	f->nr = c->nr++;
	for (; i && before(f, c->frames[(i - 1) / 2]); i = (i - 1) / 2)
		c->frames[i] = c->frames[(i - 1) / 2];
	c->frames[i] = f;
}

static struct cable_frame *pop(struct cable *c)
{
	struct cable_frame *first = c->frames[0];
	struct cable_frame *last = c->frames[--c->nr_frames];
	unsigned int i = 0, k;

	for (;;) {
		k = 2 * i + 1;
		if (k >= c->nr_frames)
			break;
		if (k + 1 < c->nr_frames &&
		    before(c->frames[k + 1], c->frames[k]))
			k++;
		if (!before(c->frames[k], last))
			break;
		c->frames[i] = c->frames[k];
		i = k;
	}
	c->frames[i] = last;
	return first;
}

static void queue(struct cable *c, unsigned int to, const void *data,
		  size_t len, uint64_t delay)
{
	struct cable_frame *f = malloc(sizeof(*f));

	assert_non_null(f);
	assert_true(len <= sizeof(f->data));
	memcpy(f->data, data, len);
	f->len = len;
	f->to = to;
	f->due = c->vt.now + CABLE_LATENCY + delay;
	push(c, f);
}

/* ---- the ports -------------------------------------------------------------- */

static bool is_roce(const uint8_t *f, size_t len)
{
	return len >= HDR_LEN + 12 + SNIC_ICRC_LEN && f[12] == 8 && !f[13] &&
	       f[ETH_HLEN + 9] == 17;
}

static bool look(struct cable *c, unsigned int from, const uint8_t *f,
		 size_t len)
{
	struct snic_pkt pkt;

	assert_int_equal(snic_pkt_parse(f + HDR_LEN,
					len - HDR_LEN - SNIC_ICRC_LEN, &pkt), 0);
	c->packets[from]++;
	if (pkt.opcode == SNIC_OP_ACK)
		c->acks[from]++;
	return !c->filter || c->filter(c, from, &pkt);
}

/* false: it is lost. */
static bool damage(struct cable *c, unsigned int from, uint8_t *f, size_t len)
{
	if (!look(c, from, f, len) || chance(c, c->faults.loss))
		return false;
	if (chance(c, c->faults.duplicate))
		queue(c, !from, f, len,
		      cable_random(c) % (20 * CABLE_LATENCY));
	if (chance(c, c->faults.corrupt))
		f[ETH_HLEN + cable_random(c) % (len - ETH_HLEN)] ^=
			1 << cable_random(c) % 8;
	return true;
}

static int port_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct cable_side *s = (struct cable_side *)port;
	struct cable *c = s->cable;
	uint8_t buf[CABLE_FRAME_LEN];
	uint64_t delay = 0;
	size_t len = 0;
	int i;

	for (i = 0; i < n; i++) {
		assert_true(len + iov[i].iov_len <= sizeof(buf));
		memcpy(buf + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	/* ARP has its own tests. */
	if (is_roce(buf, len)) {
		if (!damage(c, s->nr, buf, len))
			return 0;
		if (chance(c, c->faults.reorder))
			delay = cable_random(c) % (10 * CABLE_LATENCY);
	}
	queue(c, !s->nr, buf, len, delay);
	return 0;
}

/* The heap is common: only its first frame is looked at, which is enough when
 * both sides are polled until nobody takes anything. */
static int port_recv(struct snic_port *port, void *buf, size_t len)
{
	struct cable_side *s = (struct cable_side *)port;
	struct cable *c = s->cable;
	struct cable_frame *f = c->nr_frames ? c->frames[0] : NULL;
	int n;

	if (!f || f->due > c->vt.now || f->to != s->nr)
		return 0;
	pop(c);
	n = f->len;
	assert_true(n <= (int)len);
	memcpy(buf, f->data, n);
	free(f);
	return n;
}

static bool port_doze(struct snic_port *port)
{
	struct cable_side *s = (struct cable_side *)port;
	struct cable *c = s->cable;
	const struct cable_frame *f = c->nr_frames ? c->frames[0] : NULL;

	return f && f->due <= c->vt.now && f->to == s->nr;
}

static void port_close(struct snic_port *port)
{
}

static const struct snic_port_ops port_ops = {
	.send = port_send, .recv = port_recv, .close = port_close,
	.doze = port_doze,
};

/* ---- the cable ----------------------------------------------------------------- */

/* When the next frame is there; its NIC takes it out. */
static uint64_t cable_next(struct snic_actor *actor, uint64_t now)
{
	struct cable *c = (struct cable *)actor;
	uint64_t due = c->nr_frames ? c->frames[0]->due : SNIC_NEVER;

	return due > now ? due : SNIC_NEVER;
}

static int cable_step(struct snic_actor *actor, uint64_t now,
		      uint64_t *ret_cost)
{
	return 0;
}

static void cable_clock(struct snic_actor *actor, uint64_t now)
{
	struct cable *c = (struct cable *)actor;

	c->side[0].bed.now = c->side[1].bed.now = now;
}

static const struct snic_actor_ops cable_ops = {
	.next = cable_next, .step = cable_step, .clock = cable_clock,
};

void cable_open(struct cable *c, uint64_t seed)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->rng = seed * 2 + 1;
	snic_vt_init(&c->vt, 1000);
	c->actor.ops = &cable_ops;
	snic_vt_add(&c->vt, &c->actor);
	for (i = 0; i < 2; i++) {
		struct cable_side *s = &c->side[i];
		struct snic_config cfg = {
			.mac = { 2, 0, 0, 0, 0, i + 1 },
			.ip = htobe32(0x0a000001 + i), .prefix_len = 24,
			.mtu = 4300, .seed = seed + i,
		};

		s->cable = c;
		s->nr = i;
		s->port.ops = &port_ops;
		s->port.fd = -1;
		bed_open(&s->bed, &cfg);
		assert_int_equal(snic_port_add(s->bed.nic, &s->port), 0);
		snic_vt_add_nic(&c->vt, &s->actor, s->bed.nic);
	}
}

void cable_close(struct cable *c)
{
	bed_close(&c->side[0].bed);
	bed_close(&c->side[1].bed);
	while (c->nr_frames)
		free(pop(c));
}

void cable_run(struct cable *c, uint64_t ns)
{
	assert_int_equal(snic_vt_run(&c->vt, c->vt.now + ns, NULL, NULL), 0);
}

/* RoCEv2 around what begins with a BTH, with a right ICRC. */
void cable_inject(struct cable *c, unsigned int from, const void *bth,
		  size_t len)
{
	uint8_t f[CABLE_FRAME_LEN] = { 0 };
	uint8_t *ip = f + ETH_HLEN, *udp = ip + 20;
	uint16_t udp_len = 8 + len + SNIC_ICRC_LEN, ip_len = 20 + udp_len;
	struct iovec iov = { .iov_base = f + HDR_LEN, .iov_len = len };
	uint32_t sum = 0;
	unsigned int i;

	f[0] = 2;
	f[5] = !from + 1;
	f[6] = 2;
	f[11] = from + 1;
	f[12] = 8;
	ip[0] = 0x45;
	ip[2] = ip_len >> 8;
	ip[3] = ip_len;
	ip[6] = 0x40;
	ip[8] = 64;
	ip[9] = 17;
	ip[12] = ip[16] = 10;
	ip[15] = from + 1;
	ip[19] = !from + 1;
	for (i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = ~sum >> 8;
	ip[11] = ~sum;
	udp[0] = 0xc0;
	udp[2] = SNIC_ROCE_PORT >> 8;
	udp[3] = SNIC_ROCE_PORT & 0xff;
	udp[4] = udp_len >> 8;
	udp[5] = udp_len;
	memcpy(f + HDR_LEN, bth, len);
	snic_icrc_put(f + HDR_LEN + len, snic_icrc(ip, udp, &iov, 1));
	queue(c, !from, f, HDR_LEN + len + SNIC_ICRC_LEN, 0);
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
		c.dest_ip = snic_config(e[!i]->bed->nic)->ip;
		c.sq_psn = i ? 0x123 : psn;
		c.rq_psn = i ? psn : 0x123;
		assert_int_equal(snic_qp_connect(e[i]->bed->nic, e[i]->qpn, &c),
				 0);
	}
}

void pair_open(struct pair *p, uint64_t seed, uint32_t psn,
	       const struct snic_qp_conn *conn)
{
	struct end_opts opts = { .log_sq = 8, .log_cq = 12 };

	p->unsignaled = false;
	cable_open(&p->c, seed);
	end_open(&p->c.side[0].bed, &opts, &p->a);
	end_open(&p->c.side[1].bed, &opts, &p->b);
	p->src = bed_alloc(p->a.bed, PAIR_BUF);
	p->dst = bed_alloc(p->b.bed, PAIR_BUF);
	p->old = bed_alloc(p->a.bed, 4096);
	p->word = bed_alloc(p->b.bed, 64);
	pair_join(&p->a, &p->b, psn, conn);
	/* Addresses are known before anything is counted. */
	snic_net_resolve(p->a.bed->nic, htobe32(0x0a000002));
	cable_run(&p->c, MS);
	snic_net_resolve(p->b.bed->nic, htobe32(0x0a000001));
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
		wqe_raddr(&w, bed_iova(p->b.bed, p->dst + off), p->b.bed->key);
	if (len)
		wqe_data(&w, p->src + off, len);
	wqe_imm(&w, imm);
	wqe_end(&w);
}

void put_atomic(struct pair *p, uint8_t opcode, unsigned int i, uint64_t x,
		uint64_t y)
{
	struct wqe w = wqe_begin(&p->a, opcode, 0, CE);

	wqe_raddr(&w, bed_iova(p->b.bed, p->word), p->b.bed->key);
	wqe_u64x2(&w, x, y);
	wqe_data(&w, &p->old[i], 8);
	wqe_end(&w);
}

/* 100 s of its time are enough for anything. */
void run_until(struct pair *p, struct bed *b, uint32_t cqn, uint32_t n)
{
	unsigned int i;

	for (i = 0; i < 100000 && cq_count(b, cqn) < n; i++)
		cable_run(&p->c, MS);
	assert_int_equal(cq_count(b, cqn), n);
}

struct snic_stats stats(struct pair *p, unsigned int side)
{
	struct snic_stats st;

	snic_get_stats(p->c.side[side].bed.nic, &st);
	return st;
}
