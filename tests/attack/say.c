// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Frames of an attacker; see say.h. */
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>
#include "say.h"
#include "bed/agent.h"
#include "bed/cm.h"
#include "bed/cnode-priv.h"
#include "bed/frame.h"
#include "snic/net/net-priv.h"

uint32_t attack_random(struct speaker *s)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return s->random >> 33;
}

void attack_frame(struct speaker *s, const void *frame, size_t len)
{
	s->frames++;
	s->send(s, frame, len);
}

void attack_roce(struct speaker *s, const struct attack_from *from, const void *bth,
		 size_t len)
{
	uint8_t frame[ATTACK_FRAME];
	size_t n = frame_roce(frame, 0, 0, bth, len);

	memcpy(frame, s->mnode.mac, 6);
	memcpy(frame + 6, from->mac, 6);
	memcpy(frame + SNIC_ETH_HLEN + 12, &from->ip, sizeof(from->ip));
	memcpy(frame + SNIC_ETH_HLEN + 16, &s->mnode.ip, sizeof(s->mnode.ip));
	if (from->port)
		frame_put16(frame + SNIC_ETH_HLEN + SNIC_IP_HLEN, from->port);
	frame_fix(frame, n);
	attack_frame(s, frame, n);
}

void attack_pkt(struct speaker *s, const struct attack_from *from, struct snic_pkt pkt,
		const void *payload, size_t len)
{
	uint8_t bth[ATTACK_FRAME - SNIC_NET_HLEN - SNIC_ICRC_LEN];
	size_t n;

	pkt.pkey = SNIC_PKEY_DEFAULT;
	n = snic_pkt_build(&pkt, bth);
	assert_in_range(n + len, 1, sizeof(bth));
	if (len)
		memcpy(bth + n, payload, len);
	attack_roce(s, from, bth, n + len);
}

void attack_cm(struct speaker *s, const struct attack_from *from,
	       const struct snic_cm_msg *msg)
{
	const struct snic_pkt pkt = {
		.opcode = SNIC_OP_UD_SEND_ONLY, .qpn = 1, .qkey = SNIC_GSI_QKEY,
		.src_qpn = 1,
	};
	uint8_t mad[SNIC_MAD_LEN];

	assert_int_equal(snic_cm_build(msg, mad), 0);
	attack_pkt(s, from, pkt, mad, sizeof(mad));
}

/* A REQ to the agent's port; priv: SNIC_CM_REQ_PRIV bytes, which belong to it; said: len
 * bytes for the agent. */
static struct snic_cm_msg agent_req(struct speaker *s, const struct attack_from *from,
				   uint32_t qpn, const void *said, size_t len,
				   uint8_t *priv)
{
	uint32_t id = attack_random(s);
	struct snic_cm_msg m = {
		.attr = SNIC_CM_REQ, .tid = id, .local_id = id,
		.req = {
			.service_id = SNIC_CM_SERVICE_TCP | ODRP_WIRE_PORT,
			.ca_guid = 0xfffe000000ull | from->mac[5], .qpn = qpn,
			.psn = id & SNIC_PSN_MASK,
			.responder_resources = 4, .initiator_depth = 4,
			.remote_timeout = 20, .local_timeout = 20, .retry_cnt = 7,
			.rnr_retry = 7, .max_retries = 15, .pkey = SNIC_PKEY_DEFAULT,
			.mtu = 3, .hop_limit = 64, .ack_timeout = 19,
		},
		.priv = priv, .priv_len = SNIC_CM_REQ_PRIV,
	};
	const struct snic_cm_ip_hdr hdr = {
		.src_port = 4000, .src = from->ip, .dst = s->mnode.ip,
	};

	memset(priv, 0, SNIC_CM_REQ_PRIV);
	snic_cm_build_ip_hdr(&hdr, priv);
	assert_in_range(len, 0, SNIC_CM_REQ_PRIV - SNIC_CM_IP_HDR);
	memcpy(priv + SNIC_CM_IP_HDR, said, len);
	snic_gid_of_ip(from->ip, m.req.local_gid);
	snic_gid_of_ip(s->mnode.ip, m.req.remote_gid);
	return m;
}

/* By his own MAC, and another address each time. */
static struct attack_from forged(struct speaker *s)
{
	struct attack_from from = s->own;

	((uint8_t *)&from.ip)[3] = 0x80 + attack_random(s) % 100;
	return from;
}

void attack_hello(struct speaker *s, const struct attack_from *from, uint32_t qpn)
{
	uint8_t priv[SNIC_CM_REQ_PRIV];
	struct odrp_wire_hello h;
	struct snic_cm_msg m;

	cnode_hello(&h, ODRP_WIRE_ADMIN);
	h.queue = htobe16(4);
	h.depth = htobe16(63);
	h.nr_slots = htobe64(1 << 18);
	m = agent_req(s, from, qpn, &h, sizeof(h), priv);
	attack_cm(s, from, &m);
}

static void say_initiation(struct speaker *s, const struct attack_from *from,
			   const uint8_t cookie[ODRP_AUTH_MAC])
{
	struct odrp_auth_initiation initiation = {
		.magic = htobe32(ODRP_AUTH_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.role = ODRP_AUTH_HANDSHAKE, .suite = ODRP_AUTH_HMAC_SHA256,
		.id = htobe64(cookie ? 1 : attack_random(s)),
	};
	uint8_t priv[SNIC_CM_REQ_PRIV];
	struct snic_cm_msg m;

	if (cookie)
		memcpy(initiation.cookie, cookie, sizeof(initiation.cookie));
	m = agent_req(s, from, attack_random(s) & SNIC_QPN_MASK, &initiation, sizeof(initiation),
		     priv);
	attack_cm(s, from, &m);
}

/* ---- floods -------------------------------------------------------------------- */

static void hellos(struct speaker *s)
{
	attack_hello(s, &s->own, 0x1000 + s->nr);
}

static void forged_hellos(struct speaker *s)
{
	struct attack_from from = forged(s);

	attack_hello(s, &from, 0x1000 + s->nr);
}

static void initiations(struct speaker *s)
{
	say_initiation(s, &s->own, NULL);
}

static void forged_initiations(struct speaker *s)
{
	struct attack_from from = forged(s);

	say_initiation(s, &from, NULL);
}

/* ---- half-open ------------------------------------------------------------------- */

void attack_hear(struct speaker *s, const uint8_t *frame, size_t len)
{
	const uint8_t *mad = mad_of(frame, len);
	struct snic_cm_msg m;

	if (!mad || snic_cm_parse(mad, SNIC_MAD_LEN, &m))
		return;
	if (m.attr == SNIC_CM_REP) {
		s->heard.local_id = m.remote_id;
		s->heard.remote_id = m.local_id;
		s->heard.accepted = true;
		s->heard.nr_accepted++;
	} else if (m.attr == SNIC_CM_REJ &&
		   auth_is_cookie(m.priv, m.priv_len, s->heard.cookie)) {
		s->heard.asked = true;
		s->heard.nr_asked++;
	}
}

/* He connects, with a cookie if he was ever asked for one, and says no word more. */
static void half_open(struct speaker *s)
{
	struct snic_cm_msg rtu = {
		.attr = SNIC_CM_RTU, .local_id = s->heard.local_id,
		.remote_id = s->heard.remote_id,
	};

	if (s->heard.accepted)
		attack_cm(s, &s->own, &rtu);
	else
		say_initiation(s, &s->own, s->heard.cookie);
	s->heard.accepted = false;
}

/* ---- sizes ------------------------------------------------------------------------ */

/* Each field of the REQ, of a hello and of an initiation, at its least and its most. */
static void sizes(struct speaker *s)
{
	static const uint8_t fill[] = { 0x00, 0xff, 0x7f, 0x80, 0x01 };
	uint8_t priv[SNIC_CM_REQ_PRIV], said[56];
	struct odrp_wire_hello h;
	struct snic_cm_msg m;
	size_t off = s->nr / 5 % sizeof(said);

	cnode_hello(&h, s->nr & 1 ? ODRP_WIRE_ADMIN : ODRP_WIRE_IO);
	memcpy(said, &h, sizeof(said));
	memset(said + off, fill[s->nr % 5], sizeof(said) - off < 8 ?
	       sizeof(said) - off : 8);
	m = agent_req(s, &s->own, s->nr % 7 ? fill[s->nr % 5] * 0x10101 : 0x2000 + s->nr,
		     said, sizeof(said), priv);
	if (s->nr % 3 == 0) {
		m.req.psn = m.req.qpn = SNIC_QPN_MASK;
		m.req.responder_resources = m.req.initiator_depth = 0xff;
		m.req.local_timeout = m.req.remote_timeout = 31;
		m.req.ack_timeout = 31;
		m.req.retry_cnt = m.req.rnr_retry = 7;
	} else if (s->nr % 3 == 1) {
		m.req.responder_resources = m.req.initiator_depth = 0;
		m.req.local_timeout = m.req.remote_timeout = 0;
		m.req.ack_timeout = m.req.retry_cnt = m.req.rnr_retry = 0;
		m.req.max_retries = 0;
		m.req.mtu = 1;
	}
	attack_cm(s, &s->own, &m);
}

/* ---- stations --------------------------------------------------------------------- */

/* From his own port: as the honest node, or as the memory node. */
static void as_another(struct speaker *s)
{
	const struct snic_pkt pkt = {
		.opcode = s->nr / 2 % 2 ? SNIC_OP_SEND_ONLY : SNIC_OP_ACK,
		.qpn = attack_random(s) & SNIC_QPN_MASK,
		.psn = attack_random(s) & SNIC_PSN_MASK,
		.syndrome = SNIC_ACK_UNLIMITED,
	};

	attack_pkt(s, s->nr % 2 ? &s->node : &s->mnode, pkt, NULL, 0);
}

/* "That address is at my MAC": to all, unasked, and as an answer to the NIC. */
static void say_arp(struct speaker *s, const uint8_t mac[6], __be32 ip, __be32 to,
		    bool answer)
{
	uint8_t frame[60] = { 0 }, *p;

	p = frame_eth(frame, answer ? s->mnode.mac :
		      (uint8_t[6]){ 255, 255, 255, 255, 255, 255 }, 0,
		      SNIC_ETHERTYPE_ARP);
	memcpy(frame + 6, mac, 6);
	frame_put16(p, 1);
	frame_put16(p + 2, SNIC_ETHERTYPE_IP);
	p[4] = 6;
	p[5] = 4;
	frame_put16(p + 6, answer ? 2 : 1);
	memcpy(p + 8, mac, 6);
	memcpy(p + 14, &ip, 4);
	memcpy(p + 24, &to, 4);
	attack_frame(s, frame, sizeof(frame));
}

static void arp_moves(struct speaker *s)
{
	__be32 ip = s->nr % 3 ? s->node.ip : s->mnode.ip;

	say_arp(s, s->own.mac, ip, s->nr % 2 ? s->mnode.ip : ip, s->nr % 4 < 2);
}

/* A packet to the CM from that address teaches the NIC nothing either. */
static void cm_moves(struct speaker *s)
{
	struct attack_from from = s->own;
	struct snic_cm_msg m = {
		.attr = SNIC_CM_RTU, .local_id = attack_random(s),
		.remote_id = attack_random(s),
	};

	from.ip = s->node.ip;
	attack_cm(s, &from, &m);
}

/* Another MAC and address in each frame: the tables are no larger for that. */
static void many_stations(struct speaker *s)
{
	const struct snic_pkt pkt = {
		.opcode = SNIC_OP_SEND_ONLY, .qpn = attack_random(s) & SNIC_QPN_MASK,
		.psn = attack_random(s) & SNIC_PSN_MASK,
	};
	struct attack_from from = forged(s);

	from.mac[5] = 100 + attack_random(s) % 150;
	if (s->nr % 2)
		say_arp(s, from.mac, from.ip, s->mnode.ip, false);
	else
		attack_pkt(s, &from, pkt, NULL, 0);
}

/* Any queue pair at all, by his own address. */
static void any_queue_pair(struct speaker *s)
{
	static const uint8_t page[1024];
	const struct snic_pkt pkt = {
		.opcode = SNIC_OP_SEND_ONLY, .qpn = attack_random(s) & SNIC_QPN_MASK,
		.psn = attack_random(s) & SNIC_PSN_MASK,
	};

	attack_pkt(s, &s->own, pkt, page, sizeof(page));
}

const struct attack_kind attack_kinds[] = {
	{ "hellos", hellos },
	{ "forged hellos", forged_hellos },
	{ "initiations", initiations },
	{ "forged initiations", forged_initiations },
	{ "half-open handshakes", half_open },
	{ "sizes", sizes },
	{ "as another", as_another },
	{ "arp moves", arp_moves },
	{ "cm moves", cm_moves },
	{ "many stations", many_stations },
	{ "any queue pair", any_queue_pair },
	{ NULL, NULL },
};

const struct attack_kind *attack_kind_find(const char *name)
{
	const struct attack_kind *kind = attack_kinds;

	while (kind->name && strcmp(kind->name, name))
		kind++;
	assert_non_null(kind->name);
	return kind;
}
