/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connection management messages: decoding and encoding.  Offsets are those of
 * the specification's tables (REQ 106, MRA 107, REJ 108, REP 110, RTU 111, DREQ
 * 112, DREP 113), counted from the end of the MAD header.
 */
#include <errno.h>
#include <string.h>
#include "msg.h"

#define MAD_HLEN		24
#define MAD_BASE_VERSION	1
#define MAD_CLASS_CM		0x07
#define MAD_CLASS_VERSION	2
#define MAD_METHOD_SEND		0x03

#define IP_HDR_VERSION4		0x40

static uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | p[1] << 8 | p[2];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static void put24(uint8_t *p, uint32_t v)
{
	p[0] = v >> 16;
	put16(p + 1, v);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static void put64(uint8_t *p, uint64_t v)
{
	put32(p, v >> 32);
	put32(p + 4, v);
}

/* ---- helpers --------------------------------------------------------------- */

void snic_gid_of_ip(__be32 ip, uint8_t *ret_gid)
{
	memset(ret_gid, 0, 10);
	memset(ret_gid + 10, 0xff, 2);
	memcpy(ret_gid + 12, &ip, 4);
}

uint8_t snic_mtu_code(uint16_t mtu)
{
	uint8_t code;

	for (code = 5; code; code--)
		if (mtu == 128 << code)
			break;
	return code;
}

uint16_t snic_mtu_bytes(uint8_t code)
{
	return code >= 1 && code <= 5 ? 128 << code : 0;
}

int snic_cm_parse_ip_hdr(const uint8_t *p, size_t len,
			 struct snic_cm_ip_hdr *ret_hdr)
{
	if (len < SNIC_CM_IP_HDR || p[0] || (p[1] & 0xf0) != IP_HDR_VERSION4)
		return -EBADMSG;
	ret_hdr->src_port = get16(p + 2);
	memcpy(&ret_hdr->src, p + 16, 4);
	memcpy(&ret_hdr->dst, p + 32, 4);
	return 0;
}

void snic_cm_build_ip_hdr(const struct snic_cm_ip_hdr *hdr, uint8_t *ret_p)
{
	memset(ret_p, 0, SNIC_CM_IP_HDR);
	ret_p[1] = IP_HDR_VERSION4;
	put16(ret_p + 2, hdr->src_port);
	memcpy(ret_p + 16, &hdr->src, 4);
	memcpy(ret_p + 32, &hdr->dst, 4);
}

/* ---- where the private data is ----------------------------------------------- */

static int priv_field(uint16_t attr, unsigned int *ret_off,
		      unsigned int *ret_len)
{
	static const struct { uint8_t off, len; } fields[] = {
		[SNIC_CM_REQ - SNIC_CM_REQ] = { 140, SNIC_CM_REQ_PRIV },
		[SNIC_CM_MRA - SNIC_CM_REQ] = { 10, SNIC_CM_MRA_PRIV },
		[SNIC_CM_REJ - SNIC_CM_REQ] = { 84, SNIC_CM_REJ_PRIV },
		[SNIC_CM_REP - SNIC_CM_REQ] = { 36, SNIC_CM_REP_PRIV },
		[SNIC_CM_RTU - SNIC_CM_REQ] = { 8, SNIC_CM_RTU_PRIV },
		[SNIC_CM_DREQ - SNIC_CM_REQ] = { 12, SNIC_CM_DREQ_PRIV },
		[SNIC_CM_DREP - SNIC_CM_REQ] = { 8, SNIC_CM_DREP_PRIV },
	};

	if (attr < SNIC_CM_REQ || attr > SNIC_CM_DREP)
		return -EOPNOTSUPP;
	*ret_off = MAD_HLEN + fields[attr - SNIC_CM_REQ].off;
	*ret_len = fields[attr - SNIC_CM_REQ].len;
	return 0;
}

uint8_t *snic_cm_priv(uint8_t *mad, enum snic_cm_attr attr)
{
	unsigned int off = 0, len;

	priv_field(attr, &off, &len);
	return mad + off;
}

/* ---- bytes to structs --------------------------------------------------------- */

static bool is_rc_qpn(uint32_t qpn)
{
	return qpn > 1 && qpn != 0xffffff;
}

static int parse_req(const uint8_t *p, struct snic_cm_req *r)
{
	r->service_id = get64(p + 8);
	r->ca_guid = get64(p + 16);
	r->qpn = get24(p + 32);
	r->responder_resources = p[35];
	r->initiator_depth = p[39];
	r->remote_timeout = p[43] >> 3;
	r->transport = p[43] >> 1 & 3;
	r->flow_control = p[43] & 1;
	r->psn = get24(p + 44);
	r->local_timeout = p[47] >> 3;
	r->retry_cnt = p[47] & 7;
	r->pkey = get16(p + 48);
	r->mtu = p[50] >> 4;
	r->rnr_retry = p[50] & 7;
	r->max_retries = p[51] >> 4;
	r->srq = p[51] >> 3 & 1;
	memcpy(r->local_gid, p + 56, 16);
	memcpy(r->remote_gid, p + 72, 16);
	r->hop_limit = p[93];
	r->ack_timeout = p[95] >> 3;
	return is_rc_qpn(r->qpn) && snic_mtu_bytes(r->mtu) ? 0 : -EBADMSG;
}

static int parse_rep(const uint8_t *p, struct snic_cm_rep *r)
{
	r->qpn = get24(p + 12);
	r->psn = get24(p + 20);
	r->responder_resources = p[24];
	r->initiator_depth = p[25];
	r->ack_delay = p[26] >> 3;
	r->flow_control = p[26] & 1;
	r->rnr_retry = p[27] >> 5;
	r->srq = p[27] >> 4 & 1;
	r->ca_guid = get64(p + 28);
	return is_rc_qpn(r->qpn) ? 0 : -EBADMSG;
}

static int parse_rej(const uint8_t *p, struct snic_cm_rej *r)
{
	r->which = p[8] >> 6;
	r->ari_len = p[9] >> 1;
	r->reason = get16(p + 10);
	memcpy(r->ari, p + 12, sizeof(r->ari));
	if (r->ari_len > SNIC_CM_REJ_ARI || r->which > SNIC_CM_WHICH_OTHER)
		return -EBADMSG;
	return 0;
}

static int parse_mra(const uint8_t *p, struct snic_cm_mra *r)
{
	r->which = p[8] >> 6;
	r->service_timeout = p[9] >> 3;
	return r->which > SNIC_CM_WHICH_OTHER ? -EBADMSG : 0;
}

int snic_cm_parse(const uint8_t *mad, size_t len, struct snic_cm_msg *ret_msg)
{
	const uint8_t *p = mad + MAD_HLEN;
	struct snic_cm_msg *m = ret_msg;
	unsigned int off, priv_len;

	if (len != SNIC_MAD_LEN || mad[0] != MAD_BASE_VERSION ||
	    mad[1] != MAD_CLASS_CM || mad[2] != MAD_CLASS_VERSION ||
	    mad[3] != MAD_METHOD_SEND)
		return -EBADMSG;
	memset(m, 0, sizeof(*m));
	m->tid = get64(mad + 8);
	m->attr = get16(mad + 16);
	if (priv_field(m->attr, &off, &priv_len))
		return -EOPNOTSUPP;
	m->priv = mad + off;
	m->priv_len = priv_len;
	m->local_id = get32(p);
	if (m->attr != SNIC_CM_REQ)
		m->remote_id = get32(p + 4);
	switch (m->attr) {
	case SNIC_CM_REQ:
		return parse_req(p, &m->req);
	case SNIC_CM_REP:
		return parse_rep(p, &m->rep);
	case SNIC_CM_REJ:
		return parse_rej(p, &m->rej);
	case SNIC_CM_MRA:
		return parse_mra(p, &m->mra);
	case SNIC_CM_DREQ:
		m->dreq_qpn = get24(p + 8);
		return 0;
	default:
		return 0;
	}
}

/* ---- structs to bytes ------------------------------------------------------------ */

static void build_req(const struct snic_cm_req *r, uint8_t *p)
{
	put64(p + 8, r->service_id);
	put64(p + 16, r->ca_guid);
	put24(p + 32, r->qpn);
	p[35] = r->responder_resources;
	p[39] = r->initiator_depth;
	p[43] = r->remote_timeout << 3 | (r->transport & 3) << 1 |
		r->flow_control;
	put24(p + 44, r->psn);
	p[47] = r->local_timeout << 3 | (r->retry_cnt & 7);
	put16(p + 48, r->pkey);
	p[50] = r->mtu << 4 | (r->rnr_retry & 7);
	p[51] = r->max_retries << 4 | r->srq << 3;
	/* There are no LIDs beyond the subnet: use the permissive LID. */
	put16(p + 52, 0xffff);
	put16(p + 54, 0xffff);
	memcpy(p + 56, r->local_gid, 16);
	memcpy(p + 72, r->remote_gid, 16);
	p[91] = 3;			/* packet rate: 10 Gbit/s */
	p[93] = r->hop_limit;
	p[95] = r->ack_timeout << 3;
}

static void build_rep(const struct snic_cm_rep *r, uint8_t *p)
{
	put24(p + 12, r->qpn);
	put24(p + 20, r->psn);
	p[24] = r->responder_resources;
	p[25] = r->initiator_depth;
	p[26] = r->ack_delay << 3 | r->flow_control;
	p[27] = r->rnr_retry << 5 | r->srq << 4;
	put64(p + 28, r->ca_guid);
}

static void build_rej(const struct snic_cm_rej *r, uint8_t *p)
{
	p[8] = r->which << 6;
	p[9] = r->ari_len << 1;
	put16(p + 10, r->reason);
	memcpy(p + 12, r->ari, r->ari_len);
}

int snic_cm_build(const struct snic_cm_msg *m, uint8_t *ret_mad)
{
	uint8_t *mad = ret_mad, *p = mad + MAD_HLEN;
	unsigned int off, priv_len;

	if (priv_field(m->attr, &off, &priv_len))
		return -EOPNOTSUPP;
	if (m->priv_len > priv_len)
		return -EMSGSIZE;
	memset(mad, 0, SNIC_MAD_LEN);
	mad[0] = MAD_BASE_VERSION;
	mad[1] = MAD_CLASS_CM;
	mad[2] = MAD_CLASS_VERSION;
	mad[3] = MAD_METHOD_SEND;
	put64(mad + 8, m->tid);
	put16(mad + 16, m->attr);
	put32(p, m->local_id);
	if (m->attr != SNIC_CM_REQ)
		put32(p + 4, m->remote_id);
	if (m->attr == SNIC_CM_REQ)
		build_req(&m->req, p);
	else if (m->attr == SNIC_CM_REP)
		build_rep(&m->rep, p);
	else if (m->attr == SNIC_CM_REJ)
		build_rej(&m->rej, p);
	else if (m->attr == SNIC_CM_DREQ)
		put24(p + 8, m->dreq_qpn);
	else if (m->attr == SNIC_CM_MRA) {
		p[8] = m->mra.which << 6;
		p[9] = m->mra.service_timeout << 3;
	}
	if (m->priv_len)
		memcpy(mad + off, m->priv, m->priv_len);
	return 0;
}
