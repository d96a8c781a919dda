/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The network side of the software NIC, as the other rooms see it: RoCEv2
 * packets in and out, over all ports.
 *
 *	net.c		Ethernet, IPv4, ICMP echo, UDP; segment of ports
 *	arp.c		IPv4 address -> MAC
 *	peers.c		which peer is behind which place
 *	switch.c	which station is behind which place
 *	fault.c		wire faults
 *	frame.c		frames kept for later
 *	pkt.c		RoCEv2 headers and ICRC, to and from bytes
 */
#ifndef SNIC_NET_H
#define SNIC_NET_H

#include "../engine/engine.h"

/* A RoCEv2 UDP payload that passed ICRC: BTH up to (not with) the ICRC. */
struct snic_rx {
	__be32 src_ip;
	uint16_t src_port;
	uint8_t src_mac[6];
	const uint8_t *bth;
	size_t len;
};

/*
 * Sends a RoCEv2 packet: adds Ethernet, IPv4, UDP and ICRC around
 * iov (BTH, extension headers, payload, pad).  Resolves the address; while it is
 * unknown a few packets per address are kept and sent when it is.
 * src_port: 0xc000 | hash, the flow's entropy.  -EAGAIN: the port is full and
 * the packet was not sent; the caller keeps it and tries again later.  At most
 * SNIC_NET_MAX_IOV pieces; iov[0] holds at least the BTH.
 */
#define SNIC_NET_MAX_IOV 16
int snic_net_send(struct snic *nic, __be32 dst_ip, uint16_t src_port,
		  const struct iovec *iov, int n);
/* Is a next hop known?  For connect(): starts resolution when it is not.
 * -EAGAIN: under way, -EHOSTUNREACH: given up. */
int snic_net_resolve(struct snic *nic, __be32 ip);
/* IB path MTU in bytes that fits the segment, 256 to 4096. */
uint16_t snic_net_path_mtu(struct snic *nic);

/* ---- for the device and the runners ------------------------------------------------- */

struct snic_net;

int snic_net_init(struct snic *nic, struct snic_net **ret_net);
void snic_net_fini(struct snic *nic, struct snic_net *net);
/* Takes up to budget frames from the ports; returns how many. */
unsigned int snic_net_poll(struct snic *nic, struct snic_net *net,
			   unsigned int budget);
/* Has the ports send what they keep; at the end of a step. */
void snic_net_flush(struct snic *nic, struct snic_net *net);
struct snic_net *snic_net_of(struct snic *nic);
/* Descriptors of the ports, -1 where a port has none: fills
 * at most max, returns how many ports there are. */
unsigned int snic_net_fds(const struct snic_net *net, int *fds,
			  unsigned int max);
/* Before a runner sleeps on them: true if a port has something already. */
bool snic_net_doze(struct snic_net *net);

#endif /* SNIC_NET_H */
