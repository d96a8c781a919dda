// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One software NIC for the fuzz targets: see bed.h. */
#include <endian.h>
#include <string.h>
#include "bed.h"
#include "snic/net/pkt.h"

static struct fuzz_bed *to_bed(struct snic_port *port)
{
	return (struct fuzz_bed *)((char *)port -
				   offsetof(struct fuzz_bed, port));
}

static int eat(struct snic_port *port, const struct iovec *iov, int n)
{
	struct fuzz_bed *b = to_bed(port);
	int i;

	/* Also proves that all of it can be read. */
	for (b->sent_len = 0, i = 0; i < n; i++) {
		FUZZ_ASSERT(b->sent_len + iov[i].iov_len <= sizeof(b->sent));
		memcpy(b->sent + b->sent_len, iov[i].iov_base, iov[i].iov_len);
		b->sent_len += iov[i].iov_len;
	}
	return 0;
}

static int feed(struct snic_port *port, void *buf, size_t len)
{
	struct fuzz_bed *b = to_bed(port);
	int n = b->frame_len;

	FUZZ_ASSERT(b->frame_len <= len);
	memcpy(buf, b->frame, n);
	b->frame_len = 0;
	return n;
}

static const struct snic_port_ops ops = { .send = eat, .recv = feed };

void fuzz_open(struct fuzz_bed *b)
{
	struct snic_config cfg = {
		.mac = { 2, 0, 0, 0, 0, 2 }, .ip = htobe32(0x0a000002),
		.prefix_len = 24, .mtu = 1500, .seed = 1,
	};
	struct snic_cq_attr cq = { .buf = b->cq, .log_size = 4,
				   .overrun_ignore = true };
	struct snic_qp_attr qp = {
		.sq = b->sq, .log_sq = 2, .rq = b->rq, .log_rq = 2,
		.log_rq_stride = 4, .dbr = &b->dbr,
		.access = SNIC_REMOTE_READ | SNIC_REMOTE_WRITE |
			  SNIC_REMOTE_ATOMIC,
	};

	b->frame_len = b->sent_len = 0;
	memset(b->cq, 0, sizeof(b->cq));
	memset(b->sq, 0, sizeof(b->sq));
	memset(b->rq, 0, sizeof(b->rq));
	memset(&b->dbr, 0, sizeof(b->dbr));
	b->port = (struct snic_port) { .ops = &ops, .fd = -1 };
	b->now = 1000;
	FUZZ_ASSERT(!snic_new(&cfg, &b->nic));
	FUZZ_ASSERT(!snic_port_add(b->nic, &b->port));
	FUZZ_ASSERT(!snic_pd_alloc(b->nic, &b->pdn));
	FUZZ_ASSERT(!snic_cq_create(b->nic, &cq, &b->cqn));
	qp.pdn = b->pdn;
	qp.scqn = qp.rcqn = b->cqn;
	FUZZ_ASSERT(!snic_qp_create(b->nic, &qp, &b->qpn));
	fuzz_step(b, 0);
}

void fuzz_close(struct fuzz_bed *b)
{
	snic_free(b->nic);
}

void fuzz_step(struct fuzz_bed *b, uint64_t ns)
{
	uint64_t end = b->now + ns, next;

	for (;;) {
		FUZZ_ASSERT(!snic_step(b->nic, b->now, &next));
		FUZZ_ASSERT(next >= b->now);
		if (next > end)
			break;
		b->now = next;
	}
	b->now = end;
}

static uint16_t ip_sum(const uint8_t *p)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 20; i += 2)
		sum += p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
}

void fuzz_fix(uint8_t *frame, size_t len)
{
	uint8_t *ip = frame + 14, *udp = ip + 20;
	struct iovec iov;
	uint16_t sum;
	size_t n;

	if (len < SNIC_NET_HLEN || frame[12] != 8 || frame[13] != 0)
		return;
	ip[10] = ip[11] = 0;
	sum = ip_sum(ip);
	ip[10] = sum >> 8;
	ip[11] = sum & 0xff;
	n = udp[4] << 8 | udp[5];
	if (n < 8 + 12 + 4 || udp + n > frame + len)
		return;
	iov = (struct iovec) { udp + 8, n - 8 - 4 };
	snic_icrc_put(udp + n - 4, snic_icrc(ip, udp, &iov, 1));
}

void fuzz_check_cm(struct fuzz_bed *b)
{
	struct snic_cm *cm = snic_cm_of(b->nic);
	unsigned int conns = 0, pending = 0, chained = 0, i;
	struct snic_cm_conn *c;

	for (i = 0; i < SNIC_CM_MAX_CONNS && conns < cm->nr_conns; i++) {
		c = cm->slots[i];
		if (!c)
			continue;
		conns++;
		pending += c->state == SNIC_CM_ST_REQ_RCVD;
		FUZZ_ASSERT(c->state != SNIC_CM_ST_DEAD || c->held);
		FUZZ_ASSERT(c->queued == !!c->events);
		FUZZ_ASSERT(!c->queued || c->held);
		FUZZ_ASSERT(!c->qp || c->qp->cm == c);
		FUZZ_ASSERT(c->state != SNIC_CM_ST_REP_SENT || c->qp);
		/* Every wait ends. */
		FUZZ_ASSERT(c->timer.when != SNIC_NEVER ||
			    c->state == SNIC_CM_ST_REQ_RCVD ||
			    c->state == SNIC_CM_ST_ESTABLISHED ||
			    c->state == SNIC_CM_ST_DEAD);
	}
	for (i = 0; i < SNIC_CM_BUCKETS; i++)
		for (c = cm->buckets[i]; c; c = c->peer_next)
			chained++;
	FUZZ_ASSERT(conns == cm->nr_conns);
	FUZZ_ASSERT(chained == cm->nr_conns);
	FUZZ_ASSERT(pending == cm->nr_pending);
}
