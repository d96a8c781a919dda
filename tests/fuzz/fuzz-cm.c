// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connection management: messages of peers and calls of the user, in any order.
 * The input is a row of records: operation, argument, and for messages a MAD.
 * Message ids may be taken from what the NIC has sent last, so that mutations
 * reach connections that exist.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "bed.h"
#include "snic/net/pkt.h"

enum op {
	OP_MAD,		/* as it is */
	OP_MAD_IDS,	/* with both ids of the latest connection */
	OP_POLL,	/* argument: what to do with a request */
	OP_CONNECT,
	OP_DISCONNECT,
	OP_RELEASE,
	OP_WAIT,	/* argument: about so many 0.1 s */
	OP_QP_RESET,
	NR_OPS,
};

/* The MAD of a record: all but the header, which is always right. */
#define MAD_BODY	(SNIC_MAD_LEN - 24)

static struct fuzz_bed bed;
static uint32_t ids[8];		/* what the user knows */
static unsigned int nr_ids;

static void remember(uint32_t id)
{
	ids[nr_ids++ % 8] = id;
}

static uint32_t pick(uint8_t arg)
{
	return ids[arg % 8];
}

/* ids[] of the message: from the latest message of the NIC, swapped. */
static void patch_ids(uint8_t *mad)
{
	const struct link_frame *f = link_latest(&bed.host.port);
	const uint8_t *sent;

	if (!f || f->len != SNIC_NET_HLEN + 20 + SNIC_MAD_LEN + 4)
		return;
	sent = f->data + SNIC_NET_HLEN + 12 + 8;
	memcpy(mad + 28, sent + 24, 4);
	if (sent[17] != SNIC_CM_REQ)
		memcpy(mad + 24, sent + 28, 4);
}

static void send_mad(uint8_t attr, const uint8_t *body, size_t n, bool use_ids)
{
	struct snic_pkt pkt = { .opcode = SNIC_OP_UD_SEND_ONLY, .pkey = 0xffff,
				.qpn = 1, .qkey = SNIC_GSI_QKEY, .src_qpn = 1 };
	uint64_t before = snic_stats(bed.host.nic)->rx_cm;
	uint8_t bth[20 + SNIC_MAD_LEN] = { 0 }, *mad = bth + 20;
	uint8_t frame[512];
	size_t len;

	snic_pkt_build(&pkt, bth);
	mad[0] = 1;
	mad[1] = 7;
	mad[2] = 2;
	mad[3] = 3;
	mad[17] = attr;
	memcpy(mad + 24, body, n);
	if (use_ids)
		patch_ids(mad);
	len = frame_roce(frame, 9, 2, bth, sizeof(bth));
	fuzz_receive(&bed, frame, len, 1000);
	FUZZ_ASSERT(snic_stats(bed.host.nic)->rx_cm == before + 1);
}

static void poll_event(uint8_t arg)
{
	struct snic_cm_param param = { .qpn = bed.qpn };
	struct snic_cm_event ev;

	if (snic_cm_poll(bed.host.nic, &ev))
		return;
	FUZZ_ASSERT(ev.priv_len <= SNIC_CM_PRIV_MAX);
	if (ev.type != SNIC_CM_REQUEST)
		return;
	remember(ev.id);
	if (arg & 1)
		snic_cm_accept(bed.host.nic, ev.id, &param);
	else if (arg & 2)
		FUZZ_ASSERT(snic_cm_reject(bed.host.nic, ev.id, "busy", arg & 4) != -ENOENT);
}

static void connect_out(uint8_t arg)
{
	struct snic_cm_param param = {
		.qpn = bed.qpn, .retry_cnt = arg & 7, .rnr_retry = arg >> 5,
	};
	uint32_t id;

	if (!snic_cm_connect(bed.host.nic, htobe32(0x0a000009), 1 + arg, &param,
			     &id))
		remember(id);
}

/* One record; returns what it took. */
static size_t one(const uint8_t *p, size_t len)
{
	uint8_t arg = p[1];
	size_t n = len - 2;

	switch (p[0] % NR_OPS) {
	case OP_MAD: case OP_MAD_IDS:
		n = n > MAD_BODY ? MAD_BODY : n;
		send_mad(arg, p + 2, n, p[0] % NR_OPS == OP_MAD_IDS);
		return n + 2;
	case OP_POLL:
		poll_event(arg);
		break;
	case OP_CONNECT:
		connect_out(arg);
		break;
	case OP_DISCONNECT:
		snic_cm_disconnect(bed.host.nic, pick(arg));
		break;
	case OP_RELEASE:
		snic_cm_release(bed.host.nic, pick(arg));
		break;
	case OP_WAIT:
		host_wait(&bed.host, arg * 100000000ull);
		break;
	case OP_QP_RESET:
		snic_qp_reset(bed.host.nic, bed.qpn);
		break;
	}
	return 2;
}

/* Whatever happened: when the user lets go of all, nothing is left. */
static void let_go(void)
{
	struct snic_cm *cm = snic_cm_of(bed.host.nic);
	struct snic_cm_event ev;
	unsigned int i;

	for (i = 0; i < SNIC_CM_MAX_CONNS && cm->nr_conns; i++)
		if (cm->slots[i] && cm->slots[i]->held)
			snic_cm_release(bed.host.nic, cm->slots[i]->id);
	FUZZ_ASSERT(snic_cm_poll(bed.host.nic, &ev));
	host_wait(&bed.host, 100000000000ull);
	FUZZ_ASSERT(!cm->nr_conns && !cm->nr_pending);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint32_t listener;
	size_t n;

	fuzz_open(&bed);
	memset(ids, 0, sizeof(ids));
	nr_ids = 0;
	FUZZ_ASSERT(!snic_cm_listen(bed.host.nic, 7489, &listener));
	while (len >= 2) {
		n = one(data, len);
		fuzz_check_cm(&bed);
		data += n;
		len -= n;
	}
	let_go();
	fuzz_close(&bed);
	return 0;
}

/* ---- inputs to start from -------------------------------------------------------- */

static size_t call(uint8_t *buf, enum op op, uint8_t arg)
{
	buf[0] = op;
	buf[1] = arg;
	return 2;
}

static size_t message(uint8_t *buf, enum op op, const struct snic_cm_msg *m)
{
	uint8_t mad[SNIC_MAD_LEN];

	FUZZ_ASSERT(!snic_cm_build(m, mad));
	buf[0] = op;
	buf[1] = m->attr;
	memcpy(buf + 2, mad + 24, MAD_BODY);
	return 2 + MAD_BODY;
}

static size_t req_id(uint8_t *buf, uint32_t id)
{
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REQ, .local_id = id,
		.req = {
			.service_id = SNIC_CM_SERVICE_TCP | 7489,
			.ca_guid = 9, .qpn = 0x11, .psn = 5,
			.responder_resources = 1, .initiator_depth = 1,
			.remote_timeout = 20, .local_timeout = 18,
			.retry_cnt = 7, .rnr_retry = 7, .max_retries = 3,
			.pkey = 0xffff, .mtu = 3,
		},
	};
	struct snic_cm_ip_hdr hdr = { .src_port = 4000,
				      .src = htobe32(0x0a000009),
				      .dst = htobe32(0x0a000002) };
	uint8_t priv[SNIC_CM_IP_HDR];

	snic_cm_build_ip_hdr(&hdr, priv);
	snic_gid_of_ip(hdr.src, m.req.local_gid);
	snic_gid_of_ip(hdr.dst, m.req.remote_gid);
	m.priv = priv;
	m.priv_len = sizeof(priv);
	return message(buf, OP_MAD, &m);
}

static size_t req(uint8_t *buf)
{
	return req_id(buf, 77);
}

/* "I give up", from one that does not know our id. */
static size_t timed_out(uint8_t *buf)
{
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REJ, .local_id = 77,
		.rej = { .which = SNIC_CM_WHICH_OTHER,
			 .reason = SNIC_REJ_TIMEOUT, .ari_len = 8,
			 .ari = { [7] = 9 } },
	};

	return message(buf, OP_MAD, &m);
}

static size_t reply(uint8_t *buf, uint16_t attr)
{
	struct snic_cm_msg m = { .attr = attr, .local_id = 77 };

	if (attr == SNIC_CM_REP)
		m.rep.qpn = 0x11;
	else if (attr == SNIC_CM_DREQ)
		m.dreq_qpn = 0x100;
	return message(buf, OP_MAD_IDS, &m);
}

static size_t passive(uint8_t *buf)
{
	size_t n = req(buf);

	n += call(buf + n, OP_POLL, 1);
	n += reply(buf + n, SNIC_CM_RTU);
	n += call(buf + n, OP_POLL, 0);
	return n;
}

static size_t active(uint8_t *buf)
{
	size_t n = call(buf, OP_CONNECT, 0x7f);

	n += reply(buf + n, SNIC_CM_DREP);	/* so that the MAC is known */
	n += call(buf + n, OP_WAIT, 10);
	n += reply(buf + n, SNIC_CM_REP);
	n += call(buf + n, OP_POLL, 0);
	return n;
}

size_t fuzz_seed(unsigned int n, uint8_t *buf)
{
	size_t len;

	switch (n) {
	case 0:
		len = passive(buf);
		len += reply(buf + len, SNIC_CM_DREQ);
		return len + call(buf + len, OP_POLL, 0);
	case 1:
		len = passive(buf);
		len += call(buf + len, OP_DISCONNECT, 0);
		len += reply(buf + len, SNIC_CM_DREP);
		return len + call(buf + len, OP_RELEASE, 0);
	case 2:
		len = req(buf);
		len += call(buf + len, OP_POLL, 2);
		len += req(buf + len);
		return len + call(buf + len, OP_WAIT, 200);
	case 3:
		len = active(buf);
		len += call(buf + len, OP_DISCONNECT, 0);
		return len + reply(buf + len, SNIC_CM_DREQ);
	case 4:
		len = call(buf, OP_CONNECT, 0x7f);
		len += reply(buf + len, SNIC_CM_DREP);
		len += call(buf + len, OP_WAIT, 10);
		len += reply(buf + len, SNIC_CM_MRA);
		len += call(buf + len, OP_WAIT, 50);
		return len + reply(buf + len, SNIC_CM_REJ);
	case 5:
		len = passive(buf);
		len += call(buf + len, OP_QP_RESET, 0);
		len += call(buf + len, OP_RELEASE, 0);
		return len + passive(buf + len);
	case 6:
		len = req(buf);
		len += call(buf + len, OP_POLL, 1);
		len += call(buf + len, OP_WAIT, 255);
		return len + reply(buf + len, SNIC_CM_REJ);
	case 7:
		len = passive(buf);
		len += req_id(buf + len, 78);
		len += req_id(buf + len, 79);
		return len + req_id(buf + len, 80);
	case 8:
		len = active(buf);
		return len + reply(buf + len, SNIC_CM_REP);
	case 9:
		len = passive(buf);
		return len + timed_out(buf + len);
	case 10:
		len = req(buf);
		len += timed_out(buf + len);
		return len + call(buf + len, OP_POLL, 0);
	default:
		return 0;
	}
}
