// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two stations for the tests of the connection manager: see cmbed.h. */
#include <endian.h>
#include <errno.h>
#include "cmbed.h"
#include "snic/net/priv.h"
#include "snic/net/pkt.h"

#define MAD_OFF	(SNIC_NET_HLEN + 12 + 8)

const uint8_t *mad_of(const uint8_t *frame, size_t len)
{
	if (len != MAD_OFF + SNIC_MAD_LEN + SNIC_ICRC_LEN ||
	    frame[SNIC_NET_HLEN] != SNIC_OP_UD_SEND_ONLY)
		return NULL;
	return frame + MAD_OFF;
}

static bool lose(void *arg, const uint8_t *frame, size_t len)
{
	const uint8_t *mad = mad_of(frame, len);
	struct bed *t = arg;
	unsigned int n;

	if (!mad || !t->lose_mask || mad[17] != t->lose_attr)
		return false;
	n = t->seen++;
	return t->lose_mask >> (n < 63 ? n : 63) & 1;
}

void bed_lose(struct bed *t, uint16_t attr, uint64_t mask)
{
	t->lose_attr = attr;
	t->lose_mask = mask;
	t->seen = 0;
}

void bed_open(struct bed *t)
{
	memset(t, 0, sizeof(*t));
	station_open(&t->a, 1, 11);
	station_open(&t->b, 2, 22);
	wire_join(&t->a.port, &t->b.port);
	t->a.port.tap = t->b.port.tap = lose;
	t->a.port.tap_arg = t->b.port.tap_arg = t;
	t->all[0] = &t->a;
	t->all[1] = &t->b;
	assert_int_equal(snic_cm_listen(t->b.nic, PORT, &t->listener), 0);
}

void bed_close(struct bed *t)
{
	t->a.port.peer = t->b.port.peer = NULL;
	station_close(&t->a);
	station_close(&t->b);
}

void bed_run(struct bed *t, uint64_t ns)
{
	wire_run(t->all, 2, wire_now + ns, NULL, NULL);
}

/* ---- events ---------------------------------------------------------------- */

struct wait {
	struct station *s;
	struct snic_cm_event *ev;
};

static bool have_event(void *arg)
{
	struct wait *w = arg;

	return !snic_cm_poll(w->s->nic, w->ev);
}

bool next_event(struct bed *t, struct station *s, uint64_t ns,
		struct snic_cm_event *ret_ev)
{
	struct wait w = { s, ret_ev };

	memset(ret_ev, 0xee, sizeof(*ret_ev));
	return wire_run(t->all, 2, wire_now + ns, have_event, &w);
}

void expect(struct bed *t, struct station *s, uint64_t ns,
	    enum snic_cm_event_type type, struct snic_cm_event *ret_ev)
{
	assert_true(next_event(t, s, ns, ret_ev));
	assert_int_equal(ret_ev->type, type);
}

void expect_none(struct station *s)
{
	struct snic_cm_event ev;

	assert_int_equal(snic_cm_poll(s->nic, &ev), -EAGAIN);
}

enum snic_qp_state qp_state(struct station *s, uint32_t qpn)
{
	struct snic_qp_info info;

	assert_int_equal(snic_qp_query(s->nic, qpn, &info), 0);
	return info.state;
}

/* ---- connections --------------------------------------------------------------- */

uint32_t connect_a(struct bed *t, uint32_t qpn, const void *priv,
		   uint8_t priv_len)
{
	struct snic_cm_param p = {
		.qpn = qpn, .priv = priv, .priv_len = priv_len,
		.retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12,
	};
	uint32_t id;

	assert_int_equal(snic_cm_connect(t->a.nic, station_ip(2), PORT, &p,
					 &id), 0);
	return id;
}

int accept_b(struct bed *t, uint32_t id, uint32_t qpn, const void *priv,
	     uint8_t priv_len)
{
	struct snic_cm_param p = {
		.qpn = qpn, .priv = priv, .priv_len = priv_len,
		.rnr_retry = 6, .min_rnr_timer = 12,
	};

	return snic_cm_accept(t->b.nic, id, &p);
}

void establish(struct bed *t, struct pair *ret_pair)
{
	struct pair *p = ret_pair;
	struct snic_cm_event ev;

	p->qa = station_qp(&t->a);
	p->qb = station_qp(&t->b);
	p->ia = connect_a(t, p->qa, NULL, 0);
	expect(t, &t->b, SECOND, SNIC_CM_REQUEST, &ev);
	p->ib = ev.id;
	assert_int_equal(accept_b(t, p->ib, p->qb, NULL, 0), 0);
	expect(t, &t->a, SECOND, SNIC_CM_ESTABLISHED, &ev);
	assert_int_equal(ev.id, p->ia);
	expect(t, &t->b, SECOND, SNIC_CM_ESTABLISHED, &ev);
	assert_int_equal(ev.id, p->ib);
}

void expect_no_connections(struct bed *t)
{
	bed_run(t, 60 * SECOND);
	assert_int_equal(snic_cm_of(t->a.nic)->nr_conns, 0);
	assert_int_equal(snic_cm_of(t->b.nic)->nr_conns, 0);
	assert_int_equal(snic_cm_of(t->b.nic)->nr_pending, 0);
	expect_none(&t->a);
	expect_none(&t->b);
}

void tear_down(struct bed *t, struct pair *p)
{
	snic_cm_release(t->a.nic, p->ia);
	snic_cm_release(t->b.nic, p->ib);
	assert_int_equal(snic_qp_destroy(t->a.nic, p->qa), 0);
	assert_int_equal(snic_qp_destroy(t->b.nic, p->qb), 0);
	expect_no_connections(t);
}

/* ---- messages ---------------------------------------------------------------------- */

void last_sent(struct station *s, uint16_t attr, struct snic_cm_msg *ret_msg)
{
	const struct wire_frame *f;
	const uint8_t *mad = NULL;
	unsigned int i;

	for (i = 1; i <= 16 && i <= s->port.nr_sent && !mad; i++) {
		f = &s->port.sent[(s->port.nr_sent - i) % 16];
		mad = mad_of(f->data, f->len);
	}
	assert_non_null(mad);
	assert_int_equal(snic_cm_parse(mad, SNIC_MAD_LEN, ret_msg), 0);
	assert_int_equal(ret_msg->attr, attr);
}

static void put_be16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v & 0xff;
}

void inject_mad(struct station *to, uint8_t host, const uint8_t *mad,
		size_t len)
{
	struct snic_pkt pkt = {
		.opcode = SNIC_OP_UD_SEND_ONLY, .pkey = SNIC_PKEY_DEFAULT,
		.qpn = 1, .qkey = SNIC_GSI_QKEY, .src_qpn = 1,
	};
	uint8_t f[2048] = { 2, 0, 0, 0, 0, to->host, 2, 0, 0, 0, 0, host,
			    8, 0, 0x45 };
	uint8_t *ip = f + 14, *udp = ip + 20, *bth = udp + 8;
	__be32 src = station_ip(host), dst = station_ip(to->host);
	struct iovec iov = { bth, 0 };
	uint32_t sum = 0;
	int i;

	iov.iov_len = snic_pkt_build(&pkt, bth);
	memcpy(bth + iov.iov_len, mad, len);
	iov.iov_len += len;
	put_be16(ip + 2, 28 + iov.iov_len + 4);
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, &src, 4);
	memcpy(ip + 16, &dst, 4);
	for (i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put_be16(ip + 10, ~(sum + (sum >> 16)));
	put_be16(udp, 0xc000);
	put_be16(udp + 2, SNIC_ROCE_PORT);
	put_be16(udp + 4, 8 + iov.iov_len + 4);
	snic_icrc_put(bth + iov.iov_len, snic_icrc(ip, udp, &iov, 1));
	wire_inject(&to->port, f, SNIC_NET_HLEN + iov.iov_len + 4);
}

void inject(struct station *to, uint8_t host, const struct snic_cm_msg *msg)
{
	uint8_t mad[SNIC_MAD_LEN];

	assert_int_equal(snic_cm_build(msg, mad), 0);
	inject_mad(to, host, mad, sizeof(mad));
}

struct snic_cm_msg make_req(uint8_t from, uint8_t to, uint32_t comm_id,
			    uint32_t qpn, uint8_t *priv)
{
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REQ, .tid = 0x77000000 | comm_id,
		.local_id = comm_id,
		.req = {
			.service_id = SNIC_CM_SERVICE_TCP | PORT,
			.ca_guid = 0x0200 | from, .qpn = qpn, .psn = 0x123,
			.responder_resources = 4, .initiator_depth = 200,
			.remote_timeout = 20, .local_timeout = 20,
			.retry_cnt = 7, .rnr_retry = 7, .max_retries = 15,
			.pkey = 0xffff, .mtu = 3, .hop_limit = 64,
			.ack_timeout = 19,
		},
		.priv = priv, .priv_len = SNIC_CM_REQ_PRIV,
	};
	struct snic_cm_ip_hdr hdr = {
		.src_port = 4000, .src = station_ip(from), .dst = station_ip(to),
	};

	memset(priv, 0, SNIC_CM_REQ_PRIV);
	snic_cm_build_ip_hdr(&hdr, priv);
	snic_gid_of_ip(station_ip(from), m.req.local_gid);
	snic_gid_of_ip(station_ip(to), m.req.remote_gid);
	return m;
}
