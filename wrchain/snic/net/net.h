/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The network side of the software NIC, its interface to the other directories:
 * RoCEv2 packets in and out, over all ports.
 *
 *	net.c		Ethernet, IPv4, ICMP echo, UDP
 *	arp.c		IPv4 address -> MAC
 *	peers.c		places: the peers of each port
 *	proof.c		what a peer proves before it gets a place
 *	switch.c	learning switch: MAC -> place
 *	fault.c		wire faults
 *	frame.c		pools of frames
 *	pkt.c		RoCEv2 headers and ICRC, to and from bytes
 */
#ifndef SNIC_NET_H
#define SNIC_NET_H

#include "../engine/engine.h"

/* A RoCEv2 UDP payload whose ICRC is right: from the BTH up to the ICRC, which
 * is not included. */
struct snic_rx {
	__be32 src_ip;
	uint16_t src_port;
	uint8_t src_mac[6];
	const uint8_t *bth;
	size_t len;
};

/*
 * Sends a RoCEv2 packet: adds Ethernet, IPv4 and UDP headers and the ICRC
 * around iov (BTH, extension headers, payload, pad).  At most SNIC_NET_MAX_IOV
 * pieces; iov[0] has at least the BTH.  src_port: 0xc000 | hash, the flow's
 * entropy.  While the MAC of dst_ip is unknown, a few packets per address are
 * kept, and sent when it is known.  0 also if a port is full: the packet is
 * dropped and counted.  -EINVAL: n.  -EMSGSIZE: longer than the MTU.
 * -EHOSTUNREACH, -ENOBUFS: dropped.
 */
#define SNIC_NET_MAX_IOV 16
int snic_net_send(struct snic *nic, __be32 dst_ip, uint16_t src_port,
		  const struct iovec *iov, int n);
/* Starts address resolution if the MAC is unknown.  0: known.  -EAGAIN:
 * resolution is under way.  -EHOSTUNREACH: it has failed. */
int snic_net_resolve(struct snic *nic, __be32 ip);
/* The largest IB path MTU (256 to 4096 bytes) that fits the segment's MTU. */
uint16_t snic_net_path_mtu(struct snic *nic);

/* ---- for the device and the runners ------------------------------------------------- */

struct snic_net;

int snic_net_init(struct snic *nic, struct snic_net **ret_net);
void snic_net_fini(struct snic *nic, struct snic_net *net);
/* Receives up to budget frames from the ports; returns the number. */
unsigned int snic_net_poll(struct snic *nic, struct snic_net *net,
			   unsigned int budget);
/* Makes the ports send the frames that they keep; at the end of a step. */
void snic_net_flush(struct snic *nic, struct snic_net *net);

static inline struct snic_net *snic_net_of(struct snic *nic)
{
	return snic_parts(nic)->net;
}

/* Fills in at most max descriptors of the ports, -1 where a port has none.
 * Returns the number of ports. */
unsigned int snic_net_fds(const struct snic_net *net, int *fds,
			  unsigned int max);
/* True if several threads may wait for the descriptors (snic_port_ops.shared). */
bool snic_net_fds_shared(const struct snic_net *net);
/* Prepares to wait for the descriptors; true: a port has a frame already.  See
 * doze(). */
bool snic_net_doze(struct snic_net *net);

#endif /* SNIC_NET_H */
