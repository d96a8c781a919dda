// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Two hosts for the tests of the connection manager: see cm.h. */
#include <endian.h>
#include <errno.h>
#include "cm.h"
#include "frame.h"
#include "snic/net/net-priv.h"
#include "snic/net/pkt.h"

#define MAD_OFF	(SNIC_NET_HLEN + 12 + 8)

const uint8_t *mad_of(const uint8_t *frame, size_t len)
{
	if (len != MAD_OFF + SNIC_MAD_LEN + SNIC_ICRC_LEN ||
	    frame[SNIC_NET_HLEN] != SNIC_OP_UD_SEND_ONLY)
		return NULL;
	return frame + MAD_OFF;
}

static uint64_t lose(void *arg, uint8_t *frame, size_t len)
{
	const uint8_t *mad = mad_of(frame, len);
	struct cmbed *t = arg;
	unsigned int n;

	if (!mad || !t->lose_mask || mad[17] != t->lose_attr)
		return 0;
	n = t->seen++;
	return t->lose_mask >> (n < 63 ? n : 63) & 1 ? LINK_LOST : 0;
}

void cmbed_lose(struct cmbed *t, uint16_t attr, uint64_t mask)
{
	t->lose_attr = attr;
	t->lose_mask = mask;
	t->seen = 0;
}

void cmbed_open_a(struct cmbed *t, const struct snic_config *cfg)
{
	host_init(&t->a, &(struct host_conf){
		.nic = *cfg, .vt = &t->vt, .arena = 4096, .plugged = true,
	});
	t->a.port.tap = lose;
	t->a.port.tap_arg = t;
	link_join(&t->a.port, &t->b.port);
}

void cmbed_open(struct cmbed *t)
{
	struct snic_config cfg = host_config(1, 11);

	memset(t, 0, sizeof(*t));
	snic_vt_init(&t->vt, HOST_EPOCH);
	host_init(&t->b, &(struct host_conf){
		.nic = host_config(2, 22), .vt = &t->vt, .arena = 4096,
		.plugged = true,
	});
	cmbed_open_a(t, &cfg);
	t->b.port.tap = lose;
	t->b.port.tap_arg = t;
	assert_int_equal(snic_cm_listen(t->b.nic, PORT, &t->listener), 0);
}

void cmbed_close(struct cmbed *t)
{
	host_close(&t->a);
	host_close(&t->b);
}

void cmbed_run(struct cmbed *t, uint64_t ns)
{
	host_wait(&t->a, ns);
}

/* ---- events ---------------------------------------------------------------- */

struct wait {
	struct host *s;
	struct snic_cm_event *ev;
};

static bool have_event(void *arg)
{
	struct wait *w = arg;

	return !snic_cm_poll(w->s->nic, w->ev);
}

bool next_event(struct cmbed *t, struct host *s, uint64_t ns,
		struct snic_cm_event *ret_ev)
{
	struct wait w = { s, ret_ev };

	memset(ret_ev, 0xee, sizeof(*ret_ev));
	return host_wait_for(s, ns, have_event, &w);
}

void expect(struct cmbed *t, struct host *s, uint64_t ns,
	    enum snic_cm_event_type type, struct snic_cm_event *ret_ev)
{
	assert_true(next_event(t, s, ns, ret_ev));
	assert_int_equal(ret_ev->type, type);
}

void expect_none(struct host *s)
{
	struct snic_cm_event ev;

	assert_int_equal(snic_cm_poll(s->nic, &ev), -EAGAIN);
}

enum snic_qp_state qp_state(struct host *s, uint32_t qpn)
{
	struct snic_qp_info info;

	assert_int_equal(snic_qp_query(s->nic, qpn, &info), 0);
	return info.state;
}

/* ---- connections --------------------------------------------------------------- */

uint32_t connect_a(struct cmbed *t, uint32_t qpn, const void *priv,
		   uint8_t priv_len)
{
	struct snic_cm_param p = {
		.qpn = qpn, .priv = priv, .priv_len = priv_len,
		.retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12,
	};
	uint32_t id;

	assert_int_equal(snic_cm_connect(t->a.nic, host_ip(2), PORT, &p,
					 &id), 0);
	return id;
}

int accept_b(struct cmbed *t, uint32_t id, uint32_t qpn, const void *priv,
	     uint8_t priv_len)
{
	struct snic_cm_param p = {
		.qpn = qpn, .priv = priv, .priv_len = priv_len,
		.rnr_retry = 6, .min_rnr_timer = 12,
	};

	return snic_cm_accept(t->b.nic, id, &p);
}

void establish(struct cmbed *t, struct pair *ret_pair)
{
	struct pair *p = ret_pair;
	struct snic_cm_event ev;

	p->qa = host_qp(&t->a);
	p->qb = host_qp(&t->b);
	p->ia = connect_a(t, p->qa, NULL, 0);
	expect(t, &t->b, SECOND, SNIC_CM_REQUEST, &ev);
	p->ib = ev.id;
	assert_int_equal(accept_b(t, p->ib, p->qb, NULL, 0), 0);
	expect(t, &t->a, SECOND, SNIC_CM_ESTABLISHED, &ev);
	assert_int_equal(ev.id, p->ia);
	expect(t, &t->b, SECOND, SNIC_CM_ESTABLISHED, &ev);
	assert_int_equal(ev.id, p->ib);
}

void expect_no_connections(struct cmbed *t)
{
	cmbed_run(t, 60 * SECOND);
	assert_int_equal(snic_cm_of(t->a.nic)->nr_conns, 0);
	assert_int_equal(snic_cm_of(t->b.nic)->nr_conns, 0);
	assert_int_equal(snic_cm_of(t->b.nic)->nr_pending, 0);
	expect_none(&t->a);
	expect_none(&t->b);
}

void tear_down(struct cmbed *t, struct pair *p)
{
	snic_cm_release(t->a.nic, p->ia);
	snic_cm_release(t->b.nic, p->ib);
	assert_int_equal(snic_qp_destroy(t->a.nic, p->qa), 0);
	assert_int_equal(snic_qp_destroy(t->b.nic, p->qb), 0);
	expect_no_connections(t);
}

/* ---- messages ---------------------------------------------------------------------- */

void last_sent(struct host *s, uint16_t attr, struct snic_cm_msg *ret_msg)
{
	const struct link_frame *f;
	const uint8_t *mad = NULL;
	unsigned int i;

	for (i = 1; i <= LINK_SENT && i <= s->port.nr_sent && !mad; i++) {
		f = s->port.sent[(s->port.nr_sent - i) % LINK_SENT];
		mad = mad_of(f->data, f->len);
	}
	assert_non_null(mad);
	assert_int_equal(snic_cm_parse(mad, SNIC_MAD_LEN, ret_msg), 0);
	assert_int_equal(ret_msg->attr, attr);
}

void inject_mad(struct host *to, uint8_t host, const uint8_t *mad,
		size_t len)
{
	struct snic_pkt pkt = {
		.opcode = SNIC_OP_UD_SEND_ONLY, .pkey = SNIC_PKEY_DEFAULT,
		.qpn = 1, .qkey = SNIC_GSI_QKEY, .src_qpn = 1,
	};
	uint8_t f[2048], bth[1024];
	size_t n = snic_pkt_build(&pkt, bth);

	assert_true(n + len <= sizeof(bth));
	memcpy(bth + n, mad, len);
	link_inject(&to->port, f, frame_roce(f, host, to->nr, bth, n + len), 0);
}

void inject(struct host *to, uint8_t host, const struct snic_cm_msg *msg)
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
		.src_port = 4000, .src = host_ip(from), .dst = host_ip(to),
	};

	memset(priv, 0, SNIC_CM_REQ_PRIV);
	snic_cm_build_ip_hdr(&hdr, priv);
	snic_gid_of_ip(host_ip(from), m.req.local_gid);
	snic_gid_of_ip(host_ip(to), m.req.remote_gid);
	return m;
}
