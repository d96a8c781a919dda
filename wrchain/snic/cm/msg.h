/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connection management messages: 256-byte MADs to and from structs.
 * Facts: InfiniBand Architecture Specification vol. 1, ch. 12 and 13, and its
 * annex A11 (RDMA IP CM service).
 */
#ifndef SNIC_CM_MSG_H
#define SNIC_CM_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../core/port.h"

#define SNIC_MAD_LEN		256
#define SNIC_GSI_QKEY		0x80010000u

/* Sizes of the private data fields. */
#define SNIC_CM_REQ_PRIV	92
#define SNIC_CM_REP_PRIV	196
#define SNIC_CM_REJ_PRIV	148
#define SNIC_CM_RTU_PRIV	224
#define SNIC_CM_DREQ_PRIV	220
#define SNIC_CM_DREP_PRIV	224
#define SNIC_CM_MRA_PRIV	222
/* The header that RDMA CM puts in front of a REQ's private data. */
#define SNIC_CM_IP_HDR		36
#define SNIC_CM_REJ_ARI		72

enum snic_cm_attr {
	SNIC_CM_REQ = 0x10, SNIC_CM_MRA = 0x11, SNIC_CM_REJ = 0x12,
	SNIC_CM_REP = 0x13, SNIC_CM_RTU = 0x14, SNIC_CM_DREQ = 0x15,
	SNIC_CM_DREP = 0x16,
};

/* The message that a REJ or an MRA refers to. */
enum snic_cm_which {
	SNIC_CM_WHICH_REQ, SNIC_CM_WHICH_REP, SNIC_CM_WHICH_OTHER,
};

enum snic_cm_reason {
	SNIC_REJ_NO_RESOURCES		= 3,
	SNIC_REJ_TIMEOUT		= 4,
	SNIC_REJ_UNSUPPORTED		= 5,
	SNIC_REJ_INVALID_COMM_ID	= 6,
	SNIC_REJ_INVALID_SERVICE_ID	= 8,
	SNIC_REJ_INVALID_TRANSPORT	= 9,
	SNIC_REJ_STALE_CONN		= 10,
	SNIC_REJ_INVALID_GID		= 12,
	SNIC_REJ_INVALID_MTU		= 26,
	SNIC_REJ_CONSUMER		= 28,
};

/* RDMA CM's service ID: port space (TCP) and port. */
#define SNIC_CM_SERVICE_TCP	0x0000000001060000ull
#define SNIC_CM_SERVICE_PORT	0xffffull

#define SNIC_CM_TRANSPORT_RC	0

struct snic_cm_req {
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t qpn;
	uint32_t psn;		/* first PSN the passive side sends */
	uint8_t responder_resources, initiator_depth;
	uint8_t remote_timeout, local_timeout;	/* 4.096 us << n */
	uint8_t transport;
	bool flow_control, srq;
	uint8_t retry_cnt, rnr_retry, max_retries;
	uint16_t pkey;
	uint8_t mtu;		/* IBA code, 1 to 5 */
	uint8_t local_gid[16], remote_gid[16];
	uint8_t hop_limit;
	uint8_t ack_timeout;
};

struct snic_cm_rep {
	uint64_t ca_guid;
	uint32_t qpn;
	uint32_t psn;		/* first PSN the active side sends */
	uint8_t responder_resources, initiator_depth;
	uint8_t ack_delay, rnr_retry;
	bool flow_control, srq;
};

struct snic_cm_rej {
	uint8_t which;
	uint16_t reason;
	uint8_t ari_len;
	uint8_t ari[SNIC_CM_REJ_ARI];
};

struct snic_cm_mra {
	uint8_t which;
	uint8_t service_timeout;
};

struct snic_cm_msg {
	uint16_t attr;		/* enum snic_cm_attr */
	uint64_t tid;
	uint32_t local_id;	/* the sender's communication ID */
	uint32_t remote_id;	/* the receiver's; 0 in a REQ */
	union {
		struct snic_cm_req req;
		struct snic_cm_rep rep;
		struct snic_cm_rej rej;
		struct snic_cm_mra mra;
		uint32_t dreq_qpn;	/* the receiver's queue pair */
	};
	const uint8_t *priv;	/* after parsing: points into the MAD */
	uint8_t priv_len;	/* after parsing: size of the field */
};

struct snic_cm_ip_hdr {
	uint16_t src_port;
	__be32 src, dst;
};

/* Decodes a MAD.  -EBADMSG: not a CM MAD of the supported version, or a field
 * with an invalid value.  -EOPNOTSUPP: a CM message that is not used here. */
int snic_cm_parse(const uint8_t *mad, size_t len, struct snic_cm_msg *ret_msg);
/* Encodes a MAD of SNIC_MAD_LEN bytes.  -EMSGSIZE: the private data is too long
 * for the message.  -EOPNOTSUPP: unknown msg->attr. */
int snic_cm_build(const struct snic_cm_msg *msg, uint8_t *ret_mad);

/* Returns the private data field of an encoded message. */
uint8_t *snic_cm_priv(uint8_t *mad, enum snic_cm_attr attr);

/* -EBADMSG: another version, not IPv4, or too short. */
int snic_cm_parse_ip_hdr(const uint8_t *p, size_t len,
			 struct snic_cm_ip_hdr *ret_hdr);
void snic_cm_build_ip_hdr(const struct snic_cm_ip_hdr *hdr, uint8_t *ret_p);

/* Writes the GID of an IPv4 address: ::ffff:a.b.c.d. */
void snic_gid_of_ip(__be32 ip, uint8_t *ret_gid);
/* The IBA code of an MTU in bytes, and the reverse; 0: there is none. */
uint8_t snic_mtu_code(uint16_t mtu);
uint16_t snic_mtu_bytes(uint8_t code);

#endif /* SNIC_CM_MSG_H */
