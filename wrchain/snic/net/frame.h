/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ethernet frames: sizes, lists of pieces, and pools of frames. */
#ifndef SNIC_FRAME_H
#define SNIC_FRAME_H

#include "../engine/engine.h"

#define SNIC_ETH_HLEN	14
#define SNIC_ETH_ALEN	6
#define SNIC_IP_HLEN	20
#define SNIC_UDP_HLEN	8
/* Ethernet, IPv4 and UDP headers of a RoCEv2 packet. */
#define SNIC_NET_HLEN	(SNIC_ETH_HLEN + SNIC_IP_HLEN + SNIC_UDP_HLEN)
/* The largest frame taken from a port: 64 KB of IP, Ethernet header, one VLAN
 * tag. */
#define SNIC_FRAME_MAX	(65535 + SNIC_ETH_HLEN + 4)
/* Size of arrays for the pieces of one frame: the caller's, and the headers
 * around them. */
#define SNIC_NET_IOV	(SNIC_MAX_SGE + 8)

#define SNIC_ETHERTYPE_IP	0x0800
#define SNIC_ETHERTYPE_ARP	0x0806

/* ---- pools of frames ------------------------------------------------------ */

/* A frame in a preallocated pool. */
struct snic_frame {
	struct snic_frame *next;
	struct snic_timer timer;	/* fault.c: when the frame is delivered */
	struct snic_frame_pool *pool;
	bool received;			/* fault.c: received, not sent */
	unsigned int place;		/* fault.c: the place that it came from */
	size_t len;
	uint8_t *data;			/* pool->frame_len bytes */
};

struct snic_frame_pool {
	struct snic_frame *frames, *free;
	uint8_t *data;
	unsigned int nr;
	size_t frame_len;
};

int snic_frame_pool_init(struct snic_frame_pool *pool, unsigned int nr,
			 size_t frame_len);
void snic_frame_pool_fini(struct snic_frame_pool *pool);
/* NULL: the pool is empty or the frame is too long for it. */
struct snic_frame *snic_frame_get(struct snic_frame_pool *pool,
				  const struct iovec *iov, int n);
void snic_frame_put(struct snic_frame *f);

size_t snic_iov_len(const struct iovec *iov, int n);

/* Copies the pieces that are not empty; returns their number.  A loop, because
 * for a few pieces a call of memcpy() takes longer. */
static inline int snic_iov_copy(struct iovec *dst, const struct iovec *src,
				int n)
{
	int nr = 0;

	for (int i = 0; i < n; i++)
		if (src[i].iov_len)
			dst[nr++] = src[i];
	return nr;
}

/* ---- ARP (arp.c) --------------------------------------------------------------- */

/* Bytes of an Ethernet frame with an ARP packet, without padding. */
#define SNIC_ARP_LEN		42

#define SNIC_ARP_REQUEST	1
#define SNIC_ARP_REPLY		2

/* oper: in the host's byte order, once it has been parsed. */
struct snic_arp_packet {
	__be16 htype, ptype;
	uint8_t hlen, plen;
	uint16_t oper;
	uint8_t sha[6], spa[4], tha[6], tpa[4];
} __attribute__((packed));

_Static_assert(SNIC_ETH_HLEN + sizeof(struct snic_arp_packet) == SNIC_ARP_LEN,
	       "ARP packet");

/* Fields of an ARP frame.  target_mac NULL: zeros. */
struct snic_arp_fields {
	uint16_t oper;
	const uint8_t *to, *mac, *target_mac;
	__be32 ip, target_ip;
};

void snic_arp_put(uint8_t frame[SNIC_ARP_LEN], const struct snic_arp_fields *fields);
/* -EINVAL: not an ARP request or reply about an IPv4 address. */
int snic_arp_parse(const uint8_t *pkt, size_t len, struct snic_arp_packet *ret_packet);

#endif /* SNIC_FRAME_H */
