/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any RDMA device as a NIC, on libibverbs and librdmacm, and the words that configure it.
 * It arms no chains: node.h's keys that chains fill, freezing and rate limits are
 * -EOPNOTSUPP.
 *
 * A doorbell reads the WQEs that the caller has written, and posts them by
 * ibv_post_send(): SEND, WRITE, READ, compare-and-swap, fetch-and-add, and those with an
 * immediate; no inline data, no WAIT.  Of receive entries it reads those that the
 * doorbell record names whenever the queue pair is connected, the doorbell rung, or its
 * completion queue polled.
 */
#ifndef NIC_VERBS_H
#define NIC_VERBS_H

#include "nic.h"

#define NIC_VERBS_DEV_MAX	64
#define NIC_VERBS_WHY_MAX	256

/**
 * struct nic_verbs_opts - what --nic verbs:... says
 * @device:	name of the device
 */
struct nic_verbs_opts {
	char device[NIC_VERBS_DEV_MAX];
	uint8_t port;
};

/*
 * Parses the words after "verbs:".  On -EINVAL why has a sentence with the word and what
 * was expected.
 */
int nic_verbs_parse(const char *words, struct nic_verbs_opts *ret_opts,
		    char why[NIC_VERBS_WHY_MAX]);
/* Opens the NIC.  On an error (-errno) why has a sentence. */
int nic_verbs_open(const struct nic_verbs_opts *opts, struct nic **ret_nic,
		   char why[NIC_VERBS_WHY_MAX]);
/*
 * Accepts a request with a queue pair of the caller's own on the same device, new, which its
 * peer then may READ, WRITE and change by atomics.  The NIC does not touch it afterwards: the
 * caller stops it when the connection is gone.
 */
struct ibv_qp;
int nic_verbs_accept(struct nic *nic, uint32_t id, struct ibv_qp *qp, const void *priv,
		     uint8_t priv_len);
/*
 * Finds an IPv4 address of this host that the connection manager leads to the device.
 * -EADDRNOTAVAIL: there is none.
 */
int nic_verbs_address(const struct nic_verbs_opts *opts, __be32 *ret_ip);

#endif /* NIC_VERBS_H */
