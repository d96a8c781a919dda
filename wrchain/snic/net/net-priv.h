/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internal to the network side of the software NIC:
 *
 *	ports -> peers.c -> fault.c -> net.c
 *	         proof.c
 *			          -> switch.c	(other stations' frames)
 *			          -> arp.c	(ARP packets)
 *			          -> QP1 (cm/recv.c) or an RC queue pair
 */
#ifndef SNIC_NET_PRIV_H
#define SNIC_NET_PRIV_H

#include "frame.h"
#include "net.h"
#include "pkt.h"

/* ---- switch.c, peers.c: places of stations and peers ------------------------- */

#define SNIC_MAX_PORTS		256
#define SNIC_MAX_PLACES		1024
#define SNIC_SWITCH_ENTRIES	4096	/* power of two */
#define SNIC_SWITCH_PROBES	8

/* A station or a peer that was heard within this time keeps its address: frames
 * from elsewhere with this address are dropped. */
#define SNIC_STICKY_NS		(10ull * 1000000000)

struct snic_switch_entry {
	uint8_t mac[SNIC_ETH_ALEN];
	uint16_t place;
	uint64_t seen;		/* last frame, ns + 1; 0: empty */
};

/* One end of a cable: a port, or a peer of a port that has several, which has
 * proved its address.  The rules of the switch apply to each place. */
struct snic_place {
	struct snic_port *port;
	struct snic_udp_addr peer;
	uint64_t seen;		/* the peer's last frame, ns + 1; 0: no peer */
	uint64_t asked;		/* when it was first asked whether it lives, ns + 1 */
	uint64_t asked_last;	/* and when last */
	uint8_t asks;		/* how often since asked */
	uint8_t claimed[SNIC_ETH_ALEN];	/* the MAC that another sender claims */
	uint16_t nr_macs;	/* switch entries of this place */
	__be32 given;		/* the address that the peer was given; 0: none */
};

/* Refusals that wait for snic_take_refused(); the others are not kept. */
#define SNIC_MAX_REFUSED	16

struct snic_switch {
	struct snic_port *ports[SNIC_MAX_PORTS];
	bool dead[SNIC_MAX_PORTS];	/* its last receive failed: the error is counted */
	uint16_t first_place[SNIC_MAX_PORTS];
	unsigned int nr_ports;
	unsigned int next_poll;
	struct snic_place places[SNIC_MAX_PLACES];
	unsigned int nr_places;
	struct snic_refused refused[SNIC_MAX_REFUSED];
	unsigned int nr_refused;
	struct snic_switch_entry *table;
	struct snic_timer ask_timer;	/* asks peers again whether they live */
};

/* Keeps a refusal for snic_take_refused(). */
void snic_switch_note(struct snic_switch *sw, struct snic_refused refused);

int snic_switch_init(struct snic_switch *sw);
void snic_switch_fini(struct snic_switch *sw);

static inline bool snic_mac_is_group(const uint8_t *mac)
{
	return mac[0] & 1;
}

/* Asks the peers again that have left a question whether they live without an answer. */
void snic_switch_ask(struct snic *nic, struct snic_timer *t);

/* -ENOSPC: too many ports or places. */
int snic_switch_add(struct snic_switch *sw, struct snic_port *port);
/*
 * Finds the place that a received frame comes from.  A peer gets its place when it
 * has proved that it receives at its address.  False: it has no place yet, or the
 * frame was the proof; the caller drops the frame.
 */
bool snic_switch_place(struct snic *nic, struct snic_switch *sw, unsigned int port,
		       const void *frame, size_t len, unsigned int *ret_place);
/* Learns the place of a frame's sender.  False: this MAC belongs to another
 * place or cannot send; the frame is counted, and the caller drops it. */
bool snic_switch_learn(struct snic *nic, struct snic_switch *sw,
		       unsigned int place, const uint8_t *src);
/* Forwards a frame to other places unless its only receiver is this station.
 * True: this station receives the frame too. */
bool snic_switch_forward(struct snic *nic, struct snic_switch *sw,
			 unsigned int place, const void *frame, size_t len);
/* Forgets all stations at this place. */
void snic_switch_forget(struct snic_switch *sw, unsigned int place);
/* The other place where the MAC was heard within SNIC_STICKY_NS; SNIC_MAX_PLACES:
 * none. */
unsigned int snic_switch_elsewhere(struct snic *nic, struct snic_switch *sw,
				   unsigned int place, const uint8_t *mac);
/* Sends a frame of this station. */
void snic_switch_send(struct snic *nic, struct snic_switch *sw,
		      const struct iovec *iov, int n);

/* ---- proof.c: does a sender of datagrams receive at its address? -------------- */

/* Is this frame the answer to a question that this NIC has sent to the address? */
bool snic_proof_ok(struct snic *nic, const struct snic_udp_addr *peer,
		   const uint8_t *frame, size_t len);
/* The address that a frame's sender names.  False: the frame is not worth a question,
 * because it is shorter, names none, or is a question itself. */
bool snic_proof_worth(const uint8_t *frame, size_t len, __be32 *ret_ip);
/* Builds the question to a station behind a peer. */
void snic_proof_ask(struct snic *nic, const struct snic_udp_addr *peer,
		    const uint8_t *mac, __be32 ip, uint8_t ret_frame[SNIC_ARP_LEN]);
/* Addresses for a peer that has none, of 100.64.0.0/10 (RFC 6598).  The same n: always
 * the same one. */
__be32 snic_proof_address(struct snic *nic, const struct snic_udp_addr *peer,
			  unsigned int n);

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
/* 0: *ret_mac is the address.  -EAGAIN: unknown, a request is under way.
 * -EHOSTUNREACH: no answer, no entry is free, or the address is not on this segment. */
int snic_arp_lookup(struct snic *nic, struct snic_arp *arp, __be32 ip,
		    uint8_t *ret_mac);
/* An address that belongs to this MAC, as far as known.  False: none. */
bool snic_arp_ip_of(const struct snic_arp *arp, const uint8_t *mac, __be32 *ret_ip);
/* The MAC that an address belongs to, as far as known.  False: none. */
bool snic_arp_owner(struct snic_arp *arp, __be32 ip, uint8_t *ret_mac);
/* After -EAGAIN: keeps a frame until the address is known; then fills in its
 * first 6 bytes.  -EHOSTUNREACH, -ENOBUFS: dropped. */
int snic_arp_keep(struct snic *nic, struct snic_arp *arp, __be32 ip,
		  const struct iovec *iov, int n);
/*
 * A packet with a right ICRC came from this address and MAC: confirms the
 * entry.  False: the address belongs to another MAC, as far as known, or there is
 * no entry for one more address of this MAC; drop the packet.
 */
bool snic_arp_heard(struct snic *nic, struct snic_arp *arp, __be32 ip,
		    const uint8_t *mac);
/*
 * Checks an ARP packet before anything else is done with it.  src: the MAC that
 * sent the frame; pkt: what follows the Ethernet header.  False: the packet
 * claims an address of this station or, as far as known, of another one; it is
 * counted, and the caller drops it.
 */
bool snic_arp_check(struct snic *nic, struct snic_arp *arp, const uint8_t *src,
		    const uint8_t *pkt, size_t len);
/*
 * Handles an ARP packet that passed the check and is (also) for this station.
 */
void snic_arp_input(struct snic *nic, struct snic_arp *arp, const uint8_t *pkt,
		    size_t len);

/* ---- net.c ------------------------------------------------------------------- */

struct snic_net {
	uint64_t secret[2];	/* of proof.c */
	struct snic_switch sw;
	struct snic_arp arp;
	struct snic_fault_state *faults;	/* NULL: none set */
	struct snic_timer flush_timer;	/* tries ports again that kept frames */
	bool timers_reserved;	/* flush_timer, sw.ask_timer */
	uint16_t ip_id;
	uint8_t *rx_buf;	/* for ports without peek() */
	uint8_t *tx_buf;	/* ICMP replies */
};

/*
 * Flushes the ports soon; for a port that keeps frames when no step may follow.
 */
void snic_net_flush_later(struct snic *nic);
/* Sends a complete frame of this station: through fault.c to the switch. */
void snic_net_xmit(struct snic *nic, const struct iovec *iov, int n);
/* Handles a frame from a port, after fault.c. */
void snic_net_input(struct snic *nic, unsigned int place, const void *frame,
		    size_t len);

/* ---- fault.c -------------------------------------------------------------------- */

struct snic_fault_state;

/* Apply the faults to a frame, and deliver or send the result. */
void snic_fault_input(struct snic *nic, struct snic_fault_state *fs,
		      unsigned int place, const void *frame, size_t len);
void snic_fault_xmit(struct snic *nic, struct snic_fault_state *fs,
		     const struct iovec *iov, int n);
void snic_fault_free(struct snic *nic, struct snic_fault_state *fs);

#endif /* SNIC_NET_PRIV_H */
