/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * verbs: RDMA devices, over upstream libibverbs and librdmacm. Any provider will do
 * that has RC queue pairs and atomics of 8 bytes. Run on rdma_rxe of stock kernels; not
 * run on hardware.
 *
 * Configuration, words separated by commas:
 *	DEVICE		the device, as "far info" lists it. It need not be named where
 *			there is only one with a port that is up
 *	ip=ADDRESS	connections begin at this address of ours, instead of the one that
 *			the route to the memory node has
 *	key=NAME	as of soft (soft.h)
 *	spin_us=N	a thread that waits looks for completions so long before it
 *			sleeps; 50 unless given
 *	key=NAME	who we are, as of soft (soft.h). Memory nodes have IPv4 addresses
 *			then
 *	timeout=N	a packet that is not acknowledged is sent again after
 *			4.096 us * 2^N, six times; 16 unless given: two seconds in all
 *
 * A memory node is named HOST or HOST:PORT ([HOST]:PORT of an IPv6 address); the port is
 * ODRP_FAR_PORT unless given. Which of our addresses leads there, the route decides.
 *
 * Each queue set has a thread domain, so that its queue pairs and its completion queue
 * share neither doorbell nor lock with others. Where the provider has none, or none any
 * more, it shares; far_qset_stats.shared_doorbell says so.
 *
 * One thread of the back end's own takes the connection manager's events.
 */
#ifndef FAR_NIC_VERBS_H
#define FAR_NIC_VERBS_H

#include "nic.h"

extern const struct far_nic_ops far_verbs_ops;

#endif
