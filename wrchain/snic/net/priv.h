/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The network side of the software NIC, between its own files:
 *
 *	ports -> peers.c -> fault.c -> net.c
 *			          -> switch.c	(other stations' frames)
 *			          -> arp.c	(who has this address)
 *			          -> QP1 (cm/recv.c) or an RC queue pair
 */
#ifndef SNIC_NET_PRIV_H
#define SNIC_NET_PRIV_H

#include "frame.h"
#include "net.h"
#include "pkt.h"

/* ---- switch.c, peers.c: which station is behind which port, or peer of it --- */

#define SNIC_MAX_PORTS		256
#define SNIC_MAX_PLACES		1024
#define SNIC_SWITCH_ENTRIES	4096	/* power of two */
#define SNIC_SWITCH_PROBES	8

/*
 * A station, or a peer, that was not silent for so long is where it was: whoever has
 * its address elsewhere has taken it.
 */
#define SNIC_STICKY_NS		(10ull * 1000000000)

struct snic_switch_entry {
	uint8_t mac[SNIC_ETH_ALEN];
	uint16_t place;
	uint64_t seen;		/* 0: empty */
};

/*
 * The other end of a cable: of a port, or, where several are at the other end of one,
 * of a peer of it.  What the switch allows, it allows each of them.
 */
struct snic_place {
	struct snic_port *port;
	struct snic_udp_addr peer;
	uint64_t seen;		/* of a peer; 0: nobody has it */
	uint16_t nr_macs;	/* entries of this place */
};

struct snic_switch {
	struct snic_port *ports[SNIC_MAX_PORTS];
	bool dead[SNIC_MAX_PORTS];	/* reported an error once: counted */
	uint16_t first_place[SNIC_MAX_PORTS];
	unsigned int nr_ports;
	unsigned int next_poll;
	struct snic_place places[SNIC_MAX_PLACES];
	unsigned int nr_places;
	struct snic_switch_entry *table;
};

int snic_switch_init(struct snic_switch *sw);
void snic_switch_fini(struct snic_switch *sw);

static inline bool snic_mac_is_group(const uint8_t *mac)
{
	return mac[0] & 1;
}

/* -ENOSPC: as many ports, or places, as there can be. */
int snic_switch_add(struct snic_switch *sw, struct snic_port *port);
/*
 * Where a frame that a port has just received comes from; a new peer gets a place
 * here.  False: it is none that may have one, and is counted; drop the frame.
 */
bool snic_switch_place(struct snic *nic, struct snic_switch *sw, unsigned int port,
		       const void *frame, size_t len, unsigned int *ret_place);
/* The sender of a frame is at that place.  False: it is elsewhere, or none; the frame is
 * counted, and to be dropped. */
bool snic_switch_learn(struct snic *nic, struct snic_switch *sw,
		       unsigned int place, const uint8_t *src);
/*
 * A frame from a place goes to others when it is not (only) for this station.  True: it
 * is for this station too.
 */
bool snic_switch_forward(struct snic *nic, struct snic_switch *sw,
			 unsigned int place, const void *frame, size_t len);
/* No station is known to be at that place any more. */
void snic_switch_forget(struct snic_switch *sw, unsigned int place);
/* Whether a MAC is known to be elsewhere, and was heard there not long ago. */
bool snic_switch_is_elsewhere(struct snic *nic, struct snic_switch *sw,
			      unsigned int place, const uint8_t *mac);
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
/*
 * A packet that passed its ICRC says where its sender is.  False: the address is
 * another station's, as far as anybody knows; the packet is to be dropped.
 */
bool snic_arp_heard(struct snic *nic, struct snic_arp *arp, __be32 ip,
		    const uint8_t *mac);
/*
 * An ARP packet, for whomever: who sent the frame, and what follows the Ethernet header.
 * False: it claims an address of this station or, as far as anybody knows, of another
 * one; it is counted, and nobody is to see it.
 */
bool snic_arp_check(struct snic *nic, struct snic_arp *arp, const uint8_t *src,
		    const uint8_t *pkt, size_t len);
/* One that passed the check, for this station, too. */
void snic_arp_input(struct snic *nic, struct snic_arp *arp, const uint8_t *pkt,
		    size_t len);

/* ---- net.c ------------------------------------------------------------------- */

struct snic_net {
	struct snic_switch sw;
	struct snic_arp arp;
	struct snic_fault_state *faults;	/* NULL: none set */
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
void snic_net_input(struct snic *nic, unsigned int place, const void *frame,
		    size_t len);

/* ---- fault.c -------------------------------------------------------------------- */

struct snic_fault_state;

/* Applies the faults to a frame and hands on what is left of it. */
void snic_fault_input(struct snic *nic, struct snic_fault_state *fs,
		      unsigned int place, const void *frame, size_t len);
void snic_fault_xmit(struct snic *nic, struct snic_fault_state *fs,
		     const struct iovec *iov, int n);
void snic_fault_free(struct snic *nic, struct snic_fault_state *fs);

#endif /* SNIC_NET_PRIV_H */
