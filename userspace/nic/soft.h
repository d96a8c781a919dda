/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * soft: the software NIC (wrchain/nic), which speaks RoCEv2 over Ethernet frames. No
 * hardware is needed, and a memory node may be another process or another machine.
 *
 * Configuration, words separated by commas:
 *	nodes=N		number of memory nodes in this process, each with a software NIC
 *			of its own, which a cable in memory connects to our NIC; at most
 *			FAR_NODES_MAX. 1 unless given, or 0 if a port is named
 *	ip=ADDRESS/LEN	our address; 10.77.0.1/24 unless given. Memory node i of this
 *			process has the address that is i + 1 higher
 *	key=NAME	our name; the file of that name in /etc/odrp/keys.d has our
 *			secret. Or the path of such a file. Memory nodes elsewhere with
 *			auth = required need this
 *	keys=DIR	our memory nodes let in those who prove a name of this directory of
 *			secrets, and this process. Unless given: everybody
 *	connect_ms=N	how long we wait for a memory node's answer to a connection
 *			request, 100 to 60000; 8000 unless given
 *	and the words of wrchain/nic/soft.h: ports (dgram=LOCAL:REMOTE,
 *	udp=ADDRESS:PORT for all who send there, udp=ADDRESS:PORT:ADDRESS:PORT,
 *	packet=INTERFACE, ...), mtu, spin_us, and faults of the wire
 * Our NIC is a switch: it forwards frames between its ports, so clients elsewhere can
 * reach memory nodes of this process through the ports.
 *
 * A thread that waits for completions does our NIC's work meanwhile, on its own stack (24
 * KB); the NIC's thread does what comes at other times, and timers.
 *
 * The name of a memory node is its IPv4 address, or, in this process, its number from 0
 * on; "" means the only one. The protocol is in include/uapi/odrp/far.h.
 *
 * Spaces of memory nodes of this process are memory of the process, and end with it.
 * Every client that can send frames to such a memory node, and proves a name if keys= is
 * given, may attach to its spaces: `mode` is ignored.
 */
#ifndef FAR_NIC_SOFT_H
#define FAR_NIC_SOFT_H

#include "nic.h"

extern const struct far_nic_ops far_soft_ops;

#endif
