/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The network side of the software NIC, between its own files:
 *
 *	ports -> fault.c -> net.c -> switch.c	(other stations' frames)
 *			          -> arp.c	(who has this address)
 *			          -> QP1 (cm_recv.c) or an RC queue pair
 */
#ifndef SNIC_NET_H
#define SNIC_NET_H

#include "pkt.h"
#include "priv.h"

#define SNIC_ETH_HLEN	14
#define SNIC_ETH_ALEN	6
#define SNIC_IP_HLEN	20
#define SNIC_UDP_HLEN	8
/* Ethernet, IPv4 and UDP headers of a RoCEv2 packet. */
#define SNIC_NET_HLEN	(SNIC_ETH_HLEN + SNIC_IP_HLEN + SNIC_UDP_HLEN)
/* The largest frame taken from a port: 64 KB of IP, header, one VLAN tag. */
#define SNIC_FRAME_MAX	(65535 + SNIC_ETH_HLEN + 4)
/* Vectors of one frame: what a caller may pass, and ours around it. */
#define SNIC_NET_IOV	(SNIC_MAX_SGE + 8)

#define SNIC_ETHERTYPE_IP	0x0800
#define SNIC_ETHERTYPE_ARP	0x0806

/* ---- frames kept for later ------------------------------------------------ */

/* A frame in a preallocated pool. */
struct snic_frame {
	struct snic_frame *next;
	struct snic_timer timer;	/* fault.c: when it goes on */
	struct snic_frame_pool *pool;
	bool received;			/* fault.c: its direction */
	unsigned int port;		/* fault.c: where it came in */
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

/* Pieces that are not empty; returns how many.  They are few: a call of memcpy()
 * would take longer. */
static inline int snic_iov_copy(struct iovec *dst, const struct iovec *src,
				int n)
{
	int nr = 0;

	for (int i = 0; i < n; i++)
		if (src[i].iov_len)
			dst[nr++] = src[i];
	return nr;
}

/* ---- switch.c: which station is behind which port -------------------------- */

#define SNIC_MAX_PORTS		256
#define SNIC_SWITCH_ENTRIES	4096	/* power of two */
#define SNIC_SWITCH_PROBES	8

struct snic_switch_entry {
	uint8_t mac[SNIC_ETH_ALEN];
	uint16_t port;
	uint64_t seen;		/* 0: empty */
};

struct snic_switch {
	struct snic_port *ports[SNIC_MAX_PORTS];
	bool dead[SNIC_MAX_PORTS];	/* reported an error once: counted */
	unsigned int nr_ports;
	unsigned int next_poll;
	struct snic_switch_entry *table;
};

int snic_switch_init(struct snic_switch *sw);
void snic_switch_fini(struct snic_switch *sw);
/*
 * A frame from a port: learns its sender, forwards it to other ports when it is
 * not (only) for this station.  True: it is for this station too.
 */
bool snic_switch_input(struct snic *nic, struct snic_switch *sw,
		       unsigned int port, const void *frame, size_t len);
/* A frame of this station. */
void snic_switch_send(struct snic *nic, struct snic_switch *sw,
		      const struct iovec *iov, int n);

/* ---- arp.c: IPv4 address -> MAC --------------------------------------------- */

#define SNIC_ARP_ENTRIES	1024
#define SNIC_ARP_BUCKETS	256	/* power of two */
#define SNIC_ARP_TRIES		5
#define SNIC_ARP_PENDING	8	/* packets per address */
#define SNIC_ARP_FRAMES		128	/* packets in all */

struct snic_arp_entry;

struct snic_arp {
	struct snic_arp_entry *entries;
	struct snic_arp_entry *buckets[SNIC_ARP_BUCKETS];
	struct snic_frame_pool pool;
	bool timers_reserved;
};

int snic_arp_init(struct snic *nic, struct snic_arp *arp);
void snic_arp_fini(struct snic *nic, struct snic_arp *arp);
/*
 * 0: *ret_mac is the address.  -EAGAIN: unknown, a request is under way;
 * -EHOSTUNREACH: nobody answered, or not on this segment.
 */
int snic_arp_lookup(struct snic *nic, struct snic_arp *arp, __be32 ip,
		    uint8_t *ret_mac);
/* After -EAGAIN: keeps a frame, whose first 6 bytes will be filled in. */
int snic_arp_keep(struct snic *nic, struct snic_arp *arp, __be32 ip,
		  const struct iovec *iov, int n);
/* A packet that passed its ICRC proves where its sender is. */
void snic_arp_confirm(struct snic *nic, struct snic_arp *arp, __be32 ip,
		      const uint8_t *mac);
/* An ARP packet: what follows the Ethernet header. */
void snic_arp_input(struct snic *nic, struct snic_arp *arp,
		    const uint8_t *pkt, size_t len);

/* ---- net.c ------------------------------------------------------------------- */

struct snic_net {
	struct snic_switch sw;
	struct snic_arp arp;
	struct snic_fault_state *faults;	/* NULL: none set */
	struct snic_lies lies;
	uint64_t asked, lied;	/* packets that might have, and that did */
	bool lying;		/* one of them is set */
	struct snic_late *late;	/* lie.c: NULL: never */
	struct snic_timer flush_timer;	/* a port could not send everything */
	bool timer_reserved;
	uint16_t ip_id;
	uint8_t *rx_buf;	/* for ports without peek() */
	uint8_t *tx_buf;	/* ICMP replies */
};

/* A port keeps frames, and the step may be over: flush it soon. */
void snic_net_flush_later(struct snic *nic);
/* A frame of this station, complete: through the faults to the switch. */
void snic_net_xmit(struct snic *nic, const struct iovec *iov, int n);
/* A frame from a port, after the faults. */
void snic_net_input(struct snic *nic, unsigned int port, const void *frame,
		    size_t len);
/* IB path MTU in bytes that fits the segment, 256 to 4096. */
uint16_t snic_net_path_mtu(struct snic *nic);

/* ---- fault.c -------------------------------------------------------------------- */

struct snic_fault_state;

/* Applies the faults to a frame and hands on what is left of it. */
void snic_fault_input(struct snic *nic, struct snic_fault_state *fs,
		      unsigned int port, const void *frame, size_t len);
void snic_fault_xmit(struct snic *nic, struct snic_fault_state *fs,
		     const struct iovec *iov, int n);
void snic_fault_free(struct snic *nic, struct snic_fault_state *fs);

/* ---- lie.c ---------------------------------------------------------------------- */

/* An RDMA WRITE that is still to come, from nobody's queue. */
struct snic_late {
	struct snic_timer timer;
	bool waiting;
	uint32_t qpn, dest_qpn;
	struct snic_pkt pkt;
	uint32_t len;
	uint8_t data[4096];
};

/*
 * A packet about to be built: pkt, data and *len may be others afterwards.  data
 * has room for mtu bytes.
 */
void snic_lie_packet(struct snic *nic, struct snic_pkt *pkt, uint8_t *data,
		     uint32_t *len, uint32_t mtu);
/*
 * It was sent.  Is it to be sent once more, with a PSN of its own?  Maybe that is
 * done later.
 */
bool snic_lie_again(struct snic_qp *qp, const struct snic_pkt *pkt,
		    const uint8_t *data, uint32_t len);
/* Maybe its data is to be replaced soon. */
void snic_lie_late(struct snic_qp *qp, const struct snic_pkt *pkt,
		   const uint8_t *data, uint32_t len);
void snic_lie_fini(struct snic *nic, struct snic_net *net);
/* A CM message that has been built. */
void snic_lie_hello(struct snic *nic, uint16_t attr, uint8_t *mad);

#endif /* SNIC_NET_H */
