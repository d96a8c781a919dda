/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a memory node's agent asks of a NIC beside nic.h: keys whose entries chains
 * write, queue pairs that lead back to this NIC, and what is needed to look at
 * chains from outside while they run.
 */
#ifndef NIC_NODE_H
#define NIC_NODE_H

#include "nic.h"

/**
 * struct nic_cq_info - what a completion queue has seen
 * @written:	entries ever written, 24 bits
 * @errors:	of these, how many of the last ones report an error or flush
 */
struct nic_cq_info {
	uint32_t written;
	uint32_t errors;
};

struct nic_node_ops {
	/*
	 * An indirect key of so many 4 KB pieces, all empty, that UMRs of the
	 * domain's queue pairs fill; the low byte of its number is variant.
	 * mr_dereg() destroys it.  -EOPNOTSUPP: this NIC cannot; said() has the
	 * words.
	 */
	int (*ksm_create)(struct nic *nic, uint32_t pdn, uint32_t entries,
			  unsigned int access, uint8_t variant,
			  uint32_t *ret_key);
	int (*cq_info)(struct nic *nic, uint32_t cqn,
		       struct nic_cq_info *ret_info);
	/* Connects a queue pair to another one here, or to itself: one half. */
	int (*qp_loop)(struct nic *nic, uint32_t qpn, uint32_t to);
	/*
	 * Between the two nothing moves, if the NIC can do that at all
	 * (freeze returns -EOPNOTSUPP if not).  Queries work meanwhile.
	 */
	int (*freeze)(struct nic *nic);
	void (*thaw)(struct nic *nic);
	/*
	 * All queue pairs of a limit together move no more payload than so many bytes
	 * a second (0: as many as they can), sent and received.  rate_set() makes one
	 * if *rate is 0.  All NULL: this NIC cannot.
	 */
	int (*rate_set)(struct nic *nic, uint64_t bytes_per_s, uint32_t *rate);
	/* Its queue pairs have none then. */
	void (*rate_free)(struct nic *nic, uint32_t rate);
	int (*qp_limit)(struct nic *nic, uint32_t qpn, uint32_t rate);
};

/**
 * struct nic_node - a NIC on which chains are armed
 * @strict_index: it checks each WQE's index, so chains must renew it
 * @fence_orders: behind a fence, what READs have brought is there for all queues;
 *		set by the agent, from the operator's word or keeps_fences
 * @keeps_fences: it is known to be so: the software NIC, or a card of which
 *		odrp-hwcheck found it
 * @keeps_keys:	the same of all that translation in the NIC rests on
 * @known:	these two in words, or why nothing is known; NULL or "": no words
 * @max_recv_len: bytes of a receive entry, each data segment 16; 0: any
 */
struct nic_node {
	const struct nic_node_ops *ops;
	bool strict_index, fence_orders;
	bool keeps_fences, keeps_keys;
	const char *known;
	unsigned int max_recv_len;
};

#endif /* NIC_NODE_H */
