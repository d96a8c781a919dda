// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ports joined in memory, and stations: see wire.h. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include "snic/vt.h"
#include "wire.h"

uint64_t wire_now = 1000;

static struct wire_frame copy(const struct iovec *iov, int n)
{
	struct wire_frame f = { 0 };
	int i;

	for (i = 0; i < n; i++)
		f.len += iov[i].iov_len;
	f.data = malloc(f.len ? f.len : 1);
	assert_non_null(f.data);
	for (i = 0, f.len = 0; i < n; i++) {
		memcpy(f.data + f.len, iov[i].iov_base, iov[i].iov_len);
		f.len += iov[i].iov_len;
	}
	return f;
}

static int port_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct wire_port *p = (struct wire_port *)port;
	struct wire_frame f;

	if (p->broken)
		return -EIO;
	f = copy(iov, n);
	if (p->tap && p->tap(p->tap_arg, f.data, f.len)) {
		free(f.data);
		return 0;
	}
	free(p->sent[p->nr_sent % 16].data);
	p->sent[p->nr_sent++ % 16] = f;
	if (p->peer)
		wire_inject(p->peer, f.data, f.len);
	return 0;
}

static int port_peek(struct snic_port *port, const void **ret_frame)
{
	struct wire_port *p = (struct wire_port *)port;

	if (p->broken)
		return -EIO;
	free(p->last.data);
	p->last.data = NULL;
	if (p->head == p->tail)
		return 0;
	p->last = p->queue[p->head++ % WIRE_FRAMES];
	*ret_frame = p->last.data;
	return p->last.len;
}

static bool port_doze(struct snic_port *port)
{
	struct wire_port *p = (struct wire_port *)port;

	return p->head != p->tail && !p->broken;
}

static const struct snic_port_ops wire_ops = {
	.send = port_send,
	.peek = port_peek,
	.doze = port_doze,
};

void wire_port_init(struct wire_port *p)
{
	memset(p, 0, sizeof(*p));
	p->port.ops = &wire_ops;
	p->port.fd = -1;
}

void wire_port_fini(struct wire_port *p)
{
	unsigned int i;

	while (p->head != p->tail)
		free(p->queue[p->head++ % WIRE_FRAMES].data);
	free(p->last.data);
	for (i = 0; i < 16; i++)
		free(p->sent[i].data);
}

void wire_join(struct wire_port *a, struct wire_port *b)
{
	a->peer = b;
	b->peer = a;
}

void wire_inject(struct wire_port *p, const void *frame, size_t len)
{
	struct iovec iov = { (void *)frame, len };

	if (p->tail - p->head == WIRE_FRAMES)
		return;
	p->queue[p->tail++ % WIRE_FRAMES] = copy(&iov, 1);
}

__be32 station_ip(uint8_t host)
{
	return htobe32(0x0a000000 | host);
}

void station_open(struct station *s, uint8_t host, uint64_t seed)
{
	struct snic_config cfg = {
		.mac = { 2, 0, 0, 0, 0, host },
		.ip = station_ip(host), .prefix_len = 24, .mtu = 1500,
		.seed = seed,
	};

	station_open_cfg(s, &cfg);
}

void station_open_cfg(struct station *s, const struct snic_config *cfg)
{
	struct snic_cq_attr attr = { .log_size = 4, .overrun_ignore = true };
	uint64_t next;

	memset(s, 0, sizeof(*s));
	s->host = cfg->mac[5];
	wire_port_init(&s->port);
	assert_int_equal(snic_new(cfg, &s->nic), 0);
	assert_int_equal(snic_port_add(s->nic, &s->port.port), 0);
	assert_int_equal(snic_pd_alloc(s->nic, &s->pdn), 0);
	s->cq_buf = aligned_alloc(64, sizeof(struct wrc_cqe) << 4);
	assert_non_null(s->cq_buf);
	memset(s->cq_buf, 0, sizeof(struct wrc_cqe) << 4);
	attr.buf = s->cq_buf;
	assert_int_equal(snic_cq_create(s->nic, &attr, &s->cqn), 0);
	snic_step(s->nic, wire_now, &next);
}

void station_close(struct station *s)
{
	snic_free(s->nic);
	wire_port_fini(&s->port);
	free(s->cq_buf);
}

uint32_t station_qp(struct station *s)
{
	struct snic_qp_attr attr = {
		.pdn = s->pdn, .scqn = s->cqn, .rcqn = s->cqn,
		.sq = s->sq, .log_sq = 2, .rq = s->rq, .log_rq = 2,
		.log_rq_stride = 4, .dbr = &s->dbr,
	};
	uint32_t qpn;

	assert_int_equal(snic_qp_create(s->nic, &attr, &qpn), 0);
	return qpn;
}

struct snic_stats station_stats(struct station *s)
{
	struct snic_stats st;

	snic_get_stats(s->nic, &st);
	return st;
}

bool wire_run(struct station **s, unsigned int n, uint64_t until,
	      bool (*done)(void *arg), void *arg)
{
	struct snic_vt_nic actors[WIRE_STATIONS];
	struct snic_vt vt;
	unsigned int i;
	int r;

	assert_in_range(n, 1, WIRE_STATIONS);
	snic_vt_init(&vt, wire_now);
	for (i = 0; i < n; i++)
		snic_vt_add_nic(&vt, &actors[i], s[i]->nic);
	r = snic_vt_run(&vt, until, done, arg);
	assert_true(!r || r == -ETIMEDOUT);
	wire_now = vt.now;
	return !r;
}
