/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * soft: the software NIC (wrchain/nic), which speaks RoCEv2 over Ethernet frames. No
 * hardware is needed, and a memory node may be another process or another machine.
 *
 * Configuration, words separated by commas:
 *	nodes=N		so many memory nodes in this process, each with a software NIC
 *			of its own, joined to ours by cables in memory. 1 unless a port
 *			is named; at most FAR_SOFT_MAX_NODES
 *	ip=ADDRESS/LEN	our address; 10.77.0.1/24 unless given. Memory node i of this
 *			process has the one that is i + 1 higher
 *	key=NAME	who we are, with the secret of that file of /etc/odrp/keys.d; or
 *			a path, whose last part is our name. Needed by memory nodes
 *			elsewhere with auth = required
 *	connect_ms=N	how long a memory node has for its answer when a connection
 *			begins, 100 to 60000; 8000 unless given
 *	and the words of wrchain/nic/soft.h: ports (dgram=LOCAL:REMOTE,
 *	udp=ADDRESS:PORT for all who send there, udp=ADDRESS:PORT:ADDRESS:PORT,
 *	packet=INTERFACE, ...), mtu, spin_us, and faults of the wire
 * Our NIC is a switch: memory nodes of this process answer to who is at its ports.
 *
 * A memory node is named by its IPv4 address, or, if it is one of this process, by its
 * number from 0 on; "" is the only one. include/uapi/odrp/far.h has what is said to it.
 *
 * Spaces of the memory nodes of this process are its memory, and end with it. Whoever
 * can send frames to a memory node may attach to its spaces: `mode` is not looked at.
 */
#ifndef FAR_NIC_SOFT_H
#define FAR_NIC_SOFT_H

#include "nic.h"

extern const struct far_nic_ops far_soft_ops;

#define FAR_SOFT_MAX_NODES	32u

#endif
