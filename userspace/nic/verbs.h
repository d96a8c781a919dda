/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * verbs: RDMA devices, over upstream libibverbs and librdmacm. Needs a provider with RC
 * queue pairs and atomics of 8 bytes. It has been run on rdma_rxe of stock kernels, not
 * on hardware.
 *
 * Configuration, words separated by commas:
 *	DEVICE		the device, as "far info" lists it. It need not be named where
 *			there is only one with a port that is up
 *	ip=ADDRESS	our address of connections, instead of the one that the route to
 *			the memory node gives
 *	nodes=1		a memory node in this process, on the same device; 0 unless given.
 *			Its name is 0, or its address; needs an IPv4 address
 *	keys=DIR	whom it lets in, as in soft.h
 *	spin_us=N	a waiting thread polls for completions so long before it sleeps;
 *			50 unless given
 *	key=NAME	our name and secret, as in soft.h. Memory nodes must have IPv4
 *			addresses then
 *	timeout=N	a packet that is not acknowledged is sent again after
 *			4.096 us * 2^N, six times; 16 unless given: two seconds in all
 *
 * The name of a memory node is HOST or HOST:PORT ([HOST]:PORT for an IPv6 address); the
 * port is ODRP_FAR_PORT unless given. The route decides which of our addresses is used.
 *
 * Each queue set has a thread domain, so that its queue pairs and its completion queue
 * share neither doorbell nor lock with others. If the provider has no thread domain, or
 * none left, the queue set shares them, and sets far_qset_stats.shared_doorbell.
 *
 * A thread of the back end takes the connection manager's events.
 */
#ifndef FAR_NIC_VERBS_H
#define FAR_NIC_VERBS_H

#include "nic.h"

extern const struct far_nic_ops far_verbs_ops;

#endif
