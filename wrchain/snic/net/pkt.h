/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCEv2 packets: transport headers to and from bytes, and the invariant CRC.
 *
 * A packet is BTH, the extension headers its opcode calls for, payload, 0 to 3
 * pad bytes, ICRC.  All fields are big endian on the wire, except the ICRC.
 * Facts: InfiniBand Architecture Specification vol. 1, ch. 9, and its RoCEv2
 * annex (A17).
 */
#ifndef SNIC_PKT_H
#define SNIC_PKT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "../../core/port.h"

#define SNIC_ROCE_PORT		4791
#define SNIC_ICRC_LEN		4
#define SNIC_PKEY_DEFAULT	0xffff
#define SNIC_PSN_MASK		0xffffffu
#define SNIC_QPN_MASK		0xffffffu
/* BTH and the longest row of extension headers (DETH is shorter). */
#define SNIC_PKT_HDR_MAX	(12 + 28)
/* The bytes that one packet adds to its payload: IPv4, UDP, headers, pad, ICRC. */
#define SNIC_PKT_OVERHEAD	(20 + 8 + SNIC_PKT_HDR_MAX + 3 + SNIC_ICRC_LEN)

enum snic_bth_opcode {
	SNIC_OP_SEND_FIRST	= 0x00,
	SNIC_OP_SEND_MIDDLE	= 0x01,
	SNIC_OP_SEND_LAST	= 0x02,
	SNIC_OP_SEND_LAST_IMM	= 0x03,
	SNIC_OP_SEND_ONLY	= 0x04,
	SNIC_OP_SEND_ONLY_IMM	= 0x05,
	SNIC_OP_WRITE_FIRST	= 0x06,
	SNIC_OP_WRITE_MIDDLE	= 0x07,
	SNIC_OP_WRITE_LAST	= 0x08,
	SNIC_OP_WRITE_LAST_IMM	= 0x09,
	SNIC_OP_WRITE_ONLY	= 0x0a,
	SNIC_OP_WRITE_ONLY_IMM	= 0x0b,
	SNIC_OP_READ_REQ	= 0x0c,
	SNIC_OP_READ_RESP_FIRST	= 0x0d,
	SNIC_OP_READ_RESP_MIDDLE = 0x0e,
	SNIC_OP_READ_RESP_LAST	= 0x0f,
	SNIC_OP_READ_RESP_ONLY	= 0x10,
	SNIC_OP_ACK		= 0x11,
	SNIC_OP_ATOMIC_ACK	= 0x12,
	SNIC_OP_CMP_SWAP	= 0x13,
	SNIC_OP_FETCH_ADD	= 0x14,
	SNIC_OP_SEND_LAST_INV	= 0x16,
	SNIC_OP_SEND_ONLY_INV	= 0x17,
	SNIC_OP_UD_SEND_ONLY	= 0x64,
	SNIC_OP_UD_SEND_ONLY_IMM = 0x65,
};

/* Properties of an opcode. */
enum snic_op_flags {
	SNIC_OPF_VALID		= 1 << 0,
	SNIC_OPF_REQUEST	= 1 << 1,	/* for the responder */
	SNIC_OPF_FIRST		= 1 << 2,	/* begins a message */
	SNIC_OPF_LAST		= 1 << 3,	/* ends a message */
	SNIC_OPF_SEND		= 1 << 4,
	SNIC_OPF_WRITE		= 1 << 5,
	SNIC_OPF_READ_RESP	= 1 << 6,
	SNIC_OPF_ATOMIC		= 1 << 7,	/* request */
	SNIC_OPF_PAYLOAD	= 1 << 8,	/* may carry data */
	SNIC_OPF_UD		= 1 << 9,
	/* extension headers, in their order on the wire */
	SNIC_OPF_DETH		= 1 << 10,
	SNIC_OPF_RETH		= 1 << 11,
	SNIC_OPF_ATOMICETH	= 1 << 12,
	SNIC_OPF_AETH		= 1 << 13,
	SNIC_OPF_ATOMICACK	= 1 << 14,
	SNIC_OPF_IMM		= 1 << 15,
	SNIC_OPF_IETH		= 1 << 16,
};

/* AETH syndrome: kind in bits 6:5, value in bits 4:0. */
enum snic_aeth {
	SNIC_AETH_KIND		= 0xe0,
	SNIC_AETH_ACK		= 0x00,
	SNIC_AETH_RNR		= 0x20,
	SNIC_AETH_NAK		= 0x60,
	SNIC_AETH_VALUE		= 0x1f,
	SNIC_ACK_UNLIMITED	= SNIC_AETH_ACK | 0x1f,	/* no credit count */
	SNIC_NAK_SEQ		= SNIC_AETH_NAK | 0,
	SNIC_NAK_INVALID_REQ	= SNIC_AETH_NAK | 1,
	SNIC_NAK_REMOTE_ACCESS	= SNIC_AETH_NAK | 2,
	SNIC_NAK_REMOTE_OP	= SNIC_AETH_NAK | 3,
};

/*
 * The headers of one packet in host order; flags tell which fields are valid.
 */
struct snic_pkt {
	uint8_t opcode;
	uint8_t pad;
	bool solicited, ack_req;
	uint16_t pkey;
	uint32_t qpn, psn;
	uint32_t flags;			/* enum snic_op_flags */
	uint64_t va;			/* RETH, AtomicETH */
	uint32_t rkey, dma_len;
	uint64_t swap_add, compare;	/* AtomicETH */
	uint8_t syndrome;		/* AETH */
	uint32_t msn;
	uint64_t orig;			/* AtomicAckETH */
	__be32 imm;			/* ImmDt, big endian */
	uint32_t inv_rkey;		/* IETH */
	uint32_t qkey, src_qpn;		/* DETH */
	const uint8_t *payload;		/* parse only */
	uint32_t len;			/* payload without pad; parse only */
};

/* Returns enum snic_op_flags; 0: neither an RC nor a UD opcode. */
uint32_t snic_op_flags(uint8_t opcode);

/* Decodes a packet without its ICRC.  ret_pkt->payload points into bytes.
 * -EBADMSG: unknown opcode, wrong transport version, inconsistent lengths. */
int snic_pkt_parse(const uint8_t *bytes, size_t len, struct snic_pkt *ret_pkt);
/* Encodes the headers of pkt->opcode into buf, of at least SNIC_PKT_HDR_MAX
 * bytes; sets pkt->flags.  Returns their length, or 0: unknown opcode. */
size_t snic_pkt_build(struct snic_pkt *pkt, uint8_t *buf);

/*
 * Computes the ICRC of an IPv4 packet: its IP header (20 bytes, no options),
 * its UDP header (8 bytes), and iov from the BTH to the pad; iov[0] has at
 * least the BTH. The ICRC is little endian on the wire: snic_icrc_put(),
 * snic_icrc_get().
 */
uint32_t snic_icrc(const uint8_t *ip, const uint8_t *udp,
		   const struct iovec *iov, int n);

static inline void snic_icrc_put(uint8_t *p, uint32_t icrc)
{
	p[0] = icrc;
	p[1] = icrc >> 8;
	p[2] = icrc >> 16;
	p[3] = icrc >> 24;
}

static inline uint32_t snic_icrc_get(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The queue pair number of a BTH.  bth has at least 12 bytes. */
static inline uint32_t snic_bth_qpn(const uint8_t *bth)
{
	return (uint32_t)bth[5] << 16 | bth[6] << 8 | bth[7];
}

/* Cyclic distance a - b of two PSNs, -2^23 to 2^23 - 1. */
static inline int32_t snic_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t snic_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & SNIC_PSN_MASK;
}

#endif /* SNIC_PKT_H */
