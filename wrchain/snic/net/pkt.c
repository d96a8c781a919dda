// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RoCEv2 transport headers to and from bytes, and the invariant CRC.
 */
#include <libdeflate.h>

#include "pkt.h"

/* ---- the headers as they are in a packet (any alignment) ---------------- */

#define PACKED __attribute__((packed))

struct bth {
	uint8_t opcode;
	uint8_t flags;		/* 7 solicited, 6 migrated, 5:4 pad, 3:0 version */
	__be16 pkey;
	__be32 qpn;		/* 31 FECN, 30 BECN, 29:24 reserved, 23:0 */
	__be32 psn;		/* 31 AckReq, 30:24 reserved, 23:0 */
} PACKED;

#define BTH_SOLICITED	0x80
#define BTH_MIGRATED	0x40
#define BTH_PAD_SHIFT	4
#define BTH_VERSION	0x0f
#define BTH_ACK_REQ	0x80000000u

struct deth {
	__be32 qkey;
	__be32 src_qpn;
} PACKED;

struct reth {
	__be64 va;
	__be32 rkey;
	__be32 len;
} PACKED;

struct atomiceth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add;
	__be64 compare;
} PACKED;

struct aeth {
	__be32 syn_msn;		/* 31:24 syndrome, 23:0 MSN */
} PACKED;

struct atomicacketh {
	__be64 orig;
} PACKED;

struct immdt {
	__be32 imm;
} PACKED;

struct ieth {
	__be32 rkey;
} PACKED;

WRC_ASSERT(sizeof(struct bth) == 12);
WRC_AT(bth, opcode, 0);
WRC_AT(bth, flags, 1);
WRC_AT(bth, pkey, 2);
WRC_AT(bth, qpn, 4);
WRC_AT(bth, psn, 8);
WRC_ASSERT(sizeof(struct deth) == 8);
WRC_AT(deth, src_qpn, 4);
WRC_ASSERT(sizeof(struct reth) == 16);
WRC_AT(reth, rkey, 8);
WRC_AT(reth, len, 12);
WRC_ASSERT(sizeof(struct atomiceth) == 28);
WRC_AT(atomiceth, rkey, 8);
WRC_AT(atomiceth, swap_add, 12);
WRC_AT(atomiceth, compare, 20);
WRC_ASSERT(sizeof(struct aeth) == 4);
WRC_ASSERT(sizeof(struct atomicacketh) == 8);
WRC_ASSERT(sizeof(struct immdt) == 4);
WRC_ASSERT(sizeof(struct ieth) == 4);
WRC_ASSERT(SNIC_PKT_HDR_MAX ==
	   sizeof(struct bth) + sizeof(struct atomiceth));

/* ---- opcodes -------------------------------------------------------------- */

#define V	SNIC_OPF_VALID
#define REQ	(V | SNIC_OPF_REQUEST)
#define FIRST	SNIC_OPF_FIRST
#define LAST	SNIC_OPF_LAST
#define ONLY	(FIRST | LAST)
#define SEND	(REQ | SNIC_OPF_SEND | SNIC_OPF_PAYLOAD)
#define WRITE	(REQ | SNIC_OPF_WRITE | SNIC_OPF_PAYLOAD)
#define RESP	(V | SNIC_OPF_READ_RESP | SNIC_OPF_PAYLOAD)
#define ATOMIC	(REQ | ONLY | SNIC_OPF_ATOMIC | SNIC_OPF_ATOMICETH)
#define UD	(REQ | ONLY | SNIC_OPF_UD | SNIC_OPF_PAYLOAD | SNIC_OPF_DETH)
#define RETH	SNIC_OPF_RETH
#define AETH	SNIC_OPF_AETH
#define IMM	SNIC_OPF_IMM
#define INV	SNIC_OPF_IETH

static const uint32_t op_flags[] = {
	[SNIC_OP_SEND_FIRST]		= SEND | FIRST,
	[SNIC_OP_SEND_MIDDLE]		= SEND,
	[SNIC_OP_SEND_LAST]		= SEND | LAST,
	[SNIC_OP_SEND_LAST_IMM]		= SEND | LAST | IMM,
	[SNIC_OP_SEND_LAST_INV]		= SEND | LAST | INV,
	[SNIC_OP_SEND_ONLY]		= SEND | ONLY,
	[SNIC_OP_SEND_ONLY_IMM]		= SEND | ONLY | IMM,
	[SNIC_OP_SEND_ONLY_INV]		= SEND | ONLY | INV,
	[SNIC_OP_WRITE_FIRST]		= WRITE | FIRST | RETH,
	[SNIC_OP_WRITE_MIDDLE]		= WRITE,
	[SNIC_OP_WRITE_LAST]		= WRITE | LAST,
	[SNIC_OP_WRITE_LAST_IMM]	= WRITE | LAST | IMM,
	[SNIC_OP_WRITE_ONLY]		= WRITE | ONLY | RETH,
	[SNIC_OP_WRITE_ONLY_IMM]	= WRITE | ONLY | RETH | IMM,
	[SNIC_OP_READ_REQ]		= REQ | ONLY | RETH,
	[SNIC_OP_READ_RESP_FIRST]	= RESP | FIRST | AETH,
	[SNIC_OP_READ_RESP_MIDDLE]	= RESP,
	[SNIC_OP_READ_RESP_LAST]	= RESP | LAST | AETH,
	[SNIC_OP_READ_RESP_ONLY]	= RESP | ONLY | AETH,
	[SNIC_OP_ACK]			= V | ONLY | AETH,
	[SNIC_OP_ATOMIC_ACK]		= V | ONLY | AETH | SNIC_OPF_ATOMICACK,
	[SNIC_OP_CMP_SWAP]		= ATOMIC,
	[SNIC_OP_FETCH_ADD]		= ATOMIC,
	[SNIC_OP_UD_SEND_ONLY]		= UD,
	[SNIC_OP_UD_SEND_ONLY_IMM]	= UD | IMM,
};

uint32_t snic_op_flags(uint8_t opcode)
{
	if (opcode >= sizeof(op_flags) / sizeof(op_flags[0]))
		return 0;
	return op_flags[opcode];
}

static size_t headers_len(uint32_t flags)
{
	size_t len = sizeof(struct bth);

	if (flags & SNIC_OPF_DETH)
		len += sizeof(struct deth);
	if (flags & SNIC_OPF_RETH)
		len += sizeof(struct reth);
	if (flags & SNIC_OPF_ATOMICETH)
		len += sizeof(struct atomiceth);
	if (flags & SNIC_OPF_AETH)
		len += sizeof(struct aeth);
	if (flags & SNIC_OPF_ATOMICACK)
		len += sizeof(struct atomicacketh);
	if (flags & SNIC_OPF_IMM)
		len += sizeof(struct immdt);
	if (flags & SNIC_OPF_IETH)
		len += sizeof(struct ieth);
	return len;
}

/* ---- bytes to headers -------------------------------------------------------- */

static const uint8_t *parse_bth(const uint8_t *p, struct snic_pkt *pkt)
{
	const struct bth *h = (const struct bth *)p;
	uint32_t psn = be32_to_cpu(h->psn);

	pkt->opcode = h->opcode;
	pkt->pad = h->flags >> BTH_PAD_SHIFT & 3;
	pkt->solicited = h->flags & BTH_SOLICITED;
	pkt->pkey = be16_to_cpu(h->pkey);
	pkt->qpn = be32_to_cpu(h->qpn) & SNIC_QPN_MASK;
	pkt->ack_req = psn & BTH_ACK_REQ;
	pkt->psn = psn & SNIC_PSN_MASK;
	return p + sizeof(*h);
}

static const uint8_t *parse_ext(const uint8_t *p, struct snic_pkt *pkt)
{
	uint32_t f = pkt->flags;

	if (f & SNIC_OPF_DETH) {
		const struct deth *h = (const struct deth *)p;

		pkt->qkey = be32_to_cpu(h->qkey);
		pkt->src_qpn = be32_to_cpu(h->src_qpn) & SNIC_QPN_MASK;
		p += sizeof(*h);
	}
	if (f & SNIC_OPF_RETH) {
		const struct reth *h = (const struct reth *)p;

		pkt->va = be64_to_cpu(h->va);
		pkt->rkey = be32_to_cpu(h->rkey);
		pkt->dma_len = be32_to_cpu(h->len);
		p += sizeof(*h);
	}
	if (f & SNIC_OPF_ATOMICETH) {
		const struct atomiceth *h = (const struct atomiceth *)p;

		pkt->va = be64_to_cpu(h->va);
		pkt->rkey = be32_to_cpu(h->rkey);
		pkt->swap_add = be64_to_cpu(h->swap_add);
		pkt->compare = be64_to_cpu(h->compare);
		p += sizeof(*h);
	}
	if (f & SNIC_OPF_AETH) {
		const struct aeth *h = (const struct aeth *)p;

		pkt->syndrome = be32_to_cpu(h->syn_msn) >> 24;
		pkt->msn = be32_to_cpu(h->syn_msn) & 0xffffff;
		p += sizeof(*h);
	}
	if (f & SNIC_OPF_ATOMICACK) {
		const struct atomicacketh *h = (const struct atomicacketh *)p;

		pkt->orig = be64_to_cpu(h->orig);
		p += sizeof(*h);
	}
	if (f & SNIC_OPF_IMM) {
		pkt->imm = ((const struct immdt *)p)->imm;
		p += sizeof(struct immdt);
	}
	if (f & SNIC_OPF_IETH) {
		pkt->inv_rkey = be32_to_cpu(((const struct ieth *)p)->rkey);
		p += sizeof(struct ieth);
	}
	return p;
}

int snic_pkt_parse(const uint8_t *bytes, size_t len, struct snic_pkt *ret_pkt)
{
	struct snic_pkt *pkt = ret_pkt;
	size_t hdr;

	if (len < sizeof(struct bth) || len & 3)
		return -EBADMSG;
	if (((const struct bth *)bytes)->flags & BTH_VERSION)
		return -EBADMSG;
	pkt->flags = snic_op_flags(bytes[0]);
	if (!pkt->flags)
		return -EBADMSG;
	hdr = headers_len(pkt->flags);
	if (len < hdr)
		return -EBADMSG;

	parse_ext(parse_bth(bytes, pkt), pkt);
	if (len - hdr < pkt->pad)
		return -EBADMSG;
	pkt->payload = bytes + hdr;
	pkt->len = len - hdr - pkt->pad;
	if (!(pkt->flags & SNIC_OPF_PAYLOAD) && len != hdr)
		return -EBADMSG;
	return 0;
}

/* ---- headers to bytes -------------------------------------------------------- */

static uint8_t *build_bth(uint8_t *p, const struct snic_pkt *pkt)
{
	struct bth *h = (struct bth *)p;

	h->opcode = pkt->opcode;
	/* Path migration is not used: the state is always "migrated". */
	h->flags = BTH_MIGRATED | pkt->pad << BTH_PAD_SHIFT |
		   (pkt->solicited ? BTH_SOLICITED : 0);
	h->pkey = cpu_to_be16(pkt->pkey);
	h->qpn = cpu_to_be32(pkt->qpn & SNIC_QPN_MASK);
	h->psn = cpu_to_be32((pkt->psn & SNIC_PSN_MASK) |
			     (pkt->ack_req ? BTH_ACK_REQ : 0));
	return p + sizeof(*h);
}

static uint8_t *build_ext(uint8_t *p, const struct snic_pkt *pkt)
{
	uint32_t f = pkt->flags;

	if (f & SNIC_OPF_DETH) {
		struct deth *h = (struct deth *)p;

		h->qkey = cpu_to_be32(pkt->qkey);
		h->src_qpn = cpu_to_be32(pkt->src_qpn & SNIC_QPN_MASK);
		p += sizeof(*h);
	}
	if (f & SNIC_OPF_RETH) {
		struct reth *h = (struct reth *)p;

		h->va = cpu_to_be64(pkt->va);
		h->rkey = cpu_to_be32(pkt->rkey);
		h->len = cpu_to_be32(pkt->dma_len);
		p += sizeof(*h);
	}
	if (f & SNIC_OPF_ATOMICETH) {
		struct atomiceth *h = (struct atomiceth *)p;

		h->va = cpu_to_be64(pkt->va);
		h->rkey = cpu_to_be32(pkt->rkey);
		h->swap_add = cpu_to_be64(pkt->swap_add);
		h->compare = cpu_to_be64(pkt->compare);
		p += sizeof(*h);
	}
	if (f & SNIC_OPF_AETH) {
		((struct aeth *)p)->syn_msn = cpu_to_be32(
			(uint32_t)pkt->syndrome << 24 | (pkt->msn & 0xffffff));
		p += sizeof(struct aeth);
	}
	if (f & SNIC_OPF_ATOMICACK) {
		((struct atomicacketh *)p)->orig = cpu_to_be64(pkt->orig);
		p += sizeof(struct atomicacketh);
	}
	if (f & SNIC_OPF_IMM) {
		((struct immdt *)p)->imm = pkt->imm;
		p += sizeof(struct immdt);
	}
	if (f & SNIC_OPF_IETH) {
		((struct ieth *)p)->rkey = cpu_to_be32(pkt->inv_rkey);
		p += sizeof(struct ieth);
	}
	return p;
}

size_t snic_pkt_build(struct snic_pkt *pkt, uint8_t *buf)
{
	pkt->flags = snic_op_flags(pkt->opcode);
	if (!pkt->flags)
		return 0;
	return build_ext(build_bth(buf, pkt), pkt) - buf;
}

/* ---- invariant CRC ------------------------------------------------------------- */

/*
 * CRC-32 over the packet, with ones in place of all fields that a router may
 * change: eight bytes for the LRH of InfiniBand; TOS, TTL and checksum of IP;
 * the UDP checksum; the byte of FECN and BECN in the BTH.
 */
uint32_t snic_icrc(const uint8_t *ip, const uint8_t *udp,
		   const struct iovec *iov, int n)
{
	uint8_t pseudo[8 + 20 + 8 + sizeof(struct bth)];
	const size_t bth_len = sizeof(struct bth);
	uint32_t crc;
	int i;

	memset(pseudo, 0xff, 8);
	memcpy(pseudo + 8, ip, 20);
	pseudo[8 + 1] = 0xff;			/* TOS */
	pseudo[8 + 8] = 0xff;			/* TTL */
	memset(pseudo + 8 + 10, 0xff, 2);	/* header checksum */
	memcpy(pseudo + 28, udp, 8);
	memset(pseudo + 28 + 6, 0xff, 2);	/* checksum */
	memcpy(pseudo + 36, iov[0].iov_base, bth_len);
	pseudo[36 + 4] = 0xff;			/* FECN, BECN, reserved */

	crc = libdeflate_crc32(0, pseudo, sizeof(pseudo));
	crc = libdeflate_crc32(crc, (const uint8_t *)iov[0].iov_base + bth_len,
			       iov[0].iov_len - bth_len);
	for (i = 1; i < n; i++)
		if (iov[i].iov_len)
			crc = libdeflate_crc32(crc, iov[i].iov_base,
					       iov[i].iov_len);
	return crc;
}
